/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A chain of blocks, the newest first. An allocation comes from the newest
 * block or starts a new one, so pointers never move and nobody keeps a list of
 * what to free.
 */
#include "base/fs_arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = _Alignof(max_align_t), BLOCK_BYTES = 16384 };

struct fs_arena_block {
    fs_arena_block_t *next;
    _Alignas(max_align_t) char payload[];
};

static int grow(fs_arena_t *arena, size_t bytes)
{
    size_t            size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
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

void *fs_arena_calloc(fs_arena_t *arena, size_t n, size_t elem_bytes)
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
    return memset(p, 0, bytes);
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
