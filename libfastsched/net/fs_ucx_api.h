/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What we use of UCX, as its headers have it. Found at first use and not linked
 * with: a process that never crosses servers loads no UCX, and a machine without
 * UCX loads the plugin all the same.
 */
#ifndef FS_UCX_API_H
#define FS_UCX_API_H

#include "fastsched.h"

#include <ucp/api/ucp.h>

#define FS_UCX_CALLS(DO)               \
    DO(ucp_am_send_nbx)                \
    DO(ucp_cleanup)                    \
    DO(ucp_config_modify)              \
    DO(ucp_config_read)                \
    DO(ucp_config_release)             \
    DO(ucp_context_print_info)         \
    DO(ucp_context_query)              \
    DO(ucp_ep_create)                  \
    DO(ucp_get_version)                \
    DO(ucp_get_version_string)         \
    DO(ucp_init_version)               \
    DO(ucp_request_cancel)             \
    DO(ucp_request_free)               \
    DO(ucp_tag_probe_nb)               \
    DO(ucp_tag_recv_nbx)               \
    DO(ucp_tag_send_nbx)               \
    DO(ucp_worker_create)              \
    DO(ucp_worker_destroy)             \
    DO(ucp_worker_get_address)         \
    DO(ucp_worker_progress)            \
    DO(ucp_worker_release_address)     \
    DO(ucp_worker_set_am_recv_handler) \
    DO(ucs_status_string)

#define FS_UCX_FIELD(name) __typeof__(&(name)) name;

typedef struct fs_ucx_api {
    FS_UCX_CALLS(FS_UCX_FIELD)
} fs_ucx_api_t;

/* Set by fs_ucx_find(), the same ever after. */
extern fs_ucx_api_t fs_ucx;

/* The UCX that the process has loaded already, or the one that the loader finds,
 * or the one that we were built with. It stays loaded: it may have threads.
 * FS_OK; FS_ERR_UNSUPPORTED: there is none, or it is too old; why says so. */
fs_status_t fs_ucx_find(char *why, size_t why_len);

#endif
