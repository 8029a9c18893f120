/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a tool does through MPI_T in Open MPI: counters of communicators are compared
 * with known calls and bytes, parameters are written between calls, and calls raise
 * events where it has any. Every call's bytes are checked.
 *
 *   mpi_tool CASE        on 4 ranks, 2 on each of two servers, algorithm staged
 */
#include "mpi_pattern.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, SERVERS = 2, ACROSS = N * N / SERVERS /* pairs of ranks */ };

static int      rank;
static uint32_t n_rounds;

static void fail(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));

static void fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "rank %d: ", rank);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* ---- calls ---- */

static void check_block(const unsigned char *block, int src, int bytes)
{
    unsigned char want[4096];

    pattern_write(pattern_key((uint32_t)src, (uint32_t)rank, n_rounds), 0,
                  (size_t)bytes, want);
    if (memcmp(block, want, (size_t)bytes) != 0) {
        fail("call %u: wrong bytes from rank %d", n_rounds, src);
    }
}

/* So many bytes for each pair. */
static void call_as(MPI_Comm comm, int bytes, int nonblocking)
{
    static unsigned char send[N * 4096], recv[N * 4096];
    int                  counts[N], displs[N];
    MPI_Request          request;

    ++n_rounds;
    memset(recv, 0, sizeof(recv));
    for (int r = 0; r < N; ++r) {
        counts[r] = bytes;
        displs[r] = r * bytes;
        pattern_write(pattern_key((uint32_t)rank, (uint32_t)r, n_rounds), 0,
                      (size_t)bytes, send + displs[r]);
    }
    if (nonblocking) {
        MPI_Ialltoallv(send, counts, displs, MPI_BYTE, recv, counts, displs,
                       MPI_BYTE, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Alltoallv(send, counts, displs, MPI_BYTE, recv, counts, displs,
                      MPI_BYTE, comm);
    }
    for (int r = 0; r < N; ++r) {
        check_block(recv + displs[r], r, bytes);
    }
}

static void call(MPI_Comm comm, int bytes)
{
    call_as(comm, bytes, 0);
}

static MPI_Comm duplicate(void)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    return comm;
}

/* ---- counters ---- */

static MPI_T_pvar_session session;

typedef struct counters {
    MPI_T_pvar_handle calls, staged, pipe2d, native, inter_bytes, waited;
} counters_t;

static MPI_T_pvar_handle bind_pvar(const char *name, int class, MPI_Comm comm)
{
    char              full[64];
    MPI_T_pvar_handle handle;
    int               index, count;

    snprintf(full, sizeof(full), "coll_fast_comm_%s", name);
    if (MPI_T_pvar_get_index(full, class, &index) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count) !=
            MPI_SUCCESS ||
        count != 1) {
        fail("there is no %s", full);
    }
    return handle;
}

static counters_t bind_counters(MPI_Comm comm)
{
    return (counters_t){
        bind_pvar("calls", MPI_T_PVAR_CLASS_COUNTER, comm),
        bind_pvar("calls_staged", MPI_T_PVAR_CLASS_COUNTER, comm),
        bind_pvar("calls_pipe2d", MPI_T_PVAR_CLASS_COUNTER, comm),
        bind_pvar("calls_native", MPI_T_PVAR_CLASS_COUNTER, comm),
        bind_pvar("inter_bytes", MPI_T_PVAR_CLASS_COUNTER, comm),
        bind_pvar("waited", MPI_T_PVAR_CLASS_TIMER, comm)};
}

static unsigned long long number(MPI_T_pvar_handle handle)
{
    unsigned long long value = 0;

    if (MPI_T_pvar_read(session, handle, &value) != MPI_SUCCESS) {
        fail("a counter cannot be read");
    }
    return value;
}

/* Calls, those of them by each algorithm, and bytes, since they were bound. */
static void check(const char *when, const counters_t *c,
                  unsigned long long calls, unsigned long long staged,
                  unsigned long long pipe2d, unsigned long long native,
                  unsigned long long bytes)
{
    if (number(c->calls) != calls || number(c->staged) != staged ||
        number(c->pipe2d) != pipe2d || number(c->native) != native ||
        number(c->inter_bytes) != bytes) {
        fail("%s: %llu calls, %llu staged, %llu pipe2d, %llu native, %llu "
             "bytes; expected %llu, %llu, %llu, %llu, %llu",
             when, number(c->calls), number(c->staged), number(c->pipe2d),
             number(c->native), number(c->inter_bytes), calls, staged, pipe2d,
             native, bytes);
    }
}

