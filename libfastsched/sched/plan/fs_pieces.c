/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory as a sorted list of pieces.
 *
 * A piece is a range of bytes with one writer and one list of readers since. A
 * reader must come after the writer. The next writer must come after every
 * reader, or after the writer if nobody has read: whoever is two accesses back
 * is then before it as well, since "before" is transitive. So each access is
 * compared with the latest ones only, and yet no two operations of which one
 * writes a byte are left without an order.
 */
#include "sched/plan/fs_pieces.h"

#include "base/fs_arith.h"

#include <stdlib.h>
#include <string.h>

struct fs_piece {
    uint64_t begin; /* address */
    uint64_t end;
    uint32_t writer;
    uint32_t readers; /* newest in the list, or FS_NOBODY */
    fs_run_t run;
};

/* Room for `more` elements behind the n there are; false if there is none. */
static bool grow(void **array, size_t n, size_t more, size_t *max,
                 size_t elem_bytes)
{
    size_t wanted = 2 * (n + more) + 16;
    void  *bigger;

    if (n + more <= *max) {
        return true;
    }
    bigger = realloc(*array, wanted * elem_bytes);
    if (bigger == NULL) {
        return false;
    }
    *array = bigger;
    *max   = wanted;
    return true;
}

fs_status_t fs_runs_add(fs_runs_t *runs, fs_run_t run)
{
    fs_run_t *last = runs->n == 0 ? NULL : &runs->run[runs->n - 1];

    if (last != NULL && last->src == run.src && last->dst == run.dst &&
        last->offset + last->len_bytes == run.offset) {
        last->len_bytes += run.len_bytes;
        return FS_OK;
    }
    if (!grow((void **)&runs->run, runs->n, 1, &runs->max,
              sizeof(*runs->run))) {
        return FS_ERR_NOMEM;
    }
    runs->run[runs->n++] = run;
    return FS_OK;
}

void fs_pieces_init(fs_pieces_t *pieces, fs_before_fn_t *before, void *ctx)
{
    *pieces = (fs_pieces_t){.before = before, .ctx = ctx};
}

void fs_pieces_fini(fs_pieces_t *pieces)
{
    free(pieces->piece);
    free(pieces->readers);
}

static fs_status_t complain(fs_pieces_t *pieces, const char *problem,
                            uint32_t other)
{
    pieces->problem = problem;
    pieces->other   = other;
    return FS_ERR_INVAL;
}

/* Index of the first piece that ends behind `at`. */
static size_t find(const fs_pieces_t *pieces, uint64_t at)
{
    size_t low = 0, high = pieces->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (pieces->piece[mid].end > at) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    return low;
}

/* Make room for n_new pieces in place of those from first to end. */
static fs_status_t replace(fs_pieces_t *pieces, size_t first, size_t end,
                           size_t n_new)
{
    if (!grow((void **)&pieces->piece, pieces->n, n_new, &pieces->max,
              sizeof(*pieces->piece))) {
        return FS_ERR_NOMEM;
    }
    memmove(pieces->piece + first + n_new, pieces->piece + end,
            (pieces->n - end) * sizeof(*pieces->piece));
    pieces->n = pieces->n - (end - first) + n_new;
    return FS_OK;
}

/* No piece shall reach across `at`. */
static fs_status_t cut(fs_pieces_t *pieces, uint64_t at)
{
    size_t      k = find(pieces, at);
    fs_piece_t *left;

    if (k == pieces->n || pieces->piece[k].begin >= at) {
        return FS_OK;
    }
    if (replace(pieces, k, k, 1) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    left    = &pieces->piece[k];
    left[0] = left[1];
    left[1].run.offset += at - left->begin;
    left[1].run.len_bytes -= at - left->begin;
    left[0].run.len_bytes = at - left->begin;
    left[0].end = left[1].begin = at;
    return FS_OK;
}

static fs_status_t add_reader(fs_pieces_t *pieces, fs_piece_t *piece,
                              uint32_t op)
{
    size_t max = pieces->max_readers;

    if (!grow((void **)&pieces->readers, pieces->n_readers, 1, &max,
              sizeof(*pieces->readers)) ||
        max > FS_NOBODY) {
        return FS_ERR_NOMEM;
    }
    pieces->max_readers                = (uint32_t)max;
    pieces->readers[pieces->n_readers] = (struct fs_reader){op, piece->readers};
    piece->readers                     = pieces->n_readers++;
    return FS_OK;
}

static bool is_before(const fs_pieces_t *pieces, uint32_t writer, uint32_t op)
{
    return writer == FS_NOBODY || pieces->before(pieces->ctx, writer, op);
}

fs_status_t fs_pieces_read(fs_pieces_t *pieces, uint64_t offset,
                           uint64_t len_bytes, uint32_t op, fs_runs_t *runs)
{
    uint64_t    at = offset, end = offset + len_bytes;
    fs_status_t status = cut(pieces, offset);

    if (status == FS_OK) {
        status = cut(pieces, end);
    }
    for (size_t k = find(pieces, offset); status == FS_OK && at < end; ++k) {
        fs_piece_t *piece = &pieces->piece[k];

        if (k == pieces->n || piece->begin != at) {
            return complain(pieces, "reads bytes that nobody wrote", op);
        }
        if (op != FS_NOBODY && !is_before(pieces, piece->writer, op)) {
            return complain(pieces,
                            "does not wait for who writes what it "
                            "reads",
                            piece->writer);
        }
        at     = piece->end;
        status = op == FS_NOBODY ? FS_OK : add_reader(pieces, piece, op);
        if (status == FS_OK) {
            status = fs_runs_add(runs, piece->run);
        }
    }
    return status;
}

static fs_status_t may_overwrite(fs_pieces_t *pieces, const fs_piece_t *piece,
                                 uint32_t op)
{
    if (piece->readers == FS_NOBODY && !is_before(pieces, piece->writer, op)) {
        return complain(pieces, "does not wait for who wrote there before",
                        piece->writer);
    }
    for (uint32_t r = piece->readers; r != FS_NOBODY;
         r          = pieces->readers[r].next) {
        if (!pieces->before(pieces->ctx, pieces->readers[r].op, op)) {
            return complain(pieces, "overwrites what another may still read",
                            pieces->readers[r].op);
        }
    }
    return FS_OK;
}

static uint64_t total_bytes(const fs_runs_t *runs)
{
    uint64_t bytes = 0;

    for (size_t k = 0; k < runs->n; ++k) {
        bytes += runs->run[k].len_bytes;
    }
    return bytes;
}

fs_status_t fs_pieces_write(fs_pieces_t *pieces, uint64_t offset,
                            const fs_runs_t *runs, uint32_t op)
{
    uint64_t    at = offset, end = offset + total_bytes(runs);
    fs_status_t status = cut(pieces, offset);
    size_t      first, last;

    if (status == FS_OK) {
        status = cut(pieces, end);
    }
    first = last = find(pieces, offset);
    while (status == FS_OK && last < pieces->n &&
           pieces->piece[last].begin < end) {
        status = may_overwrite(pieces, &pieces->piece[last++], op);
    }
    if (status == FS_OK) {
        status = replace(pieces, first, last, runs->n);
    }
    for (size_t k = 0; status == FS_OK && k < runs->n; ++k) {
        uint64_t len = runs->run[k].len_bytes;

        pieces->piece[first + k] =
            (fs_piece_t){at, at + len, op, FS_NOBODY, runs->run[k]};
        at += len;
    }
    return status;
}
