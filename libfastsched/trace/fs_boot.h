/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FS_BOOT_H
#define FS_BOOT_H

#include <stdbool.h>
#include <stddef.h>

/* The name that the kernel gave to its start: equal in all containers of a machine. False:
 * unknown, and name may have been written to. */
bool fs_boot_name(char *name, size_t len);

#endif
