/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the job is told at its end, of the communicators that this process has left:
 * where the time went, what it was good for, and what there is to do about it.
 */
#ifndef FS_SUMMARY_H
#define FS_SUMMARY_H

#include "policy/fs_account.h"
#include "policy/fs_tuner.h"

/* Of one communicator. */
typedef struct fs_summary_comm {
    char     name[64];
    uint64_t ns; /* in blocking calls, on this rank */
    /* The busiest server, in so many of n_known calls; 0: unknown. */
    uint64_t n_busiest;
    uint64_t n_known;
    uint32_t server;
    uint32_t first_rank; /* of it */
    bool     receives;   /* it is what it receives */
    uint64_t
        mean_milli; /* the bytes of its NICs over the mean of all, in calls,
                            in thousandths */
    /* As in fs_comm_stats_t. */
    uint64_t apart_calls;
    uint64_t apart_ns;
    uint64_t apart_max_ns;
    uint64_t last_rank;
    uint64_t last_calls;
} fs_summary_comm_t;

/* All zero: no communicator. */
typedef struct fs_summary {
    uint64_t          ns_by[FS_N_ALGS]; /* in blocking calls, on this rank */
    fs_tuner_gain_t   gain;
    bool              is_forced; /* some communicator compares no algorithms */
    fs_account_left_t left[FS_ACCOUNT_REASONS];
    fs_summary_comm_t longest; /* the one with the most time in calls */
} fs_summary_t;

struct fs_comm;

/* Add a communicator that ends. */
void fs_summary_add(fs_summary_t *summary, const struct fs_comm *comm,
                    const char *name);

/* Say all that is known, in lines that begin with "summary: ". */
void fs_summary_say(const fs_summary_t *summary, void (*say)(const char *line));

#endif
