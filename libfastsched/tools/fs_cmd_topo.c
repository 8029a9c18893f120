/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fastsched topo: what hwloc sees of this server, and the lanes that follow.
 *
 * NICs, and which of them are usable, as fs_hwloc_nics() says. A GPU belongs to
 * the lane whose NIC is nearest in the tree of buses, among several to the one
 * with the fewest GPUs.
 */
#include "tools/fs_tool.h"
#include "tools/fs_tool_json.h"
#include "tools/fs_tool_params.h"

#include <stdio.h>
#include <string.h>

#if FS_HWLOC

#include "exec/fs_hwloc.h"

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

static hwloc_obj_t pci_of(hwloc_obj_t os)
{
    hwloc_obj_t obj = os->parent;

    while (obj != NULL && obj->type != HWLOC_OBJ_PCI_DEVICE) {
        obj = obj->parent;
    }
    return obj;
}

/* Port NULL: the device, whether it has any or not. */
static void add_gpu(device_t *devices, uint32_t *n_p, hwloc_obj_t pci,
                    hwloc_obj_t port)
{
    uint32_t k = 0;

    while (k < *n_p && devices[k].pci != pci) {
        ++k;
    }
    if (k == MAX_DEVICES) {
        return;
    }
    if (k == *n_p) {
        devices[(*n_p)++] = (device_t){.pci = pci};
    }
    if (port != NULL && devices[k].n_ports < FS_HWLOC_MAX_PORTS) {
        devices[k].ports[devices[k].n_ports++] = port;
    }
}

