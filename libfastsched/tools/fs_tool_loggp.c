/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fs_tool_loggp.h"

#include "base/fs_json.h"
#include "base/fs_value.h"
#include "tools/fs_tool_units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Ranks without a matrix; bytes of a sum of a server pair. */
enum { MAX_RANKS = 1 << 20, SUM_BYTES = 8 };

typedef struct exchange {
    const fs_topo_t *topo;
    fs_sim_small_t   result;
} exchange_t;

/* ---- options ---- */

void fs_tool_loggp_options(fs_tool_loggp_args_t *args,
                           fs_tool_options_t    *options)
{
    const fs_tool_option_t rows[] = {
        {FS_TOOL_TITLE, .name = "Small calls, --level loggp"},
        {FS_TOOL_MILLI, "overhead", "US",
         "microseconds of a processor for each message\n"
         "that it sends or receives (",
         .value = &args->overhead_milli, 0, UINT32_MAX},
        {FS_TOOL_MILLI, "gap", "US",
         "microseconds between messages of a NIC, at\n"
         "least (",
         .value = &args->gap_milli, 0, UINT32_MAX},
        {FS_TOOL_MILLI, "block", "US",
         "microseconds for each block that is copied,\n"
         "besides its bytes (",
         .value = &args->block_milli, 0, UINT32_MAX},
        {FS_TOOL_MILLI, "sync", "US",
         "microseconds for each rank, when those of a\n"
         "server wait for each other (",
         .value = &args->sync_milli, 0, UINT32_MAX},
        {FS_TOOL_TEXT, "radix", "R",
         "bundles are forwarded in radix R; from the\n"
         "number of servers on not at all; auto: what\n"
         "takes least time by the model (auto)",
         .value = &args->radix},
        {FS_TOOL_U32, "batch", "K",
         "direct: messages of a rank at a time; MPICH has\n"
         "32 (",
         .value = &args->batch, 1, 1024},
        {FS_TOOL_FLAG, "uniform", NULL,
         "MPI_Alltoall: no sums travel with the bundles",
         .value = &args->uniform},
    };

    *args = (fs_tool_loggp_args_t){.overhead_milli = 500,
                                   .gap_milli      = 50,
                                   .block_milli    = 20,
                                   .sync_milli     = 100,
                                   .radix          = "auto",
                                   .batch          = 32};
    FS_TOOL_ADD(options, rows);
}

/* 0: auto. */
static uint32_t read_radix(const char *text)
{
    uint64_t radix = 0;

    if (strcmp(text, "auto") != 0 &&
        (!fs_value_number(text, &radix) || radix < 2 || radix > UINT32_MAX)) {
        fs_tool_bad("--radix \"%s\": allowed: auto, 2 to %" PRIu32,
                    fs_tool_quote(text), UINT32_MAX);
    }
    return (uint32_t)radix;
}

/* ---- the run ---- */

/* Does everybody send the same to everybody? That needs no matrix. */
static bool is_balanced(const fs_tool_traffic_args_t *args)
{
    return args->matrix == NULL &&
           (args->pattern == NULL || strcmp(args->pattern, "balanced") == 0);
}

static void simulate(const fs_tool_loggp_setup_t *setup,
                     const fs_sim_blocks_t *blocks, uint32_t radix,
                     fs_sim_small_t *result)
{
    fs_tool_must(
        setup->batch > 0
            ? fs_sim_direct(blocks, &setup->params, setup->batch, result)
            : fs_sim_bundles(blocks, &setup->params, radix,
                             setup->args->uniform ? 0 : SUM_BYTES, result),
        "simulating");
}

/* ---- JSON ---- */

static void json_setup(fs_json_t *json, const fs_tool_loggp_setup_t *setup,
                       const exchange_t *x)
{
    const fs_sim_loggp_t *p = &setup->params;

    fs_json_u64(json, "servers", fs_topo_n_servers(x->topo));
    fs_json_u64(json, "ranks", fs_topo_n_ranks(x->topo));
    fs_json_u64(json, "lanes", fs_topo_n_lanes(x->topo, 0));
    fs_json_text(json, "algorithm", setup->algorithm);
    fs_json_text(json, "level", "loggp");
    fs_json_real(json, "scale_out", p->rate_out, 0);
    fs_json_real(json, "copy", p->rate_copy, 0);
    fs_json_real(json, "alpha_us", p->latency * 1e6, 3);
    fs_json_real(json, "alpha_up_us", p->latency_up * 1e6, 3);
    fs_json_real(json, "overhead_us", p->overhead * 1e6, 3);
    fs_json_real(json, "gap_us", p->gap * 1e6, 3);
    fs_json_real(json, "block_us", p->block * 1e6, 3);
    fs_json_real(json, "sync_us", p->sync * 1e6, 3);
    fs_json_u64(json, "batch", setup->batch);
}

