/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options from tables: reading, checking and the help come from the same rows.
 * A value that is not allowed is refused with a line that lists the allowed
 * ones; nothing is rounded, clipped or cut off.
 */
#include "tools/fs_tool.h"

#include "base/fs_value.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 26, HELP_WIDTH = 44 };

void fs_tool_add_rows(fs_tool_options_t *options, size_t n,
                      const fs_tool_option_t *rows)
{
    for (size_t k = 0; k < n && options->n < FS_TOOL_MAX_OPTIONS; ++k) {
        options->rows[options->n++] = rows[k];
    }
}

const char *fs_tool_format_word(uint32_t k)
{
    static const char *const words[] = {"text", "json", NULL};

    return words[k];
}

/* ---- values ---- */

bool fs_tool_find_word(const char *(*word)(uint32_t k), const char *text,
                       uint32_t *k_p)
{
    for (*k_p = 0; word(*k_p) != NULL; ++*k_p) {
        if (strcmp(word(*k_p), text) == 0) {
            return true;
        }
    }
    return false;
}

static bool read_number(const fs_tool_option_t *row, const char *text,
                        uint64_t *value_p)
{
    bool (*const read[])(const char *, uint64_t *) = {
        [FS_TOOL_U32] = fs_value_number,  [FS_TOOL_U64] = fs_value_number,
        [FS_TOOL_BYTES] = fs_value_bytes, [FS_TOOL_MILLI] = fs_value_milli,
        [FS_TOOL_RATE] = fs_value_rate,
    };

    return read[row->kind](text, value_p) && *value_p >= row->min &&
           *value_p <= row->max;
}

static bool read_value(const fs_tool_option_t *row, const char *text)
{
    uint64_t value = 0;

    switch (row->kind) {
    case FS_TOOL_TITLE:
        return false;
    case FS_TOOL_FLAG:
        *(bool *)row->value = true;
        return true;
    case FS_TOOL_TEXT:
        *(const char **)row->value = text;
        return true;
    case FS_TOOL_WORD:
        return fs_tool_find_word(row->word, text, row->value);
    case FS_TOOL_U64:
    case FS_TOOL_BYTES:
    case FS_TOOL_RATE:
        return read_number(row, text, row->value);
    case FS_TOOL_U32:
    case FS_TOOL_MILLI:
        break;
    }
    if (!read_number(row, text, &value)) {
        return false;
    }
    *(uint32_t *)row->value = (uint32_t)value;
    return true;
}

/* ---- what is allowed ---- */

static void print_allowed(FILE *out, const fs_tool_option_t *row)
{
    const char *word;

    switch (row->kind) {
    case FS_TOOL_TITLE:
    case FS_TOOL_FLAG:
    case FS_TOOL_TEXT:
        break;
    case FS_TOOL_U32:
    case FS_TOOL_U64:
    case FS_TOOL_BYTES:
        fprintf(out, "%" PRIu64 " to %" PRIu64 "%s", row->min, row->max,
                row->kind == FS_TOOL_BYTES
                    ? ", with an optional suffix k, m, g, t or KiB, "
                      "MiB, GiB, TiB (powers of 1024) or KB, MB, GB, TB "
                      "(of 1000)"
                    : "");
        break;
    case FS_TOOL_MILLI:
        fprintf(out, "%.3f to %.3f, up to three decimals",
                (double)row->min / 1000, (double)row->max / 1000);
        break;
    case FS_TOOL_RATE:
        fputs("a number above 0 and a unit of bit, kbit, mbit, gbit, tbit, "
              "kBps, MBps, GBps or TBps, as in 400gbit",
              out);
        if (row->max < UINT64_MAX) {
            fprintf(out, ", up to %" PRIu64 "gbit", row->max / 1000000000);
        }
        break;
    case FS_TOOL_WORD:
        for (uint32_t k = 0; (word = row->word(k)) != NULL; ++k) {
            fprintf(out, "%s%s", k == 0 ? "" : ", ", word);
        }
        break;
    }
}

/* ---- help ---- */

