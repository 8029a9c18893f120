/* SPDX-License-Identifier: BSD-3-Clause */
/* Which NICs a process finds: from the parameter, the environment, and servers
 * that hwloc reads from a file. */
#include "net/fs_nics.h"
#include "fs_test_util.h"

#if FS_HWLOC
#include "net/fs_hwloc.h"
#endif

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static fs_nics_t *nics;

static fs_nic_list_t found(uint32_t n_nics)
{
    fs_nics_destroy(nics);
    ck_assert_int_eq(fs_nics_create(n_nics, &nics), FS_OK);
    ck_assert_ptr_null(fs_nics_device(nics));
    return fs_nics_list(nics);
}

static void tear_down(void)
{
    fs_nics_destroy(nics);
}

START_TEST(by_parameter)
{
    fs_nic_list_t list;

    setenv("UCX_NET_DEVICES", "eth0", 1);
    list = found(3);
    ck_assert_uint_eq(list.n, 3);
    ck_assert_uint_eq(list.n_near, 3);
    ck_assert_uint_ne(list.id[0], list.id[1]);
    fs_nics_choose(nics, 2);
    ck_assert_ptr_null(fs_nics_device(nics));
}
END_TEST

static const struct {
    const char *text;
    uint32_t    n;
    const char *last; /* of these, for UCX */
} lists[] = {
    {"nic0", 1, "nic0"},
    {"mlx5_0:1,mlx5_1:1", 2, "mlx5_1:1"},
    {"eth0,eth1,eth0", 2, "eth1"},
    {"mlx5_0:1,mlx5_0:2", 1, "mlx5_0:1,mlx5_0:2"}, /* one card */
    {"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", 16, "p"},
};

START_TEST(by_environment)
{
    fs_nic_list_t list;

    setenv("UCX_NET_DEVICES", lists[_i].text, 1);
    list = found(0);
    ck_assert_uint_eq(list.n, lists[_i].n);
    ck_assert_uint_eq(list.n_near, list.n);
    fs_nics_choose(nics, list.n - 1);
    ck_assert_str_eq(fs_nics_device(nics), lists[_i].last);
}
END_TEST

/* Ranks with lists of their own agree on who is who. */
START_TEST(names_are_equal_on_all_ranks)
{
    fs_nic_list_t both, one;

    setenv("UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1", 1);
    both = found(0);
    setenv("FASTSCHED_UCX_NET_DEVICES", "mlx5_1:1", 1); /* goes first */
    one = found(0);
    ck_assert_uint_eq(one.n, 1);
    ck_assert_uint_eq(one.id[0], both.id[1]);
}
END_TEST

/* The first choice stays, and is all that is told from then on. */
START_TEST(a_choice_stays)
{
    fs_nic_list_t before, after;

    before = found(4);
    fs_nics_choose(nics, 9); /* not there */
    ck_assert_uint_eq(fs_nics_list(nics).n, 4);
    fs_nics_choose(nics, 2);
    fs_nics_choose(nics, 0);
    after = fs_nics_list(nics);
    ck_assert_uint_eq(after.n, 1);
    ck_assert_uint_eq(after.n_near, 1);
    ck_assert_uint_eq(after.id[0], before.id[2]);
}
END_TEST

START_TEST(nobody_knows)
{
    ck_assert_uint_eq(fs_nics_list(NULL).n, 0);
    ck_assert_ptr_null(fs_nics_device(NULL));
    fs_nics_destroy(NULL);
}
END_TEST

#if FS_HWLOC

#define CPUS(_set, _nodes)                                               \
    "cpuset=\"" _set "\" complete_cpuset=\"" _set "\" nodeset=\"" _nodes \
    "\" complete_nodeset=\"" _nodes "\" "
#define PU(_n, _set, _nodes, _index)     \
    "<object type=\"PU\" os_index=\"" _n \
    "\" " CPUS(_set, _nodes) "gp_index=\"" _index "\"/>"
