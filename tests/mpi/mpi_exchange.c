/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_exchange.h"

#include "mpi_pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct exchange_state {
    int            n_peers;
    int           *peers; /* [n_peers] world ranks */
    buffer_t       send;
    buffer_t       recv;
    unsigned char *twin; /* recv's memory for the reference; or NULL */
    MPI_Request    request;
    uint64_t       calls_before;
    uint64_t       served_before;
};

uint32_t units_ragged(int src, int dst, uint32_t round)
{
    uint32_t number = draw((uint32_t)src, (uint32_t)dst, round);

    return number % 4 == 0 ? 0 : number / 4 % 20000;
}

uint32_t units_few(int src, int dst, uint32_t round)
{
    uint32_t few = units_ragged(src, dst, round) % 600;

    return few % 8 == 1 ? few * 16 : few;
}

/* ---- what went wrong ---- */

/* What the reference has at the same place, if there is one. */
static const char *by_reference(const exchange_t *x, const buffer_t *b,
                                size_t position, char text[40])
{
    const unsigned char *twin = x->state->twin;

    text[0] = '\0';
    if (b == &x->state->recv && twin != NULL) {
        snprintf(text, 40, "; the reference has 0x%02x", twin[position]);
    }
    return text;
}

/* memory: b's own, or what stands for it. */
static void compare(const exchange_t *x, const buffer_t *b,
                    const unsigned char *memory, const char *what)
{
    const struct exchange_state *s                              = x->state;
    char                         comm_name[MPI_MAX_OBJECT_NAME] = "";
    char                         text[40];
    size_t                       position = 0, offset = 0;
    int                          peer, len;

    if (memcmp(memory, b->model, b->len) == 0) {
        return;
    }
    while (memory[position] == b->model[position]) {
        ++position;
    }
    MPI_Comm_get_name(x->comm, comm_name, &len);
    peer = buffer_locate(b, position, &offset);
    if (peer < 0) {
        fail("round %u on %s: %s buffer (%s): byte %zu of %zu, which belongs "
             "to no block, is 0x%02x instead of 0x%02x%s",
             x->round, comm_name, what, b->layout.name, position, b->len,
             memory[position], b->model[position],
             by_reference(x, b, position, text));
    }
    fail("round %u on %s: %s buffer (%s), block of rank %d (world %d): byte "
         "%zu of %zu is 0x%02x instead of 0x%02x%s",
         x->round, comm_name, what, b->layout.name, peer, s->peers[peer],
         offset, b->layout.size * (size_t)b->counts[peer], memory[position],
         b->model[position], by_reference(x, b, position, text));
}

/* ---- peers ---- */