static double waited(const counters_t *c)
{
    double value = -1;

    if (MPI_T_pvar_read(session, c->waited, &value) != MPI_SUCCESS) {
        fail("the timer cannot be read");
    }
    return value;
}

static void count_calls(void)
{
    MPI_Comm   a = duplicate(), b = duplicate();
    counters_t of_a = bind_counters(a), of_b = bind_counters(b);
    double     before;

    check("before", &of_a, 0, 0, 0, 0, 0);
    for (int k = 0; k < 3; ++k) {
        call(a, 1000);
    }
    call(b, 500);
    check("a", &of_a, 3, 3, 0, 0, 3 * ACROSS * 1000);
    check("b", &of_b, 1, 1, 0, 0, ACROSS * 500);
    MPI_Comm_free(&b);

    /* The exchange of counts is in it. */
    before = waited(&of_a);
    call(a, 1000);
    if (before <= 0 || waited(&of_a) <= before) {
        fail("waited %.9f s, then %.9f s", before, waited(&of_a));
    }
    MPI_Comm_free(&a);
}

/* ---- parameters ---- */

static int cvar(const char *name, int *scope)
{
    char         full[64], text[8];
    int          index, len = sizeof(text), text_len = sizeof(text), verbosity;
    int          bind;
    MPI_Datatype type;
    MPI_T_enum   values;

    snprintf(full, sizeof(full), "coll_fast_%s", name);
    if (MPI_T_cvar_get_index(full, &index) != MPI_SUCCESS ||
        MPI_T_cvar_get_info(index, text, &len, &verbosity, &type, &values, NULL,
                            &text_len, &bind, scope) != MPI_SUCCESS) {
        fail("there is no %s", full);
    }
    return index;
}

/* An MPI error code. */
static int write_as(const char *name, const char *value)
{
    int               count, scope, rc;
    MPI_T_cvar_handle handle;

    if (MPI_T_cvar_handle_alloc(cvar(name, &scope), NULL, &handle, &count) !=
        MPI_SUCCESS) {
        fail("no handle of %s", name);
    }
    rc = MPI_T_cvar_write(handle, value);
    MPI_T_cvar_handle_free(&handle);
    return rc;
}

static void write_it(const char *name, const char *value)
{
    if (write_as(name, value) != MPI_SUCCESS) {
        fail("%s cannot be written", name);
    }
}

static void check_scope(const char *name, int writable)
{
    int scope;

    (void)cvar(name, &scope);
    if ((scope == MPI_T_SCOPE_ALL_EQ) != writable) {
        fail("%s has scope %d", name, scope);
    }
}

/* The first call tells the other ranks; from the second on it holds. A communicator
 * that begins has it at once. */
static void write_algorithm(void)
{
    MPI_Comm   a = duplicate(), b = duplicate();
    counters_t of_a = bind_counters(a), of_b = bind_counters(b);

    check_scope("algorithm", 1);
    check_scope("tuner", 1);
    check_scope("verbose", 1);
    check_scope("chunk", 0);
    if (write_as("chunk", "1m") == MPI_SUCCESS) {
        fail("chunk can be written");
    }
    call(a, 1000);
    write_it("algorithm", "pipe2d");
    call(a, 1000);
    check("told", &of_a, 2, 2, 0, 0, 2 * ACROSS * 1000);
    call(a, 1000);
    call(a, 1000);
    check("pipe2d", &of_a, 4, 2, 2, 0, 4 * ACROSS * 1000);
    call(b, 1000);
    check("a new one", &of_b, 1, 0, 1, 0, ACROSS * 1000);

    write_it("algorithm", "off");
    call(a, 1000);
    call(a, 1000);
    call_as(a, 1000, 1);
    check("off", &of_a, 6, 2, 3, 1, 5 * ACROSS * 1000);
    write_it("algorithm", "staged");
    call(a, 1000);
    call(a, 1000);
    call_as(a, 1000, 1);
    check("on again", &of_a, 9, 4, 3, 2, 7 * ACROSS * 1000);
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
}

