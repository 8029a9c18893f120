/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the subcommands of fastsched share: exit codes, messages, options.
 *
 * A subcommand is one file with one entry point, listed in fastsched.c:
 *
 *     void fs_cmd_NAME(int argc, char **argv);    argv[0] is NAME
 *
 * Errors end the command, which frees memory and files. Errors of the user are
 * printed on stderr before the first byte goes to stdout.
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
    FS_TOOL_BAD    = 2  /* options or input are wrong */
} fs_tool_exit_t;

/* ---- subcommands ---- */

void fs_cmd_bench(int argc, char **argv);
void fs_cmd_compare(int argc, char **argv);
void fs_cmd_matrix(int argc, char **argv);
void fs_cmd_plan(int argc, char **argv);
void fs_cmd_program(int argc, char **argv);
void fs_cmd_sim(int argc, char **argv);
void fs_cmd_stragglar(int argc, char **argv);
void fs_cmd_topo(int argc, char **argv);
void fs_cmd_trace(int argc, char **argv);
void fs_cmd_tuning(int argc, char **argv);

/* ---- what goes wrong: one line on stderr, "fastsched: ...", and the end ---- */

/* The end with FS_TOOL_BAD, and with FS_TOOL_FAILED. */
_Noreturn void fs_tool_bad(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
_Noreturn void fs_tool_failed(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Did the library do what it was asked for? If not, the end: FS_TOOL_BAD where
 * the input is at fault (FS_ERR_INVAL, FS_ERR_OVERFLOW), else FS_TOOL_FAILED. */
void fs_tool_must(fs_status_t status, const char *what);

/* Zeroed memory, or the end. */
void *fs_tool_calloc(size_t n, size_t elem_bytes);

/* fs_quote(), good until the next call. */
const char *fs_tool_quote(const char *text);

/* ---- options ---- */

typedef enum fs_tool_kind {
    FS_TOOL_TITLE, /* no option: a heading in the help */
    FS_TOOL_FLAG,  /* bool, becomes true */
    FS_TOOL_TEXT,  /* const char *, points into argv */
    FS_TOOL_U32,   /* uint32_t */
    FS_TOOL_U64,   /* uint64_t */
    FS_TOOL_BYTES, /* uint64_t; these as base/fs_value.h says */
    FS_TOOL_MILLI, /* uint32_t */
    FS_TOOL_RATE,  /* uint64_t, bits per second */
    FS_TOOL_WORD   /* uint32_t, the index of one of words */
} fs_tool_kind_t;

typedef struct fs_tool_option {
    fs_tool_kind_t kind;
    const char    *name; /* without the dashes */
    const char    *arg;  /* what the help calls the value */
    const char    *help; /* lines separated by \n; of a WORD, if it ends with
                            a colon or is NULL, the words are added; of a
                            number, if it ends with "(", the default */
    void          *value;
    uint64_t       min, max; /* of numbers, as stored */
    /* Of a WORD: the k-th word, NULL after the last. */
    const char *(*word)(uint32_t k);
} fs_tool_option_t;

enum { FS_TOOL_MAX_OPTIONS = 64 };

typedef struct fs_tool_options {
    const char      *usage; /* what follows "Usage: fastsched ", then a line or
                             two that say what the subcommand is for */
    const char     **operand; /* NULL: there is none */
    fs_tool_option_t rows[FS_TOOL_MAX_OPTIONS];
    size_t           n;
} fs_tool_options_t;

void fs_tool_add_rows(fs_tool_options_t *options, size_t n,
                      const fs_tool_option_t *rows);

#define FS_TOOL_ADD(_options, _rows) \
    fs_tool_add_rows(_options, sizeof(_rows) / sizeof((_rows)[0]), _rows)

/* Which of the words is it? False: none of them. */
bool fs_tool_find_word(const char *(*word)(uint32_t k), const char *text,
                       uint32_t *k_p);

/* The row of --format text|json; *value: 1 for json. */
#define FS_TOOL_FORMAT(_value)                              \
    {                                                       \
        FS_TOOL_WORD, "format", "NAME", NULL, _value, 0, 0, \
            fs_tool_format_word                             \
    }
const char *fs_tool_format_word(uint32_t k);

/* --name VALUE, --name=VALUE, --flag, --help. Values are written through the
 * rows; the last of several wins. --help is the end. */
void fs_tool_read_options(int argc, char **argv,
                          const fs_tool_options_t *options);

/* For completion: from now on fs_tool_read_options() prints, a line each, what the
 * last of its arguments may become. If there is nothing, it is a file. */
void fs_tool_complete(void);

/* One line if the word begins so. */
void fs_tool_offer(const char *begin, const char *dashes, const char *word);

/* ---- the end ---- */

/* With FS_TOOL_OK, unless what is on stdout cannot be written. */
_Noreturn void fs_tool_finish(void);

/* ---- time ---- */

/* Monotonic, nanoseconds. */
uint64_t fs_tool_now_ns(void);

/* Of n nanoseconds, sorted on the way, in microseconds; the mean of the middle
 * two if n is even. */
double fs_tool_median_us(uint64_t *times, uint32_t n);

#endif
