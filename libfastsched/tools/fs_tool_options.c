/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options from tables: reading, checking and the help come from the same rows.
 * A value that is not exactly what is allowed is refused with a line that says
 * what is; nothing is rounded, clipped or cut off.
 */
#include "tools/fs_tool.h"

#include <stdio.h>
#include <string.h>

enum { WHY_LEN = 512, HELP_COLUMN = 26, HELP_WIDTH = 44 };

void fs_tool_add(fs_tool_options_t *options, fs_tool_option_t row)
{
    if (options->n < FS_TOOL_MAX_OPTIONS) {
        options->rows[options->n++] = row;
    }
}

/* ---- values ---- */

static bool read_digits(const char **p, uint64_t *value_p)
{
    const char *start = *p;

    for (*value_p = 0; **p >= '0' && **p <= '9'; ++*p) {
        if (__builtin_mul_overflow(*value_p, UINT64_C(10), value_p) ||
            __builtin_add_overflow(*value_p, (uint64_t)(**p - '0'), value_p)) {
            return false;
        }
    }
    return *p != start;
}

/* The factor a unit stands for, 0 if it is none. */
static uint64_t unit_factor(fs_tool_kind_t kind, const char *unit)
{
    static const struct {
        fs_tool_kind_t kind;
        const char    *unit;
        uint64_t       factor;
    } units[] = {
        {FS_TOOL_BYTES, "k", UINT64_C(1) << 10},
        {FS_TOOL_BYTES, "m", UINT64_C(1) << 20},
        {FS_TOOL_BYTES, "g", UINT64_C(1) << 30},
        {FS_TOOL_BYTES, "t", UINT64_C(1) << 40},
        {FS_TOOL_RATE, "bit", 1},
        {FS_TOOL_RATE, "kbit", 1000},
        {FS_TOOL_RATE, "mbit", 1000000},
        {FS_TOOL_RATE, "gbit", 1000000000},
        {FS_TOOL_RATE, "tbit", UINT64_C(1000000000000)},
        {FS_TOOL_RATE, "kBps", 8000},
        {FS_TOOL_RATE, "MBps", 8000000},
        {FS_TOOL_RATE, "GBps", UINT64_C(8000000000)},
        {FS_TOOL_RATE, "TBps", UINT64_C(8000000000000)},
    };

    for (size_t k = 0; k < sizeof(units) / sizeof(units[0]); ++k) {
        if (units[k].kind == kind && strcmp(units[k].unit, unit) == 0) {
            return units[k].factor;
        }
    }
    /* A rate without a unit is a mistake, bytes need none. */
    return *unit == '\0' && kind != FS_TOOL_RATE;
}

static bool read_milli(const char *p, uint64_t *value_p)
{
    uint64_t unit = 100;

    if (!read_digits(&p, value_p) ||
        __builtin_mul_overflow(*value_p, UINT64_C(1000), value_p)) {
        return false;
    }
    if (*p == '.' && p[1] != '\0') {
        for (++p; *p >= '0' && *p <= '9' && unit > 0; ++p, unit /= 10) {
            if (__builtin_add_overflow(*value_p, unit * (uint64_t)(*p - '0'),
                                       value_p)) {
                return false;
            }
        }
    }
    return *p == '\0';
}

bool fs_tool_read_number(fs_tool_kind_t kind, const char *text,
                         uint64_t *value_p)
{
    const char *p = text;
    uint64_t    factor;

    if (kind == FS_TOOL_MILLI) {
        return read_milli(text, value_p);
    }
    if (!read_digits(&p, value_p)) {
        return false;
    }
    factor = unit_factor(kind, p);
    return factor != 0 && !__builtin_mul_overflow(*value_p, factor, value_p);
}

static bool read_word(const fs_tool_option_t *row, const char *text)
{
    const char *word;

    for (uint32_t k = 0; (word = row->word(k)) != NULL; ++k) {
        if (strcmp(word, text) == 0) {
            *(uint32_t *)row->value = k;
            return true;
        }
    }
    return false;
}

