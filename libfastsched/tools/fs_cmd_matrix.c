/* SPDX-License-Identifier: BSD-3-Clause */
/* fastsched matrix: the traffic as a file, for other benchmarks and for us. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_recording.h"

#include <inttypes.h>
#include <stdio.h>

/* inih, which reads such files for UCC, may be built for lines of 200 characters. */
enum { UCC_LINE = 160 };

typedef struct args {
    fs_tool_traffic_args_t traffic;
    const char            *dir; /* of a recording; NULL: none */
    uint32_t               kind;
    uint32_t               ucc;
} args_t;

static const char *format_word(uint32_t k)
{
    static const char *const words[] = {"nccl", "ucc", NULL};

    return words[k];
}

static void read_args(int argc, char **argv, args_t *args)
{
    fs_tool_options_t options = {
        .usage   = "matrix DIR|--matrix FILE|--pattern NAME [OPTIONS]\n\n"
                   "The bytes that ranks send each other, for other benchmarks. "
                   "DIR: a recording\n"
                   "of a program (parameter record).",
        .operand = &args->dir};
    const fs_tool_option_t rows[] = {
        {FS_TOOL_TITLE, .name = "Recording"},
        {FS_TOOL_U32, "kind", "N",
         "of which calls, numbered as fastsched compare\n"
         "does: 1 has most bytes (",
         .value = &args->kind, 1, UINT32_MAX},
        {FS_TOOL_TITLE, .name = "Output"},
        {FS_TOOL_WORD, "format", "NAME",
         "nccl: for alltoallv_perf of nccl-tests, and for\n"
         "--matrix; ucc: a pattern file (.ptini) for\n"
         "ucc_perftest -d uint8 (nccl)",
         .value = &args->ucc, .word = format_word},
    };

    *args = (args_t){.kind = 1};
    fs_tool_traffic_options(&args->traffic, &options);
    FS_TOOL_ADD(&options, rows);
    fs_tool_read_options(argc, argv, &options);
    if (args->dir != NULL && !fs_tool_is_recording(args->dir)) {
        fs_tool_bad("\"%s\" is no directory; allowed: that of a recording, or "
                    "--matrix FILE",
                    fs_tool_quote(args->dir));
    }
    if (args->dir != NULL &&
        (args->traffic.matrix != NULL || args->traffic.pattern != NULL)) {
        fs_tool_bad("a recording and %s are given; allowed: one of them",
                    args->traffic.matrix != NULL ? "--matrix" : "--pattern");
    }
}

static void from_recording(const args_t *args, fs_tool_traffic_t *traffic)
{
    fs_tool_recording_t recording;

    fs_tool_recording_read(args->dir, &recording);
    if (args->kind > recording.n_kinds) {
        fs_tool_bad("--kind %u: allowed: 1 to %zu, as many different matrices "
                    "as are in the recording",
                    args->kind, recording.n_kinds);
    }
    fs_tool_recording_traffic(&recording, &recording.kinds[args->kind - 1],
                              &args->traffic, traffic);
    fs_tool_recording_fini(&recording);
}

/* A line for each rank, white space, bytes. */
static void print_nccl(const fs_tool_traffic_t *traffic)
{
    size_t n = traffic->n_ranks;

    for (size_t k = 0; k < n * n; ++k) {
        printf("%" PRIu64 "%c", traffic->pairs[k],
               (k + 1) % n == 0 ? '\n' : ' ');
    }
}

static void check_ucc(const fs_tool_traffic_t *traffic)
{
    size_t n = traffic->n_ranks;

    for (size_t k = 0; k < n * n; ++k) {
        if (traffic->pairs[k] > UINT32_MAX) {
            fs_tool_bad("rank %zu sends %" PRIu64 " bytes to rank %zu; allowed "
                        "by --format ucc: up to %" PRIu32,
                        k / n, traffic->pairs[k], k % n, UINT32_MAX);
        }
    }
}

/* Lines of counts are read one behind the other, as with a comma between. */
static void print_ucc(const fs_tool_traffic_t *traffic)
{
    size_t n = traffic->n_ranks;

    check_ucc(traffic);
    printf(
        "[format]\nversion = 1.0\ndescription = UCC Collective Pattern File\n"
        "\n[collective]\ntype = ALLTOALLV\nteam_size = %zu\n"
        "datatype = UINT8\nflags = COUNT_32BIT\ncounts = {\n",
        n);
    for (size_t r = 0; r < n; ++r) {
        int column = printf("    %" PRIu64, traffic->pairs[r * n]);

        for (size_t k = 1; k < n; ++k) {
            if (column > UCC_LINE) {
                column = printf("\n    ");
            } else {
                column += printf(",");
            }
            column += printf("%" PRIu64, traffic->pairs[r * n + k]);
        }
        printf("\n");
    }
    printf("}\n");
}

void fs_cmd_matrix(int argc, char **argv)
{
    args_t            args;
    fs_tool_traffic_t traffic;

    read_args(argc, argv, &args);
    if (args.dir != NULL) {
        from_recording(&args, &traffic);
    } else {
        fs_tool_traffic_make(&args.traffic, &traffic);
    }
    (args.ucc ? print_ucc : print_nccl)(&traffic);
    fs_tool_traffic_fini(&traffic);
}
