/* SPDX-License-Identifier: BSD-3-Clause */
/* The programs of all ranks, run with real bytes on a network that delivers in
 * any order: every byte of every block must land where MPI says, once. */
#include "accel/fs_accel.h"
#include "comm/fs_comm.h"
#include "engine/fs_exec.h"
#include "fs_test_device.h"
#include "fs_test_exec.h"
#include "fs_test_util.h"
#include "fs_transport_loop.h"
#include "sched/plan/fs_plan.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 32, GUARD_BYTE = 0x5c, MAX_TURNS = 20000000 };

/* One rank: executor, buffers, plan of the running call. */
typedef struct actor {
    fs_net_t       *net;
    fs_transport_t *transport;
    fs_exec_t      *exec;
    fs_plan_t      *plan;
    fs_call_t       call;
    bool            send_packed;
    bool            recv_packed;
    unsigned char  *send; /* blocks, each between guards */
    unsigned char  *recv;
    void           *send_device; /* where it is mapped; NULL: on the host */
    void           *recv_device;
    size_t          send_len;
    size_t          recv_len;
    void          **send_block;
    void          **recv_block;
    fs_status_t     status;
} actor_t;

typedef struct stage_play {
    fs_test_case_t tc;
    fs_loop_t     *loop;
    actor_t       *actors;
    fs_accel_t    *accel; /* NULL: all buffers are on the host */
    uint32_t       call_seq;
    bool           confirms; /* messages inside servers may be held back */
} play_t;

static unsigned char byte_of(uint32_t src, uint32_t dst, uint64_t offset,
                             uint32_t call)
{
    uint64_t x = ((uint64_t)src << 48 ^ (uint64_t)dst << 32 ^
                  (uint64_t)call << 56 ^ offset) *
                 0x9e3779b97f4a7c15ull;

    return (unsigned char)(x >> 53);
}

/* ---- blocks that are not contiguous: every other byte of their range ---- */

static fs_status_t pack(void *ctx, uint32_t block, uint64_t offset,
                        uint64_t len_bytes, void *dst)
{
    const actor_t       *a   = ctx;
    const unsigned char *src = a->send_block[block];

    for (uint64_t k = 0; k < len_bytes; ++k) {
        ((unsigned char *)dst)[k] = src[2 * (offset + k)];
    }
    return FS_OK;
}

static fs_status_t unpack(void *ctx, uint32_t block, uint64_t offset,
                          uint64_t len_bytes, const void *src)
{
    actor_t       *a   = ctx;
    unsigned char *dst = a->recv_block[block];

    for (uint64_t k = 0; k < len_bytes; ++k) {
        dst[2 * (offset + k)] = ((const unsigned char *)src)[k];
    }
    return FS_OK;
}

/* ---- buffers ---- */

/* Lay out blocks of bytes[0], bytes[step], ... behind each other; device_p: on a
 * device. */
static size_t lay_out(unsigned char **buf_p, void **device_p, void **block,
                      const uint64_t *bytes, size_t step, uint32_t n,
                      bool packed)
{
    size_t len = GUARD, stride = packed ? 1 : 2;

    for (uint32_t r = 0; r < n; ++r) {
        len += bytes[r * step] * stride + GUARD;
    }
    if (device_p != NULL) {
        *device_p = fs_test_device_alloc(len, (int)(bytes[0] % 3 == 0));
        *buf_p    = fs_test_device_alias(*device_p);
    } else {
        *buf_p = fs_test_alloc(len, 1);
    }
    memset(*buf_p, GUARD_BYTE, len);
    for (uint32_t r = 0, at = GUARD; r < n; ++r) {
        block[r] = *buf_p + at;
        at += (uint32_t)(bytes[r * step] * stride) + GUARD;
    }
    return len;
}

/* Two of three, if there are devices. */
static void **draw_device(play_t *play, bool packed, void **device_p)
{
    *device_p = NULL;
    return packed && play->accel != NULL && fs_rng_below(&play->tc.rng, 3) != 0
               ? device_p
               : NULL;
}

