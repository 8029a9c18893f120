/* SPDX-License-Identifier: BSD-3-Clause */
/* What we use of hwloc, found at first use and not linked with, as UCX is. */
#ifndef FS_HWLOC_API_H
#define FS_HWLOC_API_H

#include <hwloc.h>
#include <stdbool.h>

#define FS_HWLOC_CALLS(DO)                    \
    DO(hwloc_bitmap_alloc)                    \
    DO(hwloc_bitmap_fill)                     \
    DO(hwloc_bitmap_free)                     \
    DO(hwloc_bitmap_intersects)               \
    DO(hwloc_get_cpubind)                     \
    DO(hwloc_get_obj_by_depth)                \
    DO(hwloc_topology_destroy)                \
    DO(hwloc_topology_init)                   \
    DO(hwloc_topology_is_thissystem)          \
    DO(hwloc_topology_load)                   \
    DO(hwloc_topology_set_cache_types_filter) \
    DO(hwloc_topology_set_components)         \
    DO(hwloc_topology_set_io_types_filter)

#define FS_HWLOC_FIELD(name) __typeof__(&(name)) name;

typedef struct fs_hwloc_api {
    FS_HWLOC_CALLS(FS_HWLOC_FIELD)
} fs_hwloc_api_t;

/* Set by fs_hwloc_find(), the same ever after. */
extern fs_hwloc_api_t fs_hwloc;

/* False: there is no hwloc, or it is too old. */
bool fs_hwloc_find(void);

#endif
