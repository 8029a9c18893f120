/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory as a sorted list of ranges.
 *
 * A range of bytes has one writer and a list of readers since. A reader must
 * come after the writer. The next writer must come after every
 * reader, or after the writer if nobody has read: an access two steps back
 * is then before it as well, since "before" is transitive. So each access is
 * compared with the latest ones only, and yet no two operations of which one
 * writes a byte are left without an order.
 */
#include "sched/plan/fs_ranges.h"

#include "base/fs_arith.h"

#include <stdlib.h>
#include <string.h>

struct fs_range {
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

void fs_ranges_init(fs_ranges_t *ranges, fs_before_fn_t *before, void *ctx)
{
    *ranges = (fs_ranges_t){.before = before, .ctx = ctx};
}

void fs_ranges_fini(fs_ranges_t *ranges)
{
    free(ranges->range);
    free(ranges->readers);
}

static fs_status_t complain(fs_ranges_t *ranges, const char *problem,
                            uint32_t other)
{
    ranges->problem = problem;
    ranges->other   = other;
    return FS_ERR_INVAL;
}

/* Index of the first range that ends behind `at`. */
static size_t find(const fs_ranges_t *ranges, uint64_t at)
{
    size_t low = 0, high = ranges->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (ranges->range[mid].end > at) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    return low;
}

/* Make room for n_new ranges in place of those from first to end. */
static fs_status_t replace(fs_ranges_t *ranges, size_t first, size_t end,
                           size_t n_new)
{
    if (!grow((void **)&ranges->range, ranges->n, n_new, &ranges->max,
              sizeof(*ranges->range))) {
        return FS_ERR_NOMEM;
    }
    memmove(ranges->range + first + n_new, ranges->range + end,
            (ranges->n - end) * sizeof(*ranges->range));
    ranges->n = ranges->n - (end - first) + n_new;
    return FS_OK;
}

/* No range shall reach across `at`. */
static fs_status_t cut(fs_ranges_t *ranges, uint64_t at)
{
    size_t      k = find(ranges, at);
    fs_range_t *left;

    if (k == ranges->n || ranges->range[k].begin >= at) {
        return FS_OK;
    }
    if (replace(ranges, k, k, 1) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    left    = &ranges->range[k];
    left[0] = left[1];
    left[1].run.offset += at - left->begin;
    left[1].run.len_bytes -= at - left->begin;
    left[0].run.len_bytes = at - left->begin;
    left[0].end = left[1].begin = at;
    return FS_OK;
}

static fs_status_t add_reader(fs_ranges_t *ranges, fs_range_t *range,
                              uint32_t op)
{
    size_t max = ranges->max_readers;

    if (!grow((void **)&ranges->readers, ranges->n_readers, 1, &max,
              sizeof(*ranges->readers)) ||
        max > FS_NOBODY) {
        return FS_ERR_NOMEM;
    }
    ranges->max_readers                = (uint32_t)max;
    ranges->readers[ranges->n_readers] = (struct fs_reader){op, range->readers};
    range->readers                     = ranges->n_readers++;
    return FS_OK;
}

static bool is_before(const fs_ranges_t *ranges, uint32_t writer, uint32_t op)
{
    return writer == FS_NOBODY || ranges->before(ranges->ctx, writer, op);
}

fs_status_t fs_ranges_read(fs_ranges_t *ranges, uint64_t offset,
                           uint64_t len_bytes, uint32_t op, fs_runs_t *runs)
{
    uint64_t    at = offset, end = offset + len_bytes;
    fs_status_t status = cut(ranges, offset);

    if (status == FS_OK) {
        status = cut(ranges, end);
    }
    for (size_t k = find(ranges, offset); status == FS_OK && at < end; ++k) {
        fs_range_t *range = &ranges->range[k];

        if (k == ranges->n || range->begin != at) {
            return complain(ranges, "reads bytes that nobody wrote", op);
        }
        if (op != FS_NOBODY && !is_before(ranges, range->writer, op)) {
            return complain(ranges,
                            "does not wait for the writer of what "
                            "it reads",
                            range->writer);
        }
        at     = range->end;
        status = op == FS_NOBODY ? FS_OK : add_reader(ranges, range, op);
        if (status == FS_OK) {
            status = fs_runs_add(runs, range->run);
        }
    }
    return status;
}

static fs_status_t may_overwrite(fs_ranges_t *ranges, const fs_range_t *range,
                                 uint32_t op)
{
    if (range->readers == FS_NOBODY && !is_before(ranges, range->writer, op)) {
        return complain(ranges, "does not wait for the writer before it",
                        range->writer);
    }
    for (uint32_t r = range->readers; r != FS_NOBODY;
         r          = ranges->readers[r].next) {
        if (!ranges->before(ranges->ctx, ranges->readers[r].op, op)) {
            return complain(
                ranges,
                "overwrites bytes that another operation may still read",
                ranges->readers[r].op);
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

fs_status_t fs_ranges_write(fs_ranges_t *ranges, uint64_t offset,
                            const fs_runs_t *runs, uint32_t op)
{
    uint64_t    at = offset, end = offset + total_bytes(runs);
    fs_status_t status = cut(ranges, offset);
    size_t      first, last;

    if (status == FS_OK) {
        status = cut(ranges, end);
    }
    first = last = find(ranges, offset);
    while (status == FS_OK && last < ranges->n &&
           ranges->range[last].begin < end) {
        status = may_overwrite(ranges, &ranges->range[last++], op);
    }
    if (status == FS_OK) {
        status = replace(ranges, first, last, runs->n);
    }
    for (size_t k = 0; status == FS_OK && k < runs->n; ++k) {
        uint64_t len = runs->run[k].len_bytes;

        ranges->range[first + k] =
            (fs_range_t){at, at + len, op, FS_NOBODY, runs->run[k]};
        at += len;
    }
    return status;
}
