/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fastsched topo: what hwloc sees of this server, and the lanes that follow.
 *
 * NICs, and which of them are usable, as fs_hwloc_nics() says. A GPU belongs to
 * the lane whose NIC is nearest in the tree of buses, among several to the one
 * with the fewest GPUs.
 */
#include "tools/fs_tool.h"
#include "base/fs_json.h"

#include <stdio.h>
#include <string.h>

#if FS_HWLOC

#include "net/fs_hwloc.h"

enum { MAX_DEVICES = 256, TEXT_LEN = 256 };

typedef fs_hwloc_nic_t device_t; /* GPUs have interfaces, too */

typedef struct server {
    hwloc_topology_t topology;
    uint32_t         n_nics, n_gpus;
    device_t         nics[MAX_DEVICES];
    device_t         gpus[MAX_DEVICES];
    uint32_t         n_lanes;
    uint32_t         nic_of[MAX_DEVICES];  /* by lane: the usable ones */
    uint32_t         lane_of[MAX_DEVICES]; /* by GPU */
} server_t;

/* ---- finding ---- */

static bool is_gpu_port(hwloc_obj_t os)
{
    return os->attr->osdev.type == HWLOC_OBJ_OSDEV_GPU ||
           os->attr->osdev.type == HWLOC_OBJ_OSDEV_COPROC;
}

/* Display controllers, 3D controllers and processing accelerators. The plain
 * VGA of a server's console is none. */
static bool is_gpu_class(hwloc_obj_t pci)
{
    unsigned class_id = pci->attr->pcidev.class_id;

    return class_id == 0x0302 || class_id == 0x0380 || class_id >> 8 == 0x12;
}

/* A port hangs on its device. */
static void find_gpus(server_t *server)
{
    hwloc_obj_t pci = NULL;

    while (server->n_gpus < MAX_DEVICES &&
           (pci = hwloc_get_next_pcidev(server->topology, pci)) != NULL) {
        device_t gpu = {.pci = pci};

        for (hwloc_obj_t port = pci->io_first_child; port != NULL;
             port             = port->next_sibling) {
            if (port->type == HWLOC_OBJ_OS_DEVICE && is_gpu_port(port) &&
                gpu.n_ports < FS_HWLOC_MAX_PORTS) {
                gpu.ports[gpu.n_ports++] = port;
            }
        }
        if (is_gpu_class(pci) || gpu.n_ports > 0) {
            server->gpus[server->n_gpus++] = gpu;
        }
    }
}

/* A lane for each usable NIC; where there is none, one for all. */
static void find_nics(server_t *server)
{
    server->n_nics = fs_hwloc_nics(server->topology, MAX_DEVICES, server->nics);
    for (uint32_t k = 0; k < server->n_nics; ++k) {
        if (server->nics[k].usable) {
            server->nic_of[server->n_lanes++] = k;
        }
    }
}

static bool is_above(hwloc_obj_t above, hwloc_obj_t obj)
{
    while (obj != NULL && obj != above) {
        obj = obj->parent;
    }
    return obj != NULL;
}

/* Steps up from a until b is below. */
static unsigned distance(hwloc_obj_t a, hwloc_obj_t b)
{
    unsigned steps = 0;

    for (; !is_above(a, b); ++steps) {
        a = a->parent;
    }
    return steps;
}

static const device_t *nic_of(const server_t *server, uint32_t lane)
{
    return &server->nics[server->nic_of[lane]];
}

static void assign_gpus(server_t *server)
{
    uint32_t n_served[MAX_DEVICES] = {0};

    for (uint32_t g = 0; g < server->n_gpus; ++g) {
        uint32_t best = 0;

        for (uint32_t k = 1; k < server->n_lanes; ++k) {
            hwloc_obj_t gpu  = server->gpus[g].pci;
            unsigned    mine = distance(gpu, nic_of(server, k)->pci);
            unsigned    was  = distance(gpu, nic_of(server, best)->pci);

            if (mine < was || (mine == was && n_served[k] < n_served[best])) {
                best = k;
            }
        }
        server->lane_of[g] = best;
        n_served[best]++;
    }
}

/* ---- describing ---- */

/* For messages: "0000:17:00.0"; "ib0/mlx5_0", of what has no driver its bus; the
 * NUMA nodes a device hangs on, as in "0" or "0-1". */
typedef struct names {
    char bus[TEXT_LEN], name[TEXT_LEN], nodes[TEXT_LEN];
} names_t;

static names_t names_of(const server_t *server, const device_t *device)
{
    const struct hwloc_pcidev_attr_s *pci = &device->pci->attr->pcidev;
    hwloc_obj_t                       host =
        hwloc_get_non_io_ancestor_obj(server->topology, device->pci);
    names_t names;
    size_t  n = 0;

    snprintf(names.bus, TEXT_LEN, "%04x:%02x:%02x.%01x", pci->domain, pci->bus,
             pci->dev, pci->func);
    memcpy(names.name, names.bus, TEXT_LEN);
    for (uint32_t k = 0; k < device->n_ports && n < TEXT_LEN; ++k) {
        n += (size_t)snprintf(names.name + n, TEXT_LEN - n, "%s%s",
                              k == 0 ? "" : "/", device->ports[k]->name);
    }
    hwloc_bitmap_list_snprintf(names.nodes, TEXT_LEN, host->nodeset);
    return names;
}

static const char *host_name(const server_t *server)
{
    const char *name = hwloc_obj_get_info_by_name(
        hwloc_get_root_obj(server->topology), "HostName");

    return name == NULL ? "unknown" : name;
}

