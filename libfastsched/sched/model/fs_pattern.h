/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Traffic patterns: one definition for the benchmark, the simulator, the
 * command and the tests, so that a name means the same matrix everywhere.
 *
 * Pure and integer only: equal arguments give byte-for-byte equal matrices on
 * every rank and every platform. Safe to call from several threads at once.
 */
#ifndef FS_PATTERN_H
#define FS_PATTERN_H

#include "fastsched.h"

/**
 * What rank i sends to rank j, before scaling to the mean. The diagonal (a rank
 * to itself) is a pair like any other. A list as in fastsched.h, of value, word
 * and what follows it:
 *
 *  - BALANCED: the mean;
 *  - RANDOM: uniform from 0 to twice the mean (FAST §5);
 *  - ZIPF: k^-S, k = 1.. the position of the pair in a random permutation of all
 *    pairs (FAST, FLASH; traces of mixtures of experts: S 0.4 to 0.8);
 *  - LOGNORMAL: exp(SIGMA * normal), independent pairs;
 *  - HOTSPOT: half of every rank's bytes go to K random ranks in equal parts, the
 *    rest to the others; K at or above the number of ranks: balanced;
 *  - INTRAHOST: every server pair has the same total, all of it between one
 *    random pair of their ranks (DHBvN, model NU);
 *  - MOE: mixture of experts, one on each rank: 4096 tokens per rank go to two
 *    experts each, chosen by a log-normal popularity, exp(SIGMA * normal); "moe"
 *    is "moe:1", and 0 makes all experts equally popular. A new seed is the next
 *    batch;
 *  - PENCIL: transpose of a 3D FFT inside a row of the process grid: nearly equal,
 *    since neither axis divides by the ranks;
 *  - ADVERSARIAL: in each server one random rank holds all there is to send and
 *    another gets all that comes (FAST A.1); equal totals of server pairs;
 *  - SPARSE: halo exchange of a mesh. Every server, say i, sends to K others, i + d
 *    for K random distances d, which do not depend on the seed. The bytes between
 *    two of their ranks are uniform
 */
#define FS_PATTERN_MAP(X)                                       \
    X(FS_PATTERN_BALANCED, "balanced", "")                      \
    X(FS_PATTERN_RANDOM, "random", "")                          \
    X(FS_PATTERN_ZIPF, "zipf", ":S (S 0 to 4)")                 \
    X(FS_PATTERN_LOGNORMAL, "lognormal", ":SIGMA (0 to 4)")     \
    X(FS_PATTERN_HOTSPOT, "hotspot", ":K (K ranks, 1 or more)") \
    X(FS_PATTERN_INTRAHOST, "intrahost", "")                    \
    X(FS_PATTERN_MOE, "moe", " or moe:SIGMA (0 to 4)")          \
    X(FS_PATTERN_PENCIL, "pencil", "")                          \
    X(FS_PATTERN_ADVERSARIAL, "adversarial", "")                \
    X(FS_PATTERN_SPARSE, "sparse", ":K (K servers, 1 or more)")

typedef enum fs_pattern_kind {
    FS_PATTERN_MAP(FS_LIST_VALUE)
} fs_pattern_kind_t;

/** What users may type, for help texts and error messages. */
#define FS_PATTERN_ALLOWED                         (&FS_PATTERN_MAP(FS_PATTERN_TYPED)[2])
#define FS_PATTERN_TYPED(_kind, _word, _parameter) ", " _word _parameter

typedef struct fs_pattern {
    fs_pattern_kind_t kind;
    uint32_t          param; /**< S and SIGMA in thousandths; K; otherwise 0 */
} fs_pattern_t;

/**
 * Read a pattern: "random", "zipf:0.8", "hotspot:2". Numbers have at most three
 * decimals and a point, whatever the locale.
 *
 * @param[in]  text       See FS_PATTERN_ALLOWED.
 * @param[out] pattern_p  Set on FS_OK only.
 * @param[out] why        On FS_ERR_INVAL: one line that names text and says
 *                        what is wrong and what is allowed.
 * @param[in]  why_len    Bytes at why.
 * @return FS_OK, FS_ERR_INVAL
 */
fs_status_t fs_pattern_parse(const char *text, fs_pattern_t *pattern_p,
                             char *why, size_t why_len);

/**
 * Does text ask for the matrix of a file? Ask before fs_pattern_parse().
 *
 * @return The path in "file:PATH", part of text; NULL: it is no such text.
 */
const char *fs_pattern_path(const char *text);

/**
 * Draw the matrix of one call.
 *
 * The sum of the matrix is n_ranks^2 * mean_bytes exactly; an entry is at most
 * one byte from its share of it, because rounding is carried on from entry to
 * entry. With "hotspot" and "moe" every row (what one rank sends) has the sum
 * n_ranks * mean_bytes exactly.
 *
 * @param[in]  pattern     From fs_pattern_parse(), or filled by hand.
 * @param[in]  n_ranks     1 or more.
 * @param[in]  server_of   [n_ranks] any label; equal labels share a server.
 *                         Read by "intrahost", "adversarial" and "sparse"; for
 *                         the others NULL will do.
 * @param[in]  mean_bytes  Average over all n_ranks^2 pairs. 0: all zero.
 * @param[in]  seed        Neighbouring seeds give unrelated matrices.
 * @param[out] bytes       [n_ranks x n_ranks] row-major, [src][dst]. The
 *                         caller's; undefined unless FS_OK.
 * @return FS_OK; FS_ERR_INVAL (pattern out of range, no ranks, no servers);
 *         FS_ERR_OVERFLOW (the sum, or that of the weights, passes 64 bits);
 *         FS_ERR_NOMEM
 *
 * Up to 0.2 us per pair; "moe" 0.1 to 0.4 ms per rank.
 */
fs_status_t fs_pattern_fill(const fs_pattern_t *pattern, uint32_t n_ranks,
                            const uint32_t *server_of, uint64_t mean_bytes,
                            uint64_t seed, uint64_t *bytes);

/**
 * Make the matrix of a file one of all pairs of ranks. What server u sends to
 * server w is spread evenly over the pairs of their ranks; bytes that do not
 * divide go to the first pairs, one each, in the order of sender and receiver.
 *
 * @param[in]  topo     Who sits where.
 * @param[in]  n_rows   Servers, or ranks; with as many of both they are alike.
 * @param[in]  rows     [n_rows x n_rows] row-major, bytes, [src][dst].
 * @param[out] bytes    [n_ranks x n_ranks] likewise. The caller's.
 * @param[out] why      On FS_ERR_INVAL: one line that says what is allowed.
 * @param[in]  why_len  Bytes at why.
 * @return FS_OK; FS_ERR_INVAL: n_rows is neither
 */
fs_status_t fs_pattern_spread(const fs_topo_t *topo, uint32_t n_rows,
                              const uint64_t *rows, uint64_t *bytes, char *why,
                              size_t why_len);

/**
 * Scale a matrix so that its sum is n_ranks^2 * mean_bytes exactly. Proportions
 * stay, up to one byte of each entry.
 *
 * @param[in]     n_ranks     1 or more.
 * @param[in]     mean_bytes  Average over all pairs.
 * @param[in,out] bytes       [n_ranks x n_ranks]; as it was unless FS_OK.
 * @return FS_OK; FS_ERR_INVAL (all zero); FS_ERR_OVERFLOW (the sum before or
 *         after passes 64 bits)
 */
fs_status_t fs_pattern_scale(uint32_t n_ranks, uint64_t mean_bytes,
                             uint64_t *bytes);

#endif
