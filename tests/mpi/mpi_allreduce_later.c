/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Iallreduce and MPI_Allreduce_init: several at once, among calls of other kinds,
 * waited for and started in any order; with what is freed meanwhile. */
#include "mpi_allreduce.h"

#include "mpi_init.h"

enum { MANY = 8, N_ROUNDS = 4 };

static plan_t nth(MPI_Comm comm, int k)
{
    plan_t p =
        sum(k % 3 == 2 ? MPI_INT8_T : MPI_INT64_T, 2000 + 777 * k, k % 2);

    p.comm = comm;
    return p;
}

/* A blocking call sets a communicator up. */
static MPI_Comm duplicate(void)
{
    MPI_Comm comm;
    plan_t   p;

    must(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
    p = nth(comm, 0);
    check_call(&p);
    return comm;
}

void post(vectors_t *v, const plan_t *p, MPI_Op op)
{
    vectors_make(v, p);
    come_late();
    must(MPI_Iallreduce(v->source, v->target, p->count, p->type->type, op,
                        p->comm, &v->request),
         "MPI_Iallreduce");
}

static void post_nth(vectors_t *v, MPI_Comm comm, int k)
{
    plan_t p = nth(comm, k);

    post(v, &p, p.op);
}

void take(vectors_t *v)
{
    must(MPI_Wait(&v->request, MPI_STATUS_IGNORE), "MPI_Wait");
    vectors_check(v);
    vectors_free(v);
}

/* MPICH cannot keep an operation that is freed. */
static int takes_program_ops(void)
{
#ifdef OPEN_MPI
    return allreduce_test.all && !test.device && test.expect == EXPECT_SERVED;
#else
    return 0;
#endif
}

/* Of n nonblocking calls. */
static uint64_t ours(uint64_t n)
{
    return allreduce_test.nonblocking ? n : 0;
}

/* ---- nonblocking ---- */

/* The last one is waited for first; then all at once; then each is asked about. */
static void case_outstanding(void)
{
    MPI_Comm comm = duplicate();

    for (int way = 0; way < 3; ++way) {
        uint64_t    before = pvars_calls_served();
        vectors_t   v[MANY];
        MPI_Request requests[MANY];
        MPI_Status  statuses[MANY];

        for (int k = 0; k < MANY; ++k) {
            post_nth(&v[k], comm, k);
            requests[k] = v[k].request;
        }
        if (way == 1) {
            must(MPI_Waitall(MANY, requests, statuses), "MPI_Waitall");
        }
        for (int k = MANY, done = 0; k-- > 0; done = 0) {
            while (way == 2 && !done) {
                must(MPI_Test(&v[k].request, &done, MPI_STATUS_IGNORE),
                     "MPI_Test");
            }
            v[k].request = way == 1 ? MPI_REQUEST_NULL : v[k].request;
            take(&v[k]);
        }
        expect_served(before, ours(MANY));
    }
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

static void case_among_others(void)
{
    MPI_Comm comm = duplicate();

    for (int k = 0; k < 6; ++k) {
        uint64_t    before = pvars_calls_served();
        int         word   = test.rank == 0 ? 815 + k : 0;
        exchange_t  x;
        vectors_t   first, second;
        MPI_Request bcast;
        plan_t      p = nth(comm, k);

        exchange_init(&x);
        post_nth(&first, comm, k);
        MPI_Ialltoallv(x.send, x.counts, x.displs, MPI_INT, x.recv, x.counts,
                       x.displs, MPI_INT, comm, &x.request);
        MPI_Ibcast(&word, 1, MPI_INT, 0, comm, &bcast);
        post_nth(&second, comm, k + 1);
        if (k % 3 == 0) {
            take(&second);
            take(&first);
        }
        if (k % 3 != 1) {
            must(MPI_Wait(&x.request, MPI_STATUS_IGNORE), "MPI_Wait");
        }
        call(&p);
        if (k % 3 != 0) {
            take(&first);
            take(&second);
        }
        expect_served(before, ours(2) + 1);
        must(MPI_Wait(&x.request, MPI_STATUS_IGNORE), "MPI_Wait");
        must(MPI_Wait(&bcast, MPI_STATUS_IGNORE), "MPI_Wait");
        if (word != 815 + k) {
            fail("MPI_Ibcast brought %d", word);
        }
        exchange_fini(&x);
    }
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* A rank that waits for others in a call of the MPI goes on with its own. */
static void case_crossed(void)
{
    MPI_Comm  comm = duplicate();
    vectors_t v;

    for (int k = 0; k < 4; ++k) {
        post_nth(&v, comm, k);
        if ((test.rank + k) % 2 == 0) {
            must(MPI_Wait(&v.request, MPI_STATUS_IGNORE), "MPI_Wait");
        }
        must(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
        take(&v);
    }
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* Nothing has set the communicator up, or an exchange is just about to. */
static void case_come_first(void)
{
    for (int exchanges = 0; exchanges < 2; ++exchanges) {
        MPI_Comm   comm;
        exchange_t x;
        vectors_t  v[3];
        plan_t     p;
        uint64_t   before;

        must(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
        p = nth(comm, 1);
        post_nth(&v[0], comm, 0);
        if (exchanges) {
            exchange_init(&x);
            MPI_Ialltoallv(x.send, x.counts, x.displs, MPI_INT, x.recv,
                           x.counts, x.displs, MPI_INT, comm, &x.request);
        }
        post_nth(&v[1], comm, 1);
        if (exchanges) {
            must(MPI_Wait(&x.request, MPI_STATUS_IGNORE), "MPI_Wait");
            exchange_fini(&x);
        }
        before = pvars_calls_served();
        take(&v[1]);
        check_call(&p);
        expect_served(before, 1);
        post_nth(&v[2], comm, 2);
        take(&v[2]);
        expect_served(before, 1 + ours(1));
        take(&v[0]);
        must(MPI_Comm_free(&comm), "MPI_Comm_free");
    }
}

/* The operation and the communicator, while calls are under way that are ours: Open MPI
 * 4.1.4's own crash. */
static void case_freed(void)
{
    MPI_Comm  comm       = duplicate();
    uint64_t  before     = pvars_calls_served();
    plan_t    p          = sum(MPI_INT, 3000, 0);
    int       early      = test.expect == EXPECT_SERVED && ours(1) > 0;
    int       takes_both = early && takes_program_ops();
    vectors_t v, w;
    MPI_Op    add;

    p.comm = comm;
    must(MPI_Op_create(add_ints, 1, &add), "MPI_Op_create");
    post(&v, &p, takes_both ? add : MPI_SUM);
    must(MPI_Op_free(&add), "MPI_Op_free");
    post_nth(&w, comm, 5);
    if (early) {
        must(MPI_Comm_free(&comm), "MPI_Comm_free");
    }
    take(&v);
    take(&w);
    if (!early) {
        must(MPI_Comm_free(&comm), "MPI_Comm_free");
    }
    expect_served(before, ours(2));
}

/* ---- persistent ---- */

#ifdef ALLREDUCE_INIT

static void make(vectors_t *v, const plan_t *p, MPI_Op op)
{
    vectors_make(v, p);
    must(ALLREDUCE_INIT(v->source, v->target, p->count, p->type->type, op,
                        p->comm, MPI_INFO_NULL, &v->request),
         "MPI_Allreduce_init");
}

static void drop(vectors_t *v)
{
    must(MPI_Request_free(&v->request), "MPI_Request_free");
    vectors_free(v);
}

static void end(vectors_t *v)
{
    must(MPI_Wait(&v->request, MPI_STATUS_IGNORE), "MPI_Wait");
    vectors_check(v);
}

/* The k-th to start on this rank. */
static vectors_t *in_turn(vectors_t *v, int n, int k, int round)
{
    int first = test.rank + round;

    return &v[(test.rank % 2 == 0 ? first + k : first + n - k) % n];
}

/* Each rank starts them in an order of its own; an operation is gone by then. */
static void case_persistent(void)
{
    enum { N = 4, N_STARTS = N * N_ROUNDS };
    MPI_Comm  comm = duplicate();
    plan_t    p    = sum(MPI_INT, 2222, 0);
    vectors_t v[N], never;
    MPI_Op    add;
    uint64_t  before, n_ours = N_STARTS;

    p.comm = comm;
    must(MPI_Op_create(add_ints, 1, &add), "MPI_Op_create");
    make(&v[0], &p, test.device ? MPI_SUM : add); /* no MPI adds ints there */
    if (takes_program_ops() && allreduce_test.persistent) {
        must(MPI_Op_free(&add), "MPI_Op_free");
    }
    for (int k = 1; k < N; ++k) {
        p = nth(comm, k);
        make(&v[k], &p, p.op);
    }
    make(&never, &p, p.op);
    before = pvars_calls_served();
    for (int round = 0; round < N_ROUNDS; ++round) {
        for (int k = 0; k < N; ++k) {
            v[k].plan.round = (uint32_t)(round + 3 * k);
            vectors_fill(&v[k]);
        }
        come_late();
        for (int k = 0; k < N; ++k) {
            must(MPI_Start(&in_turn(v, N, k, round)->request), "MPI_Start");
        }
        for (int k = 0; k < N; ++k) {
            end(in_turn(v, N, k, round + 1));
        }
    }
    n_ours -= takes_program_ops() || test.device ? 0 : N_ROUNDS;
    expect_served(before, allreduce_test.persistent ? n_ours : 0);
    for (int k = 0; k < N; ++k) {
        drop(&v[k]);
    }
    drop(&never);
    if (add != MPI_OP_NULL) {
        must(MPI_Op_free(&add), "MPI_Op_free");
    }
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

/* Started together with others, on a communicator that has had no call. */
static void case_persistent_first(void)
{
    MPI_Comm    comm;
    plan_t      p;
    vectors_t   v[2], w;
    MPI_Request both[2];
    MPI_Status  statuses[2];

    must(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
    for (int k = 0; k < 2; ++k) {
        p = nth(comm, k);
        make(&v[k], &p, p.op);
        both[k] = v[k].request;
    }
    for (int round = 0; round < N_ROUNDS; ++round) {
        for (int k = 0; k < 2; ++k) {
            v[k].plan.round = (uint32_t)round;
            vectors_fill(&v[k]);
        }
        come_late();
        must(MPI_Startall(2, both), "MPI_Startall");
        post_nth(&w, comm, round);
        call(&p);
        must(MPI_Waitall(2, both, statuses), "MPI_Waitall");
        take(&w);
        vectors_check(&v[0]);
        vectors_check(&v[1]);
    }
    drop(&v[0]);
    drop(&v[1]);
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

#endif

const test_case_t later_cases[] = {
    {"outstanding", case_outstanding},
    {"among-others", case_among_others},
    {"crossed", case_crossed},
    {"come-first", case_come_first},
    {"freed", case_freed},
#ifdef ALLREDUCE_INIT
    {"persistent", case_persistent},
    {"persistent-first", case_persistent_first},
#else
    {"persistent", NULL},
    {"persistent-first", NULL},
#endif
};

const size_t n_later_cases = sizeof(later_cases) / sizeof(later_cases[0]);
