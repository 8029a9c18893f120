/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/fs_staging.h"

#include "base/fs_arith.h"
#include "base/fs_clock.h"

#include <stdlib.h>
#include <string.h>

static const fs_mem_t on_host = {.kind = FS_MEM_HOST};

/* Where the buffers of a call are, and its staging with them. */
typedef struct site {
    fs_pool_kind_t pool;
    fs_mem_t       device; /* the host's memory if there is none */
    bool is_one; /* all copies are on it, so a batch may be a kernel */
} site_t;

static site_t find_site(const fs_call_t *call)
{
    const fs_call_device_t *d    = &call->device;
    site_t                  site = {FS_POOL_HOST, on_host, false};

    if (!fs_mem_is_device(d->send_mem) && !fs_mem_is_device(d->recv_mem)) {
        return site;
    }
    site.pool   = d->staged ? FS_POOL_PINNED : FS_POOL_DEVICE;
    site.device = fs_mem_is_device(d->send_mem) ? d->send_mem : d->recv_mem;
    site.is_one = !d->staged && !site.device.foreign &&
                  fs_mem_equal(d->send_mem, site.device) &&
                  fs_mem_equal(d->recv_mem, site.device);
    return site;
}

/* ---- memory ---- */

static char *alloc_staging(fs_pool_kind_t kind, fs_accel_t *accel,
                           fs_mem_t device, uint64_t len_bytes)
{
    switch (kind) {
    case FS_POOL_PINNED:
        return fs_accel_alloc_pinned(accel, device, len_bytes);
    case FS_POOL_DEVICE:
        return fs_accel_alloc(accel, device, len_bytes);
    default:
        return malloc(len_bytes);
    }
}

static void free_pool(fs_staging_t *staging, fs_pool_kind_t kind)
{
    fs_pool_t *pool = &staging->pools[kind];

    if (kind == FS_POOL_HOST) {
        free(pool->memory);
    } else if (pool->memory != NULL && kind == FS_POOL_PINNED) {
        fs_accel_free_pinned(staging->accel, pool->device, pool->memory);
    } else if (pool->memory != NULL) {
        fs_accel_free(staging->accel, pool->device, pool->memory);
    }
    *pool = (fs_pool_t){.memory = NULL};
}

static bool pool_fits(const fs_pool_t *pool, fs_mem_t device,
                      uint64_t len_bytes)
{
    return len_bytes <= pool->len_bytes &&
           (len_bytes == 0 || fs_mem_equal(pool->device, device));
}

/* If there is no room for both, the old one goes first. */
static fs_status_t reserve_pool(fs_staging_t *staging, fs_pool_kind_t kind,
                                fs_mem_t device, uint64_t len_bytes)
{
    char *memory;

    if (pool_fits(&staging->pools[kind], device, len_bytes)) {
        return FS_OK;
    }
    memory = alloc_staging(kind, staging->accel, device, len_bytes);
    if (memory == NULL && staging->pools[kind].memory != NULL) {
        free_pool(staging, kind);
        memory = alloc_staging(kind, staging->accel, device, len_bytes);
    }
    if (memory == NULL) {
        return FS_ERR_NOMEM;
    }
    free_pool(staging, kind);
    staging->pools[kind] = (fs_pool_t){device, memory, len_bytes};
    return FS_OK;
}

static fs_needs_t needs_of(const fs_plan_t *plan)
{
    fs_needs_t needs = {.staging_bytes = plan->staging_bytes};

    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        if (plan->ops[k].kind == FS_OP_COPY ||
            plan->ops[k].kind == FS_OP_REDUCE) {
            ++needs.n_copies;
            needs.copied_bytes += plan->ops[k].len_bytes;
        }
    }
    return needs;
}

/* The larger one of each. */
static fs_needs_t larger(const fs_needs_t *a, const fs_needs_t *b)
{
    return (fs_needs_t){fs_u64_max(a->staging_bytes, b->staging_bytes),
                        fs_u64_max(a->copied_bytes, b->copied_bytes),
                        fs_u64_max(a->n_copies, b->n_copies)};
}

static fs_status_t reserve_batch(fs_staging_t *staging, uint64_t n)
{
    fs_segment_t *segments;
    uint32_t     *ids;

    if (n <= staging->max_copies) {
        return FS_OK;
    }
    segments = malloc(n * sizeof(*segments));
    ids      = malloc(n * sizeof(*ids));
    if (segments == NULL || ids == NULL) {
        free(segments);
        free(ids);
        return FS_ERR_NOMEM;
    }
    free(staging->segments);
    free(staging->ids);
    staging->segments   = segments;
    staging->ids        = ids;
    staging->max_copies = n;
    return FS_OK;
}

