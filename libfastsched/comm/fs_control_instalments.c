/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks enter a call one by one, and a long bundle need not wait for the last: where all
 * blocks are equal both ends know its length and where each part stands. Such a bundle
 * goes in instalments: the parts of some ranks, which leave as soon as these are here.
 * Ends and votes follow with the head. The first bundle of its length goes as others do,
 * so that none goes in instalments that has no room.
 */
#include "comm/fs_control_state.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

#include <string.h>

/* Shorter bundles wait; an instalment has so much at least, but for lanes that have less. */
enum { LEAST_BUNDLE = 16 << 10, LEAST_BYTES = 16 << 10, MAX_INSTALMENTS = 32 };

uint32_t fs_instalments_max(const fs_control_t *control)
{
    uint64_t longest = control->block.bundle_bytes;

    return longest < LEAST_BUNDLE
               ? 0
               : (uint32_t)fs_u64_min(longest / LEAST_BYTES, MAX_INSTALMENTS);
}

uint64_t fs_instalments_len(const fs_control_t *control, uint32_t from,
                            uint32_t to)
{
    uint32_t n    = fs_topo_n_local(control->topo, from);
    uint64_t part = fs_part_even_len(control->block_bytes,
                                     fs_topo_n_local(control->topo, to));

    return fs_bundle_ends_len(n) + n * part;
}

/* Does the bundle from a server to another go so, if the last had so many bytes? Both ends
 * say the same: it has gone before, so it is not too long for either. */
static bool goes_so(const fs_control_t *control, uint32_t from, uint32_t to,
                    uint64_t last)
{
    return control->summary && control->block_bytes > 0 &&
           last >= LEAST_BUNDLE &&
           fs_control_uniform_cell(control, from, to) <= control->limit &&
           fs_instalments_len(control, from, to) == last;
}

/* A lane begins with its own rank, mostly: it is here. */
static fs_instalments_t instalments_of(const fs_control_t *control,
                                       uint32_t server, uint32_t from,
                                       uint64_t bundle_len)
{
    uint32_t        n_ranks = fs_topo_n_local(control->topo, from);
    fs_lane_share_t share   = fs_lane_share(control, server, bundle_len);
    uint32_t        group, each, n;

    if (share.n == 0 || n_ranks % share.n != 0) {
        return (fs_instalments_t){0};
    }
    group = (share.k + control->pairs[server].head) % share.n;
    each  = n_ranks / share.n;
    n     = (uint32_t)fs_u64_min(bundle_len / share.n / LEAST_BYTES,
                                 fs_u64_min(each, MAX_INSTALMENTS));
    n     = fs_u32_max(n, 1);
    if (share.n * n == 1) {
        return (fs_instalments_t){0};
    }
    return (fs_instalments_t){
        .first    = group * each,
        .n_ranks  = each,
        .n        = n,
        .ends_len = fs_bundle_ends_len(n_ranks),
        .part_len = (bundle_len - fs_bundle_ends_len(n_ranks)) / n_ranks,
        .left     = UINT32_MAX >> (MAX_INSTALMENTS - n)};
}

/* The first rank of an instalment. */
static uint32_t first_of(const fs_instalments_t *due, uint32_t k)
{
    return due->first + k * due->n_ranks / due->n;
}

void fs_instalments_reset(fs_control_t *control)
{
    control->n_leaving = 0;
    control->n_here    = 0;
}

void fs_instalments_find(fs_control_t *control, uint32_t server)
{
    fs_lane_server_t *r = &control->servers[server];

    r->goes = r->comes = (fs_instalments_t){0};
    if (goes_so(control, control->server, server, r->sent)) {
        r->goes = instalments_of(control, server, control->server, r->sent);
    }
    if (goes_so(control, server, control->server, r->came)) {
        r->comes = instalments_of(control, server, server, r->came);
    }
    control->n_leaving += r->goes.n > 0;
}

void fs_instalments_receive(fs_control_t *control, uint32_t server)
{
    const fs_instalments_t *due = &control->servers[server].comes;
    char *parts = fs_control_block_inbox(&control->block, server) +
                  fs_control_head_len(control->topo) + due->ends_len;

    for (uint32_t k = 0; k < due->n; ++k) {
        uint32_t from = first_of(due, k);
        uint64_t len  = (first_of(due, k + 1) - from) * due->part_len;

        (void)fs_control_recv(control, control->servers[server].peer,
                              FS_CONTROL_INSTALMENT + k,
                              parts + from * due->part_len, len, len);
    }
}

static bool have_said(const fs_control_t *control, uint32_t from, uint32_t to)
{
    while (from < to && fs_control_has_said(control, from)) {
        ++from;
    }
    return from == to;
}

/* Has a rank entered since this was last asked? */
static bool is_another_here(fs_control_t *control)
{
    uint32_t last = control->n_here;

    control->n_here = 0;
    for (uint32_t i = 0; i < control->n_local; ++i) {
        control->n_here += fs_control_has_said(control, i);
    }
    return control->n_here > last;
}

/* A part that is not there, or not that long, leaves its place empty: then the head says
 * that the bundle is dropped. */
static void send_one(fs_control_t *control, uint32_t server, uint32_t k)
{
    fs_instalments_t *due  = &control->servers[server].goes;
    uint32_t          from = first_of(due, k), to = first_of(due, k + 1);
    char             *out = control->servers[server].out +
                (fs_lane_has_head(control, server)
                     ? fs_control_head_len(control->topo) + due->ends_len
                     : 0) +
                (from - due->first) * due->part_len;
    uint64_t len = (to - from) * due->part_len;

    for (uint32_t i = from; i < to; ++i) {
        fs_bytes_t part = fs_control_part_of(control, i, server);

        if (part.len == due->part_len) {
            memcpy(out + (i - from) * part.len, part.at, part.len);
        }
    }
    fs_control_send(control, control->servers[server].peer,
                    FS_CONTROL_INSTALMENT + k, out, len);
}

static void send_ready(fs_control_t *control, uint32_t server)
{
    fs_instalments_t *due = &control->servers[server].goes;

    for (uint32_t k = 0; k < due->n; ++k) {
        if (due->left >> k & 1 &&
            have_said(control, first_of(due, k), first_of(due, k + 1))) {
            send_one(control, server, k);
            due->left &= ~(UINT32_C(1) << k);
        }
    }
    control->n_leaving -= due->left == 0;
}

void fs_instalments_send(fs_control_t *control)
{
    uint32_t n = fs_topo_n_servers(control->topo);

    if (control->n_leaving == 0 || !is_another_here(control)) {
        return;
    }
    for (uint32_t k = 1; k < n; ++k) {
        uint32_t v = (control->server + k) % n;

        if (control->servers[v].goes.left != 0) {
            send_ready(control, v);
        }
    }
}
