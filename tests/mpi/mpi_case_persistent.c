/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases about persistent calls: several at once, started in any order. */
#include "mpi_exchange.h"

#include <stdlib.h>
#include <unistd.h>

#ifdef ALLTOALLV_INIT

enum { N = 5, N_ROUNDS = 4, MOST = 3000 };

/* A call of ints: how many depends on who sends to whom, and what they are on the
 * round. With --device they are there. */
typedef struct persistent {
    uint32_t    number;
    int        *counts[2], *displs[2], *data[2]; /* [0] send, [1] receive */
    uint64_t    device[2]; /* where the MPI finds the data; 0: where we do */
    MPI_Request request;
} persistent_t;

static int count_of(const persistent_t *c, int src, int dst)
{
    uint32_t number = draw(c->number, (uint32_t)src, (uint32_t)dst);

    return number % 3 == 0 ? 0 : (int)(number % (c->number % 2 ? MOST : 9));
}

static int value_of(const persistent_t *c, int src, int dst, int k, int round)
{
    return (int)(draw((uint32_t)src, (uint32_t)dst, c->number) % 100000) + k +
           1000000 * round;
}

static void allocate(persistent_t *c, int side, size_t len)
{
    unsigned char *alias;

    c->device[side] = 0;
    if (test.device) {
        device_alloc(len, 0, &c->device[side], &alias);
        c->data[side] = (int *)(void *)alias;
    } else {
        c->data[side] = zalloc(len, 1);
    }
}

static void *address_of(const persistent_t *c, int side)
{
    return c->device[side] != 0 ? (void *)(uintptr_t)c->device[side]
                                : c->data[side];
}

static void make(persistent_t *c, MPI_Comm comm, uint32_t number)
{
    size_t n = (size_t)test.size;

    c->number = number;
    for (int side = 0; side < 2; ++side) {
        int total = 0;

        c->counts[side] = zalloc(n, sizeof(int));
        c->displs[side] = zalloc(n, sizeof(int));
        for (int r = 0; r < test.size; ++r) {
            c->counts[side][r] = side == 0 ? count_of(c, test.rank, r)
                                           : count_of(c, r, test.rank);
            c->displs[side][r] = total;
            total += c->counts[side][r];
        }
        allocate(c, side, ((size_t)total + 1) * sizeof(int));
    }
    must(ALLTOALLV_INIT(address_of(c, 0), c->counts[0], c->displs[0], MPI_INT,
                        address_of(c, 1), c->counts[1], c->displs[1], MPI_INT,
                        comm, MPI_INFO_NULL, &c->request),
         "MPI_Alltoallv_init");
}

static void fill(persistent_t *c, int round)
{
    for (int r = 0; r < test.size; ++r) {
        for (int k = 0; k < c->counts[0][r]; ++k) {
            c->data[0][c->displs[0][r] + k] =
                value_of(c, test.rank, r, k, round);
        }
        for (int k = 0; k < c->counts[1][r]; ++k) {
            c->data[1][c->displs[1][r] + k] = -1;
        }
    }
}

static void start(persistent_t *c, int round)
{
    fill(c, round);
    must(MPI_Start(&c->request), "MPI_Start");
}

static void check(const persistent_t *c, int round)
{
    for (int r = 0; r < test.size; ++r) {
        for (int k = 0; k < c->counts[1][r]; ++k) {
            int got  = c->data[1][c->displs[1][r] + k];
            int want = value_of(c, r, test.rank, k, round);

            if (got != want) {
                fail("call %u, round %d: number %d from rank %d is %d instead "
                     "of %d",
                     c->number, round, k, r, got, want);
            }
        }
    }
}

static void end(persistent_t *c, int round)
{
    must(MPI_Wait(&c->request, MPI_STATUS_IGNORE), "MPI_Wait");
    check(c, round);
}

static void drop(persistent_t *c)
{
    must(MPI_Request_free(&c->request), "MPI_Request_free");
    for (int side = 0; side < 2; ++side) {
        free(c->counts[side]);
        free(c->displs[side]);
        if (c->device[side] != 0) {
            device_free(c->device[side]);
        } else {
            free(c->data[side]);
        }
    }
}