static void put_copier(fs_staging_t *staging)
{
    if (staging->copier != NULL) {
        fs_accel_put_copier(staging->accel, staging->copier);
    }
    staging->copier = NULL;
}

static bool has_copier(const fs_staging_t *staging, fs_mem_t device)
{
    return staging->copier != NULL &&
           fs_mem_equal(fs_copier_mem(staging->copier), device);
}

/* Of all plans, or of this one at least. */
static fs_status_t reserve_kernel(fs_copier_t *copier, const fs_needs_t *all,
                                  const fs_needs_t *own)
{
    fs_status_t status =
        fs_copier_reserve(copier, all->n_copies, all->copied_bytes);

    return status == FS_OK
               ? status
               : fs_copier_reserve(copier, own->n_copies, own->copied_bytes);
}

/* Without room for a kernel copies go one by one; reductions cannot. */
static fs_status_t reserve_copies(fs_staging_t *staging, const fs_call_t *call,
                                  const site_t *site, const fs_needs_t *all,
                                  const fs_needs_t *own)
{
    fs_status_t status = reserve_batch(staging, all->n_copies);

    staging->accel = call->device.accel;
    if (status == FS_OK && !has_copier(staging, site->device)) {
        put_copier(staging);
        staging->copier = fs_accel_get_copier(staging->accel, site->device);
        status          = staging->copier == NULL ? FS_ERR_ACCEL : FS_OK;
    }
    staging->for_kernel = status == FS_OK && site->is_one;
    if (staging->for_kernel) {
        fs_status_t room = reserve_kernel(staging->copier, all, own);

        status = call->reduction.elem_bytes > 0 ? room : FS_OK;
    }
    return status;
}

fs_status_t fs_staging_reserve(fs_staging_t *staging, const fs_plan_t *plan,
                               const fs_call_t *call)
{
    site_t      site   = find_site(call);
    fs_needs_t  own    = needs_of(plan);
    fs_needs_t  all    = larger(&own, &staging->most);
    fs_status_t status = FS_OK;

    if (site.pool != FS_POOL_HOST) {
        status = reserve_copies(staging, call, &site, &all, &own);
    }
    if (status == FS_OK && reserve_pool(staging, site.pool, site.device,
                                        all.staging_bytes) != FS_OK) {
        status =
            reserve_pool(staging, site.pool, site.device, own.staging_bytes);
    }
    if (status == FS_OK) {
        staging->most = all;
    }
    return status;
}

bool fs_staging_fit(const fs_staging_t *staging, const fs_plan_t *plan,
                    const fs_call_t *call)
{
    site_t     site    = find_site(call);
    fs_needs_t needs   = plan != NULL ? needs_of(plan) : staging->most;
    bool       reduces = call->reduction.elem_bytes > 0;

    return pool_fits(&staging->pools[site.pool], site.device,
                     needs.staging_bytes) &&
           (site.pool == FS_POOL_HOST ||
            (staging->max_copies >= needs.n_copies &&
             has_copier(staging, site.device) &&
             (staging->for_kernel || !site.is_one) &&
             (!reduces || fs_copier_has_room(staging->copier, needs.n_copies,
                                             needs.copied_bytes))));
}

void fs_staging_fini(fs_staging_t *staging)
{
    for (int kind = 0; kind < FS_N_POOLS; ++kind) {
        free_pool(staging, (fs_pool_kind_t)kind);
    }
    put_copier(staging);
    free(staging->segments);
    free(staging->ids);
}

/* ---- staging ---- */

void fs_staging_start(fs_staging_t *staging, const fs_call_t *call)
{
    site_t site = find_site(call);

    staging->call        = call;
    staging->pool        = &staging->pools[site.pool];
    staging->staging_mem = site.pool == FS_POOL_DEVICE ? site.device : on_host;
    staging->staging_mem.pooled = false;
    staging->on_one_device      = site.is_one;
    staging->n_gathered = staging->n_begun = staging->n_ended = 0;
}

char *fs_staging_address(const fs_staging_t *staging, const fs_place_t *place)
{
    const fs_call_t *call = staging->call;

    switch ((fs_buffer_t)place->buffer) {
    case FS_BUF_SEND:
        /* Only ever read: sends and copies from it. */
        return call->send_block == NULL
                   ? NULL
                   : (char *)(uintptr_t)call->send_block[place->block] +
                         place->offset;
    case FS_BUF_RECV:
        return call->recv_block == NULL
                   ? NULL
                   : (char *)call->recv_block[place->block] + place->offset;
    case FS_BUF_STAGING:
        return staging->pool->memory + place->offset;
    }
    return NULL;
}

