/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_counts.h"

#include "mpi_test.h"

enum { WIDEST = 18 }; /* halvings between the largest pair and the smallest */

uint32_t counts_of_pair(const counts_t *c, int src, int dst)
{
    uint32_t number = draw((uint32_t)src, (uint32_t)dst, c->salt);
    uint32_t any = number % (c->most + 1), high = number >> 20;

    switch (c->pattern) {
    case PATTERN_RANDOM:
        return any;
    case PATTERN_WIDE:
        return any >> high % WIDEST;
    case PATTERN_SPARSE:
        return high % 4 == 0 ? any : 0;
    case PATTERN_BALANCED:
        return c->most;
    case PATTERN_SENDER:
        return (uint32_t)src == c->victim ? any : any % 8;
    case PATTERN_RECEIVER:
        return (uint32_t)dst == c->victim ? any : any % 8;
    case PATTERN_PAIR:
        return (uint32_t)(src + dst) == c->victim + 1 ? any : 0;
    case PATTERN_ROWS:
        return draw((uint32_t)src, 1, c->salt) % 2 == 0 ? any : 0;
    case PATTERN_ZIPF:
        return any / (1 + draw((uint32_t)dst, 2, c->salt) % 64);
    case PATTERN_NONE:
    case N_PATTERNS:
        break;
    }
    return 0;
}

uint32_t counts_symmetric(const counts_t *c, int src, int dst)
{
    return src < dst ? counts_of_pair(c, src, dst)
                     : counts_of_pair(c, dst, src);
}
