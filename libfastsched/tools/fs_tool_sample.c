/* SPDX-License-Identifier: BSD-3-Clause */
/* An exchange as one rank sees it, drawn layer by layer. Layer (i, j) is the
 * matrix of what local rank i of each server sends to local rank j of each. */
#include "tools/fs_tool_sample.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct sketch {
    fs_tool_sample_t *sample;
    uint32_t          n;     /* servers */
    uint32_t          lanes; /* ranks of a server */
    uint64_t         *send;  /* [lanes x ranks] of server 0 */
    uint64_t         *recv;  /* likewise */
    uint64_t         *out;   /* [ranks] to other servers */
    uint64_t         *in;    /* [ranks] from them */
} sketch_t;

static bool sketch_init(sketch_t *sketch)
{
    size_t ranks = (size_t)sketch->n * sketch->lanes;

    sketch->send = calloc(2 * sketch->lanes * ranks, sizeof(uint64_t));
    sketch->recv = sketch->send == NULL ? NULL
                                        : sketch->send + sketch->lanes * ranks;
    sketch->out  = calloc(2 * ranks, sizeof(uint64_t));
    sketch->in   = sketch->out == NULL ? NULL : sketch->out + ranks;
    sketch->sample->summary.n_servers = sketch->n;
    sketch->sample->summary.bytes =
        calloc((size_t)sketch->n * sketch->n, sizeof(uint64_t));
    sketch->sample->local =
        (fs_local_traffic_t){sketch->send, sketch->recv, true, true};
    return sketch->send != NULL && sketch->out != NULL &&
           sketch->sample->summary.bytes != NULL;
}

/* Local rank i of server u sends bytes to local rank j of server w. Sums cannot
 * overflow: fs_pattern_fill() has checked that they fit. */
static void add(sketch_t *sketch, uint32_t u, uint32_t i, uint32_t w,
                uint32_t j, uint64_t bytes)
{
    size_t ranks = (size_t)sketch->n * sketch->lanes;

    sketch->sample->summary.bytes[(size_t)u * sketch->n + w] += bytes;
    if (u != w) {
        sketch->out[(size_t)u * sketch->lanes + i] += bytes;
        sketch->in[(size_t)w * sketch->lanes + j] += bytes;
    }
    if (u == 0) {
        sketch->send[i * ranks + (size_t)w * sketch->lanes + j] = bytes;
    }
    if (w == 0) {
        sketch->recv[j * ranks + (size_t)u * sketch->lanes + i] = bytes;
    }
}

/* All ranks at once: the pattern as it is. */
static fs_status_t draw_exact(sketch_t *sketch, const fs_pattern_t *pattern,
                              const uint32_t *server_of, uint64_t mean,
                              uint64_t seed)
{
    uint32_t    m      = sketch->lanes;
    size_t      n      = (size_t)sketch->n * m;
    uint64_t   *pairs  = malloc(n * n * sizeof(*pairs));
    fs_status_t status = pairs == NULL
                             ? FS_ERR_NOMEM
                             : fs_pattern_fill(pattern, (uint32_t)n, server_of,
                                               mean, seed, pairs);

    for (uint32_t src = 0; status == FS_OK && src < n; ++src) {
        for (uint32_t dst = 0; dst < n; ++dst) {
            add(sketch, src / m, src % m, dst / m, dst % m,
                pairs[src * n + dst]);
        }
    }
    free(pairs);
    return status;
}

static fs_status_t draw_layers(sketch_t *sketch, const fs_pattern_t *pattern,
                               const uint32_t *labels, uint64_t mean,
                               uint64_t seed)
{
    uint32_t    n      = sketch->n;
    uint64_t   *layer  = malloc((size_t)n * n * sizeof(*layer));
    fs_status_t status = layer == NULL ? FS_ERR_NOMEM : FS_OK;

    for (uint32_t i = 0; status == FS_OK && i < sketch->lanes; ++i) {
        for (uint32_t j = 0; status == FS_OK && j < sketch->lanes; ++j) {
            uint64_t nth = (uint64_t)i * sketch->lanes + j;

            status = fs_pattern_fill(pattern, n, labels, mean,
                                     seed + (nth << 32), layer);
            for (uint32_t u = 0; status == FS_OK && u < n; ++u) {
                for (uint32_t w = 0; w < n; ++w) {
                    add(sketch, u, i, w, j, layer[(size_t)u * n + w]);
                }
            }
        }
    }
    free(layer);
    return status;
}

static void find_max_inter(sketch_t *sketch)
{
    uint64_t *max = &sketch->sample->summary.max_inter;
    size_t    n   = 2 * (size_t)sketch->n * sketch->lanes;

    for (size_t r = 0; r < n; ++r) { /* out, then in */
        *max = sketch->out[r] > *max ? sketch->out[r] : *max;
    }
}

static fs_status_t make(sketch_t *sketch, const fs_pattern_t *pattern,
                        uint64_t mean, uint64_t seed)
{
    uint32_t    ranks     = sketch->n * sketch->lanes;
    bool        exact     = ranks <= FS_TOOL_SAMPLE_EXACT;
    uint32_t   *server_of = calloc(ranks, sizeof(*server_of));
    fs_status_t status    = FS_ERR_NOMEM;

    if (server_of != NULL && sketch_init(sketch)) {
        for (uint32_t r = 0; r < ranks; ++r) {
            server_of[r] = r / sketch->lanes;
        }
        status = fs_topo_create(ranks, server_of, 0, &sketch->sample->topo);
    }
    /* In a layer each server has one rank: any n different labels will do. */
    for (uint32_t u = 0; status == FS_OK && !exact && u < sketch->n; ++u) {
        server_of[u] = u;
    }
    if (status == FS_OK) {
        status = (exact ? draw_exact : draw_layers)(sketch, pattern, server_of,
                                                    mean, seed);
    }
    if (status == FS_OK) {
        find_max_inter(sketch);
        status = fs_traffic_sum(&sketch->sample->summary);
    }
    free(server_of);
    free(sketch->out);
    return status;
}

fs_status_t fs_tool_sample_make(const fs_pattern_t *pattern, uint32_t servers,
                                uint32_t lanes, uint64_t mean_bytes,
                                uint64_t seed, fs_tool_sample_t *sample)
{
    sketch_t    sketch = {.sample = sample, .n = servers, .lanes = lanes};
    fs_status_t status;

    memset(sample, 0, sizeof(*sample));
    status = make(&sketch, pattern, mean_bytes, seed);
    if (status != FS_OK) {
        fs_tool_sample_fini(sample);
    }
    return status;
}

void fs_tool_sample_fini(fs_tool_sample_t *sample)
{
    fs_topo_destroy(sample->topo);
    free(sample->summary.bytes);
    free((void *)sample->local.send);
    memset(sample, 0, sizeof(*sample));
}
