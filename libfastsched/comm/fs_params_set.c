/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters are set from text. A value that is not allowed is refused, with a
 * line that says what is allowed; nothing is rounded, clipped or cut off. */
#include "base/fs_value.h"
#include "comm/fs_params_row.h"
#include "net/fs_helper.h"
#include "sched/plan/fs_plan.h"

#include <stdio.h>
#include <string.h>

/* ---- reading values ---- */

static bool read_word(const char *text, const fs_param_word_t *words,
                      uint64_t *value_p)
{
    while (words->text != NULL && strcmp(text, words->text) != 0) {
        ++words;
    }
    *value_p = words->value;
    return words->text != NULL;
}

static bool read_value(const fs_param_row_t *row, const char *text,
                       uint64_t *value_p)
{
    cpu_set_t cores;

    if (row->words != NULL && read_word(text, row->words, value_p)) {
        return true;
    }
    switch (row->type) {
    case FS_VALUE_WORD:
        return false;
    case FS_VALUE_NUMBER:
        return fs_value_number(text, value_p) && *value_p >= row->min &&
               *value_p <= row->max;
    case FS_VALUE_BYTES:
        return fs_value_bytes(text, value_p) && *value_p >= row->min &&
               *value_p <= row->max;
    case FS_VALUE_MILLI:
        return fs_value_milli(text, value_p) && *value_p >= row->min &&
               *value_p <= row->max;
    case FS_VALUE_RATE:
        return fs_value_rate(text, value_p);
    case FS_VALUE_TEXT:
        return strlen(text) <= row->max;
    case FS_VALUE_CORES:
        return strlen(text) <= row->max && fs_helper_read_cores(text, &cores);
    }
    return false;
}

/* ---- storing them ---- */

static void store(fs_params_t *params, const fs_param_row_t *row,
                  const char *text, uint64_t value)
{
    void *field = (char *)params + row->offset;

    switch (row->type) {
    case FS_VALUE_WORD:
    case FS_VALUE_NUMBER:
    case FS_VALUE_MILLI:
        *(uint32_t *)field = (uint32_t)value;
        break;
    case FS_VALUE_BYTES:
    case FS_VALUE_RATE:
        *(uint64_t *)field = value;
        break;
    case FS_VALUE_TEXT:
    case FS_VALUE_CORES:
        memset(field, 0, row->max + 1);
        memcpy(field, text, strlen(text));
        break;
    }
}

void fs_params_init(fs_params_t *params)
{
    const fs_param_row_t *row;
    uint64_t              value = 0;

    memset(params, 0, sizeof(*params));
    for (size_t k = 0; (row = fs_params_row(k)) != NULL; ++k) {
        read_value(row, row->info.default_value, &value);
        store(params, row, row->info.default_value, value);
    }
}

static bool is_named(size_t k, const char *name)
{
    const char *alias = fs_params_alias(k);

    return strcmp(fs_params_info(k)->name, name) == 0 ||
           (alias != NULL && strcmp(alias, name) == 0);
}

fs_status_t fs_params_set(fs_params_t *params, const char *name,
                          const char *value, char *why, size_t why_len)
{
    const fs_param_row_t *row;
    uint64_t              number = 0;

    for (size_t k = 0; (row = fs_params_row(k)) != NULL; ++k) {
        if (!is_named(k, name)) {
            continue;
        }
        if (!read_value(row, value, &number)) {
            snprintf(why, why_len, "%s is \"%s\"; allowed: %s", name, value,
                     row->info.allowed);
            return FS_ERR_INVAL;
        }
        store(params, row, value, number);
        return FS_OK;
    }
    snprintf(why, why_len, "unknown parameter \"%s\"", name);
    return FS_ERR_INVAL;
}

fs_status_t fs_params_check(const fs_params_t *params, char *why,
                            size_t why_len)
{
    enum { CHUNKS = FS_STAGING_RINGS * FS_STAGING_MIN_SLOTS };

    if (params->staging_limit / params->chunk < CHUNKS) {
        snprintf(why, why_len,
                 "staging_limit is %llu and chunk is %llu bytes; allowed: "
                 "a staging_limit of at least %d chunks",
                 (unsigned long long)params->staging_limit,
                 (unsigned long long)params->chunk, CHUNKS);
        return FS_ERR_INVAL;
    }
    return FS_OK;
}