static fs_mem_t mem_of(const fs_staging_t *staging, const fs_place_t *place)
{
    switch ((fs_buffer_t)place->buffer) {
    case FS_BUF_SEND:
        return staging->call->device.send_mem;
    case FS_BUF_RECV:
        return staging->call->device.recv_mem;
    case FS_BUF_STAGING:
        break;
    }
    return staging->staging_mem;
}

fs_mem_kind_t fs_staging_kind(const fs_staging_t *staging,
                              const fs_place_t   *place)
{
    fs_mem_t mem = mem_of(staging, place);

    return mem.pooled ? FS_MEM_CUDA_MANAGED : mem.kind;
}

/* ---- copies and reductions ---- */

/* Into the next batch. */
static fs_status_t gather(fs_staging_t *staging, uint32_t id,
                          fs_segment_t segment)
{
    staging->segments[staging->n_gathered] = segment;
    staging->ids[staging->n_gathered++]    = id;
    return FS_INPROGRESS;
}

static bool is_on_device(const fs_staging_t *staging, const fs_op_t *op)
{
    return fs_mem_is_device(mem_of(staging, &op->src)) ||
           fs_mem_is_device(mem_of(staging, &op->dst));
}

fs_status_t fs_staging_copy(fs_staging_t *staging, const fs_op_t *op,
                            uint32_t id)
{
    const fs_call_t *call = staging->call;
    char            *src  = fs_staging_address(staging, &op->src);
    char            *dst  = fs_staging_address(staging, &op->dst);

    if (is_on_device(staging, op)) {
        return gather(staging, id, (fs_segment_t){dst, src, op->len_bytes, 0});
    }
    if (src == NULL) {
        return call->pack(call->ctx, op->src.block, op->src.offset,
                          op->len_bytes, dst);
    }
    if (dst == NULL) {
        return call->unpack(call->ctx, op->dst.block, op->dst.offset,
                            op->len_bytes, src);
    }
    memcpy(dst, src, op->len_bytes);
    return FS_OK;
}

fs_status_t fs_staging_reduce(fs_staging_t *staging, const fs_op_t *op,
                              uint32_t id)
{
    const fs_call_t *call = staging->call;
    const char      *src  = fs_staging_address(staging, &op->src);
    char            *dst  = fs_staging_address(staging, &op->dst);
    uint32_t         how  = call->reduction.device_how;

    if (src == NULL || dst == NULL) {
        return FS_ERR_UNSUPPORTED;
    }
    if (!is_on_device(staging, op)) {
        return call->reduce(call->ctx, src, dst, op->len_bytes);
    }
    return staging->on_one_device && how != 0
               ? gather(staging, id,
                        (fs_segment_t){dst, src, op->len_bytes, how})
               : FS_ERR_UNSUPPORTED;
}

/* All that has been gathered is the next batch. */
static fs_status_t begin_batch(fs_staging_t *staging)
{
    uint32_t first = staging->n_begun;

    staging->n_begun  = staging->n_gathered;
    staging->begun_ns = fs_now_ns();
    return fs_copier_start(staging->copier, &staging->segments[first],
                           staging->n_begun - first, staging->on_one_device);
}

static void end_batch(fs_staging_t *staging, fs_status_t status,
                      fs_copy_ended_t *ended, void *arg)
{
    staging->copy_ns += fs_now_ns() - staging->begun_ns;
    while (staging->n_ended < staging->n_begun) {
        ended(arg, staging->ids[staging->n_ended++], status);
    }
}

void fs_staging_begin_copies(fs_staging_t *staging, fs_copy_ended_t *ended,
                             void *arg)
{
    if (staging->n_ended == staging->n_begun &&
        staging->n_begun < staging->n_gathered &&
        begin_batch(staging) != FS_OK) {
        end_batch(staging, FS_ERR_ACCEL, ended, arg);
    }
}

void fs_staging_end_copies(fs_staging_t *staging, fs_copy_ended_t *ended,
                           void *arg)
{
    if (staging->n_ended < staging->n_begun) {
        fs_status_t status = fs_copier_test(staging->copier);

        if (status != FS_INPROGRESS) {
            end_batch(staging, status, ended, arg);
        }
    }
}
