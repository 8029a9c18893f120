/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of a communicator out of the events of its ranks. All go through their
 * events, rank 0 ahead; at the first call that a rank lacks it ends.
 *
 * The starts of persistent calls may come in another order on each rank: of each
 * such call a rank has a chain of its starts.
 */
#include "trace/fs_recording_calls.h"

#include "base/fs_digest.h"
#include "base/fs_grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

/* Where a rank is. */
typedef struct place {
    const fs_record_file_t *file;
    size_t                  next;  /* of its events that are no START */
    uint32_t               *inits; /* [file->n_inits] their rows */
    uint32_t               *start; /* [file->n_inits] the next START of each */
    uint32_t               *after; /* [file->n_events] of a START: the next of
                                      the same */
    uint32_t                n_inits; /* so far */
} place_t;

typedef struct merge {
    fs_recording_t *recording;
    place_t        *places; /* [n_ranks] */
    uint32_t       *rows;   /* [n_ranks] of the call in hand */
    uint32_t       *table;  /* [table_size] matrices by digest, NONE: free */
    size_t          table_size, max_matrices, max_calls;
    char           *why;
    size_t          why_len;
} merge_t;

/* ---- places ---- */

static fs_status_t place_init(place_t *place, const fs_record_file_t *file)
{
    size_t n = file->n_inits + (size_t)1;

    place->file  = file;
    place->inits = calloc(n, sizeof(*place->inits));
    place->start = calloc(n, sizeof(*place->start));
    place->after = calloc(file->n_events + 1, sizeof(*place->after));
    if (place->inits == NULL || place->start == NULL || place->after == NULL) {
        return FS_ERR_NOMEM;
    }
    memset(place->start, 0xff, n * sizeof(*place->start));
    for (size_t k = file->n_events; k-- > 0;) {
        const fs_recorded_event_t *event = &file->events[k];

        if (event->kind == FS_RECORD_START) {
            place->after[k]             = place->start[event->number];
            place->start[event->number] = (uint32_t)k;
        }
    }
    return FS_OK;
}

static void place_fini(place_t *place)
{
    free(place->inits);
    free(place->start);
    free(place->after);
}

/* The next event that is no START; NULL: there is none. */
static const fs_recorded_event_t *next_in_order(place_t *place)
{
    const fs_record_file_t *file = place->file;

    while (place->next < file->n_events &&
           file->events[place->next].kind == FS_RECORD_START) {
        ++place->next;
    }
    return place->next < file->n_events ? &file->events[place->next++] : NULL;
}

/* ---- matrices ---- */

static uint64_t digest_of(const fs_recording_t *r, uint32_t matrix)
{
    const uint32_t *rows   = r->rows + (size_t)matrix * r->n_ranks;
    uint64_t        digest = 0;

    for (uint32_t k = 0; k < r->n_ranks; ++k) {
        digest = fs_digest_add(digest, rows[k]);
    }
    return digest;
}

static bool grow_table(merge_t *m, size_t size)
{
    const fs_recording_t *r     = m->recording;
    uint32_t             *table = malloc(size * sizeof(*table));

    if (table == NULL) {
        return false;
    }
    free(m->table);
    m->table      = table;
    m->table_size = size;
    memset(table, 0xff, size * sizeof(*table));
    for (uint32_t k = 0; k < r->n_matrices; ++k) {
        size_t at = digest_of(r, k) % size;

        while (table[at] != NONE) {
            at = (at + 1) % size;
        }
        table[at] = k;
    }
    return true;
}

/* m->rows is put behind the last matrix, and becomes one unless there is its like. */
static fs_status_t find_matrix(merge_t *m, uint32_t *matrix_p)
{
    fs_recording_t *r   = m->recording;
    size_t          len = r->n_ranks * sizeof(*r->rows);
    uint32_t       *rows =
        fs_grow(r->rows, r->n_matrices, &m->max_matrices, NONE, len);
    size_t at;

    if (rows == NULL || (2 * ((size_t)r->n_matrices + 1) > m->table_size &&
                         !grow_table(m, 2 * m->table_size + 64))) {
        r->rows = rows != NULL ? rows : r->rows;
        return FS_ERR_NOMEM;
    }
    r->rows = rows;
    memcpy(rows + (size_t)r->n_matrices * r->n_ranks, m->rows, len);
    at = digest_of(r, r->n_matrices) % m->table_size;
    while (m->table[at] != NONE &&
           memcmp(rows + (size_t)m->table[at] * r->n_ranks, m->rows, len) !=
               0) {
        at = (at + 1) % m->table_size;
    }
    if (m->table[at] == NONE) {
        m->table[at] = r->n_matrices++;
    }
    *matrix_p = m->table[at];
    return FS_OK;
}

