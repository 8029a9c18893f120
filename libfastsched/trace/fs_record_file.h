/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of one rank of a recording, read: see fs_record_code.h. */
#ifndef FS_RECORD_FILE_H
#define FS_RECORD_FILE_H

#include "trace/fs_record.h"
#include "trace/fs_record_code.h"

typedef struct fs_recorded_event {
    uint64_t time_us;  /* since the file's beginning */
    uint32_t function; /* fs_record_function(); of START not set */
    uint32_t number;   /* of its row; of START, of its INIT */
    uint32_t kind;     /* fs_record_event_t, END excepted */
} fs_recorded_event_t;

typedef struct fs_record_file {
    uint64_t             id;
    uint32_t             rank, n_ranks, world_rank, server;
    uint64_t             start_us; /* since 1970 */
    char                 name[FS_RECORD_NAME];
    fs_recorded_event_t *events;
    size_t               n_events, max_events;
    fs_record_bytes_t   *rows; /* their tokens */
    size_t               n_rows, max_rows;
    uint32_t             n_inits;
    bool     ended;   /* else the program has not; events that are whole
                                    are here */
    uint64_t dropped; /* calls that are missing behind the last */
} fs_record_file_t;

enum { FS_RECORD_MAX_RANKS = 1 << 20 };

/* data is borrowed for life. FS_OK; FS_ERR_INVAL: why is one line, beginning with
 * "line 1: " or "byte N: "; FS_ERR_NOMEM. In any case fs_record_file_fini(). */
fs_status_t fs_record_file_parse(fs_record_file_t *file, const void *data,
                                 size_t len, char *why, size_t why_len);
void        fs_record_file_fini(fs_record_file_t *file);

/* bytes: [n_ranks] of one of its rows. */
void fs_record_file_row(const fs_record_file_t *file, size_t row,
                        uint64_t *bytes);

#endif
