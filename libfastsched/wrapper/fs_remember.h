/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameter tuning, once in a process. */
#ifndef FS_REMEMBER_H
#define FS_REMEMBER_H

#include "wrapper/fs_wrapper.h"

/* fs_native_t.tuning and fs_native_t.name; process is the wrapper. */
const fs_tuning_t *fs_remember_tuning(void *process);
const char        *fs_remember_mpi_name(fs_wrapper_t *wrapper);

/* What the tuner of a communicator has found is kept until the end. */
void fs_remember(fs_wrapper_comm_t *comm);

/* The end: into the file. */
void fs_remember_all(fs_wrapper_t *wrapper);

void fs_remember_fini(fs_wrapper_t *wrapper);

#endif