/* Nothing changes, and nobody waits. */
static void write_unlike(void)
{
    MPI_Comm   a = duplicate(), b = duplicate(), c = duplicate();
    counters_t of_a = bind_counters(a), of_b = bind_counters(b);

    call(a, 1000);
    write_it("algorithm", rank == 0 ? "pipe2d" : "staged");
    for (int k = 0; k < 5; ++k) {
        call(a, 1000);
    }
    check("unlike", &of_a, 6, 6, 0, 0, 6 * ACROSS * 1000);
    call(b, 1000); /* which is the MPI's from now on */
    call_as(c, 1000, 1);
    call_as(c, 1000, 1);
    write_it("algorithm", "pipe2d");
    call(a, 1000);
    call(a, 1000);
    call(b, 1000);
    call_as(c, 1000, 1);
    check("alike", &of_a, 8, 7, 1, 0, 8 * ACROSS * 1000);
    check("refused", &of_b, 0, 0, 0, 0, 0);
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
    MPI_Comm_free(&c);
}

/* On all ranks, before a communicator whose first call is nonblocking. */
static void write_off_first(void)
{
    MPI_Comm a;

    write_it("algorithm", "off");
    a = duplicate();
    call_as(a, 1000, 1);
    call(a, 1000);
    write_it("algorithm", "staged");
    call(a, 1000);
    call_as(a, 1000, 1);
    MPI_Comm_free(&a);
}

static void write_nonsense(void)
{
    MPI_Comm   a    = duplicate();
    counters_t of_a = bind_counters(a);

    call(a, 1000);
    (void)write_as("algorithm", "nonsense");
    for (int k = 0; k < 3; ++k) {
        call(a, 1000);
    }
    check("nonsense", &of_a, 4, 4, 0, 0, 4 * ACROSS * 1000);
    MPI_Comm_free(&a);
}

/* The tuner's first two calls are guesses, which say so. */
static void write_verbose(void)
{
    MPI_Comm a = duplicate();

    MPI_Comm_set_name(a, "a");
    call(a, 1000);
    write_it("verbose", "1");
    write_it("algorithm", "auto");
    write_it("tuner", "1");
    call(a, 1000);
    call(a, 1000);
    write_it("tuner", "0");
    call(a, 1000);
    call(a, 1000);
    write_it("verbose", "0");
    call(a, 1000);
    call(a, 1000);
    MPI_Comm_free(&a);
}

/* The same on all ranks, but for what is of one rank. */
static uint64_t draw(uint64_t step, uint64_t what)
{
    return pattern_mix(pattern_mix(step) ^ what);
}

/* Whatever is written when: right bytes, and no rank waits. Every fourth write is of
 * other values on each rank. */
static void write_at_random(void)
{
    static const char *const algorithms[] = {
        "auto", "off", "staged", "pipe2d", "direct", "bundles", "eager"};
    MPI_Comm comms[2] = {duplicate(), duplicate()};

    call(comms[0], 100);
    call(comms[1], 100);
    for (uint64_t step = 1; step <= 400; ++step) {
        uint64_t of_rank = draw(step, 0) % 4 == 0 ? 10 + (uint64_t)rank : 1;

        if (draw(step, 2) % 3 == 0) {
            write_it("algorithm", algorithms[draw(step, of_rank) % 7]);
            write_it("tuner", draw(step, of_rank) % 7 < 3 ? "0" : "1");
        }
        call_as(comms[draw(step, 3) % 2],
                draw(step, 4) % 2 ? 4000 : (int)(draw(step, 5) % 8) * 16,
                draw(step, 6) % 3 == 0);
    }
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
}

/* ---- events ---- */

#ifdef OPAL_MCA_BASE_CB_REQUIRE_NONE /* Open MPI 6 */
/* As man coll_fast has them. */
typedef struct event {
    unsigned long long comm, inter_bytes;
    double             seconds, waited;
    unsigned           algorithm;
} event_t;

static unsigned  n_events;
static event_t   event; /* the last */
static MPI_Count event_at;

