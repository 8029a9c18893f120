/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX's configuration, set before it opens anything.
 *
 * UCX opens a TCP port for each worker on every network interface that it may
 * use, without authentication. So each of our two contexts gets what it needs
 * and no more:
 *   local  what works inside a server: shared memory, the process itself, copies
 *          of GPUs. No port; where UCX has no shared memory, one on the loopback
 *          interface.
 *   wire   one network device: that of fs_nics_device(), if UCX can use it, or
 *          the only one that there is. One port, if it is a TCP device. If
 *          there are several and none is chosen, the choice is UCX's.
 */
#ifndef FS_UCX_CONFIG_H
#define FS_UCX_CONFIG_H

#include "net/fs_ucx_api.h"

#include <stdbool.h>

/* What UCX could use here, as its environment stands. */
typedef struct fs_ucx_resources {
    bool rdma;
    bool shared;       /* memory that processes of a server share */
    char local[256];   /* transports for inside a server, as in UCX_TLS */
    char devices[512]; /* of networks, as in UCX_NET_DEVICES; the loopback
                          interface only if there is no other */
} fs_ucx_resources_t;

/* Read them from UCX's own listing of a context. */
void fs_ucx_resources_read(const char *listing, fs_ucx_resources_t *found);

/* For "local". */
ucs_status_t fs_ucx_config_local(ucp_config_t             *config,
                                 const fs_ucx_resources_t *found);

/* For "wire". net_device: names as in UCX_NET_DEVICES; NULL: unknown. */
ucs_status_t fs_ucx_config_wire(ucp_config_t             *config,
                                const fs_ucx_resources_t *found,
                                uint64_t tcp_sndbuf, const char *net_device);

#endif
