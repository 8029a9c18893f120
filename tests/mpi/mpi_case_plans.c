/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases about what may be remembered from call to call: plans of counts seen
 * before, and that the last calls were small. */
#include "mpi_exchange.h"

enum { SETS = 11, TURNS = 4 };

/* ---- the same bytes again, but not the same call ---- */

static uint32_t constant(int src, int dst, uint32_t round)
{
    (void)round;
    return units_few(src, dst, 5);
}

static uint32_t constant_symmetric(int src, int dst, uint32_t round)
{
    return src < dst ? constant(src, dst, round) : constant(dst, src, round);
}

/* A unit of ints is twelve bytes. */
static uint32_t constant_bytes(int src, int dst, uint32_t round)
{
    return 12 * constant(src, dst, round);
}

static void ints(uint32_t round, int send_layout, int recv_layout)
{
    exchange((exchange_t){.comm        = MPI_COMM_WORLD,
                          .units       = constant,
                          .round       = round,
                          .family      = FAMILY_INTS,
                          .send_layout = send_layout,
                          .recv_layout = recv_layout,
                          .placement   = (placement_t)(round % 4)});
}

static void bytes(uint32_t round)
{
    exchange((exchange_t){.comm      = MPI_COMM_WORLD,
                          .units     = constant_bytes,
                          .round     = round,
                          .placement = (placement_t)(round % 4)});
}

/* Byte counts never change. Who packs does, on all ranks or on some. */
static void case_same_counts(void)
{
    uint32_t round = 0;
    int      n     = families[FAMILY_INTS].n_layouts;

    for (int k = 0; k < n; ++k) {
        bytes(round++);
        ints(round++, k, 0);
        ints(round++, 0, k);
        ints(round++, (test.rank + k) % n, (2 * test.rank + k) % n);
        ints(round++, test.rank == k ? 2 : 0, test.rank == k + 1 ? 3 : 0);
    }
}

/* In place, and not, and in place with gaps. */
static void case_same_in_place(void)
{
    for (uint32_t round = 0; round < 12; ++round) {
        exchange((exchange_t){.comm        = MPI_COMM_WORLD,
                              .units       = constant_symmetric,
                              .round       = round,
                              .family      = FAMILY_INTS,
                              .recv_layout = round % 4 == 3 ? 4 : 0,
                              .in_place    = round % 2 == 1});
    }
}

/* ---- more sets of counts than anybody keeps ---- */

static uint32_t set(int src, int dst, uint32_t round)
{
    return units_ragged(src, dst, 700 + round % SETS);
}

static void call(units_fn units, uint32_t round)
{
    exchange(
        (exchange_t){.comm = MPI_COMM_WORLD, .units = units, .round = round});
}

/* In turn, backwards, and one of them many times. */
static void case_many_counts(void)
{
    for (uint32_t k = 0; k < TURNS * SETS; ++k) {
        call(set, k);
    }
    for (uint32_t k = 2 * SETS; k-- > 0;) {
        call(set, k);
    }
    for (uint32_t k = 0; k < 5; ++k) {
        call(set, 3 + SETS * k);
        call(set, 4 + SETS * (k % 2));
    }
}

/* ---- small calls in a row, and large ones between them ---- */

static uint32_t small(int src, int dst, uint32_t round)
{
    return draw((uint32_t)src, (uint32_t)dst, round) % 9;
}

/* All that is large is one pair, across the job. */
static uint32_t one_large(int src, int dst, uint32_t round)
{
    return src == 0 && dst == test.size - 1 ? 200000 : small(src, dst, round);
}

static uint32_t all_large(int src, int dst, uint32_t round)
{
    return 10000 + units_ragged(src, dst, round);
}

static void case_small_large(void)
{
    static const struct {
        uint32_t n_calls;
        units_fn units;
    } spells[] = {{12, small},     {1, all_large},  {30, small}, {2, one_large},
                  {50, small},     {3, all_large},  {20, small}, {1, one_large},
                  {10, all_large}, {10, one_large}, {40, small}};
    uint32_t round = 0;

    for (size_t s = 0; s < sizeof(spells) / sizeof(spells[0]); ++s) {
        for (uint32_t k = 0; k < spells[s].n_calls; ++k) {
            call(spells[s].units, round++);
        }
    }
}

const test_case_t plan_cases[] = {{"same-counts", case_same_counts},
                                  {"same-in-place", case_same_in_place},
                                  {"many-counts", case_many_counts},
                                  {"small-large", case_small_large},
                                  {NULL, NULL}};