static void find_peers(const exchange_t *x, struct exchange_state *s)
{
    MPI_Group world, group;
    int       inter, *ranks;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_test_inter(x->comm, &inter);
    must(inter ? MPI_Comm_remote_group(x->comm, &group)
               : MPI_Comm_group(x->comm, &group),
         "group of a communicator");
    MPI_Group_size(group, &s->n_peers);
    s->peers = zalloc((size_t)s->n_peers, sizeof(int));
    ranks    = zalloc((size_t)s->n_peers, sizeof(int));
    for (int p = 0; p < s->n_peers; ++p) {
        ranks[p] = p;
    }
    MPI_Group_translate_ranks(group, s->n_peers, ranks, world, s->peers);
    free(ranks);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

static int is_blocking(const exchange_t *x)
{
    return x->call == CALL_BLOCKING || x->call == CALL_LARGE;
}

/* Does any pair of the communicator cross servers with bytes to carry? */
static int crosses_servers(const exchange_t *x)
{
    const struct exchange_state *s = x->state;

    if (s->send.layout.size == 0) {
        return 0;
    }
    for (int i = 0; i < s->n_peers; ++i) {
        for (int j = 0; j < s->n_peers; ++j) {
            int src = s->peers[i], dst = s->peers[j];

            if (test.server[src] != test.server[dst] &&
                x->units(src, dst, x->round) > 0) {
                return 1;
            }
        }
    }
    return 0;
}

/* Exchanges that have begun and not ended. */
static int n_open;

/* Do the component's counters say what --expect says? Not while several calls are
 * under way: who knows when they end. A persistent call is seen when it is made, and
 * when it is started if that is ours. */
static void expect_served(const exchange_t *x)
{
    uint64_t n_starts  = x->call == CALL_PERSISTENT ? 2 : 1;
    uint64_t seen      = pvars_calls() - x->state->calls_before;
    uint64_t served    = pvars_calls_served() - x->state->served_before;
    uint64_t want_seen = 1, want_served = 0;
    int      inter;

    MPI_Comm_test_inter(x->comm, &inter);
    if (test.expect == EXPECT_ANY || x->any_server || n_open > 1 ||
        !(is_blocking(x) || test.persistent)) {
        return;
    }
    if (test.expect == EXPECT_ABSENT || inter || x->state->n_peers < 2) {
        want_seen = 0;
    } else if (test.expect == EXPECT_SERVED) {
        /* Small blocks come with the summary, also inside a server. */
        want_served = strcmp(test.algorithm, "bundles") == 0 ||
                              crosses_servers(x)
                          ? n_starts
                          : 0;
        want_seen += x->call == CALL_PERSISTENT ? want_served : 0;
    }
    if (seen != want_seen || served != want_served) {
        fail("round %u: coll_fast_calls grew by %llu instead of %llu, "
             "coll_fast_calls_%s by %llu instead of %llu",
             x->round, (unsigned long long)seen, (unsigned long long)want_seen,
             test.algorithm, (unsigned long long)served,
             (unsigned long long)want_served);
    }
}

/* ---- the call ---- */

/* Memory as it is before the call, model as it must be after. */
static void fill(const exchange_t *x)
{
    struct exchange_state *s  = x->state;
    uint32_t               me = (uint32_t)test.rank;

    buffer_poison(&s->send, 1);
    buffer_poison(&s->recv, 2);
    for (int p = 0; p < s->n_peers; ++p) {
        uint32_t peer = (uint32_t)s->peers[p];
        uint64_t out  = pattern_key(me, peer, x->round);
        uint64_t in   = pattern_key(peer, me, x->round);

        if (x->in_place) {
            buffer_write(&s->recv, s->recv.memory, p, out);
        } else {
            buffer_write(&s->send, s->send.memory, p, out);
            buffer_write(&s->send, s->send.model, p, out);
        }
        buffer_write(&s->recv, s->recv.model, p, in);
    }
}

static int is_empty(const buffer_t *b)
{
    int sum = 0;

    for (int p = 0; p < b->n_peers; ++p) {
        sum |= b->counts[p];
    }
    return sum == 0;
}

/* What the MPI is given of a buffer. */
typedef struct view {
    void        *address;
    MPI_Datatype type;
} view_t;

/* A buffer of nothing may be nowhere. */
static view_t view_open(const exchange_t *x, const buffer_t *b, void *address,
                        int bottom)
{
    view_t   view = {address, b->layout.type};
    MPI_Aint at;

    if (is_empty(b) && x->round % 2 == 0) {
        view.address = NULL;
    } else if (bottom) {
        MPI_Get_address(address, &at);
        MPI_Type_create_hindexed_block(1, 1, &at, view.type, &view.type);
        must(MPI_Type_commit(&view.type), "MPI_Type_commit");
        view.address = MPI_BOTTOM;
    }
    return view;
}

static void view_close(view_t *view, const buffer_t *b)
{
    if (view->type != b->layout.type) {
        MPI_Type_free(&view->type);
    }
}

#define BUFFERS                                                                \
    x->in_place ? MPI_IN_PLACE : out->address, s->send.counts, s->send.displs, \
        out->type, in->address, s->recv.counts, s->recv.displs, in->type

#if MPI_VERSION >= 4
static MPI_Count *as_counts(const int *values, int n)
{
    MPI_Count *counts = zalloc((size_t)n, sizeof(*counts));

    for (int k = 0; k < n; ++k) {
        counts[k] = values[k];
    }
    return counts;
}

static MPI_Aint *as_displs(const int *values, int n)
{
    MPI_Aint *displs = zalloc((size_t)n, sizeof(*displs));

    for (int k = 0; k < n; ++k) {
        displs[k] = values[k];
    }
    return displs;
}

static int call_large(const exchange_t *x, const view_t *out, const view_t *in)
{
    struct exchange_state *s       = x->state;
    MPI_Count             *scounts = as_counts(s->send.counts, s->n_peers);
    MPI_Count             *rcounts = as_counts(s->recv.counts, s->n_peers);
    MPI_Aint              *sdispls = as_displs(s->send.displs, s->n_peers);
    MPI_Aint              *rdispls = as_displs(s->recv.displs, s->n_peers);
    int                    rc;

    rc = MPI_Alltoallv_c(x->in_place ? MPI_IN_PLACE : out->address, scounts,
                         sdispls, out->type, in->address, rcounts, rdispls,
                         in->type, x->comm);
    free(scounts);
    free(rcounts);
    free(sdispls);
    free(rdispls);
    return rc;
}
#endif

static int start_and_wait(const exchange_t *x, const view_t *out,
                          const view_t *in)
{
    struct exchange_state *s  = x->state;
    int                    rc = MPI_Ialltoallv(BUFFERS, x->comm, &s->request);

    return rc == MPI_SUCCESS ? MPI_Wait(&s->request, MPI_STATUS_IGNORE) : rc;
}

static int start_by(const exchange_t *x, const view_t *out, const view_t *in)
{
    struct exchange_state *s  = x->state;
    int                    rc = MPI_SUCCESS;

    switch (x->call) {
    case CALL_LARGE:
#if MPI_VERSION >= 4
        return call_large(x, out, in);
#endif
    case CALL_BLOCKING:
        return test.by_w          ? alltoallv_by_w(BUFFERS, x->comm)
               : test.nonblocking ? start_and_wait(x, out, in)
                                  : MPI_Alltoallv(BUFFERS, x->comm);
    case CALL_PERSISTENT:
#ifdef ALLTOALLV_INIT
        if (s->request == MPI_REQUEST_NULL) {
            rc = ALLTOALLV_INIT(BUFFERS, x->comm, MPI_INFO_NULL, &s->request);
        }
        return rc == MPI_SUCCESS ? MPI_Start(&s->request) : rc;
#endif
    case CALL_NONBLOCKING:
        rc = MPI_Ialltoallv(BUFFERS, x->comm, &s->request);
    }
    return rc;
}

/* Types may be freed while a call is under way. */
static int start(const exchange_t *x)
{
    struct exchange_state *s = x->state;
    view_t out = view_open(x, &s->send, s->send.address, x->send_bottom);
    view_t in  = view_open(x, &s->recv, s->recv.address, x->recv_bottom);
    int    rc  = start_by(x, &out, &in);

    view_close(&out, &s->send);
    view_close(&in, &s->recv);
    return rc;
}

static void call_reference(const exchange_t *x)
{
    struct exchange_state *s       = x->state;
    void                  *address = s->twin + s->recv.origin;
    view_t        src = view_open(x, &s->send, s->send.address, x->send_bottom);
    view_t        dst = view_open(x, &s->recv, address, x->recv_bottom);
    const view_t *out = &src, *in = &dst;

    must(x->reference(BUFFERS, x->reference_comm), "the reference");
    view_close(&src, &s->send);
    view_close(&dst, &s->recv);
}

static void finish(const exchange_t *x)
{
    struct exchange_state *s = x->state;

    must(MPI_Wait(&s->request, MPI_STATUS_IGNORE), "MPI_Wait");
    compare(x, &s->recv, s->recv.memory, "receive");
    compare(x, &s->send, s->send.memory, "send");
    if (s->twin != NULL) {
        compare(x, &s->recv, s->twin, "reference's receive");
    }
}

/* Calls that are the MPI's in any case go without, and so do addresses in types:
 * who has to ask an MPI for the layout takes that for gaps. Blocking calls on one server
 * are the MPI's with copies of ours, those of other forms without. */
static int may_be_device(const exchange_t *x, const struct exchange_state *s)
{
    int other_form = test.nonblocking || test.persistent;
    int inter;

    MPI_Comm_test_inter(x->comm, &inter);
    return is_blocking(x) && !inter &&
           (!other_form || x->comm == MPI_COMM_WORLD) && s->n_peers > 1 &&
           !x->send_bottom && !x->recv_bottom;
}

static void buffers_init(const exchange_t *x, struct exchange_state *s)
{
    int             device = may_be_device(x, s);
    uint32_t       *out    = zalloc((size_t)s->n_peers, sizeof(*out));
    uint32_t       *in     = zalloc((size_t)s->n_peers, sizeof(*in));
    const family_t *family = &families[x->family];

    for (int p = 0; p < s->n_peers; ++p) {
        in[p]  = x->units(s->peers[p], test.rank, x->round);
        out[p] = x->in_place ? 0 : x->units(test.rank, s->peers[p], x->round);
    }
    buffer_init(&s->send, family->make(x->send_layout), s->n_peers, out,
                x->placement, x->round, device);
    buffer_init(&s->recv, family->make(x->recv_layout), s->n_peers, in,
                x->placement, ~x->round, device);
    free(out);
    free(in);
}

/* As the buffer is before the call. */
static void twin_init(const exchange_t *x)
{
    struct exchange_state *s = x->state;

    if (x->reference != NULL) {
        s->twin = zalloc(s->recv.len, 1);
        memcpy(s->twin, s->recv.memory, s->recv.len);
    }
}

/* A blocking call sets the communicator up. */
static void prime(const exchange_t *x)
{
    int *zeros = zalloc((size_t)x->state->n_peers, sizeof(int));
    char from, to; /* MPICH wants two of them on a communicator of one rank */

    must(MPI_Alltoallv(&from, zeros, zeros, MPI_BYTE, &to, zeros, zeros,
                       MPI_BYTE, x->comm),
         "an empty alltoallv");
    free(zeros);
}

void exchange_begin(exchange_t *x)
{
    struct exchange_state *s = zalloc(1, sizeof(*s));

    if (test.persistent && !test.by_w && x->call == CALL_BLOCKING) {
        x->call = CALL_PERSISTENT;
    }
    x->state   = s;
    s->request = MPI_REQUEST_NULL;
    find_peers(x, s);
    buffers_init(x, s);
    fill(x);
    twin_init(x);
    if (x->reference != NULL && x->reference_first) {
        call_reference(x);
    }
    ++n_open;
    if (test.nonblocking && !test.unprimed) {
        prime(x);
    }
    s->calls_before  = pvars_calls();
    s->served_before = pvars_calls_served();
    must(start(x), "alltoallv");
    if (is_blocking(x)) {
        expect_served(x);
    }
    if (x->reference != NULL && !x->reference_first) {
        call_reference(x);
    }
}

void exchange_look(exchange_t *x)
{
    enum { TIMES = 1000 };
    int flag = 0;

    for (int k = 0; k < TIMES && !flag; ++k) {
        must(
            MPI_Request_get_status(x->state->request, &flag, MPI_STATUS_IGNORE),
            "MPI_Request_get_status");
    }
}

void exchange_end(exchange_t *x)
{
    struct exchange_state *s = x->state;

    finish(x);
    --n_open;
    if (x->call == CALL_PERSISTENT) {
        fill(x);
        must(start(x), "second start");
        finish(x);
        ++n_open; /* this one */
        expect_served(x);
        --n_open;
    }
    if (s->request != MPI_REQUEST_NULL) {
        MPI_Request_free(&s->request);
    }
    buffer_fini(&s->send);
    buffer_fini(&s->recv);
    free(s->twin);
    free(s->peers);
    free(s);
    x->state = NULL;
}

void exchange(exchange_t x)
{
    exchange_begin(&x);
    exchange_end(&x);
}