static bool read_value(const fs_tool_option_t *row, const char *text)
{
    uint64_t value = 0;

    switch (row->kind) {
    case FS_TOOL_TITLE:
    case FS_TOOL_FLAG:
        return false;
    case FS_TOOL_TEXT:
        *(const char **)row->value = text;
        return true;
    case FS_TOOL_WORD:
        return read_word(row, text);
    case FS_TOOL_U32:
    case FS_TOOL_U64:
    case FS_TOOL_BYTES:
    case FS_TOOL_MILLI:
    case FS_TOOL_RATE:
        break;
    }
    if (!fs_tool_read_number(row->kind, text, &value) || value < row->min ||
        value > row->max) {
        return false;
    }
    if (row->kind == FS_TOOL_U32 || row->kind == FS_TOOL_MILLI) {
        *(uint32_t *)row->value = (uint32_t)value;
    } else {
        *(uint64_t *)row->value = value;
    }
    return true;
}

/* ---- what is allowed, for messages ---- */

static void append(char *out, size_t out_len, const char *text)
{
    size_t n = strlen(out);

    snprintf(out + n, out_len - n, "%s", text);
}

static void list_words(const fs_tool_option_t *row, char *out, size_t out_len)
{
    out[0] = '\0';
    for (uint32_t k = 0; row->word(k) != NULL; ++k) {
        append(out, out_len, k == 0 ? "" : ", ");
        append(out, out_len, row->word(k));
    }
}

static void allowed_milli(const fs_tool_option_t *row, char *out,
                          size_t out_len)
{
    snprintf(out, out_len, "%llu.%03llu to %llu.%03llu, up to three decimals",
             (unsigned long long)(row->min / 1000),
             (unsigned long long)(row->min % 1000),
             (unsigned long long)(row->max / 1000),
             (unsigned long long)(row->max % 1000));
}

static const char *allowed(const fs_tool_option_t *row, char *out,
                           size_t out_len)
{
    switch (row->kind) {
    case FS_TOOL_TITLE:
    case FS_TOOL_FLAG:
    case FS_TOOL_TEXT:
        out[0] = '\0';
        break;
    case FS_TOOL_U32:
    case FS_TOOL_U64:
    case FS_TOOL_BYTES:
        snprintf(out, out_len, "%llu to %llu%s", (unsigned long long)row->min,
                 (unsigned long long)row->max,
                 row->kind == FS_TOOL_BYTES ? ", with k, m, g or t if you like"
                                            : "");
        break;
    case FS_TOOL_MILLI:
        allowed_milli(row, out, out_len);
        break;
    case FS_TOOL_RATE:
        snprintf(
            out, out_len,
            "a whole number above 0 and bit, kbit, mbit, gbit, tbit, kBps, "
            "MBps, GBps or TBps, as in 400gbit");
        break;
    case FS_TOOL_WORD:
        list_words(row, out, out_len);
        break;
    }
    return out;
}

/* ---- help ---- */

/* One more word, in this line or the next. */
static void append_word(char *out, size_t out_len, const char *word)
{
    const char *line = strrchr(out, '\n');
    size_t      used = strlen(line == NULL ? out : line + 1);

    append(out, out_len,
           used == 0                              ? ""
           : used + 1 + strlen(word) > HELP_WIDTH ? "\n"
                                                  : " ");
    append(out, out_len, word);
}

/* "inside: a, b or c (a)": a help that does not say which words there are. */
static const char *help_of(const fs_tool_option_t *row, char *out,
                           size_t out_len)
{
    const char *help = row->help == NULL ? "" : row->help, *word;
    char        part[64];

    if (row->kind != FS_TOOL_WORD ||
        (*help != '\0' && help[strlen(help) - 1] != ':')) {
        return help;
    }
    snprintf(out, out_len, "%s", help);
    for (uint32_t k = 0; (word = row->word(k)) != NULL; ++k) {
        snprintf(part, sizeof(part), "%s%s", word,
                 row->word(k + 1) == NULL   ? ""
                 : row->word(k + 2) == NULL ? " or"
                                            : ",");
        append_word(out, out_len, part);
    }
    snprintf(part, sizeof(part), "(%s)",
             row->word(*(const uint32_t *)row->value));
    append_word(out, out_len, part);
    return out;
}

