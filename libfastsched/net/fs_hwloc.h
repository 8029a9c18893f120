/* SPDX-License-Identifier: BSD-3-Clause */
/* The NICs of a server as hwloc sees them. */
#ifndef FS_HWLOC_H
#define FS_HWLOC_H

#include "fastsched.h"

#include <hwloc.h>

enum { FS_HWLOC_MAX_PORTS = 8 };

/** A PCI device with network interfaces, as in ib0 and mlx5_0. */
typedef struct fs_hwloc_nic {
    hwloc_obj_t pci;
    uint32_t    n_ports;
    hwloc_obj_t ports[FS_HWLOC_MAX_PORTS];
    uint32_t    up[FS_HWLOC_MAX_PORTS]; /**< 0: down; which port of an
                                             OpenFabrics adapter is up, or 1 */
    bool        usable; /**< up, and none is of a better kind or faster */
} fs_hwloc_nic_t;

/**
 * The NICs of a topology, loaded with I/O devices, in hwloc's order. A NIC is
 * usable if an interface of it is up and no NIC that is up outdoes it: one with
 * an OpenFabrics interface (InfiniBand, RoCE) any other, a faster one a slower.
 * So the Ethernet port for the administrator does not count beside the fabric.
 * Rates, and states of interfaces, are looked up in /sys, if the topology is
 * this machine's.
 *
 * @param[in]  max   Room at nics; further ones are left out.
 * @param[out] nics  [max]
 * @return How many there are, at most max.
 */
uint32_t fs_hwloc_nics(hwloc_topology_t topology, uint32_t max,
                       fs_hwloc_nic_t *nics);

#endif