static void print_json(const fs_tool_loggp_setup_t *setup, const exchange_t *x)
{
    const fs_sim_small_t *r = &x->result;
    fs_json_t             json;

    fs_json_init(&json, stdout, 1);
    fs_json_open(&json, NULL, '{');
    json_setup(&json, setup, x);
    fs_json_u64(&json, "radix", r->radix);
    fs_json_u64(&json, "phases", r->n_phases);
    fs_json_real(&json, "time", r->time, 12);
    fs_json_real(&json, "time_us", r->time * 1e6, 3);
    fs_json_real(&json, "copy_in_us", r->copy_in * 1e6, 3);
    fs_json_real(&json, "network_us", r->network * 1e6, 3);
    fs_json_real(&json, "copy_out_us", r->copy_out * 1e6, 3);
    fs_json_real(&json, "model_us", r->model * 1e6, 3);
    fs_json_u64(&json, "messages", r->n_messages);
    fs_json_u64(&json, "wire_bytes", r->wire_bytes);
    fs_json_u64(&json, "header_bytes", r->header_bytes);
    fs_json_close(&json);
}

/* ---- text ---- */

static void print_time(const char *name, double seconds, const char *more)
{
    printf("%-16s %14s%s\n", name, fs_tool_time_text(seconds).s, more);
}

static void print_bundles(const fs_sim_small_t *r)
{
    print_time("copy in", r->copy_in, "");
    print_time("network", r->network, "");
    print_time("  by the model", r->model, "");
    print_time("copy out", r->copy_out, "");
}

static void print_text(const fs_tool_loggp_setup_t *setup, const exchange_t *x)
{
    const fs_sim_loggp_t *p = &setup->params;
    const fs_sim_small_t *r = &x->result;

    printf("cluster          %u servers, %u ranks, %u NICs on the first server"
           "\n                 %.6g GB/s out, %.6g GB/s copied; alpha %g us "
           "out, %g us up\n"
           "                 overhead %g us, gap %g us, block %g us, sync %g "
           "us\n",
           fs_topo_n_servers(x->topo), fs_topo_n_ranks(x->topo),
           fs_topo_n_lanes(x->topo, 0), p->rate_out / 1e9, p->rate_copy / 1e9,
           p->latency * 1e6, p->latency_up * 1e6, p->overhead * 1e6,
           p->gap * 1e6, p->block * 1e6, p->sync * 1e6);
    printf("algorithm        %s", setup->algorithm);
    if (setup->batch == 0) {
        printf(", radix %u%s, phases %u\n", r->radix,
               strcmp(setup->args->radix, "auto") == 0 ? " (by the model)" : "",
               r->n_phases);
    } else {
        printf(", %u messages at a time\n", setup->batch);
    }
    print_time("time", r->time, "");
    if (setup->batch == 0) {
        print_bundles(r);
    }
    printf("%-16s %14" PRIu64 " between servers\n", "messages", r->n_messages);
    printf("%-16s %14s, of which headers %s\n", "between servers",
           fs_tool_bytes_text((double)r->wire_bytes).s,
           fs_tool_bytes_text((double)r->header_bytes).s);
}

/* ---- all of it ---- */

void fs_tool_loggp_run(fs_tool_loggp_setup_t *setup)
{
    const fs_tool_loggp_args_t *args    = setup->args;
    fs_tool_traffic_t           traffic = {0};
    uint32_t                    radix   = read_radix(args->radix);
    exchange_t                  x       = {0};

    setup->params.overhead = args->overhead_milli * 1e-9;
    setup->params.gap      = args->gap_milli * 1e-9;
    setup->params.block    = args->block_milli * 1e-9;
    setup->params.sync     = args->sync_milli * 1e-9;
    if (is_balanced(setup->traffic)) {
        fs_tool_traffic_servers(setup->traffic, MAX_RANKS, &traffic);
    } else {
        fs_tool_traffic_make(setup->traffic, &traffic);
    }
    x.topo = traffic.topo;
    simulate(
        setup,
        &(fs_sim_blocks_t){traffic.topo, traffic.pairs,
                           fs_tool_traffic_mean(setup->traffic,
                                                fs_topo_n_ranks(traffic.topo))},
        radix, &x.result);
    (setup->json ? print_json : print_text)(setup, &x);
    fs_tool_traffic_fini(&traffic);
}