/* What a wrapper would say of the buffers. */
static fs_call_device_t device_of(play_t *play, const actor_t *a)
{
    return (fs_call_device_t){
        .send_mem = fs_accel_query(play->accel, a->send_device),
        .recv_mem = fs_accel_query(play->accel, a->recv_device),
        .accel    = play->accel,
        .staged   = !a->send_packed || !a->recv_packed ||
                  fs_rng_below(&play->tc.rng, 2) == 0};
}

/* From the alias, by which we have filled them. */
static void move_blocks(void **block, uint32_t n, const unsigned char *alias,
                        void *device)
{
    for (uint32_t r = 0; r < n && device != NULL; ++r) {
        block[r] = (char *)device + ((unsigned char *)block[r] - alias);
    }
}

static void make_buffers(play_t *play, uint32_t me)
{
    actor_t        *a      = &play->actors[me];
    const uint64_t *counts = play->tc.counts;
    uint32_t        n      = play->tc.n_ranks;
    size_t          stride = a->send_packed ? 1 : 2;

    a->send_len =
        lay_out(&a->send, draw_device(play, a->send_packed, &a->send_device),
                a->send_block, counts + (size_t)me * n, 1, n, a->send_packed);
    a->recv_len = lay_out(&a->recv,
                          draw_device(play, a->recv_packed, &a->recv_device),
                          a->recv_block, counts + me, n, n, a->recv_packed);
    for (uint32_t r = 0; r < n; ++r) {
        unsigned char *p = a->send_block[r];

        for (uint64_t k = 0; k < counts[(size_t)me * n + r]; ++k) {
            p[stride * k] = byte_of(me, r, k, play->call_seq);
        }
    }
    a->call = (fs_call_t){
        .send_block = a->send_packed ? (const void *const *)a->send_block
                                     : NULL,
        .recv_block = a->recv_packed ? a->recv_block : NULL,
        .ctx        = a,
        .pack       = pack,
        .unpack     = unpack,
        .device     = device_of(play, a),
    };
    move_blocks(a->send_block, n, a->send, a->send_device);
    move_blocks(a->recv_block, n, a->recv, a->recv_device);
}

/* Blocks hold what was sent, everything else is untouched. */
static void check_buffers(const play_t *play, uint32_t me)
{
    const actor_t *a      = &play->actors[me];
    uint32_t       n      = play->tc.n_ranks;
    size_t         stride = a->recv_packed ? 1 : 2;
    unsigned char *want   = fs_test_alloc(a->recv_len, 1);

    memset(want, GUARD_BYTE, a->recv_len);
    for (uint32_t r = 0; r < n; ++r) {
        unsigned char *start = a->recv_device != NULL ? a->recv_device
                                                      : a->recv;
        size_t         at = (size_t)((unsigned char *)a->recv_block[r] - start);

        for (uint64_t k = 0; k < play->tc.counts[(size_t)r * n + me]; ++k) {
            want[at + stride * k] = byte_of(r, me, k, play->call_seq);
        }
    }
    for (size_t k = 0; k < a->recv_len; ++k) { /* an assertion costs more */
        if (a->recv[k] != want[k]) {
            ck_abort_msg("rank %u, byte %zu of its buffer: got %02x, want %02x",
                         me, k, a->recv[k], want[k]);
        }
    }
    free(want);
}

/* ---- the play ---- */

static void play_init(play_t *play, uint64_t seed)
{
    uint32_t n;

    memset(play, 0, sizeof(*play));
    fs_test_case_init(&play->tc, seed);
    n              = play->tc.n_ranks;
    play->loop     = fs_loop_create(n, seed);
    play->confirms = fs_rng_below(&play->tc.rng, 2) == 0;
    play->actors   = fs_test_alloc(n, sizeof(*play->actors));
    for (uint32_t r = 0; r < n; ++r) {
        actor_t *a = &play->actors[r];

        a->net                = fs_loop_net(play->loop, r);
        a->net->local_arrives = !play->confirms;
        a->transport          = fs_loop_transport(play->loop, r, 0);
        a->send_block         = fs_test_alloc(n, sizeof(void *));
        a->recv_block         = fs_test_alloc(n, sizeof(void *));
        ck_assert_int_eq(fs_exec_create(a->transport, n, &a->exec), FS_OK);
    }
}

