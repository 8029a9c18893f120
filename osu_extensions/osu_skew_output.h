/* SPDX-License-Identifier: BSD-3-Clause */
/* What rank 0 prints of a run. */
#ifndef OSU_SKEW_OUTPUT_H
#define OSU_SKEW_OUTPUT_H

#include "osu_skew_data.h"

/* One row of the table. Times in seconds, NAN: unknown. */
typedef struct osu_row {
    uint64_t size, iterations;
    double   avg, min, max, p50, p99, tails[OSU_MAX_TAILS];
    double   mtm, alg_bw, bound, efficiency;
    char     algorithm[OSU_NAME_LEN];
    bool     valid;
    double   sent_packets, sent_bytes, received_packets, received_bytes;
    double   data_packets;               /* of a call, over all NICs */
    double   computed, overall, overlap; /* nonblocking; overlap: 1 is all */
    double   from_last, entry_bound;     /* with --arrival */
} osu_row_t;

/* Seconds that the busiest NIC needs, NAN if its rate is not known. */
double osu_skew_bound_s(const bench_t *b, double nic_bytes);

/* Without --json: what there is to say before the first row. */
void osu_skew_print_header(const bench_t *b);

/* A line of the table, or of JSON. */
void osu_skew_print_row(const bench_t *b, const osu_row_t *row);
void osu_skew_print_json(const bench_t *b, const osu_row_t *row);

#endif
