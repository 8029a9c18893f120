/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FS_HOST_ID_H
#define FS_HOST_ID_H

#include <stdint.h>

/* Equal for processes that can share memory, which are those of one boot of a kernel with
 * one /dev/shm, and only for them. 0: unknown. */
uint64_t fs_host_id(void);

#endif