static void play_fini(play_t *play)
{
    for (uint32_t r = 0; r < play->tc.n_ranks; ++r) {
        actor_t *a = &play->actors[r];

        a->transport->ops->destroy(a->transport);
        fs_exec_destroy(a->exec);
        free(a->send_block);
        free(a->recv_block);
    }
    fs_accel_destroy(play->accel);
    free(play->actors);
    fs_loop_destroy(play->loop);
    fs_test_case_fini(&play->tc);
}

static void begin_call(play_t *play)
{
    ++play->call_seq;
    for (uint32_t r = 0; r < play->tc.n_ranks; ++r) {
        actor_t *a = &play->actors[r];

        a->send_packed = fs_rng_below(&play->tc.rng, 3) != 0;
        a->recv_packed = fs_rng_below(&play->tc.rng, 3) != 0;
        a->status      = FS_INPROGRESS;
        make_buffers(play, r);
        ck_assert_int_eq(
            fs_test_plan(&play->tc, r, fs_call_sends_packed(&a->call),
                         fs_call_receives_packed(&a->call), &a->plan),
            FS_OK);
        ck_assert_uint_le(a->plan->staging_bytes,
                          play->tc.params.staging_limit);
        ck_assert_int_eq(fs_exec_reserve(a->exec, a->plan, &a->call), FS_OK);
        ck_assert(fs_exec_fits(a->exec, NULL, &a->call));
    }
}

static void start(play_t *play, uint32_t r)
{
    actor_t *a = &play->actors[r];

    a->net->ops->progress(a->net); /* a turn begins */
    fs_exec_start(a->exec, a->plan, &a->call, play->call_seq, play->confirms);
}

/* Who leaves serves its network no longer: all must be out. Between servers and
 * where it is confirmed all must even have arrived. */
static void check_exit(const play_t *play, uint32_t r)
{
    const fs_topo_t *topo = play->tc.topo;

    ck_assert(play->actors[r].transport->n_grants_out == 0);
    for (uint32_t peer = 0; peer < play->tc.n_ranks; ++peer) {
        ck_assert((fs_topo_server(topo, peer) == fs_topo_server(topo, r) &&
                   !play->confirms) ||
                  fs_loop_n_between(play->loop, r, peer) == 0);
    }
}

/* One turn of a rank; true while it is busy. */
static bool turn(play_t *play, uint32_t r)
{
    actor_t *a = &play->actors[r];

    if (a->status != FS_INPROGRESS) {
        return false;
    }
    a->net->ops->progress(a->net);
    if (fs_rng_below(&play->tc.rng, 100) == 0) {
        fs_exec_beat(a->exec); /* it may come at any time */
    }
    a->status = fs_exec_progress(a->exec);
    if (a->status == FS_OK) {
        check_exit(play, r);
    }
    return a->status == FS_INPROGRESS;
}

static void free_buffer(unsigned char *buffer, void *device)
{
    if (device != NULL) {
        fs_test_device_free(device);
    } else {
        free(buffer);
    }
}

static void end_call(play_t *play)
{
    for (uint32_t r = 0; r < play->tc.n_ranks; ++r) {
        actor_t *a = &play->actors[r];

        free_buffer(a->send, a->send_device);
        free_buffer(a->recv, a->recv_device);
        fs_plan_destroy(a->plan);
    }
}

