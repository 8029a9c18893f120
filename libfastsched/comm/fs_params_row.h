/* SPDX-License-Identifier: BSD-3-Clause */
/* A row of the table of parameters. */
#ifndef FS_PARAMS_ROW_H
#define FS_PARAMS_ROW_H

#include "fastsched_exec.h"

/* A word and its value. */
typedef struct fs_param_word {
    const char *text;
    uint64_t    value;
} fs_param_word_t;

/* How its text is read: fs_value.h. */
typedef enum fs_param_type {
    FS_VALUE_WORD,
    FS_VALUE_NUMBER,
    FS_VALUE_BYTES,
    FS_VALUE_MILLI,
    FS_VALUE_RATE,
    FS_VALUE_TEXT,
    FS_VALUE_CORES /* a text as well */
} fs_param_type_t;

typedef struct fs_param_row {
    fs_param_info_t info;
    fs_param_type_t type;
    size_t          offset; /* in fs_params_t; size follows from type */
    uint64_t        min;
    uint64_t        max;
    const fs_param_word_t
        *words; /* of FS_VALUE_WORD, NULL at the end; of others:
                                     what may stand there besides, or NULL */
    bool all_equal;
} fs_param_row_t;

/* Row k, counted as by fs_params_info(); NULL behind the last. */
const fs_param_row_t *fs_params_row(size_t k);

#endif