/* One more word, in this line or the next. */
static void print_word(size_t *column, const char *before, const char *word,
                       const char *after)
{
    size_t len = strlen(before) + strlen(word) + strlen(after);

    if (*column > 0 && *column + len > HELP_WIDTH) {
        printf("\n%*s", HELP_COLUMN - 1, "");
        *column = 0;
    }
    *column += 1 + len;
    printf(" %s%s%s", before, word, after);
}

/* " a, b or c (a)": a help that does not say which words there are. */
static void print_words(const fs_tool_option_t *row, size_t column)
{
    const char *word;

    for (uint32_t k = 0; (word = row->word(k)) != NULL; ++k) {
        print_word(&column, "", word,
                   row->word(k + 1) == NULL   ? ""
                   : row->word(k + 2) == NULL ? " or"
                                              : ",");
    }
    print_word(&column, "(", row->word(*(const uint32_t *)row->value), ")");
}

/* "(64k)": the value that there is before any option is read. */
static void print_default(const fs_tool_option_t *row)
{
    bool     is_short = row->kind == FS_TOOL_U32 || row->kind == FS_TOOL_MILLI;
    uint64_t value    = is_short ? *(const uint32_t *)row->value
                                 : *(const uint64_t *)row->value;
    int      unit     = 0;

    if (row->kind == FS_TOOL_MILLI) {
        printf("%g)", (double)value / 1000);
        return;
    }
    for (; row->kind == FS_TOOL_BYTES && value > 0 && value % 1024 == 0;
         ++unit) {
        value /= 1024;
    }
    printf("%" PRIu64 "%.*s)", value, unit > 0, &" kmgtpe"[unit]);
}

static void print_help_of(const fs_tool_option_t *row)
{
    const char *line = row->help == NULL ? "" : row->help;
    size_t      len  = strcspn(line, "\n");

    printf("%s%.*s", len == 0 ? "" : " ", (int)len, line);
    while (line[len] != '\0') {
        line += len + 1;
        len = strcspn(line, "\n");
        printf("\n%*s %.*s", HELP_COLUMN - 1, "", (int)len, line);
    }
    if (row->kind == FS_TOOL_WORD && (len == 0 || line[len - 1] == ':')) {
        print_words(row, len == 0 ? 0 : len + 1);
    } else if (len > 0 && line[len - 1] == '(') {
        print_default(row);
    }
    putchar('\n');
}

static void print_row(const fs_tool_option_t *row)
{
    int width;

    if (row->kind == FS_TOOL_TITLE) {
        printf("\n%s:\n", row->name);
        return;
    }
    width = printf("  --%s %s", row->name, row->arg == NULL ? "" : row->arg);
    if (width > HELP_COLUMN - 2) {
        putchar('\n');
        width = 0;
    }
    printf("%*s", HELP_COLUMN - 1 - width, "");
    print_help_of(row);
}

static _Noreturn void print_help(const fs_tool_options_t *options)
{
    printf("Usage: fastsched %s\n", options->usage);
    if (options->rows[0].kind != FS_TOOL_TITLE) {
        printf("\n");
    }
    for (size_t k = 0; k < options->n; ++k) {
        print_row(&options->rows[k]);
    }
    printf("\nSee also: man fastsched\n");
    fs_tool_finish();
}

/* ---- completion ---- */

static bool completes;

void fs_tool_complete(void)
{
    completes = true;
}

void fs_tool_offer(const char *begin, const char *dashes, const char *word)
{
    size_t n = strlen(dashes), len = strlen(begin);

    if (strncmp(begin, dashes, len < n ? len : n) == 0 &&
        (len <= n || strncmp(begin + n, word, len - n) == 0)) {
        printf("%s%s\n", dashes, word);
    }
}

