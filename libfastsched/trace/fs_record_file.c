/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows stay as they are in the file until somebody wants their values; that they
 * are rows is checked here. */
#include "trace/fs_record_file.h"

#include "base/fs_assert.h"
#include "base/fs_grow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the first line ---- */

static fs_status_t bad_head(char *why, size_t why_len)
{
    snprintf(why, why_len,
             "line 1: this is no recording; expected: " FS_RECORD_FORMAT
             " id=... rank=... ranks=...");
    return FS_ERR_INVAL;
}

/* The bytes behind it are in *in_p. */
static fs_status_t parse_head(fs_record_file_t *file, const char *data,
                              size_t len, fs_record_bytes_t *in_p, char *why,
                              size_t why_len)
{
    const char *end = memchr(data, '\n', len);
    char        line[FS_RECORD_NAME + 256];
    int         name = 0;

    if (end == NULL || (size_t)(end - data) >= sizeof(line)) {
        return bad_head(why, why_len);
    }
    memcpy(line, data, (size_t)(end - data));
    line[end - data] = '\0';
    if (sscanf(line,
               FS_RECORD_FORMAT " id=%" SCNx64 " rank=%" SCNu32
                                " ranks=%" SCNu32 " world_rank=%" SCNu32
                                " server=%" SCNu32 " start_us=%" SCNu64
                                " name=%n",
               &file->id, &file->rank, &file->n_ranks, &file->world_rank,
               &file->server, &file->start_us, &name) != 6 ||
        name == 0 || strlen(line + name) >= sizeof(file->name) ||
        file->n_ranks > FS_RECORD_MAX_RANKS || file->rank >= file->n_ranks ||
        file->world_rank > INT32_MAX) {
        return bad_head(why, why_len);
    }
    strcpy(file->name, line + name);
    *in_p = (fs_record_bytes_t){(const uint8_t *)end + 1,
                                (const uint8_t *)data + len};
    return FS_OK;
}

/* ---- events ---- */

/* What comes of reading a part of an event. */
typedef enum part { GOOD, CUT, BROKEN, NO_MEMORY } part_t;

/* What cannot be read at the end is cut off. */
static part_t failed(const fs_record_bytes_t *in)
{
    return in->at == in->end ? CUT : BROKEN;
}

static part_t get_new_row(fs_record_file_t *file, fs_record_bytes_t *in,
                          uint32_t *row_p)
{
    fs_record_bytes_t  tokens = *in;
    fs_record_bytes_t *rows;

    if (!fs_row_get(in, file->n_ranks, NULL)) {
        return failed(in);
    }
    rows = fs_grow(file->rows, file->n_rows, &file->max_rows, UINT32_MAX,
                   sizeof(*rows));
    if (rows == NULL) {
        return NO_MEMORY;
    }
    tokens.end         = in->at;
    file->rows         = rows;
    *row_p             = (uint32_t)file->n_rows;
    rows[file->n_rows] = tokens;
    file->n_rows++;
    return GOOD;
}

static part_t get_row(fs_record_file_t *file, fs_record_bytes_t *in,
                      uint32_t *row_p)
{
    uint64_t back;

    if (!fs_number_get(in, &back)) {
        return failed(in);
    }
    if (back == 0) {
        return get_new_row(file, in, row_p);
    }
    *row_p = (uint32_t)(file->n_rows - back);
    return back <= file->n_rows ? GOOD : BROKEN;
}

static part_t get_start(const fs_record_file_t *file, fs_record_bytes_t *in,
                        uint32_t *init_p)
{
    uint64_t init;

    if (!fs_number_get(in, &init)) {
        return failed(in);
    }
    *init_p = (uint32_t)init;
    return init < file->n_inits ? GOOD : BROKEN;
}

static part_t get_end(fs_record_file_t *file, fs_record_bytes_t *in)
{
    if (!fs_number_get(in, &file->dropped)) {
        return failed(in);
    }
    file->ended = true;
    return in->at == in->end ? GOOD : BROKEN;
}

static part_t add(fs_record_file_t *file, const fs_recorded_event_t *event)
{
    fs_recorded_event_t *events =
        fs_grow(file->events, file->n_events, &file->max_events,
                SIZE_MAX / sizeof(*event), sizeof(*event));

    if (events == NULL) {
        return NO_MEMORY;
    }
    file->events             = events;
    events[file->n_events++] = *event;
    file->n_inits += event->kind == FS_RECORD_INIT;
    return GOOD;
}

static part_t get_event(fs_record_file_t *file, fs_record_bytes_t *in,
                        uint64_t *time_us)
{
    fs_recorded_event_t event;
    uint64_t            tag, later;
    part_t              part;

    if (!fs_number_get(in, &tag)) {
        return failed(in);
    }
    event.kind     = (uint32_t)(tag % FS_RECORD_KINDS);
    event.function = (uint32_t)(tag / FS_RECORD_KINDS);
    if (event.kind == FS_RECORD_END) {
        return get_end(file, in);
    }
    if (fs_record_function(tag / FS_RECORD_KINDS) == NULL) {
        return BROKEN;
    }
    if (!fs_number_get(in, &later)) {
        return failed(in);
    }
    *time_us += later;
    event.time_us = *time_us;
    part = event.kind == FS_RECORD_START ? get_start(file, in, &event.number)
                                         : get_row(file, in, &event.number);
    return part == GOOD ? add(file, &event) : part;
}

fs_status_t fs_record_file_parse(fs_record_file_t *file, const void *data,
                                 size_t len, char *why, size_t why_len)
{
    fs_record_bytes_t in      = {NULL, NULL};
    uint64_t          time_us = 0;
    part_t            part    = GOOD;
    fs_status_t       status;

    *file  = (fs_record_file_t){.events = NULL};
    status = parse_head(file, data, len, &in, why, why_len);
    if (status != FS_OK) {
        return status;
    }
    while (part == GOOD && !file->ended && in.at < in.end) {
        part = get_event(file, &in, &time_us);
    }
    if (part == BROKEN) {
        snprintf(why, why_len, "byte %zu: this is no event of a recording",
                 (size_t)(in.at - (const uint8_t *)data));
        return FS_ERR_INVAL;
    }
    return part == NO_MEMORY ? FS_ERR_NOMEM : FS_OK;
}

void fs_record_file_fini(fs_record_file_t *file)
{
    free(file->events);
    free(file->rows);
}

void fs_record_file_row(const fs_record_file_t *file, size_t row,
                        uint64_t *bytes)
{
    fs_record_bytes_t in = file->rows[row];
    bool              ok = fs_row_get(&in, file->n_ranks, bytes);

    fs_assert(ok);
    (void)ok;
}