static fs_status_t add_call(merge_t *m, uint64_t entry_us, uint32_t function)
{
    fs_recording_t     *r      = m->recording;
    fs_recorded_call_t  call   = {.entry_us = entry_us, .function = function};
    fs_status_t         status = find_matrix(m, &call.matrix);
    fs_recorded_call_t *calls  = fs_grow(r->calls, r->n_calls, &m->max_calls,
                                         SIZE_MAX / sizeof(*calls),
                                         sizeof(*calls));

    if (status != FS_OK || calls == NULL) {
        r->calls = calls != NULL ? calls : r->calls;
        return FS_ERR_NOMEM;
    }
    r->calls            = calls;
    calls[r->n_calls++] = call;
    return FS_OK;
}

/* ---- calls ---- */

static fs_status_t differ(merge_t *m, uint32_t rank,
                          const fs_recorded_event_t *theirs,
                          const fs_recorded_event_t *first)
{
    snprintf(m->why, m->why_len,
             "%s: call %zu is %s%s on rank 0 and %s%s on rank %u",
             fs_recording_name(m->recording), m->recording->n_calls,
             fs_record_function(first->function),
             first->kind == FS_RECORD_INIT ? " by fast" : "",
             fs_record_function(theirs->function),
             theirs->kind == FS_RECORD_INIT ? " by fast" : "", rank);
    return FS_ERR_INVAL;
}

/* The others' events for one of rank 0 that is no START. *done: one has none. */
static fs_status_t follow(merge_t *m, const fs_recorded_event_t *first,
                          bool *done)
{
    for (uint32_t k = 0; k < m->recording->n_ranks; ++k) {
        place_t                   *p = &m->places[k];
        const fs_recorded_event_t *e = k == 0 ? first : next_in_order(p);

        if (e == NULL) {
            *done = true;
            return FS_OK;
        }
        if (e->kind != first->kind || e->function != first->function) {
            return differ(m, k, e, first);
        }
        m->rows[k] = e->number;
        if (e->kind == FS_RECORD_INIT) {
            p->inits[p->n_inits++] = e->number;
        }
    }
    return first->kind == FS_RECORD_CALL
               ? add_call(m, first->time_us, first->function)
               : FS_OK;
}

/* Likewise, for a START. */
static fs_status_t follow_start(merge_t *m, const fs_recorded_event_t *first,
                                uint32_t function, bool *done)
{
    uint32_t init = first->number;

    for (uint32_t k = 0; k < m->recording->n_ranks; ++k) {
        place_t *p = &m->places[k];

        if (init >= p->n_inits || p->start[init] == NONE) {
            *done = true;
            return FS_OK;
        }
        p->start[init] = p->after[p->start[init]];
        m->rows[k]     = p->inits[init];
    }
    return add_call(m, first->time_us, function);
}

static fs_status_t run(merge_t *m)
{
    const fs_record_file_t *file = &m->recording->ranks[0];
    uint32_t *functions = calloc(file->n_inits + (size_t)1, sizeof(*functions));
    fs_status_t status  = functions != NULL ? FS_OK : FS_ERR_NOMEM;
    uint32_t    n_inits = 0;
    bool        done    = false;
    size_t      k;

    for (k = 0; k < file->n_events && status == FS_OK && !done; ++k) {
        const fs_recorded_event_t *event = &file->events[k];

        if (event->kind == FS_RECORD_START) {
            status = follow_start(m, event, functions[event->number], &done);
            continue;
        }
        if (event->kind == FS_RECORD_INIT) {
            functions[n_inits++] = event->function;
        }
        status = follow(m, event, &done);
    }
    for (k -= done; k < file->n_events; ++k) {
        m->recording->missing += file->events[k].kind != FS_RECORD_INIT;
    }
    m->recording->missing += file->dropped;
    free(functions);
    return status;
}

fs_status_t fs_recording_merge(fs_recording_t *recording, char *why,
                               size_t why_len)
{
    uint32_t    n      = recording->n_ranks;
    merge_t     m      = {.recording = recording,
                          .places    = calloc(n, sizeof(*m.places)),
                          .rows      = calloc(n, sizeof(*m.rows)),
                          .why       = why,
                          .why_len   = why_len};
    fs_status_t status = m.places != NULL && m.rows != NULL ? FS_OK
                                                            : FS_ERR_NOMEM;

    for (uint32_t k = 0; k < n && status == FS_OK; ++k) {
        status = place_init(&m.places[k], &recording->ranks[k]);
    }
    if (status == FS_OK) {
        status = run(&m);
    }
    for (uint32_t k = 0; k < n && m.places != NULL; ++k) {
        place_fini(&m.places[k]);
    }
    free(m.places);
    free(m.rows);
    free(m.table);
    return status;
}