/* Turns in random order until nobody is busy. */
static void run_all(play_t *play)
{
    uint32_t n = play->tc.n_ranks, n_busy = n;
    bool    *busy = fs_test_alloc(n, sizeof(*busy));

    memset(busy, true, n);
    for (uint32_t k = 0; n_busy > 0; ++k) {
        uint32_t r   = (uint32_t)fs_rng_below(&play->tc.rng, n);
        bool     was = busy[r];

        if (k == MAX_TURNS) {
            ck_abort_msg("%u ranks wait for ever", n_busy);
        }
        busy[r] = turn(play, r);
        n_busy -= was && !busy[r];
    }
    free(busy);
}

static void run_call(play_t *play)
{
    begin_call(play);
    for (uint32_t r = 0; r < play->tc.n_ranks; ++r) {
        start(play, r);
    }
    run_all(play);
    for (uint32_t r = 0; r < play->tc.n_ranks; ++r) {
        ck_assert_int_eq(play->actors[r].status, FS_OK);
        check_buffers(play, r);
    }
    end_call(play);
}

/* What a real network would forgive, the loop has counted. */
static void check_seen(play_t *play)
{
    fs_loop_seen_t seen = fs_loop_take_seen(play->loop);

    ck_assert_uint_le(seen.max_wire_recvs, play->tc.params.window);
    ck_assert_uint_le(seen.max_wire_senders, 2);
    ck_assert_uint_le(seen.max_wire_receivers, 2);
    ck_assert_uint_eq(seen.ungranted, 0);
    ck_assert_uint_eq(seen.twins, 0);
    ck_assert_uint_eq(seen.shrunk_grants, 0);
    ck_assert_uint_eq(seen.late_grants, 0);
    ck_assert_uint_eq(seen.split_grants, 0);
    for (uint32_t r = 0; r < play->tc.n_ranks; ++r) {
        ck_assert_uint_le(fs_exec_peak_senders(play->actors[r].exec), 1);
    }
}

/* Several calls over the same executors, sizes and layouts changing. */
START_TEST(prop_every_byte_lands_once)
{
    play_t play;

    play_init(&play, (uint64_t)_i);
    for (int call = 0; call < 3; ++call) {
        run_call(&play);
        check_seen(&play);
        fs_test_case_redraw(&play.tc);
    }
    play_fini(&play);
}
END_TEST

/* The same with buffers on devices, which no CPU may touch, nor the network if
 * it has not been told: some go straight, some by way of the host. */
START_TEST(prop_every_byte_lands_on_its_device)
{
    play_t play;

    fs_test_device_load(_i % 3 == 2 ? "accel/libamdhip64.so.6"
                                    : "accel/libcuda.so.1");
    play_init(&play, 5000 + (uint64_t)_i);
    play.accel = fs_accel_create();
    ck_assert_ptr_nonnull(play.accel);
    for (int call = 0; call < 4; ++call) {
        run_call(&play);
        check_seen(&play);
        fs_test_case_redraw(&play.tc);
    }
    play_fini(&play);
}
END_TEST

/* A driver that fails in mid-call: its rank ends with the error. */
START_TEST(failing_driver_is_an_error)
{
    static const char *const names[] = {"cuMemcpyAsync", "cuEventQuery"};
    play_t                   play;
    uint32_t                 n_failed = 0;

    fs_test_device_load("accel/libcuda.so.1");
    play_init(&play, 6000 + (uint64_t)_i);
    play.accel = fs_accel_create();
    begin_call(&play);
    fs_test_device_fail(names[_i % 2], 1 + (unsigned)_i / 4);
    for (uint32_t r = 0; r < play.tc.n_ranks; ++r) {
        start(&play, r);
    }
    for (uint32_t k = 0; k < 3000 * play.tc.n_ranks; ++k) {
        turn(&play, k % play.tc.n_ranks);
    }
    for (uint32_t r = 0; r < play.tc.n_ranks; ++r) {
        fs_status_t error = fs_exec_error(play.actors[r].exec);

        ck_assert(error == FS_OK || error == FS_ERR_ACCEL);
        n_failed += error != FS_OK;
    }
    ck_assert_uint_eq(n_failed, fs_test_device_has_failed());
    end_call(&play);
    play_fini(&play);
}
END_TEST

