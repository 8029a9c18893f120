/* SPDX-License-Identifier: BSD-3-Clause */
/* A comparison as text, and as JSON, whose keys fastsched(1) explains. */
#include "tools/fs_tool_compare.h"
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_style.h"
#include "tools/fs_tool_units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 79 };

static double over_bound(const fs_tool_compare_t *compare, double time)
{
    return compare->bound > 0 ? time / compare->bound : 1;
}

static const char *direction(const fs_tool_compare_t *compare)
{
    return compare->receives ? "receives" : "sends";
}

/* ---- text ---- */

/* NICs of a server: the least and the most. */
static void find_lanes(const fs_topo_t *topo, uint32_t *min_p, uint32_t *max_p)
{
    *min_p = *max_p = fs_topo_n_lanes(topo, 0);
    for (uint32_t s = 1; s < fs_topo_n_servers(topo); ++s) {
        uint32_t lanes = fs_topo_n_lanes(topo, s);

        *min_p = lanes < *min_p ? lanes : *min_p;
        *max_p = lanes > *max_p ? lanes : *max_p;
    }
}

static void print_traffic(const fs_tool_compare_t *compare)
{
    const fs_traffic_t *summary = &compare->traffic->summary;

    printf("traffic     %s: %s, %s of it between servers\n", compare->title,
           fs_tool_bytes_text((double)summary->total_bytes).s,
           fs_tool_bytes_text((double)summary->inter_bytes).s);
}

void fs_tool_compare_print_cluster(const fs_tool_compare_t *compare)
{
    const fs_tool_traffic_t *t = compare->traffic;
    const fs_sim_params_t   *p = &compare->setup.params;
    uint32_t                 min, max;

    find_lanes(t->topo, &min, &max);
    printf("cluster     %u servers, %u ranks; a server has %u",
           fs_topo_n_servers(t->topo), t->n_ranks, min);
    if (max > min) {
        printf(" to %u", max);
    }
    printf(" NIC%s of %s\n", max == 1 ? "" : "s",
           fs_tool_bits_text(p->rate_out).s);
    printf("            %s of a rank inside; a message starts in %s, inside "
           "%s\n",
           fs_tool_rate_text(p->rate_up).s, fs_tool_time_text(p->alpha_out).s,
           fs_tool_time_text(p->alpha_up).s);
}

void fs_tool_compare_print_bottleneck(const fs_tool_compare_t *compare)
{
    if (compare->busiest_bytes == 0) {
        return;
    }
    printf("bottleneck  server %u %s %s, %.0f%% of what goes between servers "
           "(mean %.0f%%)\n",
           compare->bounds.busiest_server, direction(compare),
           fs_tool_bytes_text((double)compare->busiest_bytes).s,
           100 * compare->share, 100 * compare->share / compare->over_mean);
    printf("            rank %u is the busiest, with %s from or to other "
           "servers\n",
           compare->bounds.busiest_rank,
           fs_tool_bytes_text((double)compare->bounds.rank).s);
}

void fs_tool_compare_print_time(const char *name, double time, double bound,
                                double gain, const char *meaning)
{
    char text[32] = "";

    if (gain > 0) {
        snprintf(text, sizeof(text), "%.2fx", gain);
    }
    printf("%-14s %10s %12.2f %10s  %s\n", name, fs_tool_time_text(time).s,
           bound > 0 ? time / bound : 1, text, meaning);
}

static void print_way(const fs_tool_compare_t *compare, uint32_t k)
{
    const fs_tool_way_t *way = &compare->ways[k];

    if (!way->ran) {
        printf("%-14s %10s %12s %10s  not simulated for more than %u ranks\n",
               fs_tool_way_name(k), "-", "-", "-", fs_tool_way_max_ranks(k));
        return;
    }
    fs_tool_compare_print_time(fs_tool_way_name(k), way->outcome.time,
                               compare->bound,
                               fs_tool_compare_gain(compare, way->outcome.time),
                               fs_tool_way_meaning(k));
}

static void print_fast(const fs_tool_compare_t *compare)
{
    const fs_tool_sim_outcome_t *o = &compare->fast;
    char                         how[64];

    snprintf(how, sizeof(how), "%s%s%s", o->algorithm,
             o->decompose == NULL ? "" : ", ",
             o->decompose == NULL ? "" : o->decompose);
    printf("%s", fs_tool_style(FS_TOOL_BOLD));
    fs_tool_compare_print_time("fast", o->time, compare->bound, 0, how);
    printf("%s", fs_tool_style(FS_TOOL_PLAIN));
    fs_tool_compare_print_time("lower bound", compare->bound, compare->bound, 0,
                               "the bytes of the busiest server over its NICs");
}

/* Lines of up to WIDTH characters, broken at blanks. */
static void print_wrapped(const char *text)
{
    while (strlen(text) > WIDTH) {
        size_t len = WIDTH;

        while (len > 0 && text[len] != ' ') {
            --len;
        }
        if (len == 0) {
            break;
        }
        printf("%.*s\n", (int)len, text);
        text += len + 1;
    }
    printf("%s", text);
}

void fs_tool_compare_print_advice(fs_tool_advice_t advice, const char *text)
{
    printf("\n%s", fs_tool_style(advice == FS_TOOL_GAIN ? FS_TOOL_GREEN
                                                        : FS_TOOL_YELLOW));
    print_wrapped(text);
    printf("%s\n", fs_tool_style(FS_TOOL_PLAIN));
}

