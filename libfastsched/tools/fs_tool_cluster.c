/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fs_tool_cluster.h"

#define GBIT  UINT64_C(1000000000)
#define GIB   (UINT64_C(1) << 30)
#define UNSET UINT32_MAX

const char *fs_tool_sim_fabric(uint32_t k)
{
#define X(_fabric, _word) _word,
    static const char *const words[] = {FS_SIM_FABRIC_MAP(X) NULL};
#undef X

    return words[k];
}

void fs_tool_cluster_options(fs_tool_cluster_args_t *args,
                             fs_tool_options_t      *options)
{
    const fs_tool_option_t rows[] = {
        {FS_TOOL_TITLE, .name = "Cluster"},
        {FS_TOOL_RATE, "scale-out", "RATE",
         "rate of a NIC, each way (400gbit): kbit, mbit,\n"
         "gbit, tbit or kBps, MBps, GBps, TBps, powers\n"
         "of 1000",
         .value = &args->scale_out, 1, UINT64_MAX},
        {FS_TOOL_RATE, "scale-up", "RATE",
         "rate of a rank inside its server, each way,\n"
         "all its links together (450GBps)",
         .value = &args->scale_up, 1, UINT64_MAX},
        {FS_TOOL_RATE, "copy", "RATE",
         "rate of copies on a rank (copies take no time;\n"
         "5GBps at the level loggp)",
         .value = &args->copy, 1, UINT64_MAX},
        {FS_TOOL_MILLI, "alpha", "US",
         "microseconds before the first byte of a message\n"
         "between servers (10; 1 at the level loggp)",
         .value = &args->alpha_milli, 0, UNSET - 1},
        {FS_TOOL_MILLI, "alpha-up", "US",
         "the same inside servers, for each hop (3; 0.3\n"
         "at the level loggp)",
         .value = &args->alpha_up_milli, 0, UNSET - 1},
        {FS_TOOL_MILLI, "incast", "F",
         "while k ranks send to one NIC, it receives at\n"
         "1 / (1 + F * (k - 1)) of its rate (",
         .value = &args->incast_milli, 0, UINT32_MAX},
        {FS_TOOL_BYTES, "incast-bytes", "BYTES",
         "senders of smaller messages cause no incast:\n"
         "buffers absorb them (",
         .value = &args->incast_bytes, 0, UINT64_C(1) << 62},
        {FS_TOOL_MILLI, "look", "US",
         "a rank computes, and looks at the network only so\n"
         "often, in microseconds (0: at once)",
         .value = &args->look_milli, 0, UNSET - 1},
        {FS_TOOL_WORD, "topology", "NAME", "inside a server:",
         .value = &args->fabric, .word = fs_tool_sim_fabric},
    };

    *args = (fs_tool_cluster_args_t){.scale_out      = 400 * GBIT,
                                     .scale_up       = 3600 * GBIT,
                                     .alpha_milli    = UNSET,
                                     .alpha_up_milli = UNSET};
    FS_TOOL_ADD(options, rows);
}

/* Seconds. */
static double alpha(uint32_t milli, uint32_t otherwise)
{
    return (milli == UNSET ? otherwise : milli) * 1e-9;
}

void fs_tool_cluster_params(const fs_tool_cluster_args_t *args,
                            fs_sim_params_t              *params)
{
    *params = (fs_sim_params_t){
        .rate_out     = (double)args->scale_out / 8,
        .rate_up      = (double)args->scale_up / 8,
        .rate_copy    = (double)args->copy / 8,
        .alpha_out    = alpha(args->alpha_milli, 10000),
        .alpha_up     = alpha(args->alpha_up_milli, 3000),
        .incast       = args->incast_milli * 1e-3,
        .incast_bytes = args->incast_bytes,
        .look         = args->look_milli * 1e-9,
        .fabric       = (fs_sim_fabric_t)args->fabric,
    };
}

void fs_tool_cluster_loggp(const fs_tool_cluster_args_t *args,
                           fs_sim_loggp_t               *params)
{
    params->rate_out   = (double)args->scale_out / 8;
    params->rate_copy  = (double)(args->copy == 0 ? 40 * GBIT : args->copy) / 8;
    params->latency    = alpha(args->alpha_milli, 1000);
    params->latency_up = alpha(args->alpha_up_milli, 300);
}

uint64_t fs_tool_cluster_cost(const fs_sim_params_t *params)
{
    double cost = params->alpha_out * params->rate_out;

    return cost < (double)GIB ? (uint64_t)cost : GIB;
}
