/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fs_grow.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST = 64 };

void *fs_grow(void *array, size_t n, size_t *max_p, size_t limit,
              size_t elem_bytes)
{
    size_t max = *max_p < FIRST / 2 ? FIRST : 2 * *max_p;
    void  *bigger;

    if (n < *max_p) {
        return array;
    }
    max = max < limit ? max : limit;
    if (n >= max || max > SIZE_MAX / elem_bytes) {
        return NULL;
    }
    bigger = realloc(array, max * elem_bytes);
    if (bigger != NULL) {
        *max_p = max;
    }
    return bigger;
}
