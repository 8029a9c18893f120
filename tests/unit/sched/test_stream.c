/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams cut into chunks: where they begin and end, and what parts they have.
 * And the arena they live in. */
#include "fs_test_util.h"
#include "sched/plan/fs_stream.h"

#include <stdlib.h>
#include <string.h>

/* Lane 0: blocks (0,0), (1,0) and, without a gap but to lane 1, (1,1); lane 1:
 * (2,1), a gap, (2,0) to lane 0. */
static fs_extent_t extents[] = {
    {.src_local = 0, .dst_local = 0, .dst_lane = 0, .len_bytes = 10},
    {.src_local = 1, .dst_lane = 0, .offset = 7, .len_bytes = 20, .pos = 10},
    {.src_local = 1, .dst_local = 1, .dst_lane = 1, .len_bytes = 5, .pos = 30},
    {.src_local = 2, .dst_local = 1, .dst_lane = 1, .len_bytes = 12},
    {.src_local = 2, .dst_lane = 0, .len_bytes = 9, .pos = 30},
};
static uint32_t first[] = {0, 3, 5};

static const uint32_t proxies[] = {0, 1};

/* As local rank 1 of the sending server reads them: it serves lane 1, and has
 * bytes on lane 0. */
static fs_stream_t make_stream(fs_arena_t *arena)
{
    fs_stream_t stream = {.streams   = {2, first, extents, NULL},
                          .src_proxy = proxies,
                          .dst_proxy = proxies};

    ck_assert_int_eq(fs_stream_rewind(&stream, &(fs_viewer_t){1, true}, arena),
                     FS_OK);
    ck_assert_uint_eq(stream.n_mine, 2);
    return stream;
}

/* Who serves a lane reads it, and who has bytes on it. */
START_TEST(who_reads_which_lane)
{
    static const struct {
        fs_viewer_t viewer;
        uint32_t    n_mine;
        uint32_t    mine[2];
    } want[] = {
        {{0, true}, 1, {0, 0}},  {{1, true}, 2, {0, 1}},
        {{2, true}, 1, {1, 0}},  {{3, true}, 0, {0, 0}},
        {{0, false}, 2, {0, 1}}, {{1, false}, 2, {0, 1}},
        {{2, false}, 0, {0, 0}},
    };
    fs_arena_t  arena  = {0};
    fs_stream_t stream = make_stream(&arena);

    for (size_t k = 0; k < sizeof(want) / sizeof(want[0]); ++k) {
        ck_assert_int_eq(fs_stream_rewind(&stream, &want[k].viewer, &arena),
                         FS_OK);
        ck_assert_uint_eq(stream.n_mine, want[k].n_mine);
        for (uint32_t n = 0; n < stream.n_mine; ++n) {
            ck_assert_uint_eq(stream.mine[n], want[k].mine[n]);
        }
    }
    fs_arena_fini(&arena);
}
END_TEST

static void take_all(fs_stream_t *stream, fs_chunk_t *chunk)
{
    fs_part_t part;

    while (fs_chunk_take(chunk, &part)) {
    }
    fs_stream_advance(stream, chunk);
}

/* Cut the chunk of a lane at the next pos, and take it. */
static fs_chunk_t must_cut(fs_stream_t *stream, uint32_t lane, uint64_t end,
                           uint64_t chunk_bytes)
{
    fs_chunk_t chunk, copy;

    ck_assert(fs_stream_cut(stream, lane, fs_stream_next_pos(stream, end), end,
                            chunk_bytes, &chunk));
    copy = chunk;
    take_all(stream, &chunk);
    return copy;
}

static void expect(fs_chunk_t chunk, uint32_t dst_lane, uint64_t begin,
                   uint64_t end)
{
    ck_assert_uint_eq(chunk.dst_lane, dst_lane);
    ck_assert_uint_eq(chunk.begin, begin);
    ck_assert_uint_eq(chunk.end, end);
}

