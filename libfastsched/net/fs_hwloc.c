/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NICs as hwloc sees them. A NIC is a PCI device with a network or an
 * OpenFabrics interface. Interfaces without a device (loopback, bridges,
 * tunnels) are no NICs: they have no slow network of their own.
 */
#include "net/fs_hwloc.h"

#include "net/fs_hwloc_api.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- finding ---- */

static bool is_rdma_port(hwloc_obj_t os)
{
    return os->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
}

static bool is_nic_port(hwloc_obj_t os)
{
    return os->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK || is_rdma_port(os);
}

static hwloc_obj_t pci_of(hwloc_obj_t os)
{
    hwloc_obj_t obj = os->parent;

    while (obj != NULL && obj->type != HWLOC_OBJ_PCI_DEVICE) {
        obj = obj->parent;
    }
    return obj;
}

static void add_port(fs_hwloc_nic_t *nics, uint32_t max, uint32_t *n_p,
                     hwloc_obj_t port)
{
    hwloc_obj_t pci = pci_of(port);
    uint32_t    k   = 0;

    while (k < *n_p && nics[k].pci != pci) {
        ++k;
    }
    if (pci == NULL || k == max) {
        return;
    }
    if (k == *n_p) {
        nics[(*n_p)++] = (fs_hwloc_nic_t){.pci = pci};
    }
    if (nics[k].n_ports < FS_HWLOC_MAX_PORTS) {
        nics[k].ports[nics[k].n_ports++] = port;
    }
}

/* ---- which are usable ---- */

/* What a NIC is worth. */
typedef struct worth {
    bool     up;
    bool     rdma;
    uint64_t mbit; /* 0: unknown */
} worth_t;

/* The first line of a file; false if there is none. */
static bool read_line(char line[64], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool read_line(char line[64], const char *format, ...)
{
    char    path[256];
    va_list args;
    FILE   *file;
    bool    ok;

    va_start(args, format);
    vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    ok = fgets(line, 64, file) != NULL;
    fclose(file);
    return ok;
}

/* The first port that is active; the first if hwloc does not know. */
static uint32_t active_port(hwloc_obj_t os)
{
    char        name[32];
    const char *state;

    for (uint32_t port = 1;; ++port) {
        snprintf(name, sizeof(name), "Port%uState", port);
        state = hwloc_obj_get_info_by_name(os, name);
        if (state == NULL) {
            return port == 1 ? 1 : 0;
        }
        if (strtol(state, NULL, 10) == 4) {
            return port;
        }
    }
}

static uint32_t is_up(hwloc_obj_t os, bool is_here)
{
    char line[64];

    if (is_rdma_port(os)) {
        return active_port(os);
    }
    return !is_here ||
           (read_line(line, "/sys/class/net/%s/operstate", os->name) &&
            strncmp(line, "up", 2) == 0);
}

/* "400 Gb/sec (4X NDR)", or Mbit/s; -1 if the driver does not know. */
static uint64_t rate_of(hwloc_obj_t os, uint32_t port)
{
    char line[64];
    long rate = 0;

    if (is_rdma_port(os)) {
        if (read_line(line, "/sys/class/infiniband/%s/ports/%u/rate", os->name,
                      port)) {
            rate = strtol(line, NULL, 10) * 1000;
        }
    } else if (read_line(line, "/sys/class/net/%s/speed", os->name)) {
        rate = strtol(line, NULL, 10);
    }
    return rate > 0 ? (uint64_t)rate : 0;
}

static worth_t worth_of(fs_hwloc_nic_t *nic, bool is_here)
{
    worth_t worth = {0};

    for (uint32_t k = 0; k < nic->n_ports; ++k) {
        hwloc_obj_t port = nic->ports[k];

        nic->up[k] = is_up(port, is_here);
        if (nic->up[k] > 0) {
            uint64_t mbit = is_here ? rate_of(port, nic->up[k]) : 0;

            worth.up   = true;
            worth.rdma = worth.rdma || is_rdma_port(port);
            worth.mbit = mbit > worth.mbit ? mbit : worth.mbit;
        }
    }
    return worth;
}

static bool is_better(const worth_t *a, const worth_t *b)
{
    if (a->up != b->up) {
        return a->up;
    }
    return a->rdma != b->rdma ? a->rdma : a->mbit > b->mbit;
}

static void find_usable(fs_hwloc_nic_t *nics, uint32_t n, bool is_here)
{
    worth_t best = {0};

    for (uint32_t k = 0; k < n; ++k) {
        worth_t worth = worth_of(&nics[k], is_here);

        if (is_better(&worth, &best)) {
            best = worth;
        }
    }
    for (uint32_t k = 0; k < n; ++k) {
        worth_t worth = worth_of(&nics[k], is_here);

        nics[k].usable = worth.up && !is_better(&best, &worth);
    }
}

uint32_t fs_hwloc_nics(hwloc_topology_t topology, uint32_t max,
                       fs_hwloc_nic_t *nics)
{
    hwloc_obj_t obj;
    uint32_t    n = 0;

    if (!fs_hwloc_find()) {
        return 0;
    }
    obj = fs_hwloc.hwloc_get_obj_by_depth(topology, HWLOC_TYPE_DEPTH_OS_DEVICE,
                                          0);
    for (; obj != NULL; obj = obj->next_cousin) {
        if (is_nic_port(obj)) {
            add_port(nics, max, &n, obj);
        }
    }
    find_usable(nics, n, fs_hwloc.hwloc_topology_is_thissystem(topology) != 0);
    return n;
}
