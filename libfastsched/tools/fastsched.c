/* SPDX-License-Identifier: BSD-3-Clause */
/* The command fastsched: a table of subcommands. To add one: a file, a row. */
#include "tools/fs_tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    const char *summary;
    void (*run)(int argc, char **argv);
} commands[] = {
    {"compare", "would fast help? An exchange by what MPIs do, and by fast",
     fs_cmd_compare},
    {"plan", "the schedule between servers, and its distance from the bound",
     fs_cmd_plan},
    {"program", "the operations of a rank, as JSON", fs_cmd_program},
    {"sim", "simulated time of an exchange on a cluster", fs_cmd_sim},
    {"stragglar", "allreduce schedules for a rank that comes late",
     fs_cmd_stragglar},
    {"bench", "time that planning takes", fs_cmd_bench},
    {"trace", "operations and critical path of a job, from its traces",
     fs_cmd_trace},
    {"tuning", "results of the tuner in the file of parameter tuning",
     fs_cmd_tuning},
    {"topo", "NICs, GPUs and lanes of this server", fs_cmd_topo},
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

static void unknown(const char *name)
{
    fprintf(stderr,
            "fastsched: unknown command \"%s\"; allowed:", fs_tool_quote(name));
    for (size_t k = 0; k < N_COMMANDS; ++k) {
        fprintf(stderr, "%s %s", k == 0 ? "" : ",", commands[k].name);
    }
    fputc('\n', stderr);
    exit(FS_TOOL_BAD);
}

static void run(int argc, char **argv)
{
    const char *name = argv[1];
    size_t      k    = 0;

    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
        strcmp(name, "help") == 0) {
        usage(stdout);
    } else if (strcmp(name, "--version") == 0) {
        printf("fastsched %s\n", FS_VERSION);
    } else {
        while (k < N_COMMANDS && strcmp(commands[k].name, name) != 0) {
            ++k;
        }
        if (k == N_COMMANDS) {
            unknown(name);
        }
        commands[k].run(argc - 1, argv + 1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return FS_TOOL_BAD;
    }
    run(argc, argv);
    fs_tool_finish();
}
