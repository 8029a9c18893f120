/* SPDX-License-Identifier: BSD-3-Clause */
/* The NICs that this process may use, and the one it does. */
#ifndef FS_NICS_H
#define FS_NICS_H

#include "fastsched_exec.h"

#include "sched/model/fs_nic_map.h"

/* What to tell the other ranks; one NIC alone once it has been chosen. NULL: a
 * list of none. */
fs_nic_list_t fs_nics_list(const fs_nics_t *nics);

/* Use NIC k of that list from now on; the first choice stays. Any thread. */
void fs_nics_choose(fs_nics_t *nics, uint32_t k);

#endif
