/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases under MPI_THREAD_MULTIPLE: two threads, each with its communicator; calls
 * of all forms. */
#include "mpi_exchange.h"

#include <pthread.h>

enum { ROUNDS = 12 };

typedef struct work {
    pthread_t thread;
    MPI_Comm  comm;
    uint32_t  first_round;
} work_t;

/* Never zero: every call has something to carry between servers. */
static uint32_t some(int src, int dst, uint32_t round)
{
    return 1 + units_ragged(src, dst, round);
}

/* Which of two calls was the last one is anybody's guess: only sums count. */
static void *many_calls(void *arg)
{
    work_t *work = arg;

    for (uint32_t k = 0; k < ROUNDS; ++k) {
        exchange((exchange_t){.comm       = work->comm,
                              .units      = some,
                              .round      = work->first_round + k,
                              .any_server = 1});
    }
    return NULL;
}

/* Both communicators and MPI_COMM_WORLD have the same members. */
static void check_sums(uint64_t calls, uint64_t served)
{
    int many_servers = 0;

    for (int r = 1; r < test.size; ++r) {
        many_servers |= test.server[r] != test.server[0];
    }
    if (test.expect == EXPECT_SERVED && many_servers &&
        (calls != 2 * ROUNDS || served != 2 * ROUNDS)) {
        fail("%d calls: coll_fast_calls grew by %llu, coll_fast_calls_%s by "
             "%llu",
             2 * ROUNDS, (unsigned long long)calls, test.algorithm,
             (unsigned long long)served);
    }
}

/* Two threads do it, each on a communicator of its own. */
static void in_two_threads(void *(*job)(void *arg))
{
    work_t work[2];

    for (int k = 0; k < 2; ++k) {
        work[k].first_round = 100u * (uint32_t)k;
        must(MPI_Comm_dup(MPI_COMM_WORLD, &work[k].comm), "MPI_Comm_dup");
    }
    for (int k = 0; k < 2; ++k) {
        pthread_create(&work[k].thread, NULL, job, &work[k]);
    }
    for (int k = 0; k < 2; ++k) {
        pthread_join(work[k].thread, NULL);
    }
    for (int k = 0; k < 2; ++k) {
        must(MPI_Comm_free(&work[k].comm), "MPI_Comm_free");
    }
}

static void case_two_threads(void)
{
    uint64_t calls = pvars_calls(), served = pvars_calls_served();

    in_two_threads(many_calls);
    check_sums(pvars_calls() - calls, pvars_calls_served() - served);
}

/* Several are under way in each thread; the first call sets the communicator up. */
static void *many_requests(void *arg)
{
    enum { N = 4 };
    work_t    *work = arg;
    exchange_t x[N];

    exchange((exchange_t){
        .comm = work->comm, .units = some, .round = 99, .any_server = 1});
    for (uint32_t k = 0; k < ROUNDS; ++k) {
        for (uint32_t i = 0; i < N; ++i) {
            x[i] = (exchange_t){.comm       = work->comm,
                                .units      = some,
                                .round      = work->first_round + N * k + i,
                                .call       = i % 2 == 0 ? CALL_NONBLOCKING
                                                         : CALL_PERSISTENT,
                                .any_server = 1};
            exchange_begin(&x[i]);
        }
        for (uint32_t i = N; i-- > 0;) {
            exchange_end(&x[i]);
        }
    }
    return NULL;
}

static void case_thread_requests(void)
{
    in_two_threads(many_requests);
}

/* One thread makes calls, the other sends messages around. */
static void *many_messages(void *arg)
{
    work_t *work  = arg;
    int     right = (test.rank + 1) % test.size;
    int     left  = (test.rank + test.size - 1) % test.size;

    for (int k = 0; k < 10 * ROUNDS; ++k) {
        int out = test.rank * 1000 + k, in = -1;

        must(MPI_Sendrecv(&out, 1, MPI_INT, right, k, &in, 1, MPI_INT, left, k,
                          work->comm, MPI_STATUS_IGNORE),
             "MPI_Sendrecv");
        if (in != left * 1000 + k) {
            fail("message %d from rank %d is %d", k, left, in);
        }
    }
    return NULL;
}

static void case_thread_messages(void)
{
    work_t work = {.first_round = 300, .comm = MPI_COMM_WORLD};

    pthread_create(&work.thread, NULL, many_messages, &work);
    many_calls(&work);
    pthread_join(work.thread, NULL);
}

const test_case_t thread_cases[] = {{"two-threads", case_two_threads},
                                    {"thread-requests", case_thread_requests},
                                    {"thread-messages", case_thread_messages},
                                    {NULL, NULL}};