static void print_row(const fs_tool_option_t *row)
{
    char        head[64], words[WHY_LEN];
    const char *line = help_of(row, words, sizeof(words));

    if (row->kind == FS_TOOL_TITLE) {
        printf("\n%s:\n", row->name);
        return;
    }
    snprintf(head, sizeof(head), "--%s %s", row->name,
             row->arg == NULL ? "" : row->arg);
    printf("  %-*s", HELP_COLUMN - 3, head);
    if (strlen(head) > HELP_COLUMN - 4) {
        printf("\n%*s", HELP_COLUMN - 1, "");
    }
    while (line != NULL) {
        size_t len = strcspn(line, "\n");

        printf(" %.*s\n", (int)len, line);
        line = line[len] == '\0' ? NULL : line + len + 1;
        if (line != NULL) {
            printf("%*s", HELP_COLUMN - 1, "");
        }
    }
}

static int print_help(const fs_tool_options_t *options)
{
    size_t len = strlen(options->usage);

    len -= len > 0 && options->usage[len - 1] == '\n';
    printf("Usage: fastsched %.*s\n", (int)len, options->usage);
    if (options->rows[0].kind != FS_TOOL_TITLE) {
        printf("\n");
    }
    for (size_t k = 0; k < options->n; ++k) {
        print_row(&options->rows[k]);
    }
    printf("\nMore in the manual: man fastsched\n");
    return FS_TOOL_OK;
}

/* ---- arguments ---- */

static const fs_tool_option_t *find(const fs_tool_options_t *options,
                                    const char *name, size_t len)
{
    for (size_t k = 0; k < options->n; ++k) {
        const fs_tool_option_t *row = &options->rows[k];

        if (row->kind != FS_TOOL_TITLE && strlen(row->name) == len &&
            strncmp(row->name, name, len) == 0) {
            return row;
        }
    }
    return NULL;
}

static int unknown(const char *command, const char *arg)
{
    char quoted[WHY_LEN];

    fs_tool_quote(arg, strlen(arg), quoted, sizeof(quoted));
    if (arg[0] != '-') {
        return fs_tool_bad("unexpected argument \"%s\"; fastsched %s takes "
                           "options only, see fastsched %s --help",
                           quoted, command, command);
    }
    return fs_tool_bad("unknown option \"%s\"; see fastsched %s --help", quoted,
                       command);
}

static int set(const fs_tool_option_t *row, const char *value)
{
    char why[WHY_LEN], quoted[WHY_LEN];

    if (read_value(row, value)) {
        return FS_TOOL_GO_ON;
    }
    return fs_tool_bad(
        "--%s \"%s\": allowed: %s", row->name,
        fs_tool_quote(value, strlen(value), quoted, sizeof(quoted)),
        allowed(row, why, sizeof(why)));
}

/* Read argv[*i], and argv[*i + 1] if that is its value. */
static int read_one(int argc, char **argv, int *i,
                    const fs_tool_options_t *options)
{
    const char             *arg = argv[*i];
    size_t                  len = strcspn(arg, "=");
    const fs_tool_option_t *row = NULL;

    if (strncmp(arg, "--", 2) == 0) {
        row = find(options, arg + 2, len - 2);
    }
    if (row == NULL) {
        return unknown(argv[0], arg);
    }
    if (row->kind == FS_TOOL_FLAG) {
        if (arg[len] == '=') {
            return fs_tool_bad("--%s takes no value", row->name);
        }
        *(bool *)row->value = true;
        return FS_TOOL_GO_ON;
    }
    if (arg[len] == '=') {
        return set(row, arg + len + 1);
    }
    if (*i + 1 == argc) {
        return fs_tool_bad("--%s needs a value: %s", row->name, row->arg);
    }
    ++*i;
    return set(row, argv[*i]);
}

int fs_tool_read_options(int argc, char **argv,
                         const fs_tool_options_t *options)
{
    int rc = FS_TOOL_GO_ON;

    for (int i = 1; i < argc && rc == FS_TOOL_GO_ON; ++i) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return print_help(options);
        }
        rc = read_one(argc, argv, &i, options);
    }
    return rc;
}
