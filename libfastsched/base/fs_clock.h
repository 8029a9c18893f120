/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FS_CLOCK_H
#define FS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t fs_clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Time since some moment of the past, the same for all of a machine. */
static inline uint64_t fs_now_ns(void)
{
    return fs_clock_ns(CLOCK_MONOTONIC);
}

#endif
