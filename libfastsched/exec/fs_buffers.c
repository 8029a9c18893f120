/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In which memory the buffers of a call are, and what that means for it: the
 * network takes them there, or their bytes go through staging on the host, or
 * the call is for the MPI alone.
 */
#include "exec/fs_buffers.h"

#include "accel/fs_accel.h"
#include "exec/fs_coll.h"
#include "exec/fs_line.h"

#include <stdio.h>

/* Of the first byte; the others are with it. */
static fs_mem_t find_mem(const fs_accel_t *accel, uint32_t n,
                         const void *const *block, const uint64_t *bytes)
{
    for (uint32_t r = 0; r < n; ++r) {
        if (bytes[r] > 0) {
            return fs_accel_query(accel, block[r]);
        }
    }
    return (fs_mem_t){FS_MEM_HOST, 0};
}

bool fs_buffers_find(fs_buffers_t *buffers, const fs_wrapper_t *wrapper,
                     const fs_blocks_t *blocks)
{
    buffers->recv_mem = find_mem(wrapper->accel, blocks->n_ranks,
                                 (const void *const *)blocks->recv_block,
                                 blocks->recv_bytes);
    buffers->send_mem = buffers->in_place
                            ? buffers->recv_mem
                            : find_mem(wrapper->accel, blocks->n_ranks,
                                       blocks->send_block, blocks->send_bytes);
    return buffers->send_mem.kind != FS_MEM_HOST ||
           buffers->recv_mem.kind != FS_MEM_HOST;
}

fs_status_t fs_buffers_check(const fs_buffers_t *buffers,
                             const fs_wrapper_t *wrapper, fs_side_t side,
                             const char *server, char *why, size_t why_len)
{
    bool        send       = side == FS_SIDE_SEND;
    bool        contiguous = send ? buffers->send_contiguous
                                  : buffers->recv_contiguous;
    const char *name       = send ? "send" : "receive";
    const char *kind =
        fs_mem_name(send ? buffers->send_mem.kind : buffers->recv_mem.kind);

    if (contiguous && wrapper->params.accel_fallback) {
        return FS_OK;
    }
    if (!contiguous) {
        snprintf(why, why_len,
                 "the %s buffer is %s memory, and its datatype is not "
                 "contiguous: the MPI cannot pack there",
                 name, kind);
    } else {
        snprintf(why, why_len,
                 "the %s buffer is %s memory, which %s cannot use; parameter "
                 "accel_fallback allows copies on the host",
                 name, kind, server);
    }
    return FS_ERR_UNSUPPORTED;
}

/* ---- served by the network ---- */

static bool is_in(unsigned mem_kinds, fs_mem_t mem)
{
    return mem_kinds >> mem.kind & 1;
}

/* The network only moves bytes: nothing may have to be packed. */
static bool is_direct(const fs_buffers_t *b, unsigned mem_kinds, fs_mem_t mem)
{
    return b->send_contiguous && b->recv_contiguous && is_in(mem_kinds, mem);
}

static const char *net_name(const fs_coll_t *coll)
{
    return coll->net != NULL && coll->net->name != NULL ? coll->net->name
                                                        : "the network";
}

/* Rank 0 of the job says what could be faster, once. */
static void explain(fs_wrapper_t *wrapper, const fs_coll_t *coll, fs_mem_t mem)
{
    char      text[400];
    fs_line_t line = {text, sizeof(text), 0};

    if (coll->net == NULL || is_in(coll->net->mem_kinds, mem) ||
        wrapper->warned ||
        (!wrapper->on_world_rank_0 && wrapper->params.verbose == 0)) {
        return;
    }
    wrapper->warned = true;
    fs_line_say(&line,
                "%s is built without %s: buffers there go through memory of "
                "the host; install a UCX that is built with it",
                net_name(coll), mem.kind == FS_MEM_CUDA ? "CUDA" : "ROCm");
    wrapper->say(text);
}

/* One side on a device that the network does not take as it is. */
static fs_status_t go_round(fs_call_device_t *device, const fs_buffers_t *b,
                            fs_wrapper_t *wrapper, const fs_coll_t *coll,
                            fs_side_t side, char *why, size_t why_len)
{
    fs_mem_t    mem = side == FS_SIDE_SEND ? b->send_mem : b->recv_mem;
    fs_status_t status =
        fs_buffers_check(b, wrapper, side, net_name(coll), why, why_len);

    if (status == FS_OK) {
        device->staged = true;
        explain(wrapper, coll, mem);
    } else if (is_in(wrapper->mem_kinds, mem)) {
        device->consent = FS_CONSENT_HOST;
        status          = FS_OK;
    } else {
        device->consent = FS_CONSENT_NO;
    }
    return status;
}

fs_status_t fs_buffers_for_coll(const fs_buffers_t *b, fs_wrapper_t *wrapper,
                                const fs_coll_t *coll, fs_call_device_t *device,
                                char *why, size_t why_len)
{
    static const fs_mem_t host      = {FS_MEM_HOST, 0};
    unsigned              mem_kinds = fs_coll_mem_kinds(coll);
    bool                  send      = is_direct(b, mem_kinds, b->send_mem);
    bool                  recv      = is_direct(b, mem_kinds, b->recv_mem);
    fs_status_t           status    = FS_OK;

    /* A network that does not know managed memory takes it for the host's. */
    *device = (fs_call_device_t){
        .accel    = wrapper->accel,
        .send_mem = send || fs_mem_is_device(b->send_mem) ? b->send_mem : host,
        .recv_mem = recv || fs_mem_is_device(b->recv_mem) ? b->recv_mem : host,
    };
    if (fs_mem_is_device(b->send_mem) && !send) {
        status = go_round(device, b, wrapper, coll, FS_SIDE_SEND, why, why_len);
    }
    if (fs_mem_is_device(b->recv_mem) && !recv &&
        device->consent == FS_CONSENT_YES) {
        status = go_round(device, b, wrapper, coll, FS_SIDE_RECV, why, why_len);
    }
    return status;
}
