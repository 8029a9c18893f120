/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduces as plans of all ranks. */
#ifndef FS_TEST_GROUP_H
#define FS_TEST_GROUP_H

#include "fs_test_util.h"
#include "sched/allreduce/fs_straggler_plan.h"

/* Ranks, at most; and of groups of which every rank is late once. Memory errors show in
 * fewer, and finding them takes 40 times as long. */
#ifdef __SANITIZE_ADDRESS__
enum { FS_TEST_GROUP_MAX = 64, FS_TEST_GROUP_ALL = 17 };
#else
enum { FS_TEST_GROUP_MAX = 64, FS_TEST_GROUP_ALL = 33 };
#endif

typedef struct fs_test_group {
    uint32_t         n;
    fs_straggler_t  *schedule;
    fs_topo_t       *topo;
    fs_plan_params_t params;
    fs_reduction_t   reduction;
    fs_plan_t       *plans[FS_TEST_GROUP_MAX];
    char             why[256];
} fs_test_group_t;

/* n_local ranks a server, in turn. Short messages, as much staging as wanted, no
 * plans yet. */
void fs_test_group_init(fs_test_group_t *g, fs_straggler_kind_t kind,
                        uint32_t n, uint32_t straggler, uint32_t n_local);
/* Likewise, with a schedule of servers. */
void fs_test_group_init_tiers(fs_test_group_t *g, fs_straggler_kind_t kind,
                              uint32_t n_servers, uint32_t straggler,
                              uint32_t n_local);
/* Likewise, with one of so many pieces: STREAM. */
void fs_test_group_init_stream(fs_test_group_t *g, uint32_t n_servers,
                               uint32_t straggler, uint32_t n_pieces,
                               uint32_t n_local);
void fs_test_group_fini(fs_test_group_t *g);

/* Other servers; the group's. */
void fs_test_group_set_topo(fs_test_group_t *g, fs_topo_t *topo);

/* The plans of all ranks, in place of those before. */
void fs_test_group_plan(fs_test_group_t *g, uint64_t n_elems,
                        uint32_t elem_bytes, bool in_place);

/* What the checker says; or it must say that all is well. */
fs_status_t fs_test_group_check(fs_test_group_t *g);
void        fs_test_group_prove(fs_test_group_t *g);

/* The checker must refuse the schedule, for a reason that has this part. */
void fs_test_group_refuse(const fs_straggler_t *schedule, const char *part);

#endif
