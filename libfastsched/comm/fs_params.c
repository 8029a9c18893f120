/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters: one table, read by every wrapper, by the help texts and by
 * the parser (fs_params_set.c), and compared among ranks (fs_params_compare.c).
 */
#include "comm/fs_params.h"

#include "comm/fs_params_row.h"
#include "sched/model/fs_nic_map.h"

#include <string.h>

#define KIB        UINT64_C(1024)
#define GIB        (KIB * KIB * KIB)
#define AT(_field) offsetof(fs_params_t, _field)

/* Rows of a list (fastsched.h) as words, in what is allowed, in a help text. */
#define WORD_ROW(_value, _word, _text)  {#_word, _value},
#define WORD_NAME(_value, _word, _text) ", " #_word
#define WORD_HELP(_value, _word, _text) "; " #_word ": " _text

#define WORDS(...) ((const fs_param_word_t[]){__VA_ARGS__{NULL, 0}})

/* The row of a parameter whose values are a list. */
#define CHOICE(_name, _default, _list, _help, _level, _all_equal)              \
    {                                                                          \
        {#_name, _default, &_list(WORD_NAME)[2], _help _list(WORD_HELP),       \
         _level},                                                              \
            FS_VALUE_WORD, AT(_name), 0, 0, WORDS(_list(WORD_ROW)), _all_equal \
    }