#define NIC(_bus, _name, _kind, _index, _info)                                \
    "<object type=\"PCIDev\" gp_index=\"1" _index "\" pci_busid=\"0000:" _bus \
    ":00.0\" pci_type=\"0200 [8086:1592] [8086:0002] 02\" "                   \
    "pci_link_speed=\"15.75\"><object type=\"OSDev\" gp_index=\"2" _index     \
    "\" name=\"" _name "\" osdev_type=\"" _kind "\">" _info                   \
    "</object></object>"
#define ETHERNET "2"
#define FABRIC   "3"
#define BRIDGE(_index, _buses, _nics)                               \
    "<object type=\"Bridge\" gp_index=\"3" _index                   \
    "\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[" _buses \
    "]\">" _nics "</object>"
#define CPU_PACKAGE(_n, _cpu, _set, _nodes, _index, _bridge)                 \
    "<object type=\"Package\" os_index=\"" _n "\" " CPUS(                    \
        _set, _nodes) "gp_index=\"4" _index                                  \
                      "\"><object type=\"NUMANode\" os_index=\"" _n          \
                      "\" " CPUS(_set, _nodes) "gp_index=\"5" _index         \
                                               "\" local_memory=\"1\"/>" PU( \
                                                   _cpu, _set, _nodes,       \
                                                   "6" _index) _bridge       \
        "</object>"
/* Two packages of one core, with these NICs. */
#define SERVER(_first, _second)                                              \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM " \
    "\"hwloc2.dtd\">\n<topology version=\"2.0\"><object type=\"Machine\" "   \
    "os_index=\"0\" " CPUS(                                                  \
        "0x3",                                                               \
        "0x3") "allowed_cpuset=\"0x3\" allowed_nodeset=\"0x3\" "             \
               "gp_index=\"1\">" CPU_PACKAGE("0", "0", "0x1", "0x1", "1",    \
                                             BRIDGE("1", "00-3f", _first))   \
                   CPU_PACKAGE(                                              \
                       "1", "1", "0x2", "0x2", "2",                          \
                       BRIDGE("2", "80-bf", _second)) "</object></topology>\n"

typedef struct server {
    const char *xml;
    uint32_t    n_nics;
    const char *usable; /* first ports */
} server_t;

static const server_t servers[] = {
    {SERVER(NIC("01", "eth0", ETHERNET, "1", ""),
            NIC("81", "eth1", ETHERNET, "2", "")),
     2, "eth0 eth1 "},
    /* The fabric counts, not the administrator's port. */
    {SERVER(NIC("01", "eth0", ETHERNET, "1", "")
                NIC("02", "mlx5_0", FABRIC, "2", ""),
            NIC("81", "mlx5_1", FABRIC, "3", "")),
     3, "mlx5_0 mlx5_1 "},
    /* A fabric without a link does not. */
    {SERVER(NIC("01", "eth0", ETHERNET, "1", ""),
            NIC("81", "mlx5_0", FABRIC, "2",
                "<info name=\"Port1State\" value=\"1\"/>")),
     2, "eth0 "},
    {SERVER("", ""), 0, ""},
};
enum { N_SERVERS = sizeof(servers) / sizeof(servers[0]) };

START_TEST(usable_ones)
{
    hwloc_topology_t topology;
    fs_hwloc_nic_t   list[8];
    char             usable[200] = "";
    uint32_t         n;

    hwloc_topology_init(&topology);
    ck_assert_int_eq(
        hwloc_topology_set_xmlbuffer(topology, servers[_i].xml,
                                     (int)strlen(servers[_i].xml) + 1),
        0);
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    ck_assert_int_eq(hwloc_topology_load(topology), 0);
    n = fs_hwloc_nics(topology, 8, list);
    ck_assert_uint_eq(n, servers[_i].n_nics);
    for (uint32_t k = 0; k < n; ++k) {
        if (list[k].usable) {
            strcat(strcat(usable, list[k].ports[0]->name), " ");
        }
    }
    ck_assert_str_eq(usable, servers[_i].usable);
    ck_assert_uint_le(fs_hwloc_nics(topology, 1, list), 1);
    hwloc_topology_destroy(topology);
}
END_TEST

