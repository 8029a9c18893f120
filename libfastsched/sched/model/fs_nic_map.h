/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which NIC of its server each rank uses, and the lanes that follow: one for
 * each NIC in use, so one per rank where there are enough NICs, fewer where
 * ranks must share them. Pure, so every rank decides alike for all.
 */
#ifndef FS_NIC_MAP_H
#define FS_NIC_MAP_H

#include "fastsched.h"

enum { FS_MAX_NICS = 16 };

#define FS_NO_NIC UINT32_MAX

/* The NICs that a rank may use. */
typedef struct fs_nic_list {
    uint32_t n;               /* 0: unknown */
    uint32_t n_near;          /* the first of them are equally near, nearest */
    uint32_t id[FS_MAX_NICS]; /* equal on all ranks of the server; all differ */
} fs_nic_list_t;

/*
 * Choose a NIC for each rank. Ranks with equal lists take the near ones in
 * blocks, as evenly as possible. A NIC that nobody takes then gets a rank of the
 * busiest.
 *
 * With set_lanes, a server gets a lane for each NIC in use, served by the first
 * rank that uses it; it keeps its lanes where a rank knows of no NIC.
 *
 * list: [n_ranks]. choice: [n_ranks], out, index into the rank's own list;
 * FS_NO_NIC where it is empty. FS_OK, FS_ERR_NOMEM.
 */
fs_status_t fs_nic_map_choose(fs_topo_t *topo, const fs_nic_list_t *list,
                              bool set_lanes, uint32_t *choice);

#endif
