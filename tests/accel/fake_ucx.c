/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To be preloaded: a UCX that seems to be built with CUDA, for memory of
 * fake_cuda.c. Who says memory_type is CUDA gets the alias of his address; who
 * does not say so ends as with a real one. FAKE_UCX_COUNT=FILE: at the end a line
 * is added to it, the number of messages that were on a device.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucp/api/ucp.h>

static unsigned long n_messages;

/* Not RTLD_NEXT: who uses UCX may have loaded it for himself. */
static void *next(const char *name)
{
    return dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), name);
}

/* On the host, what is asked for. */
static void *reach(const void *buffer, ucp_request_param_t *param)
{
    void *(*alias)(uint64_t address);

    if (!(param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE) ||
        param->memory_type != UCS_MEMORY_TYPE_CUDA) {
        return (void *)(uintptr_t)buffer;
    }
    *(void **)&alias   = dlsym(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD),
                               "fake_cuda_alias");
    param->memory_type = UCS_MEMORY_TYPE_HOST;
    __atomic_fetch_add(&n_messages, 1, __ATOMIC_RELAXED);
    return alias((uintptr_t)buffer);
}

ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h ep, const void *buffer, size_t count,
                                  ucp_tag_t                  tag,
                                  const ucp_request_param_t *param)
{
    __typeof__(&ucp_tag_send_nbx) real;
    ucp_request_param_t           here = *param;
    void                         *at   = reach(buffer, &here);

    *(void **)&real = next("ucp_tag_send_nbx");
    return real(ep, at, count, tag, &here);
}

ucs_status_ptr_t ucp_tag_recv_nbx(ucp_worker_h worker, void *buffer,
                                  size_t count, ucp_tag_t tag,
                                  ucp_tag_t                  tag_mask,
                                  const ucp_request_param_t *param)
{
    __typeof__(&ucp_tag_recv_nbx) real;
    ucp_request_param_t           here = *param;
    void                         *at   = reach(buffer, &here);

    *(void **)&real = next("ucp_tag_recv_nbx");
    return real(worker, at, count, tag, tag_mask, &here);
}

ucs_status_t ucp_context_query(ucp_context_h context, ucp_context_attr_t *attr)
{
    __typeof__(&ucp_context_query) real;
    ucs_status_t                   status;

    *(void **)&real = next("ucp_context_query");
    status          = real(context, attr);
    if (attr->field_mask & UCP_ATTR_FIELD_MEMORY_TYPES) {
        attr->memory_types |= UINT64_C(1) << UCS_MEMORY_TYPE_CUDA;
    }
    return status;
}

__attribute__((destructor)) static void tell(void)
{
    const char *name = getenv("FAKE_UCX_COUNT");
    FILE       *file = name != NULL ? fopen(name, "a") : NULL;

    if (file != NULL) {
        fprintf(file, "%lu\n", n_messages);
        fclose(file);
    }
}
