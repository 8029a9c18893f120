/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In which memory the buffers of a call are, and what that means for it: the
 * network takes them there, or their bytes go through staging on the host, or
 * only the MPI can use them, or the MPI cannot.
 */
#include "accel/fs_accel.h"
#include "comm/fs_comm.h"
#include "base/fs_strbuf.h"
#include "wrapper/fs_buffers.h"

#include <stdio.h>

/* ---- where they are ---- */

/* Of the first byte; the others are with it. False: there is none. */
static bool find_mem(const fs_accel_t *accel, uint32_t n,
                     const void *const *block, const uint64_t *bytes,
                     fs_mem_t *mem_p)
{
    for (uint32_t r = 0; r < n; ++r) {
        if (bytes[r] > 0) {
            *mem_p = fs_accel_query(accel, block[r]);
            return true;
        }
    }
    return false;
}

/* A side without a byte is like the other. */
bool fs_buffers_find(fs_buffers_t *b, const fs_wrapper_t *wrapper)
{
    const fs_accel_t  *accel  = wrapper->accel;
    const fs_counts_t *counts = &b->counts;
    uint32_t           n      = counts->n_ranks;

    b->send_mem = b->recv_mem = (fs_mem_t){.kind = FS_MEM_HOST};
    bool recv = find_mem(accel, n, (const void *const *)b->recv_block,
                         counts->recv_bytes, &b->recv_mem);
    bool send = !b->in_place && find_mem(accel, n, b->send_block,
                                         counts->send_bytes, &b->send_mem);

    if (!send) {
        b->send_mem        = b->recv_mem;
        b->send_contiguous = b->in_place ? b->recv_contiguous : true;
    }
    if (!recv) {
        b->recv_mem        = b->send_mem;
        b->recv_contiguous = true;
    }
    return b->send_mem.kind != FS_MEM_HOST || b->recv_mem.kind != FS_MEM_HOST;
}

static bool is_in(unsigned mem_kinds, fs_mem_t mem)
{
    return mem_kinds >> mem.kind & 1;
}

bool fs_buffers_need_bounce(const fs_wrapper_t *wrapper, fs_mem_t mem)
{
    return fs_mem_is_device(mem) && !is_in(wrapper->mem_kinds, mem);
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
                 "the %s buffer is %s memory, which %s does not use here; set "
                 "accel_fallback=1 to stage through host memory, see also "
                 "accel_direct",
                 name, kind, server);
    }
    return FS_ERR_UNSUPPORTED;
}

/* ---- served by the network ---- */

static const char *net_name(const fs_comm_t *comm)
{
    return comm->net != NULL && comm->net->name != NULL ? comm->net->name
                                                        : "the network";
}

/* Rank 0 of the job reports once what could be faster. */
static void explain(fs_wrapper_t *wrapper, const fs_comm_t *comm, fs_mem_t mem)
{
    char        text[400];
    fs_strbuf_t line = {text, sizeof(text), 0};

    if (comm->net == NULL || is_in(comm->net->mem_kinds, mem) ||
        (!wrapper->on_world_rank_0 && wrapper->params.verbose == 0) ||
        __atomic_exchange_n(&wrapper->warned, true, __ATOMIC_RELAXED)) {
        return;
    }
    fs_strbuf_add(&line,
                  "%s does not support %s memory: data is staged through host "
                  "memory",
                  net_name(comm), mem.kind == FS_MEM_CUDA ? "CUDA" : "ROCm");
    if (comm->net == wrapper->net) {
        fs_strbuf_add(&line,
                      mem.kind == FS_MEM_CUDA
                          ? "; install a UCX that is built with CUDA (pip has "
                            "libucx-cu12, libucx-cu13), or allow cuda_copy in "
                            "UCX_TLS"
                          : "; install a UCX that is built with ROCm, or allow "
                            "rocm_copy in UCX_TLS");
    }
    wrapper->say(text);
}

/* The memory type to pass to the network: managed memory, which the CPU can
 * access, is host memory for a network that does not know it. */
static fs_mem_t mem_for_network(const fs_comm_t *comm, fs_mem_t mem)
{
    bool known = comm->net != NULL && is_in(comm->net->mem_kinds, mem);

    return known || fs_mem_is_device(mem) ? mem
                                          : (fs_mem_t){.kind = FS_MEM_HOST};
}

/* Can both vectors of an allreduce be reduced where they are? The kernel does so on one
 * device, and an element that is not aligned would end it. */
static bool reduces_there(const fs_buffers_t *b, const fs_wrapper_t *wrapper)
{
    const fs_reduction_t *r = &b->reduction;
    uintptr_t both = (uintptr_t)b->send_block[0] | (uintptr_t)b->recv_block[0];

    return r->device_how != 0 && both % r->elem_bytes == 0 &&
           fs_mem_equal(b->send_mem, b->recv_mem) && !b->recv_mem.foreign &&
           fs_accel_has_kernel(wrapper->accel, b->recv_mem);
}

/* One side on a device that the network does not take as it is. */
static fs_status_t go_round(fs_call_device_t *device, const fs_buffers_t *b,
                            fs_wrapper_t *wrapper, const fs_comm_t *comm,
                            fs_side_t side, char *why, size_t why_len)
{
    fs_mem_t    mem     = side == FS_SIDE_SEND ? b->send_mem : b->recv_mem;
    bool        reduces = b->reduction.elem_bytes > 0;
    const char *server  = reduces && !reduces_there(b, wrapper)
                              ? "the kernel that reduces"
                              : net_name(comm);
    fs_status_t status =
        fs_buffers_check(b, wrapper, side, server, why, why_len);

    if (status == FS_OK) {
        device->staged = true;
        explain(wrapper, comm, mem);
    } else if (is_in(wrapper->mem_kinds, mem)) {
        device->consent = FS_CONSENT_NATIVE;
        status          = FS_OK;
    } else {
        device->consent = FS_CONSENT_NO;
    }
    return status;
}

/* The network only moves bytes: nothing may have to be packed. */
static bool is_as_it_is(const fs_buffers_t *b, const fs_wrapper_t *wrapper)
{
    return b->send_contiguous && b->recv_contiguous &&
           (b->reduction.elem_bytes == 0 || reduces_there(b, wrapper));
}

fs_status_t fs_buffers_for_call(const fs_buffers_t *b, fs_wrapper_t *wrapper,
                                const fs_comm_t *comm, fs_call_device_t *device,
                                char *why, size_t why_len)
{
    unsigned    direct = is_as_it_is(b, wrapper) ? fs_comm_mem_kinds(comm) : 0;
    fs_status_t status = FS_OK;

    *device =
        (fs_call_device_t){.accel    = wrapper->accel,
                           .send_mem = mem_for_network(comm, b->send_mem),
                           .recv_mem = mem_for_network(comm, b->recv_mem)};
    if (fs_mem_is_device(b->send_mem) && !is_in(direct, b->send_mem)) {
        status = go_round(device, b, wrapper, comm, FS_SIDE_SEND, why, why_len);
    }
    if (fs_mem_is_device(b->recv_mem) && !is_in(direct, b->recv_mem) &&
        device->consent == FS_CONSENT_YES) {
        status = go_round(device, b, wrapper, comm, FS_SIDE_RECV, why, why_len);
    }
    if (device->consent == FS_CONSENT_YES && !wrapper->params.accel_fallback &&
        (fs_buffers_need_bounce(wrapper, b->send_mem) ||
         fs_buffers_need_bounce(wrapper, b->recv_mem))) {
        device->consent = FS_CONSENT_OURS;
    }
    return status;
}
