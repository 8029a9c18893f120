/* SPDX-License-Identifier: BSD-3-Clause */
/* A network over the MPI's own messages. */
#ifndef FS_TRANSPORT_MPI_H
#define FS_TRANSPORT_MPI_H

#include "net/fs_transport.h"

/*
 * Make a net that serves one communicator: connect() works once. native is
 * copied and has a p2p table. Free it with fs_net_destroy(), after its
 * transport.
 *
 * FS_OK; FS_ERR_UNSUPPORTED (too few tags); FS_ERR_NOMEM
 */
fs_status_t fs_mpi_create(const fs_native_t *native, fs_net_t **net_p);

#endif
