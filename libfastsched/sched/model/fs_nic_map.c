/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Server by server: blocks of ranks on near NICs first, then NICs that are left
 * over. A server has few NICs and few different lists, so plain searches do.
 */
#include "sched/model/fs_nic_map.h"

#include "base/fs_arith.h"
#include "sched/model/fs_ports.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>
#include <string.h>

/* One server at work. */
typedef struct server {
    const uint32_t      *ranks; /* [n] */
    uint32_t             n;
    const fs_nic_list_t *list;   /* by rank */
    uint32_t            *choice; /* by rank */
    uint32_t            *group;  /* [n] first one with the same list */
    uint32_t            *size;   /* [n] of a group, at its first one */
    uint32_t            *taken;  /* [n] likewise, so far */
} server_t;

static const fs_nic_list_t *list_of(const server_t *s, uint32_t local)
{
    return &s->list[s->ranks[local]];
}

static uint32_t chosen_id(const server_t *s, uint32_t local)
{
    uint32_t choice = s->choice[s->ranks[local]];

    return choice == FS_NO_NIC ? FS_NO_NIC : list_of(s, local)->id[choice];
}

/* ---- near ones, in blocks ---- */

static bool same_list(const fs_nic_list_t *a, const fs_nic_list_t *b)
{
    return a->n == b->n && a->n_near == b->n_near &&
           memcmp(a->id, b->id, a->n * sizeof(a->id[0])) == 0;
}

static void find_groups(server_t *s)
{
    for (uint32_t i = 0; i < s->n; ++i) {
        uint32_t k = 0;

        while (k < i &&
               (s->group[k] != k || !same_list(list_of(s, k), list_of(s, i)))) {
            ++k;
        }
        s->group[i] = k;
        ++s->size[k];
    }
}

static void choose_near(server_t *s)
{
    for (uint32_t i = 0; i < s->n; ++i) {
        uint32_t group = s->group[i], n_near = list_of(s, i)->n_near;

        s->choice[s->ranks[i]] = n_near == 0
                                     ? FS_NO_NIC
                                     : (uint32_t)((uint64_t)s->taken[group] *
                                                  n_near / s->size[group]);
        ++s->taken[group];
    }
}

/* ---- NICs that are left over ---- */

static uint32_t n_users(const server_t *s, uint32_t id)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n; ++i) {
        n += chosen_id(s, i) == id;
    }
    return n;
}

static uint32_t find_in_list(const fs_nic_list_t *list, uint32_t id)
{
    for (uint32_t k = 0; k < list->n; ++k) {
        if (list->id[k] == id) {
            return k;
        }
    }
    return FS_NO_NIC;
}

/* The last rank on the busiest NIC moves to this one, if it may use it. */
static void fill(server_t *s, uint32_t id)
{
    uint32_t most = 1, mover = FS_NO_NIC, at = FS_NO_NIC;

    for (uint32_t i = 0; i < s->n; ++i) {
        uint32_t k = find_in_list(list_of(s, i), id);
        uint32_t n = k == FS_NO_NIC ? 0 : n_users(s, chosen_id(s, i));

        if (n > 1 && n >= most) {
            most  = n;
            mover = i;
            at    = k;
        }
    }
    if (mover != FS_NO_NIC) {
        s->choice[s->ranks[mover]] = at;
    }
}

static void fill_idle(server_t *s)
{
    for (uint32_t i = 0; i < s->n; ++i) {
        const fs_nic_list_t *list = list_of(s, i);

        for (uint32_t k = 0; s->group[i] == i && k < list->n; ++k) {
            if (n_users(s, list->id[k]) == 0) {
                fill(s, list->id[k]);
            }
        }
    }
}

/* ---- lanes ---- */

/* proxy: [n], out. The number of lanes; 0: a rank knows of no NIC. */
static uint32_t find_proxies(const server_t *s, uint32_t *proxy)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n; ++i) {
        uint32_t id = chosen_id(s, i), l = 0;

        if (id == FS_NO_NIC) {
            return 0;
        }
        while (l < n && chosen_id(s, proxy[l]) != id) {
            ++l;
        }
        if (l == n) {
            proxy[n++] = i;
        }
    }
    return n;
}

fs_status_t fs_nic_map_choose(fs_topo_t *topo, const fs_nic_list_t *list,
                              bool set_lanes, uint32_t *choice)
{
    uint32_t *work = malloc(3 * (size_t)topo->n_ranks * sizeof(*work));

    if (work == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t u = 0; u < topo->n_servers; ++u) {
        uint32_t n_local = fs_topo_n_local(topo, u), n_lanes;
        server_t s       = {.ranks  = fs_topo_ranks(topo, u),
                            .n      = n_local,
                            .list   = list,
                            .choice = choice,
                            .group  = work,
                            .size   = work + n_local,
                            .taken  = work + 2 * n_local};

        memset(work, 0, 3 * (size_t)n_local * sizeof(*work));
        find_groups(&s);
        choose_near(&s);
        fill_idle(&s);
        n_lanes = set_lanes ? find_proxies(&s, s.taken) : 0;
        if (n_lanes > 0) {
            fs_topo_set_lanes(topo, u, n_lanes, s.taken);
        }
    }
    fs_ports_set_width(topo);
    free(work);
    return FS_OK;
}
