/* SPDX-License-Identifier: BSD-3-Clause */
/* What UCX is told for its two contexts: no more transports and network devices
 * than each needs, so that few ports are open. */
#include "net/fs_ucx_config.h"
#include "fs_test_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE(_resource) \
    "#  resource 0  :  md 0  dev 0  flags -- " _resource "\n"
#define INSIDE                                                         \
    "# UCP context\n#     component 0  :  self\n" LINE("self/memory0") \
        LINE("sysv/memory") LINE("posix/memory") LINE("cma/memory")

typedef struct config {
    const char *listing;
    const char *net_device; /* of the NIC that was chosen */
    const char *local;      /* what is set, in this order */
    const char *wire;
} config_t;

#define TCP_WIRE "RNDV_THRESH=inf SNDBUF=65536 "

static const config_t configs[] = {
    /* A machine with one interface. */
    {INSIDE LINE("tcp/lo") LINE("tcp/eth0"), NULL, "TLS=self,sysv,posix,cma ",
     "MAX_RNDV_RAILS=1 NET_DEVICES=eth0 " TCP_WIRE},
    {INSIDE LINE("tcp/eth0") LINE("tcp/lo"), "eth0", "TLS=self,sysv,posix,cma ",
     "MAX_RNDV_RAILS=1 NET_DEVICES=eth0 " TCP_WIRE},
    /* Nothing but itself. */
    {INSIDE LINE("tcp/lo"), NULL, "TLS=self,sysv,posix,cma ",
     "MAX_RNDV_RAILS=1 NET_DEVICES=lo " TCP_WIRE},
    /* Several, and the one that was chosen. */
    {INSIDE LINE("tcp/lo") LINE("tcp/eth0") LINE("tcp/eth1"), "eth1",
     "TLS=self,sysv,posix,cma ", "MAX_RNDV_RAILS=1 NET_DEVICES=eth1 " TCP_WIRE},
    /* Several, nobody knows which; or one that UCX does not have. */
    {INSIDE LINE("tcp/lo") LINE("tcp/eth0") LINE("tcp/eth1"), NULL,
     "TLS=self,sysv,posix,cma ", "MAX_RNDV_RAILS=1 " TCP_WIRE},
    {INSIDE LINE("tcp/lo") LINE("tcp/bond0"), "eth1",
     "TLS=self,sysv,posix,cma ",
     "MAX_RNDV_RAILS=1 NET_DEVICES=bond0 " TCP_WIRE},
    /* A fabric, on which nothing else is set; ib0 is down. */
    {INSIDE LINE("tcp/eth0") LINE("rc_mlx5/mlx5_0:1") LINE("ud_mlx5/mlx5_0:1"),
     "mlx5_0:1,ib0", "TLS=self,sysv,posix,cma ",
     "MAX_RNDV_RAILS=1 NET_DEVICES=mlx5_0:1 "},
    {INSIDE LINE("tcp/eth0") LINE("tcp/ib0") LINE("rc_mlx5/mlx5_0:1"),
     "mlx5_0:1,ib0", "TLS=self,sysv,posix,cma ",
     "MAX_RNDV_RAILS=1 NET_DEVICES=mlx5_0:1,ib0 "},
    /* GPUs are inside a server. */
    {INSIDE LINE("cuda_ipc/cuda") LINE("cuda_copy/cuda") LINE("tcp/eth0"), NULL,
     "TLS=self,sysv,posix,cma,cuda_ipc,cuda_copy ",
     "MAX_RNDV_RAILS=1 NET_DEVICES=eth0 " TCP_WIRE},
    /* A user who wants no shared memory, or who wants nothing. */
    {LINE("self/memory0") LINE("tcp/eth0"), NULL,
     "NET_DEVICES=lo TLS=self,tcp ",
     "MAX_RNDV_RAILS=1 NET_DEVICES=eth0 " TCP_WIRE},
    {LINE("self/memory0"), NULL, "NET_DEVICES=lo TLS=self,tcp ",
     "MAX_RNDV_RAILS=1 " TCP_WIRE},
};
enum { N_CONFIGS = sizeof(configs) / sizeof(configs[0]) };

static char set[512];

static ucs_status_t modify(ucp_config_t *config, const char *name,
                           const char *value)
{
    size_t used = strlen(set);

    (void)config;
    snprintf(set + used, sizeof(set) - used, "%s=%s ", name, value);
    return UCS_OK;
}

static void get_version(unsigned *major, unsigned *minor, unsigned *release)
{
    *major   = 1;
    *minor   = 13;
    *release = 1;
}

static void set_up(void)
{
    unsetenv("FASTSCHED_UCX_RNDV_THRESH");
    unsetenv("UCX_TCP_SNDBUF");
    fs_ucx.ucp_config_modify = modify;
    fs_ucx.ucp_get_version   = get_version;
    set[0]                   = '\0';
}

START_TEST(few_doors)
{
    const config_t    *c = &configs[_i];
    fs_ucx_resources_t found;

    fs_ucx_resources_read(c->listing, &found);
    ck_assert_int_eq(fs_ucx_config_local(NULL, &found), UCS_OK);
    ck_assert_str_eq(set, c->local);
    set[0] = '\0';
    ck_assert_int_eq(fs_ucx_config_wire(NULL, &found, 65536, c->net_device),
                     UCS_OK);
    ck_assert_str_eq(set, c->wire);
}
END_TEST

/* More devices than there is room for: none is cut in two. */
START_TEST(very_many_devices)
{
    char               listing[64 * 100] = "";
    fs_ucx_resources_t found;

    for (int k = 0; k < 100; ++k) {
        size_t used = strlen(listing);

        snprintf(listing + used, sizeof(listing) - used,
                 " flags -- tcp/nic%d\n", 1000 + k);
    }
    fs_ucx_resources_read(listing, &found);
    ck_assert_uint_lt(strlen(found.devices), sizeof(found.devices));
    ck_assert_uint_eq((strlen(found.devices) + 1) % strlen("nic1000,"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ucx_config");
    TCase *tcase = tcase_create("configs");

    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_loop_test(tcase, few_doors, 0, N_CONFIGS);
    tcase_add_test(tcase, very_many_devices);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
