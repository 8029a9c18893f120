/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrapper/fs_buffers.h"

#include "accel/fs_accel.h"
#include "base/fs_arith.h"
#include "sched/plan/fs_reduction.h"

#include <stdlib.h>
#include <string.h>

/* Addresses of blocks one behind the other. */
static void line_up(char *at, uint32_t n, const uint64_t *len, void **block)
{
    for (uint32_t r = 0; r < n; ++r) {
        block[r] = at;
        at += len[r];
    }
}

/* ---- a copy of what is sent ---- */

static void free_copy(fs_buffers_t *b)
{
    if (b->copy != NULL && fs_mem_is_device(b->copy_mem)) {
        fs_accel_free(b->accel, b->copy_mem, b->copy);
    } else {
        free(b->copy);
    }
    b->copy = NULL;
}

static fs_status_t copy_on_host(fs_buffers_t *b)
{
    const fs_call_t *call   = &b->call;
    char            *copy   = b->copy;
    fs_status_t      status = FS_OK;

    for (uint32_t r = 0; r < b->counts.n_ranks && status == FS_OK; ++r) {
        size_t len = b->counts.send_bytes[r];

        if (len > 0 && b->send_contiguous) {
            memcpy(copy, b->send_block[r], len);
        } else if (len > 0) {
            status = call->pack(call->ctx, r, 0, len, copy);
        }
        copy += len;
    }
    return status;
}

static fs_status_t copy_on_device(fs_buffers_t *b)
{
    char         *copy     = b->copy;
    fs_segment_t *segments = calloc(b->counts.n_ranks, sizeof(*segments));
    fs_status_t   status;

    if (segments == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t r = 0; r < b->counts.n_ranks; ++r) {
        segments[r] =
            (fs_segment_t){copy, b->send_block[r], b->counts.send_bytes[r], 0};
        copy += b->counts.send_bytes[r];
    }
    status = fs_accel_copy(b->accel, b->copy_mem, segments, b->counts.n_ranks,
                           !b->copy_mem.foreign);
    free(segments);
    return status;
}

/* Memory of a device is kept from call to call: its drivers are slow at it. */
static bool alloc_copy(fs_buffers_t *b, fs_mem_t mem, uint64_t len_bytes)
{
    if (b->copy != NULL && len_bytes <= b->copy_len &&
        fs_mem_equal(b->copy_mem, mem)) {
        return true;
    }
    free_copy(b);
    b->accel    = b->call.device.accel;
    b->copy_mem = mem;
    b->copy_len = len_bytes;
    b->copy = fs_mem_is_device(mem) ? fs_accel_alloc(b->accel, mem, len_bytes)
                                    : malloc(len_bytes);
    return b->copy != NULL;
}

static fs_status_t copy_sends(fs_buffers_t *b)
{
    fs_call_device_t *device = &b->call.device;
    fs_status_t       status;

    if (!fs_mem_is_device(device->send_mem)) {
        device->send_mem = (fs_mem_t){.kind = FS_MEM_HOST}; /* not managed */
    }
    device->send_mem.pooled = false;
    if (!alloc_copy(b, device->send_mem, fs_u64_max(b->counts.sent_bytes, 1))) {
        return FS_ERR_NOMEM;
    }
    status = fs_mem_is_device(device->send_mem) ? copy_on_device(b)
                                                : copy_on_host(b);
    line_up(b->copy, b->counts.n_ranks, b->counts.send_bytes,
            (void **)b->send_block);
    return status;
}

/* ---- blocks that are packed and unpacked as a whole ---- */

/* Packed when it is needed: the first blocks leave before the last are packed. */
static fs_status_t fetch(void *buffers, uint32_t r)
{
    fs_buffers_t    *b      = buffers;
    const fs_call_t *call   = &b->call;
    uint64_t         len    = b->counts.send_bytes[r];
    fs_status_t      status = FS_OK;

    if (!b->packed[r] && len > 0) {
        status       = call->pack(call->ctx, r, 0, len,
                                  (void *)(uintptr_t)b->send_block[r]);
        b->packed[r] = true;
    }
    return status;
}

static fs_status_t unpack_block(fs_buffers_t *b, uint32_t r)
{
    const fs_call_t *call = &b->call;

    b->missing[r] = 0;
    return call->unpack(call->ctx, r, 0, b->counts.recv_bytes[r],
                        b->recv_block[r]);
}

static fs_status_t landed(void *buffers, uint32_t r, uint64_t len)
{
    fs_buffers_t *b = buffers;

    if (b->missing[r] > len) {
        b->missing[r] -= len;
        return FS_OK;
    }
    return b->missing[r] > 0 ? unpack_block(b, r) : FS_OK;
}

