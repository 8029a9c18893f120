/* SPDX-License-Identifier: BSD-3-Clause */
#include "fs_test_group.h"

#include <string.h>

void fs_test_group_set_topo(fs_test_group_t *g, fs_topo_t *topo)
{
    fs_topo_destroy(g->topo);
    g->topo = topo;
}

void fs_test_group_init(fs_test_group_t *g, fs_straggler_kind_t kind,
                        uint32_t n, uint32_t straggler, uint32_t n_local)
{
    uint32_t server_of[FS_TEST_GROUP_MAX];

    memset(g, 0, sizeof(*g));
    g->n = n;
    for (uint32_t r = 0; r < n; ++r) {
        server_of[r] = r / n_local;
    }
    ck_assert(fs_topo_create(n, server_of, 0, &g->topo) == FS_OK);
    ck_assert(fs_straggler_create(kind, n, straggler, &g->schedule) == FS_OK);
    g->params = (fs_plan_params_t){
        .chunk = 64, .window = 4, .staging_limit = UINT64_C(1) << 30};
}

void fs_test_group_init_tiers(fs_test_group_t *g, fs_straggler_kind_t kind,
                              uint32_t n_servers, uint32_t straggler,
                              uint32_t n_local)
{
    fs_test_group_init(g, kind, n_servers * n_local, 0, n_local);
    fs_straggler_destroy(g->schedule);
    ck_assert(fs_straggler_create(kind, n_servers, straggler, &g->schedule) ==
              FS_OK);
}

void fs_test_group_init_stream(fs_test_group_t *g, uint32_t n_servers,
                               uint32_t straggler, uint32_t n_pieces,
                               uint32_t n_local)
{
    fs_test_group_init_tiers(g, FS_STRAGGLER_RING, n_servers, 0, n_local);
    fs_straggler_destroy(g->schedule);
    ck_assert(fs_straggler_create_stream(n_servers, &straggler, 1, n_pieces,
                                         &g->schedule) == FS_OK);
}

static void drop_plans(fs_test_group_t *g)
{
    for (uint32_t r = 0; r < g->n; ++r) {
        fs_plan_destroy(g->plans[r]);
        g->plans[r] = NULL;
    }
}

void fs_test_group_fini(fs_test_group_t *g)
{
    drop_plans(g);
    fs_straggler_destroy(g->schedule);
    fs_topo_destroy(g->topo);
}

void fs_test_group_plan(fs_test_group_t *g, uint64_t n_elems,
                        uint32_t elem_bytes, bool in_place)
{
    g->reduction = (fs_reduction_t){n_elems, elem_bytes, in_place, 0};
    drop_plans(g);
    for (uint32_t r = 0; r < g->n; ++r) {
        ck_assert(fs_reduction_plan(g->schedule, g->topo, &g->params,
                                    &g->reduction, r, &g->plans[r]) == FS_OK);
    }
}

fs_status_t fs_test_group_check(fs_test_group_t *g)
{
    return fs_reduction_check(g->topo, &g->params, &g->reduction, g->plans,
                              g->why, sizeof(g->why));
}

void fs_test_group_prove(fs_test_group_t *g)
{
    if (fs_test_group_check(g) != FS_OK) {
        ck_abort_msg("%s, %u ranks, straggler %u, %llu elements%s: %s",
                     fs_straggler_name(g->schedule->kind), g->n,
                     g->schedule->straggler,
                     (unsigned long long)g->reduction.n_elems,
                     g->reduction.in_place ? " in place" : "", g->why);
    }
}

void fs_test_group_refuse(const fs_straggler_t *schedule, const char *part)
{
    char why[200] = "";

    ck_assert_int_eq(fs_straggler_check(schedule, why, sizeof(why)),
                     FS_ERR_INVAL);
    ck_assert_msg(strstr(why, part) != NULL, "\"%s\" has no \"%s\"", why, part);
}
