/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of slices become one program: chunk by chunk, so that sending and
 * receiving use the rings in step, the timeline whose next chunk is earlier first.
 *
 * A chunk at pos p of a slice is due at start + (p - begin of the slice), but
 * always before the slice ends: streams may be a little longer than the
 * schedule thinks, by alignment or because "greedy" may. Slices of one sender
 * do not overlap in time, so (due time, sender, lane) is a chunk's own; a server
 * sends its chunks in that order, and receives others in it. That is the one
 * global order which fs_emit.h asks for, whether the schedule has stages or not.
 */
#include "sched/plan/fs_interleave.h"

/* A timeline and how far it has been read. */
typedef struct reader {
    fs_emit_t         *em;
    const fs_opener_t *opener;
    bool               outgoing;
    const fs_slice_t  *slice;
    const fs_slice_t  *last;  /* one behind */
    uint64_t           begin; /* pos of the slice */
    uint64_t           pos;   /* of the next chunks */
    uint64_t           due;   /* when they are; UINT64_MAX: no slice is left */
} reader_t;

static bool open_slice(const reader_t *reader)
{
    const fs_opener_t *opener = reader->opener;
    fs_status_t        status = FS_OK;

    if (opener != NULL) {
        status = opener->open(opener->ctx, reader->slice, reader->outgoing);
    }
    if (status != FS_OK) {
        reader->em->program->status = status;
    }
    return status == FS_OK;
}

/* Find the chunks that come next, in this slice or a later one. */
static void look(reader_t *reader)
{
    const fs_slice_t *slice = reader->slice;

    reader->pos = fs_stream_next_pos(slice->stream, slice->end);
    while (reader->pos == UINT64_MAX) {
        slice->stream->pos = slice->end;
        if (++slice == reader->last) {
            reader->due = UINT64_MAX;
            return;
        }
        reader->slice = slice;
        if (!open_slice(reader)) {
            return;
        }
        reader->begin = slice->stream->pos;
        reader->pos   = fs_stream_next_pos(slice->stream, slice->end);
    }
    reader->due = slice->start +
                  fs_u64_min(reader->pos - reader->begin, slice->bytes - 1);
}

static void enter(reader_t *reader)
{
    reader->due = UINT64_MAX;
    if (reader->slice < reader->last && open_slice(reader)) {
        reader->begin = reader->slice->stream->pos;
        look(reader);
    }
}

/* Emit the chunks that begin at pos. */
static void pass(reader_t *reader)
{
    const fs_slice_t *slice  = reader->slice;
    fs_stream_t      *stream = slice->stream;
    fs_emit_t        *em     = reader->em;
    fs_chunk_t        chunk;

    for (uint32_t k = 0; k < stream->n_mine; ++k) {
        if (!fs_stream_cut(stream, stream->mine[k], reader->pos, slice->end,
                           em->chunk, &chunk)) {
            continue;
        }
        if (reader->outgoing) {
            fs_emit_out(em, stream, &chunk);
        } else {
            fs_emit_in(em, stream, &chunk);
        }
        fs_stream_advance(stream, &chunk);
    }
    look(reader);
}

/* Of two readers, neither of them at its end, the one whose turn it is. Sends and
 * receives care for the order among their like only. */
static bool comes_first(const reader_t *a, const reader_t *b)
{
    return a->due < b->due || (a->due == b->due && a->outgoing == b->outgoing &&
                               a->slice->sender < b->slice->sender);
}

static reader_t *next_reader(reader_t *readers, uint32_t n)
{
    reader_t *next = readers;

    for (uint32_t k = 1; k < n; ++k) {
        if (readers[k].due < UINT64_MAX && comes_first(&readers[k], next)) {
            next = &readers[k];
        }
    }
    return next;
}

void fs_interleave_run(fs_emit_t *em, const fs_timeline_t *timelines,
                       uint32_t n_timelines, const fs_opener_t *opener)
{
    reader_t *readers =
        fs_arena_alloc(em->arena, n_timelines, sizeof(*readers));
    reader_t *next;

    if (readers == NULL) {
        em->program->status = FS_ERR_NOMEM;
        return;
    }
    for (uint32_t k = 0; k < n_timelines; ++k) {
        readers[k] = (reader_t){.em       = em,
                                .opener   = opener,
                                .outgoing = timelines[k].outgoing,
                                .slice    = timelines[k].list,
                                .last     = timelines[k].list + timelines[k].n};
        enter(&readers[k]);
    }
    for (next = next_reader(readers, n_timelines);
         fs_emit_may_go_on(em) && next->due < UINT64_MAX;
         next = next_reader(readers, n_timelines)) {
        pass(next);
    }
}
