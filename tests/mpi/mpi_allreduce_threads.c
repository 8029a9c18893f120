/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Iallreduce under MPI_THREAD_MULTIPLE: two threads, each with its communicator; and
 * a thread that waits for messages meanwhile. */
#include "mpi_allreduce.h"

#include <pthread.h>

enum { N_ROUNDS = 6, AT_ONCE = 4, N_MESSAGES = 300 };

typedef struct work {
    pthread_t thread;
    plan_t    plan; /* the first of its calls */
} work_t;

/* Made by the main thread: rounds are counted there. */
static work_t make_work(int count)
{
    work_t work = {.plan = sum(MPI_INT64_T, count, 0)};

    must(MPI_Comm_dup(MPI_COMM_WORLD, &work.plan.comm), "MPI_Comm_dup");
    check_call(&work.plan); /* a blocking call sets a communicator up */
    return work;
}

/* The last one first; or all at once; or each is asked about. */
static void take_all(vectors_t *v, int way)
{
    MPI_Request requests[AT_ONCE];
    MPI_Status  statuses[AT_ONCE];

    for (int k = 0; k < AT_ONCE && way == 1; ++k) {
        requests[k]  = v[k].request;
        v[k].request = MPI_REQUEST_NULL;
    }
    if (way == 1) {
        must(MPI_Waitall(AT_ONCE, requests, statuses), "MPI_Waitall");
    }
    for (int k = AT_ONCE, done = 0; k-- > 0; done = 0) {
        while (way == 2 && !done) {
            must(MPI_Test(&v[k].request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        }
        take(&v[k]);
    }
}

/* Several nonblocking calls, then a blocking one. */
static void *many_calls(void *arg)
{
    work_t   *work = arg;
    plan_t    p    = work->plan;
    vectors_t v[AT_ONCE];

    for (int round = 0; round < N_ROUNDS; ++round) {
        for (int k = 0; k < AT_ONCE; ++k) {
            p.count    = work->plan.count + 777 * k + round;
            p.in_place = (round + k) % 2;
            p.round    = (uint32_t)(round + k);
            post(&v[k], &p, p.op);
        }
        take_all(v, round % 3);
        call(&p);
    }
    return NULL;
}

static void *many_messages(void *arg)
{
    const work_t *work  = arg;
    int           right = (test.rank + 1) % test.size;
    int           left  = (test.rank + test.size - 1) % test.size;

    for (int k = 0; k < N_MESSAGES; ++k) {
        int out = test.rank * 1000 + k, in = -1;

        must(MPI_Sendrecv(&out, 1, MPI_INT, right, k, &in, 1, MPI_INT, left, k,
                          work->plan.comm, MPI_STATUS_IGNORE),
             "MPI_Sendrecv");
        if (in != left * 1000 + k) {
            fail("message %d from rank %d is %d", k, left, in);
        }
    }
    return NULL;
}

static void run_beside(void *(*other)(void *), uint64_t n_callers)
{
    work_t   mine = make_work(2000), theirs = make_work(5000);
    uint64_t before = pvars_calls_served();

    if (pthread_create(&theirs.thread, NULL, other, &theirs) != 0) {
        fail("there is no thread");
    }
    many_calls(&mine);
    pthread_join(theirs.thread, NULL);
    expect_served(before, n_callers * N_ROUNDS *
                              (1 + (allreduce_test.nonblocking ? AT_ONCE : 0)));
    must(MPI_Comm_free(&mine.plan.comm), "MPI_Comm_free");
    must(MPI_Comm_free(&theirs.plan.comm), "MPI_Comm_free");
}

static void case_two_threads(void)
{
    run_beside(many_calls, 2);
}

static void case_thread_messages(void)
{
    run_beside(many_messages, 1);
}

const test_case_t threaded_cases[] = {
    {"two-threads", case_two_threads},
    {"thread-messages", case_thread_messages},
};

const size_t n_threaded_cases = sizeof(threaded_cases) /
                                sizeof(threaded_cases[0]);
