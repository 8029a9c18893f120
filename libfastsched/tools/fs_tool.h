/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the subcommands of fastsched share: exit codes, messages, options.
 *
 * A subcommand is one file with one entry point, listed in fastsched.c:
 *
 *     int fs_cmd_NAME(int argc, char **argv);    argv[0] is NAME
 *
 * It returns an exit code. Whatever the user got wrong is told on stderr before
 * the first byte goes to stdout.
 */
#ifndef FS_TOOL_H
#define FS_TOOL_H

#include "fastsched.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum fs_tool_exit {
    FS_TOOL_OK     = 0,
    FS_TOOL_FAILED = 1, /* we could not: memory, files, a part not built */
    FS_TOOL_BAD    = 2, /* options or input are wrong */
    FS_TOOL_GO_ON  = -1 /* fs_tool_read_options() only: nothing to stop for */
} fs_tool_exit_t;

/* ---- subcommands ---- */

int fs_cmd_bench(int argc, char **argv);
int fs_cmd_plan(int argc, char **argv);
int fs_cmd_program(int argc, char **argv);
int fs_cmd_sim(int argc, char **argv);
int fs_cmd_stragglar(int argc, char **argv);
int fs_cmd_topo(int argc, char **argv);
int fs_cmd_trace(int argc, char **argv);

/* ---- messages: one line on stderr, "fastsched: ..." ---- */

/* Returns FS_TOOL_BAD. */
int fs_tool_bad(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns FS_TOOL_FAILED. */
int fs_tool_failed(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* A call into the library failed while doing what. FS_TOOL_BAD where the input
 * is at fault (FS_ERR_INVAL, FS_ERR_OVERFLOW), else FS_TOOL_FAILED. */
int fs_tool_status(const char *what, fs_status_t status);

/* Copy text for a message: what is not printable ASCII becomes \xNN, what does
 * not fit "...". Returns out. */
const char *fs_tool_quote(const char *text, size_t len, char *out,
                          size_t out_len);

/* ---- options ---- */

typedef enum fs_tool_kind {
    FS_TOOL_TITLE, /* no option: a heading in the help */
    FS_TOOL_FLAG,  /* bool, becomes true */
    FS_TOOL_TEXT,  /* const char *, points into argv */
    FS_TOOL_U32,   /* uint32_t, a whole number */
    FS_TOOL_U64,   /* uint64_t, a whole number */
    FS_TOOL_BYTES, /* uint64_t, a whole number and perhaps k, m, g or t: powers
                       of 1024 */
    FS_TOOL_MILLI, /* uint32_t, up to three decimals: 2.2 is 2200 */
    FS_TOOL_RATE,  /* uint64_t, bits per second: a whole number and bit, kbit,
                      mbit, gbit, tbit, kBps, MBps, GBps or TBps, powers of
                      1000 */
    FS_TOOL_WORD   /* uint32_t, the index of one of words */
} fs_tool_kind_t;

typedef struct fs_tool_option {
    fs_tool_kind_t kind;
    const char    *name; /* without the dashes */
    const char    *arg;  /* what the help calls the value */
    const char    *help; /* lines separated by \n; of a WORD, if it ends with
                            a colon or is NULL, the words are added */
    void          *value;
    uint64_t       min, max; /* of numbers, as stored */
    /* Of a WORD: the k-th word, NULL after the last. */
    const char *(*word)(uint32_t k);
} fs_tool_option_t;

enum { FS_TOOL_MAX_OPTIONS = 64 };

typedef struct fs_tool_options {
    const char      *usage; /* what follows "Usage: fastsched ", then a line or
                               two that say what the subcommand is for */
    fs_tool_option_t rows[FS_TOOL_MAX_OPTIONS];
    size_t           n;
} fs_tool_options_t;

void fs_tool_add(fs_tool_options_t *options, fs_tool_option_t row);

/* --name VALUE, --name=VALUE, --flag, --help. Values are written through the
 * rows; the last of several wins. FS_TOOL_GO_ON, or the exit code: after --help
 * FS_TOOL_OK, after a message FS_TOOL_BAD. */
int fs_tool_read_options(int argc, char **argv,
                         const fs_tool_options_t *options);

/* Read one value; false: it is not one. What FS_TOOL_U64, _BYTES, _MILLI and
 * _RATE above say, for lists and the like. */
bool fs_tool_read_number(fs_tool_kind_t kind, const char *text,
                         uint64_t *value_p);

/* ---- the end ---- */

/* Flush stdout. A write that failed turns FS_TOOL_OK into FS_TOOL_FAILED, with
 * a message. */
int fs_tool_finish(int rc);

/* ---- time ---- */

/* Monotonic, nanoseconds. */
uint64_t fs_tool_now_ns(void);

#endif