static void note_event(MPI_T_event_instance     instance,
                       MPI_T_event_registration handle, MPI_T_cb_safety safety,
                       void *user_data)
{
    void *const fields[] = {&event.comm, &event.inter_bytes, &event.seconds,
                            &event.waited, &event.algorithm};

    (void)handle;
    (void)safety;
    ++*(unsigned *)user_data;
    for (int k = 0; k < 5; ++k) {
        if (MPI_T_event_read(instance, k, fields[k]) != MPI_SUCCESS) {
            fail("element %d of an event cannot be read", k);
        }
    }
    if (MPI_T_event_get_timestamp(instance, &event_at) != MPI_SUCCESS) {
        fail("an event has no time");
    }
}

static MPI_T_event_registration listen_to_events(void)
{
    MPI_T_event_registration handle;
    int                      index;

    /* What it does is safe in all of them. */
    if (MPI_T_event_get_index("ompi.coll_fast_call", &index) != MPI_SUCCESS ||
        MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &handle) !=
            MPI_SUCCESS ||
        MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_MPI_RESTRICTED,
                                      MPI_INFO_NULL, &n_events,
                                      note_event) != MPI_SUCCESS) {
        fail("nobody can listen to ompi.coll_fast_call");
    }
    return handle;
}

/* One call raises one event, of what it has been. */
static void check_event(MPI_Comm comm, int bytes, int nonblocking,
                        unsigned algorithm)
{
    unsigned  before    = n_events;
    MPI_Count before_at = event_at;
    double    began     = MPI_Wtime(), seconds;

    call_as(comm, bytes, nonblocking);
    seconds = MPI_Wtime() - began;
    if (n_events != before + 1 || event.comm != (uintptr_t)comm ||
        event.inter_bytes != (unsigned long long)ACROSS * (unsigned)bytes ||
        event.algorithm != algorithm || event_at <= before_at) {
        fail("%u events, %llu bytes, algorithm %u, after a call of %d bytes as "
             "%u",
             n_events - before, event.inter_bytes, event.algorithm, bytes,
             algorithm);
    }
    if (event.seconds <= 0 || event.seconds > seconds || event.waited < 0 ||
        event.waited > event.seconds) {
        fail("%.9f s, of which waited %.9f s, in a call of %.9f s",
             event.seconds, event.waited, seconds);
    }
}

static unsigned last_algorithm(void)
{
    MPI_T_pvar_handle handle;
    unsigned          value;
    int               index, count;

    if (MPI_T_pvar_get_index("coll_fast_last_algorithm", MPI_T_PVAR_CLASS_LEVEL,
                             &index) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) !=
            MPI_SUCCESS ||
        MPI_T_pvar_read(session, handle, &value) != MPI_SUCCESS) {
        fail("there is no last_algorithm");
    }
    MPI_T_pvar_handle_free(session, &handle);
    return value;
}

static void hear_events(void)
{
    MPI_Comm                 a = duplicate(), b = duplicate();
    MPI_T_event_registration handle;
    unsigned                 staged, heard;

    call(a, 1000); /* nobody listens */
    staged = last_algorithm();
    handle = listen_to_events();
    check_event(a, 1000, 0, staged);
    check_event(b, 500, 0, staged);
    check_event(a, 2000, 1, staged);
    write_it("algorithm", "off");
    call(a, 1000);
    check_event(a, 1000, 0, 0);
    heard = n_events;
    MPI_T_event_handle_free(handle, NULL, NULL);
    call(a, 1000);
    if (n_events != heard) {
        fail("an event after its handle was freed");
    }
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
}
#else
static void hear_events(void)
{
    printf("mpi_tool: rank %d: this Open MPI has no events\n", rank);
}
#endif

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"count", count_calls},       {"write", write_algorithm},
                 {"unlike", write_unlike},     {"off-first", write_off_first},
                 {"nonsense", write_nonsense}, {"verbose", write_verbose},
                 {"random", write_at_random},  {"events", hear_events}};
    int size, provided;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_T_pvar_session_create(&session);
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); ++k) {
        if (argc == 2 && size == N && strcmp(argv[1], cases[k].name) == 0) {
            cases[k].run();
            printf("mpi_tool: rank %d: ok\n", rank);
        }
    }
    /* Open MPI 4.1.4 crashes in the other order. */
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