/* As on a server with that topology. */
static void pretend(const char *xml)
{
    char  path[] = "/tmp/fs_test_nics_XXXXXX";
    int   fd     = mkstemp(path);
    FILE *file   = fdopen(fd, "w");

    ck_assert_ptr_nonnull(file);
    fputs(xml, file);
    fclose(file);
    setenv("HWLOC_XMLFILE", path, 1);
    found(0);
    unlink(path);
}

/* Not bound there, so all are near; and ours to choose among. */
START_TEST(by_hwloc)
{
    pretend(servers[1].xml);
    ck_assert_uint_eq(fs_nics_list(nics).n, 2);
    ck_assert_uint_eq(fs_nics_list(nics).n_near, 2);
    fs_nics_choose(nics, 1);
    ck_assert_str_eq(fs_nics_device(nics), "mlx5_1:1");
}
END_TEST

/* UCX is told of it all the same: it would listen on bridges and tunnels, too. */
START_TEST(the_only_nic)
{
    pretend(servers[2].xml);
    ck_assert_uint_eq(fs_nics_list(nics).n, 1);
    fs_nics_choose(nics, 0);
    ck_assert_str_eq(fs_nics_device(nics), "eth0");
}
END_TEST

START_TEST(no_nic_at_all)
{
    pretend(servers[3].xml);
    ck_assert_uint_eq(fs_nics_list(nics).n, 0);
    fs_nics_choose(nics, 0);
    ck_assert_ptr_null(fs_nics_device(nics));
}
END_TEST

START_TEST(user_excludes_one)
{
    setenv("UCX_NET_DEVICES", "^mlx5_0:1", 1);
    pretend(servers[1].xml);
    ck_assert_uint_eq(fs_nics_list(nics).n, 1);
}
END_TEST

/* This process runs on one core of the two packages. */
START_TEST(near_ones_first)
{
    cpu_set_t     core;
    fs_nic_list_t all, list;

    pretend(servers[1].xml);
    all = fs_nics_list(nics);
    CPU_ZERO(&core);
    CPU_SET(_i, &core);
    if (sched_setaffinity(0, sizeof(core), &core) != 0) {
        return; /* not such a machine */
    }
    setenv("HWLOC_THISSYSTEM", "1", 1);
    pretend(servers[1].xml);
    list = fs_nics_list(nics);
    ck_assert_uint_eq(list.n, 2);
    ck_assert_uint_eq(list.n_near, 1);
    ck_assert_uint_eq(list.id[0], all.id[_i]);
    ck_assert_uint_eq(list.id[1], all.id[1 - _i]);
}
END_TEST

/* They count, but UCX chooses. */
START_TEST(user_wants_all)
{
    setenv("UCX_NET_DEVICES", "all", 1);
    pretend(servers[1].xml);
    ck_assert_uint_eq(fs_nics_list(nics).n, 2);
    fs_nics_choose(nics, 1);
    ck_assert_ptr_null(fs_nics_device(nics));
}
END_TEST

static void add_hwloc_tests(TCase *tcase)
{
    tcase_add_loop_test(tcase, usable_ones, 0, N_SERVERS);
    tcase_add_test(tcase, by_hwloc);
    tcase_add_test(tcase, the_only_nic);
    tcase_add_test(tcase, no_nic_at_all);
    tcase_add_test(tcase, user_excludes_one);
    tcase_add_test(tcase, user_wants_all);
    tcase_add_loop_test(tcase, near_ones_first, 0, 2);
}

#else

static void add_hwloc_tests(TCase *tcase)
{
    (void)tcase;
}

#endif

int main(void)
{
    Suite *suite = suite_create("nics");
    TCase *tcase = tcase_create("nics");

    unsetenv("UCX_NET_DEVICES");
    unsetenv("FASTSCHED_UCX_NET_DEVICES");
    tcase_add_checked_fixture(tcase, NULL, tear_down);
    tcase_add_test(tcase, by_parameter);
    tcase_add_loop_test(tcase, by_environment, 0,
                        sizeof(lists) / sizeof(lists[0]));
    tcase_add_test(tcase, names_are_equal_on_all_ranks);
    tcase_add_test(tcase, a_choice_stays);
    tcase_add_test(tcase, nobody_knows);
    add_hwloc_tests(tcase);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