/* A chunk ends at its limit, at the end of the slice, at a gap, and where the
 * receiving lane changes. */
START_TEST(where_chunks_end)
{
    fs_arena_t  arena  = {0};
    fs_stream_t stream = make_stream(&arena);
    fs_chunk_t  none;

    expect(must_cut(&stream, 0, UINT64_MAX, 8), 0, 0, 8);
    ck_assert(!fs_stream_cut(&stream, 0, 0, UINT64_MAX, 8, &none));
    expect(must_cut(&stream, 1, 10, 100), 1, 0, 10); /* the slice ends */
    expect(must_cut(&stream, 0, 10, 100), 0, 8, 10);
    ck_assert(fs_stream_next_pos(&stream, 10) == UINT64_MAX);
    expect(must_cut(&stream, 0, UINT64_MAX, UINT64_MAX), 0, 10, 30);
    expect(must_cut(&stream, 1, UINT64_MAX, UINT64_MAX), 1, 10, 12);
    ck_assert_uint_eq(fs_stream_next_pos(&stream, UINT64_MAX), 30);
    ck_assert(fs_stream_next_pos(&stream, 30) == UINT64_MAX);
    expect(must_cut(&stream, 0, UINT64_MAX, 100), 1, 30, 35);
    expect(must_cut(&stream, 1, UINT64_MAX, 100), 0, 30, 39);
    ck_assert(fs_stream_next_pos(&stream, UINT64_MAX) == UINT64_MAX);
    fs_arena_fini(&arena);
}
END_TEST

/* Parts tell block, offsets and lengths; a block goes on in the next chunk. */
START_TEST(what_parts_say)
{
    fs_arena_t  arena  = {0};
    fs_stream_t stream = make_stream(&arena);
    fs_chunk_t  chunk;
    fs_part_t   part;

    ck_assert(fs_stream_cut(&stream, 0, 0, UINT64_MAX, 16, &chunk));
    ck_assert(!fs_chunk_is_one_part(&chunk));
    ck_assert(fs_chunk_take(&chunk, &part));
    ck_assert(fs_chunk_is_one_part(&chunk)); /* of what is left */
    ck_assert(part.src_local == 0 && part.block_offset == 0 &&
              part.chunk_offset == 0 && part.len_bytes == 10);
    ck_assert(fs_chunk_take(&chunk, &part));
    ck_assert(part.src_local == 1 && part.block_offset == 7 &&
              part.chunk_offset == 10 && part.len_bytes == 6);
    ck_assert(!fs_chunk_take(&chunk, &part));
    fs_stream_advance(&stream, &chunk);
    ck_assert(fs_stream_cut(&stream, 0, 16, UINT64_MAX, 100, &chunk));
    ck_assert(fs_chunk_take(&chunk, &part));
    ck_assert(part.src_local == 1 && part.block_offset == 13 &&
              part.chunk_offset == 0 && part.len_bytes == 14);
    fs_arena_fini(&arena);
}
END_TEST

/* Taking only some parts gives the same as dropping the others by hand, and so
 * it does where these are not there. */