static unsigned count(const server_t *server, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(server->topology, type);

    return n > 0 ? (unsigned)n : 0;
}

static void print_device(const server_t *server, const char *kind,
                         const device_t *device, const char *note)
{
    names_t names = names_of(server, device);

    printf("%-10s %-16s PCI %s, NUMA node %s%s\n", kind, names.name, names.bus,
           names.nodes, note);
}

static void print_lane(const server_t *server, uint32_t lane)
{
    const char *gap = "";

    printf("lane %-5u %-16s GPUs: ", lane,
           names_of(server, nic_of(server, lane)).name);
    for (uint32_t k = 0; k < server->n_gpus; ++k) {
        if (server->lane_of[k] == lane) {
            printf("%s%s", gap, names_of(server, &server->gpus[k]).name);
            gap = ", ";
        }
    }
    printf("%s\n", *gap == '\0' ? "none" : "");
}

static void print_text(const server_t *server)
{
    printf("server     %s: %u packages, %u NUMA nodes, %u cores, %u hardware "
           "threads\n",
           host_name(server), count(server, HWLOC_OBJ_PACKAGE),
           count(server, HWLOC_OBJ_NUMANODE), count(server, HWLOC_OBJ_CORE),
           count(server, HWLOC_OBJ_PU));
    for (uint32_t k = 0; k < server->n_nics; ++k) {
        print_device(server, "NIC", &server->nics[k],
                     server->nics[k].usable ? "" : ", down or not the fastest");
    }
    for (uint32_t k = 0; k < server->n_gpus; ++k) {
        print_device(server, "GPU", &server->gpus[k], "");
    }
    for (uint32_t k = 0; k < server->n_lanes; ++k) {
        print_lane(server, k);
    }
    if (server->n_lanes == 0) {
        printf("lane 0     no usable NIC found: one lane for all ranks\n");
    }
}

static void write_devices(const server_t *server, fs_json_t *json,
                          const char *key, const device_t *devices, uint32_t n)
{
    fs_json_open(json, key, '[');
    for (uint32_t k = 0; k < n; ++k) {
        names_t names = names_of(server, &devices[k]);

        fs_json_open(json, NULL, '{');
        fs_json_open(json, "interfaces", '[');
        for (uint32_t i = 0; i < devices[k].n_ports; ++i) {
            fs_json_text(json, NULL, devices[k].ports[i]->name);
        }
        fs_json_close(json);
        fs_json_text(json, "pci", names.bus);
        fs_json_text(json, "numa", names.nodes);
        if (devices == server->nics) {
            fs_json_bool(json, "usable", devices[k].usable);
        }
        fs_json_close(json);
    }
    fs_json_close(json);
}

static void write_lanes(const server_t *server, fs_json_t *json)
{
    fs_json_open(json, "lanes", '[');
    for (uint32_t lane = 0; lane == 0 || lane < server->n_lanes; ++lane) {
        fs_json_open(json, NULL, '{');
        if (lane < server->n_lanes) {
            fs_json_u64(json, "nic", server->nic_of[lane]);
        } else {
            fs_json_text(json, "nic", NULL);
        }
        fs_json_open(json, "gpus", '[');
        for (uint32_t k = 0; k < server->n_gpus; ++k) {
            if (server->lane_of[k] == lane) {
                fs_json_u64(json, NULL, k);
            }
        }
        fs_json_close(json);
        fs_json_close(json);
    }
    fs_json_close(json);
}

static void print_json(const server_t *server)
{
    fs_json_t json;

    fs_json_init(&json, stdout, 2);
    fs_json_open(&json, NULL, '{');
    fs_json_text(&json, "server", host_name(server));
    fs_json_u64(&json, "packages", count(server, HWLOC_OBJ_PACKAGE));
    fs_json_u64(&json, "numa_nodes", count(server, HWLOC_OBJ_NUMANODE));
    fs_json_u64(&json, "cores", count(server, HWLOC_OBJ_CORE));
    fs_json_u64(&json, "threads", count(server, HWLOC_OBJ_PU));
    write_devices(server, &json, "nics", server->nics, server->n_nics);
    write_devices(server, &json, "gpus", server->gpus, server->n_gpus);
    write_lanes(server, &json);
    fs_json_close(&json);
}

static void show(bool json)
{
    server_t server = {0};

    if (hwloc_topology_init(&server.topology) != 0) {
        fs_tool_failed("hwloc cannot be initialized");
    }
    hwloc_topology_set_io_types_filter(server.topology,
                                       HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(server.topology) != 0) {
        fs_tool_failed("hwloc cannot read the topology of this server");
    }
    find_nics(&server);
    find_gpus(&server);
    assign_gpus(&server);
    (json ? print_json : print_text)(&server);
    hwloc_topology_destroy(server.topology);
}

#else

static void show(bool json)
{
    (void)json;
    fs_tool_failed("topo: this build has no hwloc (configure found none; "
                   "Debian: libhwloc-dev)");
}

#endif

void fs_cmd_topo(int argc, char **argv)
{
    fs_tool_options_t options = {
        .usage = "topo [OPTIONS]\n\n"
                 "This server as hwloc sees it: NICs, GPUs, and a lane for "
                 "each usable NIC."};
    uint32_t               json   = 0;
    const fs_tool_option_t rows[] = {FS_TOOL_FORMAT(&json)};

    FS_TOOL_ADD(&options, rows);
    fs_tool_read_options(argc, argv, &options);
    show(json == 1);
}