/* One rank enters when all others have done all they can without it. */
START_TEST(prop_late_rank)
{
    play_t   play;
    uint32_t late;

    play_init(&play, 1000 + (uint64_t)_i);
    late = (uint32_t)fs_rng_below(&play.tc.rng, play.tc.n_ranks);
    begin_call(&play);
    for (uint32_t r = 0; r < play.tc.n_ranks; ++r) {
        if (r != late) {
            start(&play, r);
        }
    }
    for (uint32_t k = 0; k < 2000 * play.tc.n_ranks; ++k) {
        uint32_t r = k % play.tc.n_ranks;

        if (r != late) {
            turn(&play, r);
        }
    }
    start(&play, late);
    run_all(&play);
    for (uint32_t r = 0; r < play.tc.n_ranks; ++r) {
        ck_assert_int_eq(play.actors[r].status, FS_OK);
        check_buffers(&play, r);
    }
    check_seen(&play);
    end_call(&play);
    play_fini(&play);
}
END_TEST

/* The victim reports the error; nobody crashes. Others may wait for ever: that
 * is fs_comm's to end. */
static void run_with_fault(uint64_t seed, const fs_loop_faults_t *faults,
                           uint32_t victim, fs_status_t expected)
{
    play_t play;

    play_init(&play, seed);
    fs_loop_set_faults(play.loop, faults);
    fs_test_counts(&play.tc.rng, FS_TEST_BALANCED, 3000, play.tc.n_ranks,
                   play.tc.counts);
    fs_test_traffic_fini(&play.tc.traffic);
    play.tc.traffic = fs_test_traffic(play.tc.topo, play.tc.counts);
    if (play.tc.n_ranks > 1) {
        begin_call(&play);
        for (uint32_t r = 0; r < play.tc.n_ranks; ++r) {
            start(&play, r);
        }
        for (uint32_t k = 0; k < 3000 * play.tc.n_ranks; ++k) {
            turn(&play, k % play.tc.n_ranks);
        }
        ck_assert_int_eq(fs_exec_error(play.actors[victim].exec), expected);
        end_call(&play);
    }
    play_fini(&play);
}

START_TEST(wrong_length_is_an_error)
{
    fs_loop_faults_t faults = {.cut_message = 1 + (uint32_t)_i % 2,
                               .cut_rank    = 0};

    run_with_fault(2000 + (uint64_t)_i, &faults, 0, FS_ERR_TRUNCATE);
}
END_TEST

START_TEST(refused_grant_is_an_error)
{
    fs_loop_faults_t faults = {.fail_grant = 1, .fail_rank = 0};

    run_with_fault(3500 + (uint64_t)_i, &faults, 0, FS_ERR_TRANSPORT);
}
END_TEST

START_TEST(refused_send_is_an_error)
{
    fs_loop_faults_t faults = {.fail_send = 1 + (uint32_t)_i % 2,
                               .fail_rank = 0};

    run_with_fault(3000 + (uint64_t)_i, &faults, 0, FS_ERR_TRANSPORT);
}
END_TEST

/* Sends end at once, receives only if all_arrives, or when they are cancelled. */
static struct {
    uint32_t n_sends, fail_at, n_grants, fail_grant_at, n_after;
    bool     all_arrives, failed;
} mute;

static fs_status_t send_now(fs_transport_t *t, uint32_t peer, uint32_t key,
                            const void *buf, uint64_t len, fs_xfer_t *xfer)
{
    (void)t, (void)peer, (void)key, (void)buf;
    mute.n_after += mute.failed;
    if (++mute.n_sends == mute.fail_at) {
        mute.failed = true;
        return FS_ERR_TRANSPORT;
    }
    xfer->done(xfer, FS_OK, len);
    return FS_OK;
}

