/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is freed all at once: what a plan, or one planning, needs. */
#ifndef FS_ARENA_H
#define FS_ARENA_H

#include <stddef.h>

typedef struct fs_arena_block fs_arena_block_t;

/* Zero-initialise, then allocate. Not thread-safe. */
typedef struct fs_arena {
    fs_arena_block_t *head;
    size_t            used; /* bytes of head's payload handed out */
    size_t            size; /* bytes of head's payload */
} fs_arena_t;

/* n elements of elem_bytes, aligned for any type; NULL if out of memory or if
 * the product does not fit. Lives until fs_arena_fini(). */
void *fs_arena_alloc(fs_arena_t *arena, size_t n, size_t elem_bytes);

/* The same, zeroed. */
void *fs_arena_calloc(fs_arena_t *arena, size_t n, size_t elem_bytes);

/* Start with a block of at least that many bytes, not yet touched; 0, or -1 if
 * out of memory. */
int fs_arena_reserve(fs_arena_t *arena, size_t bytes);

/* Forgets all allocations but keeps memory for the next ones. */
void fs_arena_reset(fs_arena_t *arena);

/* Frees everything; the arena may be used again. */
void fs_arena_fini(fs_arena_t *arena);

#endif