static const fs_param_row_t rows[] = {
    {{"algorithm", "auto", "auto, bundles, eager" FS_ALG_MAP(WORD_NAME) ", off",
      "Algorithm of MPI_Alltoallv for calls with bytes between servers; "
      "bundles: one message for all blocks of two servers where they are "
      "small, for the rest auto; eager: all blocks at once, by the "
      "MPI's own short messages" FS_ALG_MAP(WORD_HELP) "; auto: chosen by size "
                                                       "and skew; off: the "
                                                       "MPI's own algorithm",
      FS_PARAM_USER},
     FS_VALUE_WORD,
     AT(algorithm),
     0,
     0,
     WORDS({"auto", FS_ALGORITHM_AUTO}, {"off", FS_ALGORITHM_OFF},
           {"bundles", FS_ALG_BUNDLES}, {"eager", FS_ALG_EAGER},
           FS_ALG_MAP(WORD_ROW)),
     true},
    {{"nonblocking", "1", "0 or 1",
      "0: nonblocking and persistent calls use the MPI's own algorithm",
      FS_PARAM_USER},
     FS_VALUE_NUMBER,
     AT(nonblocking),
     0,
     1,
     NULL,
     true},
    {{"frames", "8", "1 to 64",
      "Maximum number of nonblocking calls of a communicator that get one "
      "schedule, if several wait and that is faster (DHBvN); 1: none",
      FS_PARAM_USER},
     FS_VALUE_NUMBER,
     AT(frames),
     1,
     64,
     NULL,
     true},
    {{"early", "auto", "auto, on or off",
      "Ranks that have entered a call exchange blocks while they wait for "
      "the others; auto: where they wait long",
      FS_PARAM_USER},
     FS_VALUE_WORD,
     AT(early),
     0,
     0,
     WORDS({"auto", FS_EARLY_AUTO}, {"on", FS_EARLY_ON},
           {"off", FS_EARLY_OFF}, ),
     true},
    CHOICE(allreduce, "off", FS_ALLREDUCE_MAP,
           "Calls of MPI_Allreduce that may be ours, on servers with the same "
           "number of ranks",
           FS_PARAM_USER, true),
    {{"straggler", "auto", "auto, none, or 0 to 4095",
      "Rank of a communicator that comes late to MPI_Allreduce (StragglAR); "
      "auto: found out by the calls before; none: nobody",
      FS_PARAM_USER},
     FS_VALUE_NUMBER,
     AT(straggler),
     0,
     4095,
     WORDS({"auto", FS_STRAGGLER_AUTO}, {"none", FS_STRAGGLER_NONE}, ),
     true},
    {{"progress_thread", "off", "off, on, or cores such as 0,4-7",
      "A thread of each process that progresses nonblocking calls while the "
      "program computes; on: where the process may run; or on these cores",
      FS_PARAM_USER},
     FS_VALUE_CORES,
     AT(progress_thread),
     0,
     FS_CORES_MAX - 1,
     WORDS({"off", 0}, {"on", 1}, ),
     true},
    {{"verbose", "0", "0 or 1",
      "1: print a line per call on rank 0, with the slowest rank's time, and a "
      "summary at the end",
      FS_PARAM_USER},
     FS_VALUE_NUMBER,
     AT(verbose),
     0,
     1,
     NULL,
     true},
    {{"stats", "0", "0 or 1",
      "1: print counters when a communicator is freed: minimum, mean and "
      "maximum over its ranks",
      FS_PARAM_USER},
     FS_VALUE_NUMBER,
     AT(stats),
     0,
     1,
     NULL,
     true},
    {{"trace", "", "a directory, or empty",
      "Directory for a trace of each rank, for Perfetto and for \"fastsched "
      "trace\"; empty: no trace",
      FS_PARAM_USER},
     FS_VALUE_TEXT,
     AT(trace),
     0,
     FS_TRACE_MAX - 1,
     NULL,
     false},
    {{"record", "", "a directory, or empty",
      "Directory for a recording: what every call asks for, those left to the "
      "MPI as well, for \"fastsched compare\" and osu_alltoallv_replay; empty: "
      "none",
      FS_PARAM_USER},
     FS_VALUE_TEXT,
     AT(record),
     0,
     FS_RECORD_DIR_MAX - 1,
     NULL,
     false},
    {{"record_limit", "4m", "4k to 1g",
      "Maximum size of a file of the recording, in bytes: one for each rank "
      "and "
      "communicator; later calls are counted, but not kept",
      FS_PARAM_USER},
     FS_VALUE_BYTES,
     AT(record_limit),
     4 * KIB,
     GIB,
     NULL,
     false},
    {{"check", "0", "0 or 1",
      "1: compare every send count with its receive count before moving data, "
      "and name the pair that disagrees (P x P counts on the network: slow)",
      FS_PARAM_USER},
     FS_VALUE_NUMBER,
     AT(check),
     0,
     1,
     NULL,
     true},
    {{"servers", "", "4x4, 4+4+2+1, @0,1,0,1 or empty",
      "Map of MPI_COMM_WORLD ranks to servers: 4x4 (4 servers of 4 "
      "ranks), 4+4+2+1 (uneven), @0,1,0,1 (server of each rank); empty: as "
      "the MPI reports",
      FS_PARAM_USER},
     FS_VALUE_TEXT,
     AT(servers),
     0,
     FS_SERVERS_MAX - 1,
     NULL,
     true},
    {{"rate", "0", "0 or a rate such as 50mbit, 100gbit",
      "Rate of one NIC, for the lower bound in verbose lines (which assumes "
      "one "
      "NIC per lane); 0: unknown",
      FS_PARAM_USER},
     FS_VALUE_RATE,
     AT(rate),
     0,
     UINT64_MAX,
     NULL,
     false},
    {{"watchdog", "60", "0 to 86400",
      "Seconds without progress after which a call ends with an error, or, "
      "before all ranks have entered it, prints a warning; 0: off",
      FS_PARAM_USER},
     FS_VALUE_NUMBER,
     AT(watchdog),
     0,
     86400,
     NULL,
     true},
    {{"min_bytes", "auto", "auto, or 0 to 1g",
      "Calls with fewer bytes between servers, averaged over the ranks, use "
      "the MPI's own algorithm; auto: the tuner decides, 64k without it",
      FS_PARAM_TUNER},
     FS_VALUE_BYTES,
     AT(min_bytes),
     0,
     GIB,
     WORDS({"auto", FS_MIN_BYTES_AUTO}, ),
     true},
    {{"allreduce_min", "1m", "1 to 16g",
      "Calls of MPI_Allreduce with shorter vectors, in bytes, use the MPI's "
      "own "
      "algorithm",
      FS_PARAM_TUNER},
     FS_VALUE_BYTES,
     AT(allreduce_min),
     1,
     16 * GIB,
     NULL,
     true},
    {{"mtm_threshold", "auto", "auto, or 1 to 1000, up to three decimals",
      "Max-to-mean ratio of the ranks' traffic between servers from which a "
      "call counts as skewed (SABRE) and uses algorithm staged; auto: the "
      "tuner "
      "decides, 2.2 without it",
      FS_PARAM_TUNER},
     FS_VALUE_MILLI,
     AT(mtm_threshold),
     1000,
     1000000,
     WORDS({"auto", FS_MTM_THRESHOLD_AUTO}, ),
     true},
    {{"lanes", "0", "0 to 4096",
      "Ranks of a server that communicate with other servers; 0: one for each "
      "NIC that they use, all of them if their NICs are unknown",
      FS_PARAM_TUNER},
     FS_VALUE_NUMBER,
     AT(lanes),
     0,
     4096,
     NULL,
     true},
    {{"nics", "0", "0 to 16",
      "NICs of a server; 0: those in UCX_NET_DEVICES, or the fastest that "
      "hwloc finds (with parameter servers: unknown)",
      FS_PARAM_TUNER},
     FS_VALUE_NUMBER,
     AT(nics),
     0,
     FS_MAX_NICS,
     NULL,
     true},
    {{"chunk", "64k", "4k to 64m",
      "Maximum size of a message between servers, in bytes", FS_PARAM_TUNER},
     FS_VALUE_BYTES,
     AT(chunk),
     4 * KIB,
     64 * KIB *KIB,
     NULL,
     true},
    {{"window", "8", "1 to 64",
      "Messages that a rank requests from one sender in advance",
      FS_PARAM_TUNER},
     FS_VALUE_NUMBER,
     AT(window),
     1,
     64,
     NULL,
     true},
    {{"staging_limit", "64m", "64k to 16g, and at least 12 chunks",
      "Maximum staging memory per rank, in bytes", FS_PARAM_TUNER},
     FS_VALUE_BYTES,
     AT(staging_limit),
     64 * KIB,
     16 * GIB,
     NULL,
     true},
    CHOICE(transport, "auto", FS_TRANSPORT_MAP, "Transport of the data",
           FS_PARAM_TUNER, true),
    {{"tcp_sndbuf", "128k", "4k to 64m",
      "Send buffer of our own TCP connections: about twice the "
      "bandwidth-delay product; a larger one delays the next stage",
      FS_PARAM_TUNER},
     FS_VALUE_BYTES,
     AT(tcp_sndbuf),
     4 * KIB,
     64 * KIB *KIB,
     NULL,
     false},
    {{"accel", "1", "0 or 1",
      "1: recognize buffers in the memory of an accelerator, if the program "
      "has loaded the driver of CUDA or HIP",
      FS_PARAM_TUNER},
     FS_VALUE_NUMBER,
     AT(accel),
     0,
     1,
     NULL,
     false},
    CHOICE(accel_direct, "auto", FS_ACCEL_DIRECT_MAP,
           "When the network accesses such buffers in the accelerator's memory "
           "directly",
           FS_PARAM_TUNER, false),
    {{"accel_fallback", "1", "0 or 1",
      "1: stage data through host memory where the network or the MPI cannot "
      "access the accelerator's memory; 0: report an error there",
      FS_PARAM_TUNER},
     FS_VALUE_NUMBER,
     AT(accel_fallback),
     0,
     1,
     NULL,
     true},
    {{"stage_cost", "64k", "0 to 1g",
      "Start-up cost of a message between servers, as the number of bytes that "
      "a NIC can send in that time; used to choose schedules and algorithms",
      FS_PARAM_TUNER},
     FS_VALUE_BYTES,
     AT(stage_cost),
     0,
     GIB,
     NULL,
     true},
    {{"calibrate", "1", "0 or 1",
      "1: measure stage_cost, with the parameter as first estimate, in the "
      "first calls of a communicator that has calls of few and of many bytes",
      FS_PARAM_TUNER},
     FS_VALUE_NUMBER,
     AT(calibrate),
     0,
     1,
     NULL,
     true},
    {{"tuner", "1", "0 or 1",
      "1: the first calls of a class (by size and skew) compare the "
      "algorithms, the MPI's own among them, and the fastest serves the "
      "others; for algorithm auto",
      FS_PARAM_TUNER},
     FS_VALUE_NUMBER,
     AT(tuner),
     0,
     1,
     NULL,
     true},
    {{"tuning", "", "a file, or empty",
      "File with the results of the tuner, read at the start and updated at "
      "the end of a job; empty: none",
      FS_PARAM_TUNER},
     FS_VALUE_TEXT,
     AT(tuning),
     0,
     FS_TUNING_MAX - 1,
     NULL,
     true},
    {{"bundle_memory", "1m", "0 to 1g",
      "Bytes of shared memory for bundles of small blocks, per communicator "
      "and rank",
      FS_PARAM_TUNER},
     FS_VALUE_BYTES,
     AT(bundle_memory),
     0,
     GIB,
     NULL,
     true},
    {{"plan_cache", "16m", "0 to 16g",
      "Maximum memory for plans that a rank keeps for calls with the same "
      "counts, in bytes per communicator",
      FS_PARAM_TUNER},
     FS_VALUE_BYTES,
     AT(plan_cache),
     0,
     16 * GIB,
     NULL,
     true},
    CHOICE(decompose, "auto", FS_DECOMPOSE_MAP,
           "Method that makes a schedule of the server matrix", FS_PARAM_DEVEL,
           true),
};

enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

const fs_param_row_t *fs_params_row(size_t k)
{
    return k < N_ROWS ? &rows[k] : NULL;
}

const fs_param_info_t *fs_params_info(size_t k)
{
    return k < N_ROWS ? &rows[k].info : NULL;
}

/* Former names, which still work. */
const char *fs_params_alias(size_t k)
{
    static const struct {
        const char *name, *alias;
    } aliases[] = {{"servers", "nodes"}, {"tuner", "guard"}};

    for (size_t a = 0; a < sizeof(aliases) / sizeof(aliases[0]); ++a) {
        if (strcmp(rows[k].info.name, aliases[a].name) == 0) {
            return aliases[a].alias;
        }
    }
    return NULL;
}

bool fs_params_may_change(size_t k)
{
    size_t offset = rows[k].offset;

    return offset == offsetof(fs_params_t, algorithm) ||
           offset == offsetof(fs_params_t, tuner) ||
           offset == offsetof(fs_params_t, verbose);
}

fs_plan_params_t fs_params_plan(const fs_params_t *params)
{
    bool is_auto = params->algorithm == FS_ALGORITHM_AUTO ||
                   params->algorithm == FS_ALG_BUNDLES ||
                   params->algorithm == FS_ALG_EAGER;

    return (fs_plan_params_t){
        .algorithm = is_auto ? FS_ALG_NATIVE : (fs_alg_t)params->algorithm,
        .force_algorithm     = !is_auto,
        .balance             = FS_BALANCE_MINMOVE,
        .decompose           = (fs_decompose_t)params->decompose,
        .mtm_threshold_milli = params->mtm_threshold == FS_MTM_THRESHOLD_AUTO
                                   ? FS_MTM_THRESHOLD_USUAL
                                   : params->mtm_threshold,
        .min_bytes = params->min_bytes == FS_MIN_BYTES_AUTO ? FS_MIN_BYTES_USUAL
                                                            : params->min_bytes,
        .chunk     = params->chunk,
        .window    = params->window,
        .staging_limit = params->staging_limit,
        .stage_cost    = params->stage_cost,
    };
}
