/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Few stages, within 2% of the lower bound.
 *
 * Birkhoff's stages are large at first: the first 1.5 N carry 97 to 99% of the
 * time, and then thousands of small ones follow. So after some large stages the
 * rest is no longer matched exactly: its pairs, the largest first, each go
 * whole into the first stage that has their sender and their receiver free. A
 * stage is as long as its largest pair; pairs of a stage are of similar size,
 * so little time is lost. That is tried now and then, and
 * done as soon as the total is within the tolerance.
 *
 * If it never is, the exact decomposition simply goes on to its end. On random
 * matrices of any skew: 1.5 to 2.6 N stages. Matrices whose lines are all
 * equally long leave no slack and take more than 3 N now and then; then parts of
 * the tolerance are given away as slack from the start.
 */
#include "base/fs_arith.h"
#include "sched/decompose/fs_birkhoff.h"

#include <string.h>

enum {
    TOLERANCE  = 50, /* the total may pass the bound by 1/50 of it */
    TRY_BELOW  = 16, /* the rest is tried at once, below 1/16 of the bound, */
    TRY_AGAIN  = 4,  /* and again when it is 1/4 shorter */
    MANY_PER_N = 3,  /* more stages than that are worth a second thought */
    CLASSES    = 64 * 16 /* of size */
};

/* A pair of the rest. */
typedef struct pair {
    uint64_t bytes;
    uint32_t src;
    uint32_t dst;
    uint32_t stage; /* before that, the class of its size */
} pair_t;

/* The rest as stages, first fit. */
typedef struct rest {
    uint32_t  n;
    uint32_t  n_words;  /* 64 stages a word */
    uint64_t *src_busy; /* [n x n_words] stages in which a server sends */
    uint64_t *dst_busy; /* [n x n_words] receives */
    pair_t   *pairs;    /* [n x n] */
    pair_t   *unsorted; /* [n x n] */
    uint32_t *of_class; /* [CLASSES] zero between sorts */
    uint32_t  n_pairs;
    uint64_t *weight;    /* [64 * n_words] of a stage */
    uint32_t *of_sender; /* [64 * n_words x n] pair of a stage, from 1 on */
    uint32_t  n_stages;
    uint64_t  total;
} rest_t;

static fs_status_t rest_init(rest_t *rest, uint32_t n, fs_arena_t *arena)
{
    size_t words = 2 * (size_t)n / 64 + 1; /* a first fit is below 2 n */

    *rest = (rest_t){
        .n         = n,
        .n_words   = (uint32_t)words,
        .src_busy  = fs_arena_calloc(arena, 2 * n * words, sizeof(uint64_t)),
        .pairs     = fs_arena_calloc(arena, (size_t)n * n, sizeof(pair_t)),
        .unsorted  = fs_arena_calloc(arena, (size_t)n * n, sizeof(pair_t)),
        .of_class  = fs_arena_calloc(arena, CLASSES, sizeof(uint32_t)),
        .weight    = fs_arena_calloc(arena, 64 * words, sizeof(uint64_t)),
        .of_sender = fs_arena_calloc(arena, 64 * words * n, sizeof(uint32_t)),
    };
    if (rest->src_busy != NULL) {
        rest->dst_busy = rest->src_busy + n * words;
    }
    return rest->src_busy == NULL || rest->pairs == NULL ||
                   rest->unsorted == NULL || rest->of_class == NULL ||
                   rest->weight == NULL || rest->of_sender == NULL
               ? FS_ERR_NOMEM
               : FS_OK;
}

/* Sizes that differ by less than a sixteenth are of one class. */
static uint32_t size_class(uint64_t bytes)
{
    uint32_t log = 63 - (uint32_t)__builtin_clzll(bytes);
    uint32_t top =
        (uint32_t)(log > 4 ? bytes >> (log - 4) : bytes << (4 - log));

    return log * 16 + top % 16;
}

/* The pairs that are left, larger classes first: a counting sort. */
static void collect_pairs(const fs_birkhoff_t *b, rest_t *rest)
{
    uint32_t n_pairs = 0, at = 0, highest = 0, lowest = CLASSES;

    for (uint32_t i = 0; i < b->n; ++i) {
        for (uint32_t j = 0; j < b->n; ++j) {
            uint64_t left = b->left[(size_t)i * b->n + j];
            uint32_t class;

            if (left > 0) {
                class                     = size_class(left);
                rest->unsorted[n_pairs++] = (pair_t){left, i, j, class};
                highest                   = class > highest ? class : highest;
                lowest                    = fs_u32_min(lowest, class);
                ++rest->of_class[class];
            }
        }
    }
    for (uint32_t class = highest + 1; class -- > lowest;) {
        uint32_t here         = rest->of_class[class];
        rest->of_class[class] = at;
        at += here;
    }
    for (uint32_t k = 0; k < n_pairs; ++k) {
        rest->pairs[rest->of_class[rest->unsorted[k].stage]++] =
            rest->unsorted[k];
    }
    if (n_pairs > 0) {
        memset(rest->of_class + lowest, 0,
               (highest - lowest + 1) * sizeof(uint32_t));
    }
    rest->n_pairs = n_pairs;
}