static void print_times(const fs_tool_compare_t *compare)
{
    printf("\n%-14s %10s %12s %10s\n", "way", "time", "over bound",
           "fast gains");
    for (uint32_t k = 0; k < FS_TOOL_N_WAYS; ++k) {
        print_way(compare, k);
    }
    print_fast(compare);
}

void fs_tool_compare_text(const fs_tool_compare_t *compare)
{
    print_traffic(compare);
    fs_tool_compare_print_cluster(compare);
    fs_tool_compare_print_bottleneck(compare);
    if (compare->simulated) {
        print_times(compare);
    }
    fs_tool_compare_print_advice(compare->advice, compare->text);
}

/* ---- JSON ---- */

static void json_cluster(fs_json_t *json, const fs_tool_compare_t *compare)
{
    const fs_tool_traffic_t *t = compare->traffic;
    const fs_sim_params_t   *p = &compare->setup.params;

    fs_json_text(json, "traffic", compare->title);
    fs_json_u64(json, "servers", fs_topo_n_servers(t->topo));
    fs_json_u64(json, "ranks", t->n_ranks);
    fs_json_open(json, "lanes", '[');
    for (uint32_t s = 0; s < fs_topo_n_servers(t->topo); ++s) {
        fs_json_u64(json, NULL, fs_topo_n_lanes(t->topo, s));
    }
    fs_json_close(json);
    fs_json_real(json, "scale_out", p->rate_out, 0);
    fs_json_real(json, "scale_up", p->rate_up, 0);
    fs_json_real(json, "alpha_us", p->alpha_out * 1e6, 3);
    fs_json_real(json, "alpha_up_us", p->alpha_up * 1e6, 3);
    fs_json_real(json, "incast", p->incast, 3);
    fs_json_u64(json, "total_bytes", t->summary.total_bytes);
    fs_json_u64(json, "wire_bytes", t->summary.inter_bytes);
}

static void json_bottleneck(fs_json_t *json, const fs_tool_compare_t *compare)
{
    fs_json_open(json, "busiest_server", '{');
    fs_json_u64(json, "server", compare->bounds.busiest_server);
    fs_json_text(json, "direction", direction(compare));
    fs_json_u64(json, "bytes", compare->busiest_bytes);
    fs_json_real(json, "share", compare->share, 6);
    fs_json_real(json, "over_mean", compare->over_mean, 6);
    fs_json_close(json);
    fs_json_open(json, "busiest_rank", '{');
    fs_json_u64(json, "rank", compare->bounds.busiest_rank);
    fs_json_u64(json, "bytes", compare->bounds.rank);
    fs_json_close(json);
}

static void json_times(fs_json_t *json, const fs_tool_compare_t *compare,
                       const fs_tool_sim_outcome_t *o)
{
    fs_json_real(json, "time_us", o->time * 1e6, 3);
    fs_json_real(json, "over_bound", over_bound(compare, o->time), 6);
}

static void json_ways(fs_json_t *json, const fs_tool_compare_t *compare)
{
    fs_json_open(json, "ways", '[');
    for (uint32_t k = 0; k < FS_TOOL_N_WAYS; ++k) {
        const fs_tool_way_t *way = &compare->ways[k];

        fs_json_open(json, NULL, '{');
        fs_json_text(json, "name", fs_tool_way_name(k));
        fs_json_text(json, "meaning", fs_tool_way_meaning(k));
        fs_json_bool(json, "simulated", way->ran);
        if (way->ran) {
            json_times(json, compare, &way->outcome);
            fs_json_real(json, "gain",
                         fs_tool_compare_gain(compare, way->outcome.time), 6);
        }
        fs_json_close(json);
    }
    fs_json_close(json);
}

static void json_fast(fs_json_t *json, const fs_tool_compare_t *compare)
{
    const fs_tool_sim_outcome_t *o = &compare->fast;

    fs_json_open(json, "fast", '{');
    fs_json_text(json, "algorithm",
                 compare->simulated ? o->algorithm
                                    : fs_alg_name(FS_ALG_NATIVE));
    fs_json_bool(json, "simulated", compare->simulated);
    if (compare->simulated) {
        fs_json_text(json, "decompose", o->decompose);
        json_times(json, compare, o);
    }
    fs_json_close(json);
    fs_json_real(json, "lower_bound_us", compare->bound * 1e6, 3);
}

const char *fs_tool_compare_verdict(fs_tool_advice_t advice)
{
    static const char *const words[] = {
        [FS_TOOL_INSIDE] = "inside", [FS_TOOL_SMALL] = "small",
        [FS_TOOL_GAIN] = "gain",     [FS_TOOL_NO_GAIN] = "no gain",
        [FS_TOOL_LOSS] = "loss",
    };

    return words[advice];
}

static void json_advice(fs_json_t *json, const fs_tool_compare_t *compare)
{
    fs_json_text(json, "best",
                 compare->simulated ? fs_tool_way_name(compare->best) : NULL);
    fs_json_text(json, "verdict", fs_tool_compare_verdict(compare->advice));
    fs_json_text(json, "advice", compare->text);
}

void fs_tool_compare_members(fs_json_t *json, const fs_tool_compare_t *compare)
{
    json_cluster(json, compare);
    json_bottleneck(json, compare);
    json_ways(json, compare);
    json_fast(json, compare);
    json_advice(json, compare);
}

void fs_tool_compare_json(const fs_tool_compare_t *compare)
{
    fs_json_t json;

    fs_json_init(&json, stdout, 1);
    fs_json_open(&json, NULL, '{');
    fs_tool_compare_members(&json, compare);
    fs_json_close(&json);
}
