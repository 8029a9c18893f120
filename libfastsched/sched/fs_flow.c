/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two lists of slices become one program: chunk by chunk, so that sending and
 * receiving use the rings in step, the side whose next chunk is earlier first,
 * sending at equal times.
 *
 * A chunk at pos p of a slice is due at start + (p - begin of the slice), but
 * always before the slice ends: streams may be a little longer than the
 * schedule thinks, by alignment or because "greedy" may. Slices of one sender,
 * or of one receiver, do not overlap in time; so a server sends its chunks in
 * the order of (due time, pos, lane), and receives others in the order of the
 * same key. That is the one global order which fs_emit.h asks for, whether the
 * schedule has stages or not.
 */
#include "sched/fs_flow.h"

/* One side on its way through its slices. */
typedef struct side {
    fs_emit_t         *em;
    const fs_opener_t *opener;
    bool               outgoing;
    const fs_slice_t  *slice;
    const fs_slice_t  *last;  /* one behind */
    uint64_t           begin; /* pos of the slice */
    uint64_t           pos;   /* of the next chunks */
    uint64_t           due;   /* when they are; UINT64_MAX: no slice is left */
} side_t;

static bool open_slice(const side_t *side)
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
static void look(side_t *side)
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

static void enter(side_t *side, fs_slices_t slices)
{
    side->slice = slices.list;
    side->last  = slices.list + slices.n;
    side->due   = UINT64_MAX;
    if (slices.n > 0 && open_slice(side)) {
        side->begin = side->slice->stream->pos;
        look(side);
    }
}

/* Emit the chunks that begin at pos. */
static void pass(side_t *side)
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

void fs_flow_run(fs_emit_t *em, fs_slices_t out, fs_slices_t in,
                 const fs_opener_t *opener)
{
    side_t sends = {.em = em, .opener = opener, .outgoing = true};
    side_t recvs = {.em = em, .opener = opener, .outgoing = false};

    enter(&sends, out);
    enter(&recvs, in);
    while (fs_emit_may_go_on(em) &&
           fs_u64_min(sends.due, recvs.due) < UINT64_MAX) {
        pass(sends.due <= recvs.due ? &sends : &recvs);
    }
}