/* The first stage in which both are free; they no longer are. */
static uint32_t first_fit(rest_t *rest, uint32_t src, uint32_t dst)
{
    uint64_t *a = rest->src_busy + (size_t)src * rest->n_words;
    uint64_t *b = rest->dst_busy + (size_t)dst * rest->n_words;
    uint32_t  w = 0;
    uint64_t  bit;

    while ((a[w] | b[w]) == UINT64_MAX) {
        ++w;
    }
    bit = ~(a[w] | b[w]) & ((a[w] | b[w]) + 1);
    a[w] |= bit;
    b[w] |= bit;
    return w * 64 + (uint32_t)__builtin_ctzll(bit);
}

/* Put a pair into its stage; a stage is as long as its largest pair. */
static void place(rest_t *rest, pair_t *pair)
{
    pair->stage = first_fit(rest, pair->src, pair->dst);
    if (pair->stage == rest->n_stages) {
        rest->weight[rest->n_stages++] = 0;
    }
    if (pair->bytes > rest->weight[pair->stage]) {
        rest->total += pair->bytes - rest->weight[pair->stage];
        rest->weight[pair->stage] = pair->bytes;
    }
}

/* False as soon as the total passes the limit. */
static bool pack(rest_t *rest, uint64_t limit)
{
    memset(rest->src_busy, 0,
           2 * (size_t)rest->n * rest->n_words * sizeof(uint64_t));
    rest->n_stages = 0;
    rest->total    = 0;
    for (uint32_t k = 0; k < rest->n_pairs; ++k) {
        place(rest, &rest->pairs[k]);
        if (rest->total > limit) {
            return false;
        }
    }
    return true;
}

/* Stage by stage, in each by sender. */
static void send_rest(rest_t *rest, fs_draft_t *draft)
{
    uint32_t n = rest->n;

    memset(rest->of_sender, 0,
           (size_t)rest->n_stages * n * sizeof(*rest->of_sender));
    for (uint32_t k = 0; k < rest->n_pairs; ++k) {
        const pair_t *pair = &rest->pairs[k];

        rest->of_sender[(size_t)pair->stage * n + pair->src] = k + 1;
    }
    for (uint32_t s = 0; s < rest->n_stages; ++s) {
        for (uint32_t i = 0; i < n; ++i) {
            uint32_t k = rest->of_sender[(size_t)s * n + i];

            if (k > 0) {
                fs_draft_transfer(draft, i, rest->pairs[k - 1].dst,
                                  rest->pairs[k - 1].bytes, draft->total);
            }
        }
        fs_draft_end_stage(draft, rest->weight[s]);
    }
}

/* Stages of a total of at most the bound and 1/TOLERANCE of it. Every line may
 * idle for `spare` of that from the start. */
static fs_status_t build(const fs_demand_t *demand, uint64_t spare,
                         fs_arena_t *arena, fs_draft_t *draft)
{
    uint64_t      next_try = UINT64_MAX;
    uint64_t      limit    = demand->bound + demand->bound / TOLERANCE;
    fs_birkhoff_t b;
    rest_t        rest;

    if (fs_birkhoff_init(&b, demand, spare, arena) != FS_OK ||
        rest_init(&rest, demand->n, arena) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    while (b.n_left > 0) {
        if (b.rest <= next_try) {
            next_try = fs_u64_min(b.rest - b.rest / TRY_AGAIN,
                                  demand->bound / TRY_BELOW);
            collect_pairs(&b, &rest);
            if (pack(&rest, limit - draft->total)) {
                send_rest(&rest, draft);
                return FS_OK;
            }
        }
        fs_birkhoff_stage(&b, draft);
    }
    return FS_OK;
}

static fs_status_t build_best(const fs_demand_t *demand, fs_arena_t *arena,
                              fs_draft_t *draft)
{
    uint64_t    quarter = demand->bound / TOLERANCE / 4;
    fs_draft_t  trial   = {.only_server = draft->only_server};
    fs_status_t status  = build(demand, 0, arena, draft);

    for (uint32_t k = 1;
         k < 4 && status == FS_OK && draft->n_stages > MANY_PER_N * demand->n;
         ++k) {
        status = build(demand, k * quarter, arena, &trial);
        if (trial.n_stages < draft->n_stages) {
            fs_draft_swap(draft, &trial);
        }
        fs_draft_clear(&trial);
    }
    fs_draft_fini(&trial);
    return status == FS_OK ? trial.status : status;
}

const fs_decompose_method_t fs_decompose_compact = {.build = build_best};