static void find_gpus(server_t *server)
{
    hwloc_obj_t obj = NULL;

    while ((obj = hwloc_get_next_pcidev(server->topology, obj)) != NULL) {
        if (is_gpu_class(obj)) {
            add_gpu(server->gpus, &server->n_gpus, obj, NULL);
        }
    }
    while ((obj = hwloc_get_next_osdev(server->topology, obj)) != NULL) {
        hwloc_obj_t pci = pci_of(obj);

        if (pci != NULL && is_gpu_port(obj)) {
            add_gpu(server->gpus, &server->n_gpus, pci, obj);
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

static const char *bus_of(const device_t *device, char out[TEXT_LEN])
{
    const struct hwloc_pcidev_attr_s *pci = &device->pci->attr->pcidev;

    snprintf(out, TEXT_LEN, "%04x:%02x:%02x.%01x", pci->domain, pci->bus,
             pci->dev, pci->func);
    return out;
}

/* "ib0/mlx5_0"; the place on the bus of what has no driver. */
static const char *name_of(const device_t *device, char out[TEXT_LEN])
{
    size_t n = 0;

    bus_of(device, out);
    for (uint32_t k = 0; k < device->n_ports && n < TEXT_LEN; ++k) {
        n += (size_t)snprintf(out + n, TEXT_LEN - n, "%s%s", k == 0 ? "" : "/",
                              device->ports[k]->name);
    }
    return out;
}

/* The NUMA nodes a device hangs on, as in "0" or "0-1". */
static const char *nodes_of(const server_t *server, const device_t *device,
                            char out[TEXT_LEN])
{
    hwloc_obj_t host =
        hwloc_get_non_io_ancestor_obj(server->topology, device->pci);

    hwloc_bitmap_list_snprintf(out, TEXT_LEN, host->nodeset);
    return out;
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
    char name[TEXT_LEN], bus[TEXT_LEN], nodes[TEXT_LEN];

    printf("%-10s %-16s PCI %s, NUMA node %s%s\n", kind, name_of(device, name),
           bus_of(device, bus), nodes_of(server, device, nodes), note);
}

static void print_lane(const server_t *server, uint32_t lane)
{
    const device_t *nic = nic_of(server, lane);
    const char     *gap = "";
    char            name[TEXT_LEN];

    printf("lane %-5u %-16s GPUs: ", lane, name_of(nic, name));
    for (uint32_t k = 0; k < server->n_gpus; ++k) {
        if (server->lane_of[k] == lane) {
            printf("%s%s", gap, name_of(&server->gpus[k], name));
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
        printf("lane 0     no usable NIC is seen: one lane for all\n");
    }
}

static void write_devices(const server_t *server, fs_tool_json_t *json,
                          const char *key, const device_t *devices, uint32_t n)
{
    char text[TEXT_LEN];

    fs_tool_json_open(json, key, '[');
    for (uint32_t k = 0; k < n; ++k) {
        fs_tool_json_open(json, NULL, '{');
        fs_tool_json_open(json, "interfaces", '[');
        for (uint32_t i = 0; i < devices[k].n_ports; ++i) {
            fs_tool_json_text(json, NULL, devices[k].ports[i]->name);
        }
        fs_tool_json_close(json);
        fs_tool_json_text(json, "pci", bus_of(&devices[k], text));
        fs_tool_json_text(json, "numa", nodes_of(server, &devices[k], text));
        if (devices == server->nics) {
            fs_tool_json_bool(json, "usable", devices[k].usable);
        }
        fs_tool_json_close(json);
    }
    fs_tool_json_close(json);
}

static void write_lanes(const server_t *server, fs_tool_json_t *json)
{
    fs_tool_json_open(json, "lanes", '[');
    for (uint32_t lane = 0; lane == 0 || lane < server->n_lanes; ++lane) {
        fs_tool_json_open(json, NULL, '{');
        if (lane < server->n_lanes) {
            fs_tool_json_u64(json, "nic", server->nic_of[lane]);
        } else {
            fs_tool_json_null(json, "nic");
        }
        fs_tool_json_open(json, "gpus", '[');
        for (uint32_t k = 0; k < server->n_gpus; ++k) {
            if (server->lane_of[k] == lane) {
                fs_tool_json_u64(json, NULL, k);
            }
        }
        fs_tool_json_close(json);
        fs_tool_json_close(json);
    }
    fs_tool_json_close(json);
}

static void print_json(const server_t *server)
{
    fs_tool_json_t json;

    fs_tool_json_init(&json, stdout, 2);
    fs_tool_json_open(&json, NULL, '{');
    fs_tool_json_text(&json, "server", host_name(server));
    fs_tool_json_u64(&json, "packages", count(server, HWLOC_OBJ_PACKAGE));
    fs_tool_json_u64(&json, "numa_nodes", count(server, HWLOC_OBJ_NUMANODE));
    fs_tool_json_u64(&json, "cores", count(server, HWLOC_OBJ_CORE));
    fs_tool_json_u64(&json, "threads", count(server, HWLOC_OBJ_PU));
    write_devices(server, &json, "nics", server->nics, server->n_nics);
    write_devices(server, &json, "gpus", server->gpus, server->n_gpus);
    write_lanes(server, &json);
    fs_tool_json_close(&json);
}

static int show(bool json)
{
    server_t server = {0};

    if (hwloc_topology_init(&server.topology) != 0) {
        return fs_tool_failed("hwloc does not start");
    }
    hwloc_topology_set_io_types_filter(server.topology,
                                       HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(server.topology) != 0) {
        hwloc_topology_destroy(server.topology);
        return fs_tool_failed("hwloc cannot read the topology of this server");
    }
    find_nics(&server);
    find_gpus(&server);
    assign_gpus(&server);
    (json ? print_json : print_text)(&server);
    hwloc_topology_destroy(server.topology);
    return FS_TOOL_OK;
}

#else

static int show(bool json)
{
    (void)json;
    return fs_tool_failed(
        "topo: this build has no hwloc (configure found none; "
        "Debian: libhwloc-dev)");
}

#endif

int fs_cmd_topo(int argc, char **argv)
{
    fs_tool_options_t options = {
        .usage = "topo [OPTIONS]\n\n"
                 "This server as hwloc sees it: NICs, GPUs, and a lane for "
                 "each usable NIC."};
    uint32_t json;
    int      rc;

    fs_tool_format_option(&json, &options);
    rc = fs_tool_read_options(argc, argv, &options);
    return rc == FS_TOOL_GO_ON ? show(json == 1) : rc;
}
