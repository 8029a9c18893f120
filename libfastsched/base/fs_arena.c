/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A chain of blocks, the newest first. An allocation comes from the newest
 * block or starts a new one, so pointers never move and nobody keeps a list of
 * what to free.
 *
 * Blocks after the first are large: what is not used of them costs nothing.
 */
#include "base/fs_arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGN       = _Alignof(max_align_t),
    FIRST_BLOCK = 16 << 10,
    OTHER_BLOCK = 1 << 20
};

struct fs_arena_block {
    fs_arena_block_t *next;
    _Alignas(max_align_t) char payload[];
};

static int grow(fs_arena_t *arena, size_t bytes)
{
    size_t            usual = arena->head == NULL ? FIRST_BLOCK : OTHER_BLOCK;
    size_t            size  = bytes > usual ? bytes : usual;
    fs_arena_block_t *block;

    if (size > SIZE_MAX - sizeof(*block)) {
        return -1;
    }
    block = malloc(sizeof(*block) + size);
    if (block == NULL) {
        return -1;
    }
    block->next = arena->head;
    arena->head = block;
    arena->size = size;
    arena->used = 0;
    return 0;
}

int fs_arena_reserve(fs_arena_t *arena, size_t bytes)
{
    return grow(arena, bytes);
}

void *fs_arena_alloc(fs_arena_t *arena, size_t n, size_t elem_bytes)
{
    size_t bytes;
    void  *p;

    if (__builtin_mul_overflow(n, elem_bytes, &bytes) ||
        bytes > SIZE_MAX - ALIGN) {
        return NULL;
    }
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if ((arena->head == NULL || arena->size - arena->used < bytes) &&
        grow(arena, bytes) != 0) {
        return NULL;
    }
    p = arena->head->payload + arena->used;
    arena->used += bytes;
    return p;
}

void *fs_arena_calloc(fs_arena_t *arena, size_t n, size_t elem_bytes)
{
    void *p = fs_arena_alloc(arena, n, elem_bytes);

    return p == NULL ? NULL : memset(p, 0, n * elem_bytes);
}

/* The newest block stays; most often it is the largest. */
void fs_arena_reset(fs_arena_t *arena)
{
    fs_arena_t older;

    if (arena->head == NULL) {
        return;
    }
    older             = (fs_arena_t){.head = arena->head->next};
    arena->head->next = NULL;
    arena->used       = 0;
    fs_arena_fini(&older);
}

void fs_arena_fini(fs_arena_t *arena)
{
    while (arena->head != NULL) {
        fs_arena_block_t *next = arena->head->next;

        free(arena->head);
        arena->head = next;
    }
    arena->used = 0;
    arena->size = 0;
}