static fs_status_t recv_later(fs_transport_t *t, uint32_t peer, uint32_t key,
                              void *buf, uint64_t len, fs_xfer_t *xfer)
{
    (void)t, (void)peer, (void)key, (void)buf;
    mute.n_after += mute.failed;
    if (mute.all_arrives) {
        xfer->done(xfer, FS_OK, len);
    } else {
        xfer->in_flight = true;
    }
    return FS_OK;
}

static void mute_cancel(fs_transport_t *t, fs_xfer_t *xfer)
{
    (void)t;
    if (xfer->in_flight) {
        xfer->in_flight = false;
        xfer->done(xfer, FS_ERR_TRANSPORT, 0);
    }
}

static fs_status_t mute_grant(fs_transport_t *t, uint32_t peer, uint64_t count)
{
    (void)t, (void)peer, (void)count;
    mute.n_after += mute.failed;
    mute.failed |= ++mute.n_grants == mute.fail_grant_at;
    return mute.failed ? FS_ERR_TRANSPORT : FS_OK;
}

static const fs_transport_ops_t mute_ops = {.send   = send_now,
                                            .recv   = recv_later,
                                            .cancel = mute_cancel,
                                            .grant  = mute_grant};

START_TEST(nothing_is_posted_after_an_error)
{
    fs_net_t       net = {.ops = NULL};
    fs_transport_t t   = {.ops = &mute_ops, .net = &net};
    fs_test_case_t tc;
    fs_plan_t     *plan;
    fs_exec_t     *exec;
    fs_status_t    status;
    char          *bytes = fs_test_alloc(1 << 20, 1);
    void         **block;
    fs_call_t      call = {0};

    fs_test_case_init(&tc, (uint64_t)_i);
    block = fs_test_alloc(tc.n_ranks, sizeof(*block));
    for (uint32_t r = 0; r < tc.n_ranks; ++r) {
        block[r] = bytes; /* nothing arrives, so nobody minds */
    }
    call.send_block = (const void *const *)block;
    call.recv_block = block;
    ck_assert_int_eq(fs_test_plan(&tc, 0, true, true, &plan), FS_OK);
    ck_assert_int_eq(fs_exec_create(&t, tc.n_ranks, &exec), FS_OK);
    ck_assert_int_eq(fs_exec_reserve(exec, plan, &call), FS_OK);
    if (_i % 2 == 0) {
        mute.fail_at = 1 + (uint32_t)_i / 2 % 2;
    } else {
        mute.all_arrives   = true;
        mute.fail_grant_at = 1 + (uint32_t)_i / 2 % 8;
    }
    status = fs_test_run_alone(exec, plan, &call);
    if (mute.failed) {
        ck_assert_msg(mute.n_after == 0, "seed %d: %u posted after the error%s",
                      _i, mute.n_after,
                      status == FS_INPROGRESS ? ", and no end" : "");
        ck_assert_int_eq(status, FS_ERR_TRANSPORT);
    }
    fs_exec_destroy(exec);
    fs_plan_destroy(plan);
    fs_test_case_fini(&tc);
    free(block);
    free(bytes);
}
END_TEST

/* Four messages from each of two peers; with a look-ahead of one, the second may
 * begin when one of the first is left. What is posted at once, and from how many. */