static fs_status_t make_copy(fs_buffers_t *b)
{
    uint32_t n = b->counts.n_ranks;

    b->call.device.send_mem = (fs_mem_t){.kind = FS_MEM_HOST};
    b->packed               = calloc(n, sizeof(*b->packed));
    if (b->packed == NULL || !alloc_copy(b, b->call.device.send_mem,
                                         fs_u64_max(b->counts.sent_bytes, 1))) {
        return FS_ERR_NOMEM;
    }
    line_up(b->copy, n, b->counts.send_bytes, (void **)b->send_block);
    b->call.fetch = fetch;
    return FS_OK;
}

static fs_status_t make_landing(fs_buffers_t *b)
{
    uint32_t n     = b->counts.n_ranks;
    uint64_t total = 0;

    b->missing = calloc(n, sizeof(*b->missing));
    for (uint32_t r = 0; r < n; ++r) {
        total += b->counts.recv_bytes[r];
    }
    b->landing = malloc(fs_u64_max(total, 1));
    if (b->missing == NULL || b->landing == NULL) {
        return FS_ERR_NOMEM;
    }
    memcpy(b->missing, b->counts.recv_bytes, n * sizeof(*b->missing));
    line_up(b->landing, n, b->counts.recv_bytes, b->recv_block);
    b->call.landed = landed;
    return FS_OK;
}

/* Small blocks have landed unseen. */
static fs_status_t unpack_rest(fs_buffers_t *b)
{
    uint32_t    n      = b->missing != NULL ? b->counts.n_ranks : 0;
    fs_status_t status = FS_OK;

    for (uint32_t r = 0; r < n && status == FS_OK; ++r) {
        status = b->missing[r] > 0 ? unpack_block(b, r) : FS_OK;
    }
    return status;
}

static void free_whole(fs_buffers_t *b)
{
    free(b->landing);
    free(b->packed);
    free(b->missing);
    b->landing = NULL;
    b->packed  = NULL;
    b->missing = NULL;
}

/* ---- a call ---- */

/* In place: what we send is what will be overwritten. */
static fs_status_t prepare(void *buffers)
{
    fs_buffers_t *b      = buffers;
    fs_status_t   status = FS_OK;

    if (b->in_place) {
        status = copy_sends(b);
    } else if (b->send_whole) {
        status = make_copy(b);
    }
    if (status == FS_OK && b->recv_whole) {
        status = make_landing(b);
    }
    b->call.send_late = b->call.recv_late = false;
    return status;
}

void fs_buffers_clear(fs_buffers_t *b, const fs_topo_t *topo)
{
    b->reduction = (fs_reduction_t){.elem_bytes = 0};
    fs_counts_begin(&b->counts, topo);
}

/* ---- an allreduce ---- */

void fs_buffers_reduce(fs_buffers_t *b, const void *send, void *recv,
                       uint64_t n_elems, uint32_t elem_bytes,
                       uint32_t device_how)
{
    uint64_t len;

    b->in_place = send == NULL;
    b->reduction =
        (fs_reduction_t){n_elems, elem_bytes, b->in_place, device_how};
    len                = fs_reduction_bytes(&b->reduction);
    b->send_block[0]   = b->in_place ? recv : send;
    b->recv_block[0]   = recv;
    b->send_contiguous = b->recv_contiguous = true;
    b->send_whole = b->recv_whole = false;
    for (uint32_t r = 0; r < b->counts.n_ranks; ++r) {
        fs_counts_add(&b->counts, r, r == 0 ? len : 0, r == 0 ? len : 0);
    }
}

/* From a device or back. */
static fs_status_t move_vector(const fs_buffers_t *b, fs_mem_t mem, void *dst,
                               const void *src)
{
    fs_segment_t vector = {dst, src, fs_reduction_bytes(&b->reduction), 0};

    return fs_accel_copy(b->call.device.accel, mem, &vector, 1, false);
}

/* Those on a device are in memory of the host until the end of the call. */
static fs_status_t stage_vectors(void *buffers)
{
    fs_buffers_t *b      = buffers;
    uint64_t      len    = fs_reduction_bytes(&b->reduction);
    bool          copies = !b->in_place && fs_mem_is_device(b->send_mem);
    fs_status_t   status = FS_OK;

    if (fs_mem_is_device(b->recv_mem)) {
        b->landing         = malloc(len);
        b->call.recv_block = &b->landing;
        status             = b->landing == NULL ? FS_ERR_NOMEM : FS_OK;
    }
    if (status == FS_OK && b->in_place && b->landing != NULL) {
        status = move_vector(b, b->recv_mem, b->landing, b->recv_block[0]);
    }
    if (status == FS_OK && copies) {
        b->call.send_block = (const void *const *)&b->copy;
        status             = alloc_copy(b, (fs_mem_t){.kind = FS_MEM_HOST}, len)
                                 ? move_vector(b, b->send_mem, b->copy, b->send_block[0])
                                 : FS_ERR_NOMEM;
    }
    return status;
}

static void leave_device(fs_mem_t *mem)
{
    if (fs_mem_is_device(*mem)) {
        *mem = (fs_mem_t){.kind = FS_MEM_HOST};
    }
}

