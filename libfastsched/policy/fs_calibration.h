/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the start-up cost of a message (alpha), and how much a NIC sends in a quarter
 * of a millisecond.
 *
 * In the cost model a schedule of a number of bytes per lane in a number of
 * rounds takes
 *
 *   ns = (bytes + rounds alpha) / rate
 *
 * with alpha in bytes. Two runs give both unknowns, if one has short rounds and
 * the other long ones; of a few runs of each kind the fastest counts, because
 * all disturbances make a run slower. A communicator whose calls are all of one
 * kind does not measure alpha, and keeps parameter stage_cost; the tuner's model takes
 * no more than a NIC sends in a quarter of a millisecond, as no start takes longer.
 *
 * Pure: times come from outside, maxima over all ranks, so every rank learns
 * the same.
 */
#ifndef FS_CALIBRATION_H
#define FS_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FS_CALIBRATION_RUNS  = 4,  /* of each kind */
    FS_CALIBRATION_SHORT = 4,  /* alphas: rounds of fewer bytes are short */
    FS_CALIBRATION_LONG  = 16, /* of more are long */
    FS_CALIBRATION_RANGE = 16  /* the result is at most so many times alpha as
                                  it was, or one part in so many */
};

typedef struct fs_timed_run {
    uint64_t bytes; /* per lane */
    uint64_t rounds;
    uint64_t ns;
} fs_timed_run_t;

/* All zero: nothing seen. */
typedef struct fs_calibration {
    fs_timed_run_t best[2]; /* short, long */
    uint32_t       n[2];
    bool           done;
} fs_calibration_t;

/* A schedule of so many bytes per lane in so many rounds took ns on the slowest
 * rank; 0: unknown, or there was none. *alpha is what the model uses. True,
 * once: it has been measured, and *alpha is new. */
bool fs_calibration_update(fs_calibration_t *c, const fs_timed_run_t *run,
                           uint64_t *alpha);

/* What a lane has sent in a quarter of a millisecond of this run, bytes, rounded up to a
 * power of two; start-up counts, so it is no more than the network can. 0: it was no
 * run. */
uint64_t fs_calibration_quarter(const fs_timed_run_t *run);

#endif
