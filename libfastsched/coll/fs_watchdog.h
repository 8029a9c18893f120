/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stall detection for one step of a request.
 *
 * A sign of life is an event of the network: bytes, ends of messages, grants.
 * Before the summary is over, a long silence is not an error, because MPI
 * allows a rank to enter as late as it likes: the user gets a warning. After it
 * all ranks are in the call, and silence for the time of parameter watchdog is
 * an error; for ten times that where a rank is through and waits for the times of
 * others.
 *
 * Silence counts only while this process runs: batch systems suspend jobs,
 * virtual machines pause, debuggers stop processes. So a gap between two checks
 * counts for a tenth of that time at most. A running process checks every few
 * milliseconds, so it loses nothing by this limit; one that wakes up has time
 * to receive from the others, which wake up as well.
 *
 * A rank may have to wait long for its turn, while a receiver is busy with
 * another sender. So a rank that moves data periodically tells its peers so,
 * see fs_exec_beat(): while a rank exchanges, silence means that no peer moves
 * anything.
 */
#ifndef FS_WATCHDOG_H
#define FS_WATCHDOG_H

#include "base/fs_arith.h"

/* Per time limit. */
enum {
    FS_WATCHDOG_BEATS  = 4,
    FS_WATCHDOG_CHECKS = 10 /* without a sign of life, at least */
};

typedef enum fs_watchdog_verdict {
    FS_WATCHDOG_FINE,
    FS_WATCHDOG_BEAT, /* time to send a sign of life */
    FS_WATCHDOG_STALL /* silence for the whole time; once per wait */
} fs_watchdog_verdict_t;

typedef struct fs_watchdog {
    uint64_t limit_ns;   /* 0: off */
    uint64_t events;     /* at the last check */
    uint64_t checked_ns; /* the time of that check */
    uint64_t quiet_ns;   /* how long silence has lasted */
    uint64_t beat_ns;    /* the time of the next beat */
    bool     stalled;
} fs_watchdog_t;

/* A wait begins. Times are of any clock that only grows. */
static inline void fs_watchdog_start(fs_watchdog_t *dog, uint64_t limit_ns,
                                     uint64_t now_ns)
{
    *dog = (fs_watchdog_t){.limit_ns   = limit_ns,
                           .checked_ns = now_ns,
                           .beat_ns    = now_ns + limit_ns / FS_WATCHDOG_BEATS};
}

/* Check the net's count of events. */
static inline fs_watchdog_verdict_t
fs_watchdog_check(fs_watchdog_t *dog, uint64_t events, uint64_t now_ns)
{
    if (dog->limit_ns == 0) {
        return FS_WATCHDOG_FINE;
    }
    dog->quiet_ns += fs_u64_min(now_ns - dog->checked_ns,
                                dog->limit_ns / FS_WATCHDOG_CHECKS);
    dog->checked_ns = now_ns;
    if (events != dog->events) {
        dog->events   = events;
        dog->quiet_ns = 0;
    } else if (!dog->stalled && dog->quiet_ns >= dog->limit_ns) {
        dog->stalled = true;
        return FS_WATCHDOG_STALL;
    }
    if (now_ns >= dog->beat_ns) {
        dog->beat_ns = now_ns + dog->limit_ns / FS_WATCHDOG_BEATS;
        return FS_WATCHDOG_BEAT;
    }
    return FS_WATCHDOG_FINE;
}

#endif
