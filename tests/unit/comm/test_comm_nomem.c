/* SPDX-License-Identifier: BSD-3-Clause */
/* Every allocation of one rank fails once, from the beginning of a communicator
 * to the end of two calls, or all from there on: all ranks end alike, and
 * nothing is leaked (ASan looks). The linker puts our allocators in the place of
 * the library's. */
#include "fastsched_exec.h"
#include "fs_host_fake.h"
#include "fs_test_util.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { N_RANKS = 5, N_CALLS = 2, LONG = 9000, N_TAGS = 32768 };

/* ---- allocators that fail on demand, in one thread ---- */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t elem_bytes);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t elem_bytes);
void *__wrap_realloc(void *p, size_t n);

static __thread uint32_t fail_at; /* the allocation that will fail; 0: none */
static __thread bool     and_all; /* and those after it */
static __thread uint32_t n_allocs;
static __thread bool     paused; /* the test allocates */

static bool fails(void)
{
    if (fail_at == 0 || paused) {
        return false;
    }
    ++n_allocs;
    return and_all ? n_allocs >= fail_at : n_allocs == fail_at;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t elem_bytes)
{
    return fails() ? NULL : __real_calloc(n, elem_bytes);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

/* ---- a host whose own allocations do not fail ---- */

typedef struct rank {
    fs_native_t native; /* the fake's */
    uint32_t    rank;
    uint32_t    fail_at;
    bool        and_all;
    bool        check;
    /* What came out. */
    uint32_t    n_allocs;
    fs_status_t created;
    fs_status_t called[N_CALLS];
    bool        ran[N_CALLS];
} rank_t;

#define WITH_MEMORY(_call)         \
    do {                           \
        fs_status_t status;        \
                                   \
        paused = true;             \
        status = me->native._call; \
        paused = false;            \
        return status;             \
    } while (0)

static fs_status_t allgather(void *ctx, const void *in, size_t len, void *out)
{
    rank_t *me = ctx;

    WITH_MEMORY(allgather(me->native.ctx, in, len, out));
}

static fs_status_t agree(void *ctx, fs_status_t mine)
{
    rank_t *me = ctx;

    WITH_MEMORY(agree(me->native.ctx, mine));
}

static void progress(void *ctx)
{
    rank_t *me = ctx;

    paused = true;
    me->native.progress(me->native.ctx);
    paused = false;
}

static fs_status_t isend(void *ctx, const void *buf, uint64_t len_bytes,
                         uint32_t peer, uint32_t tag, void **request_p)
{
    rank_t *me = ctx;

    WITH_MEMORY(
        p2p->isend(me->native.ctx, buf, len_bytes, peer, tag, request_p));
}

static fs_status_t irecv(void *ctx, void *buf, uint64_t len_bytes,
                         uint32_t peer, uint32_t tag, void **request_p)
{
    rank_t *me = ctx;

    WITH_MEMORY(
        p2p->irecv(me->native.ctx, buf, len_bytes, peer, tag, request_p));
}

static fs_status_t test(void *ctx, void *request, uint64_t *len_p)
{
    rank_t *me = ctx;

    WITH_MEMORY(p2p->test(me->native.ctx, request, len_p));
}

static void cancel(void *ctx, void *request)
{
    rank_t *me = ctx;

    paused = true;
    me->native.p2p->cancel(me->native.ctx, request);
    paused = false;
}

static const fs_native_p2p_t p2p = {.n_tags = N_TAGS,
                                    .isend  = isend,
                                    .irecv  = irecv,
                                    .test   = test,
                                    .cancel = cancel};

/* ---- a rank ---- */

/* Rank 0 of the first server has most for the last of the second. */
static uint64_t bytes_of(uint32_t src, uint32_t dst, uint32_t call)
{
    return src == 0 && dst == N_RANKS - 1 ? LONG - call * 7 : 100 + src + call;
}

static unsigned char byte_of(uint32_t src, uint32_t dst, uint64_t k)
{
    return (unsigned char)(src * 61 + dst * 17 + k * 7 + (k >> 8));
}

typedef struct buffers {
    unsigned char send[N_RANKS][LONG];
    unsigned char recv[N_RANKS][LONG];
} buffers_t;

static void call_once(rank_t *me, fs_comm_t *comm, uint32_t number,
                      buffers_t *b)
{
    uint64_t    send_bytes[N_RANKS], recv_bytes[N_RANKS], row[N_RANKS];
    fs_counts_t counts = {.n_ranks    = N_RANKS,
                          .rank       = me->rank,
                          .send_bytes = send_bytes,
                          .recv_bytes = recv_bytes,
                          .row        = row};
    const void *from[N_RANKS];
    void       *to[N_RANKS];
    fs_call_t call = {.counts = &counts, .send_block = from, .recv_block = to};

    fs_counts_begin(&counts, fs_comm_topo(comm));
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        fs_counts_add(&counts, r, bytes_of(me->rank, r, number),
                      bytes_of(r, me->rank, number));
        from[r] = b->send[r];
        to[r]   = b->recv[r];
        for (uint64_t k = 0; k < LONG; ++k) {
            b->send[r][k] = byte_of(me->rank, r, k);
        }
    }
    memset(b->recv, 0xee, sizeof(b->recv));
    me->called[number] = fs_comm_alltoallv(comm, &call, &me->ran[number]);
    for (uint32_t r = 0; r < N_RANKS && me->ran[number]; ++r) {
        for (uint64_t k = 0; k < recv_bytes[r]; ++k) {
            ck_assert(b->recv[r][k] == byte_of(r, me->rank, k));
        }
    }
}

