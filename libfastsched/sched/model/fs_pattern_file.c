/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic from a file, where a pattern may stand: "file:PATH".
 *
 * Who reads the file is the caller's business, and base/fs_matrix.h is there
 * for it. Here its matrix becomes one of all pairs of ranks. One of servers is
 * spread over the pairs of ranks of each two servers, evenly; bytes that do
 * not divide go to the first pairs, one each, in the order of sender and then
 * receiver. */
#include "sched/model/fs_pattern.h"

#include <stdio.h>
#include <string.h>

static const char prefix[] = "file:";

const char *fs_pattern_path(const char *text)
{
    size_t len = sizeof(prefix) - 1;

    return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

/* The bytes from server u to server w over all pairs of their ranks. */
static void spread_tile(const fs_topo_t *topo, uint32_t u, uint32_t w,
                        uint64_t sum, uint64_t *bytes)
{
    uint32_t n_rows = fs_topo_n_local(topo, u);
    uint32_t n_cols = fs_topo_n_local(topo, w);
    uint64_t n      = (uint64_t)n_rows * n_cols;
    uint64_t each = sum / n, more = sum % n;

    for (uint32_t i = 0; i < n_rows; ++i) {
        size_t row = (size_t)fs_topo_rank(topo, u, i) * fs_topo_n_ranks(topo);

        for (uint32_t j = 0; j < n_cols; ++j) {
            bytes[row + fs_topo_rank(topo, w, j)] =
                each + ((uint64_t)i * n_cols + j < more);
        }
    }
}

fs_status_t fs_pattern_spread(const fs_topo_t *topo, uint32_t n_rows,
                              const uint64_t *rows, uint64_t *bytes, char *why,
                              size_t why_len)
{
    uint32_t n_servers = fs_topo_n_servers(topo);
    uint32_t n_ranks   = fs_topo_n_ranks(topo);

    if (n_rows == n_ranks) {
        memcpy(bytes, rows, (size_t)n_ranks * n_ranks * sizeof(*bytes));
        return FS_OK;
    }
    if (n_rows != n_servers) {
        int len = snprintf(why, why_len,
                           "the matrix is %u x %u; allowed: %u x %u", n_rows,
                           n_rows, n_servers, n_servers);

        if (n_servers != n_ranks && len >= 0 && (size_t)len < why_len) {
            snprintf(why + len, why_len - (size_t)len,
                     " (servers) or %u x %u (ranks)", n_ranks, n_ranks);
        }
        return FS_ERR_INVAL;
    }
    for (uint32_t u = 0; u < n_servers; ++u) {
        for (uint32_t w = 0; w < n_servers; ++w) {
            spread_tile(topo, u, w, rows[(size_t)u * n_servers + w], bytes);
        }
    }
    return FS_OK;
}
