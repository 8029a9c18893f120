/* SPDX-License-Identifier: BSD-3-Clause */
/* fastsched trace: what the ranks of a job did, from the files that parameter
 * trace of coll_fast has left. Here are its options; the rest is
 * tools/python/fastsched/trace. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_python.h"

#include <inttypes.h>

#define GBIT UINT64_C(1000000000)

enum { NUMBER_LEN = 24 };

void fs_cmd_trace(int argc, char **argv)
{
    const char *dir = NULL, *comm = "", *svg = "", *output = "", *otf2 = "";
    uint64_t    call = 0; /* the slowest */
    uint64_t    rate = 0; /* as the traces say */
    uint32_t    json = 0;
    char        call_text[NUMBER_LEN], rate_text[NUMBER_LEN];
    fs_tool_options_t options = {
        .usage   = "trace DIR [OPTIONS]\n\n"
                   "Operations of a job, from the files that\n"
                   "coll_fast_trace=DIR has written; one call in detail.",
        .operand = &dir};
    const fs_tool_option_t rows[] = {
        {FS_TOOL_U64, "call", "N",
         "the call in detail (the slowest that fast\nhas served)",
         .value = &call, 1, UINT32_MAX - 1},
        {FS_TOOL_TEXT, "comm", "NAME", "the communicator, by name or id",
         .value = &comm},
        {FS_TOOL_RATE, "rate", "RATE",
         "rate of a NIC, for the bound (coll_fast_rate of\nthe job)",
         .value = &rate, 1, 1000000 * GBIT},
        FS_TOOL_FORMAT(&json),
        {FS_TOOL_TEXT, "svg", "FILE",
         "a Gantt chart of the call, planned and measured;\n"
         "- is standard output, and then nothing else is",
         .value = &svg},
        {FS_TOOL_TEXT, "output", "FILE", "all traces in one file, for Perfetto",
         .value = &output},
        {FS_TOOL_TEXT, "otf2", "NEWDIR",
         "all traces as an archive of OTF2, for otf2-print\n"
         "and Vampir; needs the Python module otf2",
         .value = &otf2},
    };

    FS_TOOL_ADD(&options, rows);
    fs_tool_read_options(argc, argv, &options);
    if (dir == NULL) {
        fs_tool_bad("trace needs a directory: fastsched trace DIR");
    }
    snprintf(call_text, sizeof(call_text), "%" PRIu64, call);
    snprintf(rate_text, sizeof(rate_text), "%" PRIu64, rate);
    fs_tool_python_become("fastsched trace",
                          (const char *[]){"trace", dir, call_text, comm,
                                           rate_text, json ? "json" : "text",
                                           svg, output, otf2, NULL});
}
