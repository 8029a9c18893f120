/* SPDX-License-Identifier: BSD-3-Clause */
/* Random clusters, matrices and parameters, all from one seed. */
#ifndef FS_TEST_UTIL_H
#define FS_TEST_UTIL_H

#include "fastsched_exec.h"
#include "sched/model/fs_rng.h"

#include <check.h>

/* Check writes the place of every assertion that holds to a file, to name the last one
 * if the process dies: most of the time of these tests. The sanitizers name it as well. */
#define _mark_point(_file, _line) ((void)0)

/* Shapes of a matrix; each has broken some all-to-all once. */
typedef enum fs_test_shape {
    FS_TEST_UNIFORM,
    FS_TEST_SKEWED,    /* a few pairs have nearly all bytes */
    FS_TEST_ZERO_ROWS, /* ranks that only receive, or only send */
    FS_TEST_ONE_PAIR,
    FS_TEST_BALANCED,
    FS_TEST_TINY, /* 0 to 2 bytes */
    FS_TEST_EMPTY,
    FS_TEST_SHAPES
} fs_test_shape_t;

/* One cluster and one call. */
typedef struct fs_test_case {
    fs_rng_t         rng;
    uint32_t         n_ranks;
    fs_topo_t       *topo;
    uint64_t        *counts; /* [n_ranks x n_ranks] bytes, [src][dst] */
    fs_traffic_t     traffic;
    fs_plan_params_t params;
} fs_test_case_t;

/* Never NULL: a test that is out of memory fails. */
void *fs_test_alloc(size_t n, size_t elem_bytes);

/* 1 to max_servers servers of 1 to max_local ranks each, in any rank order,
 * with any limit of lanes. */
fs_topo_t *fs_test_topo_random(fs_rng_t *rng, uint32_t max_servers,
                               uint32_t max_local);

void fs_test_counts(fs_rng_t *rng, fs_test_shape_t shape, uint64_t mean_bytes,
                    uint32_t n_ranks, uint64_t *counts);

/* The summary of a matrix, computed the slow way. */
fs_traffic_t fs_test_traffic(const fs_topo_t *topo, const uint64_t *counts);
void         fs_test_traffic_fini(fs_traffic_t *traffic);

/* Everything random. Small chunks, so that few bytes make many messages. */
void fs_test_case_init(fs_test_case_t *tc, uint64_t seed);
/* The next call on the same cluster. */
void fs_test_case_redraw(fs_test_case_t *tc);
void fs_test_case_fini(fs_test_case_t *tc);

/* Counts of the ranks of rank's server, as fs_plan_create() wants them. */
void fs_test_local_rows(const fs_topo_t *topo, const uint64_t *counts,
                        uint32_t rank, uint64_t *send, uint64_t *recv);

/* What a rank sends and receives, [n_ranks] each; fs_counts_fini() frees it. */
fs_counts_t fs_test_call_counts(const fs_topo_t *topo, uint32_t rank,
                                const uint64_t *send, const uint64_t *recv);

/* The plan of a rank; the caller's. *plan_p is NULL unless FS_OK. */
fs_status_t fs_test_plan(const fs_test_case_t *tc, uint32_t rank,
                         bool send_packed, bool recv_packed,
                         fs_plan_t **plan_p);

/* Run a suite as main() does. */
int fs_test_run(Suite *suite);

/* Rounded up; counted, so that what the library computes is not compared with itself. */
uint32_t fs_test_log2_up(uint32_t n);

#endif