/* The option whose value is being written; NULL: none. */
static const fs_tool_option_t *option_before(int argc, char **argv,
                                             const fs_tool_options_t *options)
{
    const char *before = argc > 2 ? argv[argc - 2] : "";

    for (size_t k = 0; strncmp(before, "--", 2) == 0 && k < options->n; ++k) {
        const fs_tool_option_t *row = &options->rows[k];

        if (row->kind != FS_TOOL_TITLE && row->kind != FS_TOOL_FLAG &&
            strcmp(before + 2, row->name) == 0) {
            return row;
        }
    }
    return NULL;
}

static _Noreturn void complete(int argc, char **argv,
                               const fs_tool_options_t *options)
{
    const char             *begin = argc > 1 ? argv[argc - 1] : "";
    const fs_tool_option_t *row   = option_before(argc, argv, options);
    const char             *word;

    if (row != NULL) {
        for (uint32_t k = 0;
             row->kind == FS_TOOL_WORD && (word = row->word(k)) != NULL; ++k) {
            fs_tool_offer(begin, "", word);
        }
        fs_tool_finish();
    }
    for (size_t k = 0; k < options->n && (*begin == '-' || *begin == '\0') &&
                       (*begin == '-' || options->operand == NULL);
         ++k) {
        if (options->rows[k].kind != FS_TOOL_TITLE) {
            fs_tool_offer(begin, "--", options->rows[k].name);
        }
    }
    fs_tool_finish();
}

/* ---- arguments ---- */

enum { OPERAND = 1, FIRST_ROW = 256 }; /* what getopt_long() returns */

static void set(const fs_tool_option_t *row, const char *value)
{
    if (!read_value(row, value)) {
        fprintf(stderr, "fastsched: --%s \"%s\": allowed: ", row->name,
                fs_tool_quote(value));
        print_allowed(stderr, row);
        fputc('\n', stderr);
        exit(FS_TOOL_BAD);
    }
}

static void set_operand(const char *command, const fs_tool_options_t *options,
                        const char *value)
{
    if (options->operand == NULL || *options->operand != NULL) {
        fs_tool_bad("unexpected argument \"%s\"; see fastsched %s --help",
                    fs_tool_quote(value), command);
    }
    *options->operand = value;
}

/* getopt_long() has said '?': no such option, or a value for a flag. */
static void unknown(char **argv, const fs_tool_options_t *options)
{
    char letter[] = {'-', (char)optopt, '\0'};

    if (optopt >= FIRST_ROW) {
        fs_tool_bad("--%s takes no value",
                    options->rows[optopt - FIRST_ROW].name);
    }
    fs_tool_bad("unknown option \"%s\"; see fastsched %s --help",
                fs_tool_quote(optopt == 0 ? argv[optind - 1] : letter),
                argv[0]);
}

/* What getopt_long() has found. */
static void take(int found, char **argv, const fs_tool_options_t *options)
{
    switch (found) {
    case 'h':
        print_help(options);
    case OPERAND:
        set_operand(argv[0], options, optarg);
        break;
    case '?':
        unknown(argv, options);
        break;
    case ':':
        fs_tool_bad("--%s needs a value: %s",
                    options->rows[optopt - FIRST_ROW].name,
                    options->rows[optopt - FIRST_ROW].arg);
    default:
        set(&options->rows[found - FIRST_ROW], optarg);
    }
}

void fs_tool_read_options(int argc, char **argv,
                          const fs_tool_options_t *options)
{
    struct option table[FS_TOOL_MAX_OPTIONS + 2] = {
        {"help", no_argument, NULL, 'h'}};
    size_t n = 1;
    int    found;

    if (completes) {
        complete(argc, argv, options);
    }
    for (size_t k = 0; k < options->n; ++k) {
        const fs_tool_option_t *row = &options->rows[k];

        if (row->kind != FS_TOOL_TITLE) {
            table[n++] = (struct option){row->name, row->kind != FS_TOOL_FLAG,
                                         NULL, FIRST_ROW + (int)k};
        }
    }
    opterr = 0;
    while ((found = getopt_long(argc, argv, "-:h", table, NULL)) != -1) {
        take(found, argv, options);
    }
    for (; optind < argc; ++optind) { /* behind -- */
        set_operand(argv[0], options, argv[optind]);
    }
}
