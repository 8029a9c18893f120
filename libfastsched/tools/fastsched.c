/* SPDX-License-Identifier: BSD-3-Clause */
/* The command fastsched: a table of subcommands. To add one: a file, a row. */
#include "tools/fs_tool.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"plan", "who sends to whom and when, and how far from the bound",
     fs_cmd_plan},
    {"program", "the operations of a rank, as JSON", fs_cmd_program},
    {"sim", "how long an exchange would take on a cluster", fs_cmd_sim},
    {"stragglar", "allreduce when one rank comes late", fs_cmd_stragglar},
    {"bench", "how long planning takes", fs_cmd_bench},
    {"trace", "what the ranks of a job did, and what it waited for",
     fs_cmd_trace},
    {"topo", "this server, its NICs and GPUs, and lanes for them", fs_cmd_topo},
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void usage(FILE *out)
{
    fprintf(out, "Usage: fastsched COMMAND [OPTIONS]\n\n"
                 "Schedules of all-to-all exchanges between servers.\n\n");
    for (size_t k = 0; k < N_COMMANDS; ++k) {
        fprintf(out, "  %-10s %s\n", commands[k].name, commands[k].summary);
    }
    fprintf(out, "\n  fastsched COMMAND --help   options of a command\n"
                 "  fastsched --version\n"
                 "  man fastsched\n");
}

static int unknown(const char *name)
{
    char quoted[128];

    fprintf(stderr, "fastsched: unknown command \"%s\"; allowed:",
            fs_tool_quote(name, strlen(name), quoted, sizeof(quoted)));
    for (size_t k = 0; k < N_COMMANDS; ++k) {
        fprintf(stderr, "%s %s", k == 0 ? "" : ",", commands[k].name);
    }
    fputc('\n', stderr);
    return FS_TOOL_BAD;
}

int main(int argc, char **argv)
{
    const char *name = argc < 2 ? "" : argv[1];

    if (argc < 2) {
        usage(stderr);
        return FS_TOOL_BAD;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
        strcmp(name, "help") == 0) {
        usage(stdout);
        return fs_tool_finish(FS_TOOL_OK);
    }
    if (strcmp(name, "--version") == 0) {
        printf("fastsched %s\n", FS_VERSION);
        return fs_tool_finish(FS_TOOL_OK);
    }
    for (size_t k = 0; k < N_COMMANDS; ++k) {
        if (strcmp(commands[k].name, name) == 0) {
            return fs_tool_finish(commands[k].run(argc - 1, argv + 1));
        }
    }
    return unknown(name);
}