START_TEST(prop_some_parts)
{
    fs_extent_t random[12], of_1[12];
    uint32_t    bounds[] = {0, 12}, bounds_1[] = {0, 0};
    uint64_t    end    = 0, pos;
    fs_stream_t stream = {.streams   = {1, bounds, random, &end},
                          .src_proxy = proxies,
                          .dst_proxy = proxies};
    fs_stream_t less   = {.streams   = {1, bounds_1, of_1, &end},
                          .src_proxy = proxies,
                          .dst_proxy = proxies};
    fs_arena_t  arena  = {0};
    fs_rng_t    rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (uint32_t k = 0; k < 12; ++k) {
        random[k] = (fs_extent_t){.src_local = fs_rng_below(&rng, 3) & 3,
                                  .dst_local = fs_rng_below(&rng, 3) & 3,
                                  .len_bytes = 1 + fs_rng_below(&rng, 9),
                                  .pos       = end};
        end += random[k].len_bytes;
        if (random[k].src_local == 1) {
            of_1[bounds_1[1]++] = random[k];
        }
    }
    ck_assert(fs_stream_rewind(&stream, &(fs_viewer_t){0, true}, &arena) ==
              FS_OK);
    ck_assert(fs_stream_rewind(&less, &(fs_viewer_t){1, true}, &arena) ==
              FS_OK);
    while ((pos = fs_stream_next_pos(&stream, UINT64_MAX)) != UINT64_MAX) {
        uint64_t   most = 1 + fs_rng_below(&rng, 20);
        bool       more = fs_stream_next_pos(&less, UINT64_MAX) != UINT64_MAX;
        fs_chunk_t all, from, to, few;
        fs_part_t  part, some;

        ck_assert(fs_stream_cut(&stream, 0, pos, UINT64_MAX, most, &all));
        ck_assert(!more ||
                  fs_stream_cut(&less, 0, pos, UINT64_MAX, most, &few));
        from = to = all;
        while (fs_chunk_take(&all, &part)) {
            if (part.src_local == 1) {
                ck_assert(fs_chunk_take_from(&from, 1, &some));
                ck_assert(memcmp(&some, &part, sizeof(part)) == 0);
                ck_assert(more && fs_chunk_take_from(&few, 1, &some));
                ck_assert(memcmp(&some, &part, sizeof(part)) == 0);
            }
            if (part.dst_local == 1) {
                ck_assert(fs_chunk_take_for(&to, 1, &some));
                ck_assert(memcmp(&some, &part, sizeof(part)) == 0);
            }
        }
        ck_assert(!fs_chunk_take_from(&from, 1, &some));
        ck_assert(!fs_chunk_take_for(&to, 1, &some));
        ck_assert(from.extent == all.extent && to.extent == all.extent);
        fs_stream_advance(&stream, &from);
        if (more) {
            ck_assert(!fs_chunk_take_from(&few, 1, &some));
            fs_stream_advance(&less, &few);
        }
    }
    ck_assert(stream.cursor[0] == 12);
    ck_assert(fs_stream_next_pos(&less, UINT64_MAX) == UINT64_MAX);
    fs_arena_fini(&arena);
}
END_TEST

/* Memory comes zeroed and aligned, before and after a reset, which keeps it. */
START_TEST(arenas_start_again)
{
    fs_arena_t arena = {0};

    for (int round = 0; round < 3; ++round) {
        for (size_t k = 1; k < 200; ++k) {
            unsigned char *p = fs_arena_calloc(&arena, k, 17);

            ck_assert_ptr_nonnull(p);
            ck_assert((uintptr_t)p % _Alignof(max_align_t) == 0);
            for (size_t b = 0; b < 17 * k; ++b) {
                ck_assert(p[b] == 0);
            }
            memset(p, 0xa5, 17 * k);
        }
        fs_arena_reset(&arena);
        ck_assert_uint_eq(arena.used, 0);
        ck_assert_ptr_nonnull(arena.head);
    }
    ck_assert_ptr_null(fs_arena_calloc(&arena, SIZE_MAX, 2));
    fs_arena_fini(&arena);
    ck_assert_ptr_null(arena.head);
    fs_arena_reset(&arena);
    ck_assert_ptr_nonnull(fs_arena_calloc(&arena, 1, 1));
    fs_arena_fini(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream");
    TCase *tcase = tcase_create("stream");

    tcase_add_test(tcase, who_reads_which_lane);
    tcase_add_test(tcase, where_chunks_end);
    tcase_add_test(tcase, what_parts_say);
    tcase_add_loop_test(tcase, prop_some_parts, 0, 200);
    tcase_add_test(tcase, arenas_start_again);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
