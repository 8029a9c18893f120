/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases about counts and places: bytes, on MPI_COMM_WORLD. */
#include "mpi_exchange.h"

static uint32_t none(int src, int dst, uint32_t round)
{
    (void)src;
    (void)dst;
    (void)round;
    return 0;
}

static int victim(uint32_t round)
{
    return (int)(round % (uint32_t)test.size);
}

static uint32_t silent(int src, int dst, uint32_t round)
{
    return src == victim(round) ? 0 : units_ragged(src, dst, round);
}

static uint32_t deaf(int src, int dst, uint32_t round)
{
    return dst == victim(round) ? 0 : units_ragged(src, dst, round);
}

static uint32_t one_pair(int src, int dst, uint32_t round)
{
    int from = victim(round), to = victim(round * 3 + 1);

    return src == from && dst == to ? 54321 : 0;
}

static uint32_t to_self(int src, int dst, uint32_t round)
{
    return src == dst ? 1000 + round : 0;
}

static uint32_t one_byte(int src, int dst, uint32_t round)
{
    (void)src;
    (void)dst;
    (void)round;
    return 1;
}

static uint32_t to_one(int src, int dst, uint32_t round)
{
    (void)src;
    return dst == victim(round) ? 30000 : 17;
}

/* One large pair that crosses the whole job, and medium ones beside it. */
static uint32_t large(int src, int dst, uint32_t round)
{
    if (src == 0 && dst == test.size - 1) {
        return (uint32_t)test.large_bytes;
    }
    return draw((uint32_t)src, (uint32_t)dst, round) %
           (uint32_t)(test.large_bytes / 64 + 1);
}

/* From one byte to a million, and back. */
static uint32_t changing(int src, int dst, uint32_t round)
{
    uint32_t most = 1;

    for (uint32_t k = round % 9 < 5 ? round % 9 : 9 - round % 9; k > 0; --k) {
        most *= 16;
    }
    return draw((uint32_t)src, (uint32_t)dst, round) % (most / 4 + 2);
}

static uint32_t symmetric(int src, int dst, uint32_t round)
{
    return src < dst ? units_ragged(src, dst, round)
                     : units_ragged(dst, src, round);
}

static void rounds(units_fn units, uint32_t n_rounds)
{
    for (uint32_t round = 0; round < n_rounds; ++round) {
        exchange((exchange_t){
            .comm = MPI_COMM_WORLD, .units = units, .round = round});
    }
}

static void case_ragged(void)
{
    rounds(units_ragged, 5);
}

static void case_zero(void)
{
    rounds(none, 2);
    rounds(silent, 3);
    rounds(deaf, 3);
    rounds(one_pair, 4);
    rounds(to_self, 2);
    rounds(none, 1);
}

static void case_small(void)
{
    rounds(one_byte, 3);
    rounds(to_one, 3);
}

static void case_large(void)
{
    rounds(large, 1);
}

static void case_changing(void)
{
    rounds(changing, 12);
}

/* Nothing changes but the bytes: the same plan, again and again. */
static uint32_t constant(int src, int dst, uint32_t round)
{
    (void)round;
    return units_ragged(src, dst, 3);
}

static void case_repeated(void)
{
    rounds(constant, 10);
}

static void case_places(void)
{
    for (uint32_t round = 0; round < 3; ++round) {
        for (placement_t place = PLACE_HOLES; place <= PLACE_NEGATIVE;
             ++place) {
            exchange((exchange_t){.comm      = MPI_COMM_WORLD,
                                  .units     = units_ragged,
                                  .round     = round,
                                  .placement = place});
        }
    }
}

static void case_in_place(void)
{
    for (uint32_t round = 0; round < 4; ++round) {
        exchange((exchange_t){.comm      = MPI_COMM_WORLD,
                              .units     = symmetric,
                              .round     = round,
                              .in_place  = 1,
                              .placement = (placement_t)round});
    }
    exchange(
        (exchange_t){.comm = MPI_COMM_WORLD, .units = none, .in_place = 1});
}

const test_case_t count_cases[] = {{"ragged", case_ragged},
                                   {"zero", case_zero},
                                   {"small", case_small},
                                   {"large", case_large},
                                   {"changing", case_changing},
                                   {"repeated", case_repeated},
                                   {"places", case_places},
                                   {"in-place", case_in_place},
                                   {NULL, NULL}};