static MPI_Comm duplicate(void)
{
    MPI_Comm comm;

    must(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
    return comm;
}

/* ---- cases ---- */

/* Each rank starts them in an order of its own. */
static void case_start_orders(void)
{
    MPI_Comm     comm = duplicate();
    persistent_t calls[N];

    for (uint32_t k = 0; k < N; ++k) {
        make(&calls[k], comm, 200 + k);
    }
    for (int round = 0; round < N_ROUNDS; ++round) {
        int first = test.rank + round;

        for (int k = 0; k < N; ++k) {
            start(&calls[(test.rank % 2 == 0 ? first + k : first + N - k) % N],
                  round);
        }
        for (int k = 0; k < N; ++k) {
            end(&calls[(k + test.rank) % N], round);
        }
    }
    for (int k = 0; k < N; ++k) {
        drop(&calls[k]);
    }
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* Some ranks are one start ahead of others. */
static void case_ahead(void)
{
    MPI_Comm     comm = duplicate();
    persistent_t c;

    make(&c, comm, 211);
    for (int round = 0; round < 20; ++round) {
        if (test.rank % 2 == round / 10) {
            usleep(2000);
        }
        start(&c, round);
        end(&c, round);
    }
    drop(&c);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

static void case_startall(void)
{
    MPI_Comm     comm = duplicate();
    MPI_Request  requests[2];
    MPI_Status   statuses[2];
    persistent_t calls[2];

    for (uint32_t k = 0; k < 2; ++k) {
        make(&calls[k], comm, 220 + k);
        requests[k] = calls[k].request;
    }
    for (int round = 0; round < N_ROUNDS; ++round) {
        fill(&calls[0], round);
        fill(&calls[1], round);
        must(MPI_Startall(2, requests), "MPI_Startall");
        must(MPI_Waitall(2, requests, statuses), "MPI_Waitall");
        check(&calls[0], round);
        check(&calls[1], round);
    }
    drop(&calls[0]);
    drop(&calls[1]);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* Made and freed, never started; and the next one in the same place. */
static void case_never_started(void)
{
    MPI_Comm     comm = duplicate();
    persistent_t c;

    for (uint32_t k = 0; k < 3; ++k) {
        make(&c, comm, 230 + k);
        drop(&c);
    }
    make(&c, comm, 233);
    start(&c, 1);
    end(&c, 1);
    drop(&c);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* Among calls of other kinds, started before them and waited for after them. */
static void case_among_others(void)
{
    MPI_Comm     comm = duplicate();
    int          sum;
    persistent_t c;

    make(&c, comm, 241);
    for (int round = 0; round < N_ROUNDS; ++round) {
        exchange_t x = {.comm  = comm,
                        .units = units_ragged,
                        .round = 242,
                        .call  = CALL_NONBLOCKING};

        start(&c, round);
        exchange_begin(&x);
        exchange((exchange_t){
            .comm = comm, .units = units_few, .round = 243, .any_server = 1});
        MPI_Allreduce(&test.rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        exchange_end(&x);
        end(&c, round);
    }
    drop(&c);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* A rank that waits for it against one in a barrier. */
static void case_start_against_barrier(void)
{
    MPI_Comm     comm = duplicate();
    persistent_t c;

    make(&c, comm, 251);
    start(&c, 0);
    if (test.rank % 2 == 0) {
        end(&c, 0);
        MPI_Barrier(comm);
    } else {
        MPI_Barrier(comm);
        end(&c, 0);
    }
    drop(&c);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* The communicator is freed first: it lives as long as what was made of it. */
static void free_comm_before(uint32_t number, int under_way)
{
    MPI_Comm     comm = duplicate();
    persistent_t c;

    make(&c, comm, number);
    start(&c, 0);
    if (!under_way) {
        end(&c, 0);
    }
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
    if (under_way) {
        end(&c, 0);
    }
    start(&c, 1);
    end(&c, 1);
    drop(&c);
}

static void case_comm_freed(void)
{
    free_comm_before(261, 1);
    free_comm_before(263, 0);
}

static void must_be_refused(int mpi_error, const char *what)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(mpi_error, &class);
    if (class != MPI_ERR_REQUEST) {
        fail("%s: error class %d instead of MPI_ERR_REQUEST", what, class);
    }
}

/* Under way it is neither started nor freed; the call goes on. */
static void misuse(persistent_t *c, int round)
{
    MPI_Request again = c->request;

    start(c, round);
    must_be_refused(MPI_Start(&again), "MPI_Start of what is started");
#ifdef OPEN_MPI /* MPICH frees it later */
    must_be_refused(MPI_Request_free(&again), "MPI_Request_free");
    must_be_refused(MPI_Cancel(&again), "MPI_Cancel");
#endif
    end(c, round);
}

static void case_misused(void)
{
    MPI_Comm       comm = duplicate();
    MPI_Errhandler before;
    persistent_t   c;

    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    make(&c, comm, 265);
    misuse(&c, 0);
    misuse(&c, 1);
    drop(&c);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Errhandler_free(&before);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* Two of equal counts, which have one plan; what one of them ends the other may
 * begin meanwhile. */
static void case_same_plan(void)
{
    MPI_Comm     comm = duplicate();
    persistent_t a, b;

    make(&a, comm, 271);
    make(&b, comm, 271);
    for (int round = 0; round < 50; ++round) {
        start(&a, round);
        start(&b, round + 1);
        end(&a, round);
        end(&b, round + 1);
    }
    drop(&a);
    start(&b, 60);
    end(&b, 60);
    drop(&b);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* The program ends without freeing it. */
static void case_left(void)
{
    static persistent_t c;

    make(&c, MPI_COMM_WORLD, 281);
    start(&c, 0);
    end(&c, 0);
}

const test_case_t persistent_cases[] = {
    {"start-orders", case_start_orders},
    {"ahead", case_ahead},
    {"startall", case_startall},
    {"never-started", case_never_started},
    {"among-others", case_among_others},
    {"start-against-barrier", case_start_against_barrier},
    {"comm-freed", case_comm_freed},
    {"misused", case_misused},
    {"same-plan", case_same_plan},
    {"left", case_left},
    {NULL, NULL}};
#else
const test_case_t persistent_cases[] = {{"start-orders", NULL},
                                        {"ahead", NULL},
                                        {"startall", NULL},
                                        {"never-started", NULL},
                                        {"among-others", NULL},
                                        {"start-against-barrier", NULL},
                                        {"comm-freed", NULL},
                                        {"misused", NULL},
                                        {"same-plan", NULL},
                                        {"left", NULL},
                                        {NULL, NULL}};
#endif
