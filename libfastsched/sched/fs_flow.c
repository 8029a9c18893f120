/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of slices become one program: chunk by chunk, so that sending and
 * receiving use the rings in step, the side whose next chunk is earlier first.
 *
 * A chunk at pos p of a slice is due at start + (p - begin of the slice), but
 * always before the slice ends: streams may be a little longer than the
 * schedule thinks, by alignment or because "greedy" may. Slices of one sender
 * do not overlap in time, so (due time, sender, lane) is a chunk's own; a server
 * sends its chunks in that order, and receives others in it. That is the one
 * global order which fs_emit.h asks for, whether the schedule has stages or not.
 */
#include "sched/fs_flow.h"

/* A side and how far it has been read. */
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

static bool open_slice(const reader_t *side)
{
    const fs_opener_t *opener = side->opener;
    fs_status_t        status = FS_OK;

    if (opener != NULL) {
        status = opener->open(opener->ctx, side->slice, side->outgoing);
    }
    if (status != FS_OK) {
        side->em->program->status = status;
    }
    return status == FS_OK;
}

/* Find the chunks that come next, in this slice or a later one. */
static void look(reader_t *side)
{
    const fs_slice_t *slice = side->slice;

    side->pos = fs_stream_next_pos(slice->stream, slice->end);
    while (side->pos == UINT64_MAX) {
        slice->stream->pos = slice->end;
        if (++slice == side->last) {
            side->due = UINT64_MAX;
            return;
        }
        side->slice = slice;
        if (!open_slice(side)) {
            return;
        }
        side->begin = slice->stream->pos;
        side->pos   = fs_stream_next_pos(slice->stream, slice->end);
    }
    side->due = slice->start +
                fs_u64_min(side->pos - side->begin, slice->bytes - 1);
}

static void enter(reader_t *side)
{
    side->due = UINT64_MAX;
    if (side->slice < side->last && open_slice(side)) {
        side->begin = side->slice->stream->pos;
        look(side);
    }
}

/* Emit the chunks that begin at pos. */
static void pass(reader_t *side)
{
    const fs_slice_t *slice  = side->slice;
    fs_stream_t      *stream = slice->stream;
    fs_emit_t        *em     = side->em;
    fs_chunk_t        chunk;

    for (uint32_t k = 0; k < stream->n_mine; ++k) {
        if (!fs_stream_cut(stream, stream->mine[k], side->pos, slice->end,
                           em->chunk, &chunk)) {
            continue;
        }
        if (side->outgoing) {
            fs_emit_out(em, stream, &chunk);
        } else {
            fs_emit_in(em, stream, &chunk);
        }
        fs_stream_advance(stream, &chunk);
    }
    look(side);
}

/* Of two sides, neither of them at its end, the one whose turn it is. Sends and
 * receives care for the order among their like only. */
static bool comes_first(const reader_t *a, const reader_t *b)
{
    return a->due < b->due || (a->due == b->due && a->outgoing == b->outgoing &&
                               a->slice->sender < b->slice->sender);
}

static reader_t *next_side(reader_t *readers, uint32_t n)
{
    reader_t *next = readers;

    for (uint32_t k = 1; k < n; ++k) {
        if (readers[k].due < UINT64_MAX && comes_first(&readers[k], next)) {
            next = &readers[k];
        }
    }
    return next;
}

void fs_flow_run(fs_emit_t *em, const fs_side_t *sides, uint32_t n_sides,
                 const fs_opener_t *opener)
{
    reader_t *readers = fs_arena_alloc(em->arena, n_sides, sizeof(*readers));
    reader_t *next;

    if (readers == NULL) {
        em->program->status = FS_ERR_NOMEM;
        return;
    }
    for (uint32_t k = 0; k < n_sides; ++k) {
        readers[k] = (reader_t){.em       = em,
                                .opener   = opener,
                                .outgoing = sides[k].outgoing,
                                .slice    = sides[k].list,
                                .last     = sides[k].list + sides[k].n};
        enter(&readers[k]);
    }
    for (next = next_side(readers, n_sides);
         fs_emit_may_go_on(em) && next->due < UINT64_MAX;
         next = next_side(readers, n_sides)) {
        pass(next);
    }
}
