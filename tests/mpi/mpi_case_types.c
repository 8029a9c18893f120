/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases about datatypes: every layout against every other of its family. */
#include "mpi_exchange.h"

#include <stdlib.h>

static uint32_t symmetric_few(int src, int dst, uint32_t round)
{
    return src < dst ? units_few(src, dst, round) : units_few(dst, src, round);
}

/* All ranks use the same two layouts. */
static void all_pairs(int family, units_fn units)
{
    int      n     = families[family].n_layouts;
    uint32_t round = 0;

    for (int s = 0; s < n; ++s) {
        for (int r = 0; r < n; ++r, ++round) {
            exchange((exchange_t){.comm        = MPI_COMM_WORLD,
                                  .units       = units,
                                  .round       = round,
                                  .family      = family,
                                  .send_layout = s,
                                  .recv_layout = r,
                                  .placement   = (placement_t)(round % 4)});
        }
    }
}

/* Each rank its own: what is contiguous on one is not on the next. */
static void mixed(int family, units_fn units)
{
    int n = families[family].n_layouts;

    for (int k = 0; k < n; ++k) {
        exchange((exchange_t){.comm        = MPI_COMM_WORLD,
                              .units       = units,
                              .round       = 1000u + (uint32_t)k,
                              .family      = family,
                              .send_layout = (test.rank + k) % n,
                              .recv_layout = (test.rank * 3 + k + 1) % n,
                              .placement   = (placement_t)(k % 4)});
    }
}

static void in_place(int family)
{
    for (int k = 0; k < families[family].n_layouts; ++k) {
        exchange((exchange_t){.comm        = MPI_COMM_WORLD,
                              .units       = symmetric_few,
                              .round       = 2000u + (uint32_t)k,
                              .family      = family,
                              .recv_layout = k,
                              .in_place    = 1,
                              .placement   = (placement_t)(k % 4)});
    }
}

/* A shorter walk through the 49 pairs: each layout is sent and received. */
static void case_ints(void)
{
    int n = families[FAMILY_INTS].n_layouts;

    for (int k = 0; k < n; ++k) {
        for (int step = 0; step < 3; ++step) {
            exchange((exchange_t){.comm        = MPI_COMM_WORLD,
                                  .units       = units_few,
                                  .round       = (uint32_t)(3 * k + step),
                                  .family      = FAMILY_INTS,
                                  .send_layout = k,
                                  .recv_layout = (k + 2 * step + 1) % n,
                                  .placement   = (placement_t)(k % 4)});
        }
    }
    mixed(FAMILY_INTS, units_few);
}

static void case_structs(void)
{
    all_pairs(FAMILY_STRUCTS, units_few);
    mixed(FAMILY_STRUCTS, units_few);
}

static void case_pair_types(void)
{
    all_pairs(FAMILY_PAIRS_S, units_few);
    all_pairs(FAMILY_PAIRS_D, units_few);
    all_pairs(FAMILY_PAIRS_L, units_few);
    mixed(FAMILY_PAIRS_S, units_few);
    mixed(FAMILY_PAIRS_D, units_few);
    mixed(FAMILY_PAIRS_L, units_few);
}

static void case_wide(void)
{
    all_pairs(FAMILY_DOUBLES, units_few);
    all_pairs(FAMILY_COMPLEX, units_few);
    mixed(FAMILY_DOUBLES, units_few);
    mixed(FAMILY_COMPLEX, units_few);
}

static void case_columns(void)
{
    all_pairs(FAMILY_COLUMNS, units_few);
    mixed(FAMILY_COLUMNS, units_few);
}

static uint32_t units_single(int src, int dst, uint32_t round)
{
    return units_few(src, dst, round) % 3;
}

static void case_planes(void)
{
    all_pairs(FAMILY_PLANES, units_single);
    mixed(FAMILY_PLANES, units_single);
}

static void case_empty(void)
{
    all_pairs(FAMILY_EMPTY, units_few);
    mixed(FAMILY_EMPTY, units_few);
}

