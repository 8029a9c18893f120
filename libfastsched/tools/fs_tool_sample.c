/* SPDX-License-Identifier: BSD-3-Clause */
/* An exchange as one rank sees it, drawn layer by layer. Layer (i, j) is the
 * matrix of what local rank i of each server sends to local rank j of each. */
#include "tools/fs_tool_sample.h"

#include "base/fs_arith.h"
#include "tools/fs_tool.h"

#include <stdbool.h>
#include <stdlib.h>

typedef struct sketch {
    fs_tool_sample_t   *sample;
    const fs_pattern_t *pattern;
    uint32_t            n;     /* servers */
    uint32_t            lanes; /* ranks of a server */
    uint64_t            mean, seed;
    uint64_t           *send; /* [lanes x ranks] of server 0 */
    uint64_t           *recv; /* likewise */
    uint64_t           *out;  /* [ranks] to other servers */
    uint64_t           *in;   /* [ranks] from them */
} sketch_t;

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

/* A matrix of n ranks, each on its server; the caller's. */
static uint64_t *draw(const sketch_t *sketch, size_t n,
                      const uint32_t *server_of, uint64_t seed)
{
    uint64_t *bytes = fs_tool_calloc(n * n, sizeof(*bytes));

    fs_tool_must(fs_pattern_fill(sketch->pattern, (uint32_t)n, server_of,
                                 sketch->mean, seed, bytes),
                 "--pattern");
    return bytes;
}

/* All ranks at once: the pattern as it is. */
static void draw_exact(sketch_t *sketch, const uint32_t *server_of)
{
    uint32_t  m     = sketch->lanes;
    size_t    n     = (size_t)sketch->n * m;
    uint64_t *pairs = draw(sketch, n, server_of, sketch->seed);

    for (uint32_t src = 0; src < n; ++src) {
        for (uint32_t dst = 0; dst < n; ++dst) {
            add(sketch, src / m, src % m, dst / m, dst % m,
                pairs[src * n + dst]);
        }
    }
    free(pairs);
}

/* In a layer each server has one rank: any n different labels will do. */
static void draw_layer(sketch_t *sketch, const uint32_t *labels, uint32_t i,
                       uint32_t j)
{
    uint32_t  n     = sketch->n;
    uint64_t  nth   = (uint64_t)i * sketch->lanes + j;
    uint64_t *layer = draw(sketch, n, labels, sketch->seed + (nth << 32));

    for (uint32_t u = 0; u < n; ++u) {
        for (uint32_t w = 0; w < n; ++w) {
            add(sketch, u, i, w, j, layer[(size_t)u * n + w]);
        }
    }
    free(layer);
}

static void find_max_inter(sketch_t *sketch)
{
    uint64_t *max = &sketch->sample->summary.max_inter;
    size_t    n   = 2 * (size_t)sketch->n * sketch->lanes;

    for (size_t r = 0; r < n; ++r) { /* out, then in */
        *max = fs_u64_max(*max, sketch->out[r]);
    }
}

/* server_of: of each rank; the first of them serve as labels. */
static void make(sketch_t *sketch, uint32_t ranks, uint32_t *server_of)
{
    for (uint32_t r = 0; r < ranks; ++r) {
        server_of[r] = r / sketch->lanes;
    }
    fs_tool_must(fs_topo_create(ranks, server_of, 0, &sketch->sample->topo),
                 "servers");
    if (ranks <= FS_TOOL_SAMPLE_EXACT) {
        draw_exact(sketch, server_of);
        return;
    }
    for (uint32_t u = 0; u < sketch->n; ++u) {
        server_of[u] = u;
    }
    for (uint32_t i = 0; i < sketch->lanes; ++i) {
        for (uint32_t j = 0; j < sketch->lanes; ++j) {
            draw_layer(sketch, server_of, i, j);
        }
    }
}

void fs_tool_sample_make(const fs_pattern_t *pattern, uint32_t servers,
                         uint32_t lanes, uint64_t mean_bytes, uint64_t seed,
                         fs_tool_sample_t *sample)
{
    size_t    n = servers, ranks = n * lanes;
    uint64_t *seen      = fs_tool_calloc(2 * lanes * ranks, sizeof(uint64_t));
    uint64_t *sums      = fs_tool_calloc(2 * ranks, sizeof(uint64_t));
    uint32_t *server_of = fs_tool_calloc(ranks, sizeof(uint32_t));
    sketch_t  sketch    = {.sample  = sample,
                           .pattern = pattern,
                           .n       = servers,
                           .lanes   = lanes,
                           .mean    = mean_bytes,
                           .seed    = seed,
                           .send    = seen,
                           .recv    = seen + lanes * ranks,
                           .out     = sums,
                           .in      = sums + ranks};

    *sample = (fs_tool_sample_t){
        .summary = {.n_servers = servers,
                    .bytes     = fs_tool_calloc(n * n, sizeof(uint64_t))},
        .local   = {sketch.send, sketch.recv, true, true}};
    make(&sketch, (uint32_t)ranks, server_of);
    find_max_inter(&sketch);
    fs_tool_must(fs_traffic_sum(&sample->summary), "--pattern");
    free(server_of);
    free(sums);
}

void fs_tool_sample_fini(fs_tool_sample_t *sample)
{
    fs_topo_destroy(sample->topo);
    free(sample->summary.bytes);
    free((void *)sample->local.send);
}
