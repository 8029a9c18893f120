/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases about nonblocking calls: several at once, in all orders, with all ways to
 * wait, among calls of other kinds. */
#include "mpi_exchange.h"

#include <stdlib.h>

enum { MANY = 20, TAG = 7 };

static exchange_t nonblocking(MPI_Comm comm, uint32_t round)
{
    return (exchange_t){.comm  = comm,
                        .units = round % 3 == 0 ? units_few : units_ragged,
                        .round = round,
                        .call  = CALL_NONBLOCKING};
}

/* A blocking call sets a communicator up. */
static void prime(MPI_Comm comm)
{
    if (!test.unprimed) {
        exchange((exchange_t){.comm = comm, .units = units_few, .round = 1});
    }
}

static MPI_Comm duplicate(void)
{
    MPI_Comm comm;

    must(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
    prime(comm);
    return comm;
}

static void equal(const char *what, int got, int want)
{
    if (got != want) {
        fail("%s: %d instead of %d", what, got, want);
    }
}

/* ---- several at once ---- */

/* The last one is waited for first. */
static void case_many_outstanding(void)
{
    MPI_Comm   comm = duplicate();
    exchange_t x[MANY];

    for (int k = 0; k < MANY; ++k) {
        x[k] = nonblocking(comm, 100 + (uint32_t)k);
        exchange_begin(&x[k]);
    }
    for (int k = MANY; k-- > 0;) {
        exchange_end(&x[k]);
    }
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* One half of the ranks sends to the other, in turn. */
static uint32_t units_halves(int src, int dst, uint32_t round)
{
    int low = src < test.size / 2;

    return low == (dst < test.size / 2) || low == (round % 2 == 0) ? 0 : 20000;
}

/* Together they take no longer than half of them. */
static void case_frames(void)
{
    exchange_t x[MANY];

    prime(MPI_COMM_WORLD);
    for (int k = 0; k < MANY; ++k) {
        x[k]       = nonblocking(MPI_COMM_WORLD, 200 + (uint32_t)k);
        x[k].units = units_halves;
        exchange_begin(&x[k]);
    }
    for (int k = 0; k < MANY; ++k) {
        exchange_end(&x[k]);
    }
}

/* Others' collectives between ours, which do not wait for each other. */
static void case_between(void)
{
    MPI_Comm    comm = duplicate();
    exchange_t  x = nonblocking(comm, 130), y = nonblocking(comm, 131);
    MPI_Request request;
    int         value = test.rank == 0 ? 99 : -1, sum;

    exchange_begin(&x);
    MPI_Ibcast(&value, 1, MPI_INT, 0, comm, &request);
    exchange_begin(&y);
    MPI_Allreduce(&test.rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    exchange((exchange_t){.comm = comm, .units = units_ragged, .round = 132});
    must(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    exchange_end(&y);
    exchange_end(&x);
    equal("MPI_Ibcast", value, 99);
    equal("MPI_Allreduce", sum, test.size * (test.size - 1) / 2);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* ---- ranks that do not do the same at the same time ---- */

/* A rank in a barrier has to go on with what another one waits for. */
static void case_wait_against_barrier(void)
{
    MPI_Comm   comm = duplicate();
    exchange_t x    = nonblocking(comm, 140);

    exchange_begin(&x);
    if (test.rank % 2 == 0) {
        exchange_end(&x);
        MPI_Barrier(comm);
    } else {
        MPI_Barrier(comm);
        exchange_end(&x);
    }
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* Nor does a rank in MPI_Recv keep others from ending. */
static void wait_against_recv(void)
{
    MPI_Comm   comm = duplicate();
    exchange_t x    = nonblocking(comm, 141);
    int        next = (test.rank + 1) % test.size, token = 0;
    int        last = (test.rank + test.size - 1) % test.size;

    exchange_begin(&x);
    if (test.rank == 0) {
        exchange_end(&x);
        MPI_Send(&token, 1, MPI_INT, next, TAG, comm);
        MPI_Recv(&token, 1, MPI_INT, last, TAG, comm, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&token, 1, MPI_INT, last, TAG, comm, MPI_STATUS_IGNORE);
        ++token;
        MPI_Send(&token, 1, MPI_INT, next, TAG, comm);
        exchange_end(&x);
    }
    equal("ranks that have been there", token,
          test.rank == 0 ? test.size - 1 : test.rank);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

static void case_wait_against_recv(void)
{
    if (test.size < 2) {
        return; /* a message to oneself needs a receive first */
    }
    wait_against_recv();
}

/* A rank that only looks does not wait for one that comes later. */
static void case_test_before_others(void)
{
    MPI_Comm   comm = duplicate();
    exchange_t x    = nonblocking(comm, 144);
    int        peer = test.rank ^ 1, token = 5;

    if (test.rank % 2 == 0) {
        exchange_begin(&x);
        exchange_look(&x);
        if (peer < test.size) {
            MPI_Send(&token, 1, MPI_INT, peer, TAG, comm);
        }
    } else {
        MPI_Recv(&token, 1, MPI_INT, peer, TAG, comm, MPI_STATUS_IGNORE);
        exchange_begin(&x);
    }
    exchange_end(&x);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* A blocking call on one communicator against a nonblocking one on another. */
static void case_two_communicators(void)
{
    MPI_Comm   a = duplicate(), b = duplicate();
    exchange_t x = nonblocking(a, 142);
    exchange_t y = {.comm = b, .units = units_ragged, .round = 143};

    if (test.rank % 2 == 0) {
        exchange_begin(&x);
        exchange(y);
        exchange_end(&x);
    } else {
        exchange(y);
        exchange_begin(&x);
        exchange_end(&x);
    }
    must(MPI_Comm_free(&a), "MPI_Comm_free");
    must(MPI_Comm_free(&b), "MPI_Comm_free");
}

/* ---- ways to wait ---- */

/* Two small calls by their own arguments: requests in the hands of the case. */
typedef struct small {
    int        *out, *in;
    MPI_Request request;
} small_t;

/* What one rank sends another in the call of this value. */
static int small_number(int src, int dst, int value)
{
    return (src * 1024 + dst) * 64 + value;
}

static void small_begin(small_t *s, MPI_Comm comm, int value)
{
    static int ones[1024], places[1024];

    if (test.size > 1024) {
        fail("too many ranks for this case");
    }
    s->in  = zalloc((size_t)test.size, sizeof(int));
    s->out = zalloc((size_t)test.size, sizeof(int));
    for (int r = 0; r < test.size; ++r) {
        ones[r]   = 1;
        places[r] = r;
        s->out[r] = small_number(test.rank, r, value);
    }
    must(MPI_Ialltoallv(s->out, ones, places, MPI_INT, s->in, ones, places,
                        MPI_INT, comm, &s->request),
         "MPI_Ialltoallv");
}

static void small_end(small_t *s, int value)
{
    for (int r = 0; r < test.size; ++r) {
        equal("a number that was received", s->in[r],
              small_number(r, test.rank, value));
    }
    free(s->in);
    free(s->out);
}

/* Alone, until it says so. */
static void case_get_status(void)
{
    MPI_Comm comm = duplicate();
    int      flag = 0;
    small_t  s;

    small_begin(&s, comm, 1);
    while (!flag) {
        must(MPI_Request_get_status(s.request, &flag, MPI_STATUS_IGNORE),
             "MPI_Request_get_status");
    }
    must(MPI_Wait(&s.request, MPI_STATUS_IGNORE), "MPI_Wait");
    small_end(&s, 1);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

static void case_test(void)
{
    MPI_Comm   comm = duplicate();
    int        flag = 0;
    MPI_Status status;
    small_t    s;

    small_begin(&s, comm, 2);
    while (!flag) {
        must(MPI_Test(&s.request, &flag, &status), "MPI_Test");
    }
    equal("a null request", s.request == MPI_REQUEST_NULL, 1);
    small_end(&s, 2);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* With messages, and with nothing. */
static void case_waitall(void)
{
    enum { N = 6 };
    MPI_Comm    comm = duplicate();
    int         next = (test.rank + 1) % test.size, got = -1;
    int         last = (test.rank + test.size - 1) % test.size;
    MPI_Request requests[N];
    MPI_Status  statuses[N];
    small_t     a, b;

    small_begin(&a, comm, 3);
    small_begin(&b, comm, 4);
    requests[0] = MPI_REQUEST_NULL;
    requests[1] = b.request;
    MPI_Irecv(&got, 1, MPI_INT, last, TAG, comm, &requests[2]);
    requests[3] = a.request;
    requests[4] = MPI_REQUEST_NULL;
    MPI_Isend(&test.rank, 1, MPI_INT, next, TAG, comm, &requests[5]);
    must(MPI_Waitall(N, requests, statuses), "MPI_Waitall");
    equal("the message", got, last);
    small_end(&a, 3);
    small_end(&b, 4);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

static void case_waitany(void)
{
    enum { N = 5 };
    MPI_Comm    comm = duplicate();
    MPI_Request requests[N];
    small_t     s[N];
    int         k;

    for (k = 0; k < N; ++k) {
        small_begin(&s[k], comm, 10 + k);
        requests[k] = s[k].request;
    }
    for (int n = 0; n < N; ++n) {
        must(MPI_Waitany(N, requests, &k, MPI_STATUS_IGNORE), "MPI_Waitany");
        small_end(&s[k], 10 + k);
    }
    must(MPI_Waitany(N, requests, &k, MPI_STATUS_IGNORE), "MPI_Waitany");
    equal("no request is left", k, MPI_UNDEFINED);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* ---- communicators that come and go meanwhile ---- */

static void case_free_while_active(void)
{
    MPI_Comm   comm = duplicate();
    exchange_t x = nonblocking(comm, 150), y = nonblocking(comm, 151);

    exchange_begin(&x);
    exchange_begin(&y);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
    exchange_end(&y);
    exchange_end(&x);
}

static void case_dup_while_active(void)
{
    MPI_Comm   comm = duplicate(), copy, half;
    exchange_t x    = nonblocking(comm, 152);

    exchange_begin(&x);
    must(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
    must(MPI_Comm_split(comm, test.rank % 2, 0, &half), "MPI_Comm_split");
    exchange((exchange_t){.comm = copy, .units = units_ragged, .round = 153});
    exchange((exchange_t){.comm = half, .units = units_few, .round = 154});
    exchange_end(&x);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
    must(MPI_Comm_free(&copy), "MPI_Comm_free");
    must(MPI_Comm_free(&half), "MPI_Comm_free");
}

const test_case_t nonblocking_cases[] = {
    {"many-outstanding", case_many_outstanding},
    {"frames", case_frames},
    {"between", case_between},
    {"wait-against-barrier", case_wait_against_barrier},
    {"wait-against-recv", case_wait_against_recv},
    {"test-before-others", case_test_before_others},
    {"two-communicators", case_two_communicators},
    {"get-status", case_get_status},
    {"test", case_test},
    {"waitall", case_waitall},
    {"waitany", case_waitany},
    {"free-while-active", case_free_while_active},
    {"dup-while-active", case_dup_while_active},
    {NULL, NULL}};