static void case_types_in_place(void)
{
    in_place(FAMILY_INTS);
    in_place(FAMILY_STRUCTS);
    in_place(FAMILY_PAIRS_D);
}

/* Addresses in the types, on the side of the sender, the receiver, or both. */
static void case_bottom(void)
{
    int n = families[FAMILY_INTS].n_layouts;

    for (int k = 0; k < n; ++k) {
        exchange((exchange_t){.comm        = MPI_COMM_WORLD,
                              .units       = units_few,
                              .round       = (uint32_t)k,
                              .family      = FAMILY_INTS,
                              .send_layout = k,
                              .recv_layout = (k + 2) % n,
                              .send_bottom = (test.rank + k) % 3 != 0,
                              .recv_bottom = (test.rank + k) % 3 != 1,
                              .placement   = (placement_t)(k % 4)});
    }
}

/* ---- MPI_Alltoallw: large dense elements beside small ones with gaps ---- */

enum {
    DENSE  = 6000,
    SPARSE = 100
}; /* ints; the latter in every second place */

static int is_dense(int src, int dst)
{
    return (src + dst) % 2 == 0;
}

static int number_at(int src, int dst, int k)
{
    return (src * 1000 + dst) * 10007 + k;
}

static void check_mixed(const int *in, int src)
{
    int dense = is_dense(src, test.rank);

    for (int k = 0; k < DENSE; ++k) {
        int taken = dense || (k % 2 == 0 && k < 2 * SPARSE);

        if (in[k] != (taken ? number_at(src, test.rank, k) : -1)) {
            fail("from %d, place %d: %d", src, k, in[k]);
        }
    }
}

static void call_mixed(const int *out, int *in, MPI_Datatype dense,
                       MPI_Datatype sparse)
{
    size_t        n      = (size_t)test.size;
    int          *ones   = zalloc(n, sizeof(*ones));
    int          *displs = zalloc(n, sizeof(*displs));
    MPI_Datatype *types  = zalloc(n, sizeof(*types));

    for (int p = 0; p < test.size; ++p) {
        ones[p]   = 1;
        displs[p] = p * DENSE * (int)sizeof(int);
        types[p]  = is_dense(test.rank, p) ? dense : sparse;
    }
    must(MPI_Alltoallw(out, ones, displs, types, in, ones, displs, types,
                       MPI_COMM_WORLD),
         "MPI_Alltoallw");
    free(ones);
    free(displs);
    free(types);
}

static void case_mixed_types(void)
{
    size_t len = (size_t)test.size * DENSE;
    int   *out = zalloc(len, sizeof(*out)), *in = zalloc(len, sizeof(*in));
    MPI_Datatype dense, sparse;

    MPI_Type_contiguous(DENSE, MPI_INT, &dense);
    MPI_Type_vector(SPARSE, 1, 2, MPI_INT, &sparse);
    MPI_Type_commit(&dense);
    MPI_Type_commit(&sparse);
    for (size_t k = 0; k < len; ++k) {
        out[k] = number_at(test.rank, (int)(k / DENSE), (int)(k % DENSE));
        in[k]  = -1;
    }
    call_mixed(out, in, dense, sparse);
    for (int p = 0; p < test.size; ++p) {
        check_mixed(in + (size_t)p * DENSE, p);
    }
    MPI_Type_free(&dense);
    MPI_Type_free(&sparse);
    free(out);
    free(in);
}

const test_case_t type_cases[] = {{"ints", case_ints},
                                  {"mixed-types", case_mixed_types},
                                  {"structs", case_structs},
                                  {"pair-types", case_pair_types},
                                  {"wide-types", case_wide},
                                  {"columns", case_columns},
                                  {"planes", case_planes},
                                  {"empty-types", case_empty},
                                  {"types-in-place", case_types_in_place},
                                  {"bottom", case_bottom},
                                  {NULL, NULL}};
