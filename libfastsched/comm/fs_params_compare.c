/* SPDX-License-Identifier: BSD-3-Clause */
/* Compare parameters that must be equal on all ranks, and name one that
 * differs. */
#include "base/fs_digest.h"
#include "comm/fs_params.h"
#include "comm/fs_params_row.h"

#include <stdio.h>
#include <string.h>

static size_t size_of(const fs_param_row_t *row)
{
    switch (row->type) {
    case FS_VALUE_WORD:
    case FS_VALUE_NUMBER:
    case FS_VALUE_MILLI:
        return sizeof(uint32_t);
    case FS_VALUE_BYTES:
    case FS_VALUE_RATE:
        return sizeof(uint64_t);
    case FS_VALUE_TEXT:
    case FS_VALUE_CORES:
        return row->max + 1;
    }
    return 0;
}

uint64_t fs_params_digest(const fs_params_t *params)
{
    const fs_param_row_t *row;
    uint64_t              digest = 0;
    size_t                k;

    for (k = 0; (row = fs_params_row(k)) != NULL; ++k) {
        if (row->all_equal) {
            digest = fs_digest_add_bytes(
                digest, (const char *)params + row->offset, size_of(row));
        }
    }
    return fs_digest_add(digest, k);
}

/* 1048576 is "1m". */
static void write_bytes(uint64_t value, char text[FS_PARAM_TEXT_MAX])
{
    static const char *const units[] = {"", "k", "m", "g"};
    size_t                   k       = 0;

    for (; k < 3 && value != 0 && value % 1024 == 0; ++k) {
        value /= 1024;
    }
    snprintf(text, FS_PARAM_TEXT_MAX, "%llu%s", (unsigned long long)value,
             units[k]);
}

static void write_text(const char *value, char text[FS_PARAM_TEXT_MAX])
{
    enum { SHOWN = 32 };
    size_t len = strlen(value);

    if (len < FS_PARAM_TEXT_MAX) {
        memcpy(text, value, len + 1);
        return;
    }
    snprintf(text, FS_PARAM_TEXT_MAX, "%.*s...%016llx", SHOWN, value,
             (unsigned long long)fs_digest_add_bytes(0, value, len));
}

/* NULL: there is none. */
static const char *find_word(const fs_param_word_t *words, uint64_t value)
{
    while (words != NULL && words->text != NULL && words->value != value) {
        ++words;
    }
    return words != NULL ? words->text : NULL;
}

static bool is_text(const fs_param_row_t *row)
{
    return row->type == FS_VALUE_TEXT || row->type == FS_VALUE_CORES;
}

/* Of a number. */
static uint64_t load(const fs_param_row_t *row, const void *field)
{
    return size_of(row) == sizeof(uint32_t) ? *(const uint32_t *)field
                                            : *(const uint64_t *)field;
}

void fs_params_text(const fs_params_t *params, size_t k,
                    char text[FS_PARAM_TEXT_MAX])
{
    const fs_param_row_t *row   = fs_params_row(k);
    const void           *field = (const char *)params + row->offset;
    const char           *word  = is_text(row) ? NULL
                                               : find_word(row->words, load(row, field));

    text[0] = '\0';
    if (!row->all_equal) {
        return;
    }
    if (word != NULL) {
        write_text(word, text);
        return;
    }
    switch (row->type) {
    case FS_VALUE_WORD: /* all its values have one */
    case FS_VALUE_RATE: /* a rank's own */
        break;
    case FS_VALUE_NUMBER:
        snprintf(text, FS_PARAM_TEXT_MAX, "%u", *(const uint32_t *)field);
        break;
    case FS_VALUE_MILLI:
        snprintf(text, FS_PARAM_TEXT_MAX, "%u.%03u",
                 *(const uint32_t *)field / 1000,
                 *(const uint32_t *)field % 1000);
        break;
    case FS_VALUE_BYTES:
        write_bytes(*(const uint64_t *)field, text);
        break;
    case FS_VALUE_TEXT:
    case FS_VALUE_CORES:
        write_text(field, text);
        break;
    }
}

void fs_params_explain(const char *name, const char *value_a, uint32_t rank_a,
                       const char *value_b, uint32_t rank_b, char *why,
                       size_t why_len)
{
    snprintf(why, why_len, "%s is \"%s\" on rank %u and \"%s\" on rank %u",
             name, value_a, rank_a, value_b, rank_b);
}
