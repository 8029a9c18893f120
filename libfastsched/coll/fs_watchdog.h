/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The watch over one step of a request: what if nothing happens any more?
 *
 * A sign of life is an event of the network: bytes, ends of messages, grants.
 * Before the summary is over it is no fault if there is none for long, because
 * MPI allows a rank to enter as late as it likes: people get a warning. After
 * it everybody is inside, and silence for the time of parameter watchdog is an
 * error.
 *
 * Silence counts only while this process runs: batch systems suspend jobs,
 * virtual machines pause, debuggers stop processes, and nobody has been silent
 * then. So a gap between two looks counts for a tenth of that time at most: a
 * look takes milliseconds, so a process that runs loses nothing by it, and one
 * that wakes up has time to hear the others, who wake up as well.
 *
 * A rank may have to wait long for its turn, while a receiver is busy with
 * another sender. So whoever moves data tells its peers now and then that it
 * does, see fs_exec_beat(): silence means that nobody within reach has moved
 * anything.
 */
#ifndef FS_WATCHDOG_H
#define FS_WATCHDOG_H

#include "base/fs_arith.h"

/* In the time that is too long. */
enum {
    FS_WATCHDOG_BEATS = 4,
    FS_WATCHDOG_LOOKS = 10 /* without a sign of life, at least */
};

typedef enum fs_watchdog_word {
    FS_WATCHDOG_FINE,
    FS_WATCHDOG_BEAT, /* time to tell the others that we are alive */
    FS_WATCHDOG_STALL /* silence for the whole time; said once per wait */
} fs_watchdog_word_t;

typedef struct fs_watchdog {
    uint64_t limit_ns;  /* 0: no watch is kept */
    uint64_t events;    /* at the last look */
    uint64_t looked_ns; /* the time of that look */
    uint64_t quiet_ns;  /* how long silence has lasted */
    uint64_t beat_ns;   /* the time of the next beat */
    bool     stalled;
} fs_watchdog_t;

/* A wait begins. Times are of any clock that only grows. */
static inline void fs_watchdog_start(fs_watchdog_t *dog, uint64_t limit_ns,
                                     uint64_t now_ns)
{
    *dog = (fs_watchdog_t){.limit_ns  = limit_ns,
                           .looked_ns = now_ns,
                           .beat_ns   = now_ns + limit_ns / FS_WATCHDOG_BEATS};
}

/* Look at the net's count of events. */
static inline fs_watchdog_word_t
fs_watchdog_look(fs_watchdog_t *dog, uint64_t events, uint64_t now_ns)
{
    if (dog->limit_ns == 0) {
        return FS_WATCHDOG_FINE;
    }
    dog->quiet_ns +=
        fs_u64_min(now_ns - dog->looked_ns, dog->limit_ns / FS_WATCHDOG_LOOKS);
    dog->looked_ns = now_ns;
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
