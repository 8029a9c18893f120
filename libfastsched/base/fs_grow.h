/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FS_GROW_H
#define FS_GROW_H

#include <stddef.h>

/* The array of n elements with room for one more, perhaps elsewhere; never for
 * more than `limit`. *max_p is the room there is, 0 of the array NULL. NULL: no
 * memory, or n is the limit; then it is as before. */
void *fs_grow(void *array, size_t n, size_t *max_p, size_t limit,
              size_t elem_bytes);

#endif
