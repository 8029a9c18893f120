/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/fs_ucx_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOPBACK "lo"

/* ---- what there is ---- */

/* By the beginning of the name; NULL at the end. */
static const char *const rdma_names[]   = {"rc_",  "dc_", "ud_", "ugni",
                                           "gga_", "srd", NULL};
static const char *const shared_names[] = {"posix", "sysv", "xpmem", NULL};
static const char *const inside_names[] = {"self", "cma",   "knem", "cuda_",
                                           "gdr_", "rocm_", "ze_",  NULL};

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strncmp(name, *names, strlen(*names)) != 0) {
        ++names;
    }
    return *names != NULL;
}

/* Is a name, of len characters, in "self,posix"? */
static bool has_name(const char *list, const char *name, size_t len)
{
    while (*list != '\0') {
        size_t n = strcspn(list, ",");

        if (n == len && strncmp(list, name, n) == 0) {
            return true;
        }
        list += n + (list[n] == ',');
    }
    return false;
}

/* Each once; what has no room is left out. */
static void add_name(char *list, size_t size, const char *name, size_t len)
{
    size_t used = strlen(list);

    if (!has_name(list, name, len) && used + len + 2 <= size) {
        snprintf(list + used, size - used, "%s%.*s", used > 0 ? "," : "",
                 (int)len, name);
    }
}

static void add_resource(fs_ucx_resources_t *found, const char *transport,
                         const char *device)
{
    bool shared = is_one_of(transport, shared_names);
    bool rdma   = is_one_of(transport, rdma_names);

    found->shared = found->shared || shared;
    found->rdma   = found->rdma || rdma;
    if (shared || is_one_of(transport, inside_names)) {
        add_name(found->local, sizeof(found->local), transport,
                 strlen(transport));
    } else if (strcmp(device, LOOPBACK) != 0) {
        add_name(found->devices, sizeof(found->devices), device,
                 strlen(device));
    }
}

/* A line of it: "#  resource 1  :  md 1  dev 1  flags -- tcp/eth0". */
void fs_ucx_resources_read(const char *listing, fs_ucx_resources_t *found)
{
    char transport[32], device[64] = "";
    bool loopback = false;

    *found = (fs_ucx_resources_t){0};
    while ((listing = strstr(listing, " flags ")) != NULL) {
        listing += strlen(" flags ");
        if (sscanf(listing, "%*s %31[^/ \n]/%63[^ \n]", transport, device) ==
            2) {
            add_resource(found, transport, device);
            loopback = loopback || strcmp(device, LOOPBACK) == 0;
        }
    }
    if (found->devices[0] == '\0' && loopback) {
        strcpy(found->devices, LOOPBACK);
    }
}

/* ---- what is set ---- */

ucs_status_t fs_ucx_config_local(ucp_config_t             *config,
                                 const fs_ucx_resources_t *found)
{
    char         names[sizeof(found->local) + 8];
    ucs_status_t status = UCS_OK;

    snprintf(names, sizeof(names), "%s", found->local);
    if (!found->shared) {
        add_name(names, sizeof(names), "tcp", strlen("tcp"));
        status = fs_ucx.ucp_config_modify(config, "NET_DEVICES", LOOPBACK);
    }
    return status == UCS_OK ? fs_ucx.ucp_config_modify(config, "TLS", names)
                            : status;
}

/* UCX 1.17 renamed the fields that belong to a transport. */
static const char *sndbuf_field(void)
{
    unsigned major, minor, release;

    fs_ucx.ucp_get_version(&major, &minor, &release);
    return major > 1 || minor >= 17 ? "TCP_SNDBUF" : "SNDBUF";
}

/* Of the names, those that there are; or the only one that there is; or "". */
static void choose_devices(const fs_ucx_resources_t *found, const char *names,
                           char *chosen, size_t size)
{
    chosen[0] = '\0';
    while (names != NULL && *names != '\0') {
        size_t len = strcspn(names, ",");

        if (has_name(found->devices, names, len)) {
            add_name(chosen, size, names, len);
        }
        names += len + (names[len] == ',');
    }
    if (chosen[0] == '\0' && strchr(found->devices, ',') == NULL) {
        snprintf(chosen, size, "%s", found->devices);
    }
}

ucs_status_t fs_ucx_config_wire(ucp_config_t             *config,
                                const fs_ucx_resources_t *found,
                                uint64_t tcp_sndbuf, const char *net_device)
{
    char         device[sizeof(found->devices)], bytes[32];
    ucs_status_t status;

    choose_devices(found, net_device, device, sizeof(device));
    status = fs_ucx.ucp_config_modify(config, "MAX_RNDV_RAILS", "1");
    if (status == UCS_OK && device[0] != '\0') {
        status = fs_ucx.ucp_config_modify(config, "NET_DEVICES", device);
    }
    if (status != UCS_OK || found->rdma) {
        return status;
    }
    if (getenv("FASTSCHED_UCX_RNDV_THRESH") == NULL) {
        status = fs_ucx.ucp_config_modify(config, "RNDV_THRESH", "inf");
    }
    if (status == UCS_OK && getenv("UCX_TCP_SNDBUF") == NULL) {
        snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)tcp_sndbuf);
        status = fs_ucx.ucp_config_modify(config, sndbuf_field(), bytes);
    }
    return status;
}
