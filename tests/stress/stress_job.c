/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds for a whole job: ranks, servers, and fast's parameters. */
#include "stress.h"

#include <stdio.h>

enum {
    DICE_JOB     = 0xb0b,
    FEWEST_RANKS = 6,
    MOST_RANKS   = 9,
    CHUNKS       = 12 /* in the staging memory, at least */
};

/* One of a list that ends with NULL. */
static const char *pick(dice_t *dice, const char *const *words)
{
    uint32_t n = 0;

    while (words[n] != NULL) {
        ++n;
    }
    return words[roll(dice, n)];
}

#define PICK(...) pick(dice, (const char *const[]){__VA_ARGS__, NULL})

static dice_t job_dice(uint32_t what)
{
    return (dice_t){{stress.seed, DICE_JOB + what}, 0};
}

/* Twice staged: it is what most calls run. */
const char *job_algorithm(void)
{
    dice_t  job  = job_dice(0);
    dice_t *dice = &job;

    return PICK("auto", "auto", "bundles", "staged", "staged", "pipe2d",
                "direct");
}

int job_has_threads(void)
{
    dice_t dice = job_dice(1);

    return roll(&dice, 3) == 0;
}

/* ---- servers ---- */

/* "3+1+4" */
static void print_sizes(dice_t *dice, uint32_t n_ranks)
{
    uint32_t left = n_ranks;

    for (uint32_t next = 1; left > 0; left -= next) {
        uint32_t most = left == n_ranks ? left - 1 : left;

        next = 1 + roll(dice, most < 4 ? most : 4);
        printf("%u%s", next, left > next ? "+" : "");
    }
}

/* "@0,2,1,0": in turn, or any; two servers at least. */
static void print_list(dice_t *dice, uint32_t n_ranks)
{
    uint32_t n_servers = 2 + roll(dice, 3), in_turn = roll(dice, 2);

    printf("@0,1");
    for (uint32_t rank = 2; rank < n_ranks; ++rank) {
        printf(",%u", in_turn ? rank % n_servers : roll(dice, n_servers));
    }
}

static void print_servers(dice_t *dice)
{
    uint32_t n_ranks = FEWEST_RANKS + roll(dice, MOST_RANKS - FEWEST_RANKS + 1);

    printf("-np %u --mca coll_fast_servers ", n_ranks);
    if (roll(dice, 2) == 0) {
        print_sizes(dice, n_ranks);
    } else {
        print_list(dice, n_ranks);
    }
}

/* ---- parameters ---- */

static void print_param(const char *parameter, const char *value)
{
    printf(" --mca coll_fast_%s %s", parameter, value);
}

/* Little of it, so that it is used over and over. */
static void print_staging(dice_t *dice)
{
    uint32_t chunk_kib = 4u << roll(dice, 5);
    uint32_t chunks    = CHUNKS + roll(dice, 3 * CHUNKS);
    uint32_t limit_kib = chunk_kib * chunks;

    printf(" --mca coll_fast_chunk %uk --mca coll_fast_staging_limit %uk",
           chunk_kib, limit_kib < 64 ? 64 : limit_kib);
}

void job_print(void)
{
    dice_t  job  = job_dice(2);
    dice_t *dice = &job;

    print_servers(dice);
    print_param("algorithm", job_algorithm());
    print_staging(dice);
    print_param("window", PICK("1", "2", "8", "16"));
    print_param("transport", PICK("ucx", "ucx", "mpi"));
    print_param("lanes", PICK("0", "0", "1", "2", "3"));
    print_param("min_bytes", PICK("0", "1k", "20k"));
    print_param("mtm_threshold", PICK("1", "2.2", "1000"));
    print_param("calibrate", PICK("0", "1"));
    print_param("tuner", PICK("0", "1"));
    print_param("bundle_memory", PICK("0", "20k", "1m"));
    print_param("check", PICK("0", "0", "0", "1"));
    print_param("plan_cache", PICK("0", "20k", "16m"));
    print_param("decompose",
                PICK("auto", "auto", "compact", "openshop", "birkhoff"));
    printf("\n");
}
