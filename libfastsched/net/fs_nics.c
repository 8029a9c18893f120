/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The source of the list of NICs, the first one that is set:
 *   - parameter nics: that many, without names;
 *   - UCX_NET_DEVICES (or FASTSCHED_UCX_NET_DEVICES, which overrides it for
 *     us): the devices in it, if it is a list;
 *   - hwloc: what is usable on this server, nearest to this process first.
 *
 * A chosen NIC is given to UCX by name, unless parameter nics only counts them
 * or UCX_NET_DEVICES is "all" or a list of devices to exclude: that setting
 * takes precedence.
 */
#include "net/fs_nics.h"

#include "base/fs_arith.h"
#include "base/fs_digest.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if FS_HWLOC
#include "net/fs_hwloc_api.h"
#include "net/fs_hwloc.h"
#endif

enum { DEVICE_LEN = 128, MAX_FOUND = 64 };

struct fs_nics {
    fs_nic_list_t    list;
    char             device[FS_MAX_NICS][DEVICE_LEN]; /* in UCX's words */
    bool             is_ours_to_pin;
    _Atomic uint32_t chosen; /* index into list, FS_NO_NIC: none yet */
};

/* Equal names, equal numbers; ports of a device ("mlx5_0:1") share its. */
static uint32_t id_of(const char *name, size_t len)
{
    const char *port = memchr(name, ':', len);

    return (uint32_t)fs_digest_add_bytes(
        1, name, port == NULL ? len : (size_t)(port - name));
}

static bool has_id(const fs_nic_list_t *list, uint32_t id)
{
    for (uint32_t k = 0; k < list->n; ++k) {
        if (list->id[k] == id) {
            return true;
        }
    }
    return false;
}

static void add_id(fs_nic_list_t *list, uint32_t id)
{
    if (list->n < FS_MAX_NICS && !has_id(list, id)) {
        list->id[list->n++] = id;
    }
}

/* ---- by parameter, by environment ---- */

static void count_to(fs_nic_list_t *list, uint32_t n)
{
    for (uint32_t k = 0; k < n; ++k) {
        add_id(list, k);
    }
    list->n_near = list->n;
}

static const char *net_devices(void)
{
    const char *text = getenv("FASTSCHED_UCX_NET_DEVICES");

    return text != NULL ? text : getenv("UCX_NET_DEVICES");
}

/* UCX's words for no list at all, and for what is not in it. */
static bool is_list(const char *text)
{
    return text != NULL && text[0] != '\0' && text[0] != '^' &&
           strcmp(text, "all") != 0;
}

static void read_list(fs_nic_list_t *list, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, ",");

        if (len > 0) {
            add_id(list, id_of(text, len));
        }
        text += len + (text[len] == ',');
    }
    list->n_near = list->n;
}

/* "mlx5_0:1,mlx5_0:2" is one NIC. */
static void name_listed(fs_nics_t *nics, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, ",");

        for (uint32_t k = 0; k < nics->list.n && len > 0; ++k) {
            char  *device = nics->device[k];
            size_t used   = strlen(device);

            if (nics->list.id[k] == id_of(text, len)) {
                snprintf(device + used, DEVICE_LEN - used, "%s%.*s",
                         used > 0 ? "," : "", (int)len, text);
            }
        }
        text += len + (text[len] == ',');
    }
}

/* ---- by hwloc ---- */

#if FS_HWLOC

/* Is a port of the NIC in a list of names? */
static bool is_named(const fs_hwloc_nic_t *nic, const char *text)
{
    fs_nic_list_t names = {0};
    bool          found = false;

    read_list(&names, text);
    for (uint32_t k = 0; k < nic->n_ports; ++k) {
        const char *name = nic->ports[k]->name;

        found = found || has_id(&names, id_of(name, strlen(name)));
    }
    return found;
}

/* All interfaces of a NIC that are up, as UCX calls them: "mlx5_0:1,ib0". */
static void name_device(const fs_hwloc_nic_t *nic, char device[DEVICE_LEN])
{
    size_t n = 0;

    for (uint32_t k = 0; k < nic->n_ports && n < DEVICE_LEN; ++k) {
        hwloc_obj_t port = nic->ports[k];
        char        number[16];

        snprintf(number, sizeof(number), ":%u", nic->up[k]);
        if (nic->up[k] > 0) {
            n += (size_t)snprintf(
                device + n, DEVICE_LEN - n, "%s%s%s", n == 0 ? "" : ",",
                port->name,
                port->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS ? number
                                                                      : "");
        }
    }
}

/* Does the process run beside the NIC? */
static bool is_near(hwloc_topology_t topology, hwloc_const_cpuset_t binding,
                    const fs_hwloc_nic_t *nic)
{
    hwloc_obj_t host = hwloc_get_non_io_ancestor_obj(topology, nic->pci);

    return host == NULL || host->cpuset == NULL ||
           fs_hwloc.hwloc_bitmap_intersects(host->cpuset, binding);
}