static uint32_t count_senders(bool in_order)
{
    enum { PEERS = 2, EACH = 4, N_RANKS = PEERS + 1, WINDOW = 8 };
    fs_net_t       net    = {.ops = NULL};
    fs_transport_t t      = {.ops = &mute_ops, .net = &net};
    fs_plan_t      totals = {.window = WINDOW, .look_ahead = 8}, *plan;
    fs_program_t   program;
    fs_exec_t     *exec;
    char           bytes[8];
    void          *block[N_RANKS] = {bytes, bytes, bytes};
    fs_call_t      call           = {.recv_block = block};
    uint32_t       n;

    ck_assert_int_eq(fs_program_init(&program, N_RANKS), FS_OK);
    for (uint32_t k = 0; k < PEERS * EACH; ++k) {
        uint32_t recv = fs_program_recv(
            &program, FS_CH_WIRE, 1 + k / EACH,
            (fs_place_t){.buffer = FS_BUF_RECV, .block = 1 + k / EACH},
            sizeof(bytes));

        if (in_order && k >= EACH) {
            fs_program_after(&program, recv, EACH - 2);
        }
    }
    ck_assert_int_eq(fs_program_seal(&program, &totals, &plan), FS_OK);
    ck_assert_int_eq(fs_exec_create(&t, N_RANKS, &exec), FS_OK);
    ck_assert_int_eq(fs_exec_reserve(exec, plan, &call), FS_OK);
    mute.failed = false;
    fs_exec_start(exec, plan, &call, 1, false);
    n = fs_exec_peak_senders(exec);
    fs_exec_destroy(exec);
    fs_plan_destroy(plan);
    fs_program_fini(&program);
    return n;
}

/* The count that all other tests hold against 1 can be more. */
START_TEST(incast_would_be_counted)
{
    ck_assert_uint_eq(count_senders(false), 2);
    ck_assert_uint_eq(count_senders(true), 1);
}
END_TEST

/* The MPI may fail to pack or unpack; that is no length and no crash. */
static fs_status_t broken_pack(void *ctx, uint32_t block, uint64_t offset,
                               uint64_t len_bytes, void *dst)
{
    (void)ctx, (void)block, (void)offset, (void)len_bytes, (void)dst;
    return FS_ERR_NATIVE;
}

static fs_status_t broken_unpack(void *ctx, uint32_t block, uint64_t offset,
                                 uint64_t len_bytes, const void *src)
{
    (void)ctx, (void)block, (void)offset, (void)len_bytes, (void)src;
    return FS_ERR_NATIVE;
}

static bool has_copy(const fs_plan_t *plan, fs_buffer_t src, fs_buffer_t dst)
{
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        const fs_op_t *op = &plan->ops[k];

        if (op->kind == FS_OP_COPY &&
            (op->src.buffer == src || op->dst.buffer == dst)) {
            return true;
        }
    }
    return false;
}

START_TEST(failing_datatype_engine_is_an_error)
{
    play_t   play;
    actor_t *a;
    bool     must_fail;

    play_init(&play, 4000 + (uint64_t)_i);
    begin_call(&play);
    a = &play.actors[0];
    must_fail =
        (!a->send_packed && has_copy(a->plan, FS_BUF_SEND, FS_BUF_SEND)) ||
        (!a->recv_packed && has_copy(a->plan, FS_BUF_RECV, FS_BUF_RECV));
    a->call.pack   = broken_pack;
    a->call.unpack = broken_unpack;
    for (uint32_t r = 0; r < play.tc.n_ranks; ++r) {
        start(&play, r);
    }
    for (uint32_t k = 0; k < 3000 * play.tc.n_ranks; ++k) {
        turn(&play, k % play.tc.n_ranks);
    }
    ck_assert_int_eq(fs_exec_error(a->exec), must_fail ? FS_ERR_NATIVE : FS_OK);
    end_call(&play);
    play_fini(&play);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exec");
    TCase *tcase = tcase_create("exec");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, prop_every_byte_lands_once, 0, 260);
    tcase_add_loop_test(tcase, prop_every_byte_lands_on_its_device, 0, 90);
    tcase_add_loop_test(tcase, failing_driver_is_an_error, 0, 40);
    tcase_add_loop_test(tcase, prop_late_rank, 0, 60);
    tcase_add_loop_test(tcase, wrong_length_is_an_error, 0, 10);
    tcase_add_loop_test(tcase, refused_grant_is_an_error, 0, 10);
    tcase_add_loop_test(tcase, refused_send_is_an_error, 0, 10);
    tcase_add_loop_test(tcase, nothing_is_posted_after_an_error, 0, 100);
    tcase_add_test(tcase, incast_would_be_counted);
    tcase_add_loop_test(tcase, failing_datatype_engine_is_an_error, 0, 20);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
