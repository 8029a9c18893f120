/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * libfastsched over UCX. The one public header that belongs to UCX; it needs
 * none of UCX's own.
 */
#ifndef FASTSCHED_UCX_H
#define FASTSCHED_UCX_H

#include "fastsched_exec.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Open UCX for this process: two contexts of our own, independent of those of
 * the MPI. "Local" carries traffic inside servers with UCX's defaults. "Wire"
 * carries traffic between servers, one rail, eager and with a bounded send
 * buffer if the network is TCP, unless FASTSCHED_UCX_RNDV_THRESH is set. Both
 * read UCX's environment; FASTSCHED_UCX_* overrides UCX_* for us alone.
 *
 * @param[in]  tcp_sndbuf  Send buffer of TCP connections, bytes.
 * @param[in]  net_device  Network devices that "wire" is bound to, as in
 *                         UCX_NET_DEVICES, see fs_nics_device(). NULL: UCX
 *                         chooses.
 * @param[out] net_p       fs_net_destroy() frees it.
 * @param[out] why         On an error: one line for the user.
 * @return FS_OK, FS_ERR_TRANSPORT (UCX cannot be opened), FS_ERR_NOMEM
 */
fs_status_t fs_ucx_create(uint64_t tcp_sndbuf, const char *net_device,
                          fs_net_t **net_p, char *why, size_t why_len);

#ifdef __cplusplus
}
#endif

#endif