static void add_nics(fs_nics_t *nics, hwloc_topology_t topology,
                     hwloc_const_cpuset_t binding, const char *excluded,
                     bool near)
{
    fs_hwloc_nic_t found[MAX_FOUND];
    uint32_t       n = fs_hwloc_nics(topology, MAX_FOUND, found);

    for (uint32_t k = 0; k < n && nics->list.n < FS_MAX_NICS; ++k) {
        const char *name = found[k].ports[0]->name;

        if (found[k].usable && !is_named(&found[k], excluded) &&
            is_near(topology, binding, &found[k]) == near) {
            name_device(&found[k], nics->device[nics->list.n]);
            add_id(&nics->list, id_of(name, strlen(name)));
        }
    }
}

static void find(fs_nics_t *nics, hwloc_topology_t topology,
                 const char *excluded)
{
    hwloc_bitmap_t binding = fs_hwloc.hwloc_bitmap_alloc();

    if (binding == NULL) {
        return;
    }
    if (fs_hwloc.hwloc_get_cpubind(topology, binding, HWLOC_CPUBIND_PROCESS) !=
        0) {
        fs_hwloc.hwloc_bitmap_fill(binding);
    }
    add_nics(nics, topology, binding, excluded, true);
    nics->list.n_near = nics->list.n;
    add_nics(nics, topology, binding, excluded, false);
    if (nics->list.n_near == 0) {
        nics->list.n_near = nics->list.n;
    }
    fs_hwloc.hwloc_bitmap_free(binding);
}

/* Without the parts that ask GPUs: they take long, and start drivers. */
static void leave_out_gpus(hwloc_topology_t topology)
{
#if HWLOC_API_VERSION >= 0x00020100
    static const char *const parts[] = {"cuda",      "nvml",   "rsmi",
                                        "levelzero", "opencl", "gl"};

    for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); ++k) {
        fs_hwloc.hwloc_topology_set_components(
            topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, parts[k]);
    }
#else
    (void)topology;
#endif
}

static void ask_hwloc(fs_nics_t *nics, const char *excluded)
{
    hwloc_topology_t topology;

    if (!fs_hwloc_find() || fs_hwloc.hwloc_topology_init(&topology) != 0) {
        return;
    }
    leave_out_gpus(topology);
    fs_hwloc.hwloc_topology_set_cache_types_filter(topology,
                                                   HWLOC_TYPE_FILTER_KEEP_NONE);
    fs_hwloc.hwloc_topology_set_io_types_filter(
        topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (fs_hwloc.hwloc_topology_load(topology) == 0) {
        find(nics, topology, excluded);
    }
    fs_hwloc.hwloc_topology_destroy(topology);
}

#else

static void ask_hwloc(fs_nics_t *nics, const char *excluded)
{
    (void)nics;
    (void)excluded;
}

#endif

/* ---- all together ---- */

fs_status_t fs_nics_create(uint32_t n_nics, fs_nics_t **nics_p)
{
    const char *text = net_devices();
    fs_nics_t  *nics = calloc(1, sizeof(*nics));

    if (nics == NULL) {
        return FS_ERR_NOMEM;
    }
    atomic_init(&nics->chosen, FS_NO_NIC);
    if (n_nics > 0) {
        count_to(&nics->list, n_nics);
    } else if (is_list(text)) {
        read_list(&nics->list, text);
        name_listed(nics, text);
        nics->is_ours_to_pin = true;
    } else {
        ask_hwloc(nics, text != NULL && text[0] == '^' ? text + 1 : "");
        nics->is_ours_to_pin = text == NULL;
    }
    *nics_p = nics;
    return FS_OK;
}

void fs_nics_destroy(fs_nics_t *nics)
{
    free(nics);
}

fs_nic_list_t fs_nics_list(const fs_nics_t *nics)
{
    uint32_t chosen = nics == NULL ? FS_NO_NIC
                                   : atomic_load(&((fs_nics_t *)nics)->chosen);

    if (nics == NULL) {
        return (fs_nic_list_t){0};
    }
    return chosen == FS_NO_NIC ? nics->list
                               : (fs_nic_list_t){.n      = 1,
                                                 .n_near = 1,
                                                 .id = {nics->list.id[chosen]}};
}

void fs_nics_choose(fs_nics_t *nics, uint32_t k)
{
    uint32_t none = FS_NO_NIC;

    if (k < nics->list.n) {
        atomic_compare_exchange_strong(&nics->chosen, &none, k);
    }
}

const char *fs_nics_device(const fs_nics_t *nics)
{
    uint32_t chosen = nics == NULL ? FS_NO_NIC
                                   : atomic_load(&((fs_nics_t *)nics)->chosen);

    return chosen != FS_NO_NIC && nics->is_ours_to_pin ? nics->device[chosen]
                                                       : NULL;
}