static _Atomic uint32_t n_arrived;

/* All ranks are out of their calls, and all that was sent in them has ended: a
 * transport that is left with something gives its memory up. */
static void settle(rank_t *me)
{
    for (uint32_t k = 1; k <= 2; ++k) {
        atomic_fetch_add(&n_arrived, 1);
        for (int looks = 0; looks < 64 || atomic_load(&n_arrived) < k * N_RANKS;
             ++looks) {
            progress(me);
        }
    }
}

static void live_in(rank_t *me, const fs_params_t *params, buffers_t *b)
{
    const fs_native_t native = {.ctx       = me,
                                .allgather = allgather,
                                .agree     = agree,
                                .progress  = progress,
                                .p2p       = &p2p};
    const fs_member_t member = {
        .n_ranks = N_RANKS, .rank = me->rank, .server_label = me->rank >= 3};
    char       why[256];
    fs_comm_t *comm;

    me->created =
        fs_comm_create(&native, params, &member, &comm, why, sizeof(why));
    for (uint32_t k = 0; me->created == FS_OK && k < N_CALLS; ++k) {
        call_once(me, comm, k, b);
    }
    if (me->created == FS_OK) {
        settle(me);
        fs_comm_destroy(comm);
    }
}

static void *live(void *arg)
{
    rank_t     *me = arg;
    buffers_t  *b  = malloc(sizeof(*b));
    fs_params_t params;

    ck_assert(b != NULL);
    fs_params_init(&params);
    params.algorithm = FS_ALG_STAGED;
    params.transport = FS_TRANSPORT_MPI;
    params.min_bytes = 0;
    params.chunk     = 1024;
    params.check     = me->check;
    strcpy(params.tuning, "a file");
    fail_at = me->fail_at;
    and_all = me->and_all;
    live_in(me, &params, b);
    me->n_allocs = n_allocs;
    fail_at      = 0;
    free(b);
    return NULL;
}

/* ---- all ranks ---- */

/* The victim's allocations have failed, or there was none left to fail. */
static void judge(const rank_t *ranks, bool failed, bool check)
{
    for (uint32_t k = 0; k < N_CALLS; ++k) {
        ck_assert(ranks[0].called[k] == FS_OK ||
                  (check && ranks[0].called[k] == FS_ERR_NOMEM));
        ck_assert(failed || ranks[0].ran[k]);
    }
    for (uint32_t r = 1; r < N_RANKS; ++r) {
        ck_assert_int_eq(ranks[r].created, ranks[0].created);
        for (uint32_t k = 0; k < N_CALLS; ++k) {
            ck_assert_int_eq(ranks[r].called[k], ranks[0].called[k]);
            ck_assert_int_eq(ranks[r].ran[k], ranks[0].ran[k]);
        }
    }
}

/* True: there was an n-th allocation. */
static bool fail_once(uint32_t victim, uint32_t n, bool all, bool check)
{
    rank_t     ranks[N_RANKS];
    pthread_t  threads[N_RANKS];
    fs_fake_t *fake = fs_fake_create(N_RANKS, N_TAGS, n);

    n_arrived = 0;
    memset(ranks, 0, sizeof(ranks));
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        ranks[r] = (rank_t){.native  = fs_fake_host(fake, r),
                            .rank    = r,
                            .fail_at = r == victim ? n : 0,
                            .and_all = all,
                            .check   = check};
        ck_assert_int_eq(pthread_create(&threads[r], NULL, live, &ranks[r]), 0);
    }
    for (uint32_t r = 0; r < N_RANKS; ++r) {
        pthread_join(threads[r], NULL);
    }
    judge(ranks, ranks[victim].n_allocs >= n, check);
    fs_fake_destroy(fake);
    return ranks[victim].n_allocs >= n;
}

/* The leaders are ranks 0 and 3. */
static const struct {
    uint32_t victim;
    bool     all;
    bool     check;
} cases[] = {{0, false, false}, {1, false, true}, {2, true, false},
             {3, true, true},   {4, false, true}, {4, true, false}};
enum { N_CASES = sizeof(cases) / sizeof(cases[0]) };

START_TEST(all_ranks_end_alike)
{
    uint32_t n = 1;

    while (fail_once(cases[_i].victim, n, cases[_i].all, cases[_i].check)) {
        ++n;
    }
    ck_assert_uint_gt(n, 40);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("coll_nomem");
    TCase *tcase = tcase_create("coll_nomem");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, all_ranks_end_alike, 0, N_CASES);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
