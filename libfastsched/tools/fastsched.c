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
    {"matrix", "traffic as a file, for us, nccl-tests and UCC", fs_cmd_matrix},
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
    fprintf(out, "\n  fastsched help COMMAND     options of a command\n"
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

static void run_command(int argc, char **argv)
{
    size_t k = 0;

    while (k < N_COMMANDS && strcmp(commands[k].name, argv[0]) != 0) {
        ++k;
    }
    if (k == N_COMMANDS) {
        unknown(argv[0]);
    }
    commands[k].run(argc, argv);
}

/* complete WORD...: what the last word may become, for completion of shells.
 * bash makes three words of --option=value. */
static void complete(int argc, char **argv)
{
    const char *begin = argc > 1 ? argv[argc - 1] : "";
    int         n     = 0;

    for (int k = 1; k < argc; ++k) {
        if (strcmp(argv[k], "=") != 0) {
            argv[n++] = argv[k];
        } else if (k == argc - 1) {
            argv[n++] = (char *)"";
        }
    }
    if (n >= 2 && strcmp(argv[0], "help") != 0) {
        argv[n] = NULL;
        fs_tool_complete();
        run_command(n, argv);
        return;
    }
    for (size_t k = 0; k < N_COMMANDS; ++k) {
        fs_tool_offer(begin, "", commands[k].name);
    }
    if (n < 2) {
        fs_tool_offer(begin, "", "help");
    }
}

/* help COMMAND is COMMAND --help. */
static void help(int argc, char **argv)
{
    char *of_command[] = {argv[1], (char *)"--help", NULL};

    if (argc > 2) {
        fs_tool_bad("unexpected argument \"%s\"; allowed: help COMMAND",
                    fs_tool_quote(argv[2]));
    }
    if (argc == 1 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
    } else {
        run_command(2, of_command);
    }
}

static void run(int argc, char **argv)
{
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
        usage(stdout);
    } else if (strcmp(argv[0], "help") == 0) {
        help(argc, argv);
    } else if (strcmp(argv[0], "--version") == 0) {
        printf("fastsched %s\n", FS_VERSION);
    } else if (strcmp(argv[0], "complete") == 0) {
        complete(argc, argv);
    } else {
        run_command(argc, argv);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return FS_TOOL_BAD;
    }
    run(argc - 1, argv + 1);
    fs_tool_finish();
}