static fs_status_t unstage_vector(const fs_buffers_t *b)
{
    return b->call.reduction.elem_bytes > 0 && b->landing != NULL
               ? move_vector(b, b->recv_mem, b->recv_block[0], b->landing)
               : FS_OK;
}

/* MPIs differ on which integers have a sign: for Open MPI 4.1 unsigned long has one and
 * MPI_Offset has none, for MPICH 4.0 all have. As this one does it: which is less, 1 or
 * all ones? */
static uint32_t with_sign_of_mpi(uint32_t how, const fs_wrapper_calls_t *calls,
                                 void *ctx)
{
    uint32_t op = fs_device_op_of(how), type = fs_device_type_of(how);
    uint32_t step = type % FS_DEVICE_U8;
    uint64_t ones = UINT64_MAX, one = 1;

    if (op == FS_DEVICE_SUM || type > FS_DEVICE_U64 ||
        calls->reduce(ctx, &ones, &one, UINT64_C(1) << step) != FS_OK) {
        return how;
    }
    return fs_device_how(
        (fs_device_op_t)op,
        ((one != 1) == (op == FS_DEVICE_MIN) ? FS_DEVICE_I8 : FS_DEVICE_U8) +
            step);
}

/* Else nothing is copied: what a rank adds to its own vector in place is the result. */
static void begin_reduction(fs_buffers_t *b, const fs_wrapper_calls_t *calls,
                            void *ctx, fs_call_device_t device)
{
    if (device.staged) {
        leave_device(&device.send_mem);
        leave_device(&device.recv_mem);
    }
    if (fs_mem_is_device(device.recv_mem)) {
        b->reduction.device_how =
            with_sign_of_mpi(b->reduction.device_how, calls, ctx);
    }
    b->call = (fs_call_t){.reduction  = b->reduction,
                          .counts     = &b->counts,
                          .send_block = b->in_place ? NULL : b->send_block,
                          .recv_block = b->recv_block,
                          .device     = device,
                          .ctx        = ctx,
                          .reduce     = calls->reduce,
                          .prepare    = device.staged ? stage_vectors : NULL,
                          .owner      = b};
}

/* ---- a call ---- */

void fs_buffers_begin(fs_buffers_t *b, const fs_wrapper_calls_t *calls,
                      void *ctx, fs_call_device_t device)
{
    bool prepares = b->in_place || b->send_whole || b->recv_whole;

    if (calls->reduce != NULL) {
        begin_reduction(b, calls, ctx, device);
        return;
    }
    b->call = (fs_call_t){
        .counts     = &b->counts,
        .send_block = b->send_contiguous || b->in_place || b->send_whole
                          ? b->send_block
                          : NULL,
        .recv_block = b->recv_contiguous || b->recv_whole ? b->recv_block
                                                          : NULL,
        .device     = device,
        .send_late  = !b->send_contiguous,
        .recv_late  = !b->recv_contiguous,
        .ctx        = ctx,
        .pack       = calls->pack,
        .unpack     = calls->unpack,
        .prepare    = prepares ? prepare : NULL,
        .owner      = b,
    };
}

fs_status_t fs_buffers_prepare(fs_buffers_t *b)
{
    fs_status_t status = b->call.prepare != NULL ? b->call.prepare(b) : FS_OK;

    for (uint32_t r = 0;
         r < b->counts.n_ranks && status == FS_OK && b->call.fetch != NULL;
         ++r) {
        status = fetch(b, r);
    }
    b->call.prepare = NULL;
    b->call.fetch   = NULL;
    b->call.landed  = NULL;
    return status;
}

fs_status_t fs_buffers_end(fs_buffers_t *b, bool ran, bool all_done)
{
    fs_status_t status;

    if (!all_done) { /* the network may still use them: left alone for good */
        b->copy    = NULL;
        b->landing = NULL;
    }
    status = ran && all_done ? unpack_rest(b) : FS_OK;
    if (status == FS_OK && ran && all_done) {
        status = unstage_vector(b);
    }
    free_whole(b);
    if (!fs_mem_is_device(b->copy_mem)) {
        free_copy(b);
    }
    return status;
}

/* ---- arrays ---- */

fs_status_t fs_buffers_init(fs_buffers_t *b, uint32_t n_ranks, uint32_t rank)
{
    *b = (fs_buffers_t){
        .send_block = calloc(n_ranks, sizeof(*b->send_block)),
        .recv_block = calloc(n_ranks, sizeof(*b->recv_block)),
    };
    if (b->send_block == NULL || b->recv_block == NULL ||
        fs_counts_init(&b->counts, n_ranks, rank) != FS_OK) {
        fs_buffers_fini(b);
        return FS_ERR_NOMEM;
    }
    return FS_OK;
}

void fs_buffers_fini(fs_buffers_t *b)
{
    fs_counts_fini(&b->counts);
    free(b->send_block);
    free(b->recv_block);
    free_copy(b);
    *b = (fs_buffers_t){0};
}
