/* SPDX-License-Identifier: BSD-3-Clause */
/* SMPI's MPI as the host of libfastsched. */
#ifndef SMPI_HOST_H
#define SMPI_HOST_H

#include "fastsched_exec.h"

#include <mpi.h>

typedef struct smpi_host smpi_host_t;

/* On a duplicate of comm, whose tags are all ours. Collective. */
smpi_host_t *smpi_host_create(MPI_Comm comm);
void         smpi_host_destroy(smpi_host_t *native);

fs_native_t smpi_host_table(smpi_host_t *native);

#endif
