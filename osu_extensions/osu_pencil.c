/* SPDX-License-Identifier: BSD-3-Clause */
#include "osu_pencil.h"

#include <stdlib.h>
#include <string.h>

/* ---- blocks ---- */

/* Before part k of m things in n parts. */
static int first_of(int m, int n, int k)
{
    return (int)((int64_t)m * k / n);
}

/* Leave part k of n of an axis. start stays relative to where the block began. */
static void cut(osu_block_t *block, int axis, int n, int k)
{
    int m = block->size[axis];

    block->start[axis] = first_of(m, n, k);
    block->size[axis]  = first_of(m, n, k + 1) - first_of(m, n, k);
}

osu_block_t osu_pencil_block(const osu_grid_t *grid, int whole, int rank)
{
    osu_block_t block = {{0, 0, 0}, {0, 0, 0}};

    memcpy(block.size, grid->box, sizeof(block.size));
    cut(&block, whole == 0 ? 1 : 0, grid->ranks[0], rank / grid->ranks[1]);
    cut(&block, whole == 2 ? 1 : 2, grid->ranks[1], rank % grid->ranks[1]);
    return block;
}

uint64_t osu_block_values(const osu_block_t *block)
{
    return (uint64_t)block->size[0] * (uint64_t)block->size[1] *
           (uint64_t)block->size[2];
}

/* The part of a block that rank k of n in the exchange sends or receives, from its
 * start on: along the axis that is whole in it. */
static osu_block_t part_of(const osu_block_t *block, int whole, int n, int k)
{
    osu_block_t part = {{0, 0, 0}, {0, 0, 0}};

    memcpy(part.size, block->size, sizeof(part.size));
    cut(&part, whole, n, k);
    return part;
}

/* Of the exchange that a rank takes part in: how many ranks, and who is the k-th. */
static int n_partners(const osu_grid_t *grid, int group)
{
    return grid->ranks[group];
}

static int partner(const osu_grid_t *grid, int group, int rank, int k)
{
    int columns = grid->ranks[1];

    return group == 0 ? k * columns + rank % columns
                      : rank / columns * columns + k;
}

/* 0: among the ranks of a column; 1: of a row. */
static int group_of(int from, int to)
{
    return from < to ? from : to;
}

void osu_transpose_bytes(const osu_grid_t *grid, int from, int to,
                         uint64_t *bytes)
{
    int group = group_of(from, to);
    int n     = grid->ranks[0] * grid->ranks[1];

    for (int src = 0; src < n; ++src) {
        osu_block_t block = osu_pencil_block(grid, from, src);

        for (int k = 0; k < n_partners(grid, group); ++k) {
            osu_block_t part =
                part_of(&block, from, n_partners(grid, group), k);

            bytes[(size_t)src * (size_t)n +
                  (size_t)partner(grid, group, src, k)] +=
                osu_block_values(&part) * sizeof(osu_value_t);
        }
    }
}

/* ---- transposes ---- */

/* Where a line of a part begins in its block. */
static size_t line_at(const osu_block_t *block, const osu_block_t *part, int i,
                      int j)
{
    size_t at = (size_t)(part->start[0] + i);

    at = at * (size_t)block->size[1] + (size_t)(part->start[1] + j);
    return at * (size_t)block->size[2] + (size_t)part->start[2];
}

static void pack(const osu_block_t *block, const osu_block_t *part,
                 const osu_value_t *values, osu_value_t *packed)
{
    size_t length = (size_t)part->size[2];

    for (int i = 0; i < part->size[0]; ++i) {
        for (int j = 0; j < part->size[1]; ++j, packed += length) {
            memcpy(packed, values + line_at(block, part, i, j),
                   length * sizeof(*values));
        }
    }
}

static void unpack(const osu_block_t *block, const osu_block_t *part,
                   const osu_value_t *packed, osu_value_t *values)
{
    size_t length = (size_t)part->size[2];

    for (int i = 0; i < part->size[0]; ++i) {
        for (int j = 0; j < part->size[1]; ++j, packed += length) {
            memcpy(values + line_at(block, part, i, j), packed,
                   length * sizeof(*values));
        }
    }
}

/* A subarray; counts of 0 need no type. */
static MPI_Datatype make_type(const osu_block_t *block, const osu_block_t *part)
{
    MPI_Datatype type = MPI_C_DOUBLE_COMPLEX;

    if (osu_block_values(part) > 0) {
        MPI_Type_create_subarray(3, block->size, part->size, part->start,
                                 MPI_ORDER_C, MPI_C_DOUBLE_COMPLEX, &type);
        MPI_Type_commit(&type);
    }
    return type;
}

/* One side of the call: parts of a block, counts, displacements and types. */
static void lay_out(osu_transpose_t *t, const osu_block_t *block, int whole,
                    int side)
{
    osu_block_t  *parts  = t->parts + side * t->n;
    int          *counts = t->ints + 2 * side * t->n;
    int          *displs = counts + t->n;
    MPI_Datatype *types  = t->types + side * t->n;
    int           at     = 0;

    for (int k = 0; k < t->n; ++k) {
        int values;

        parts[k]  = part_of(block, whole, t->n, k);
        values    = (int)osu_block_values(&parts[k]);
        types[k]  = MPI_C_DOUBLE_COMPLEX;
        counts[k] = values;
        displs[k] = at;
        at += values;
        if (t->subarrays) {
            types[k]  = make_type(block, &parts[k]);
            counts[k] = values > 0;
            displs[k] = 0;
        }
    }
}

bool osu_transpose_init(osu_transpose_t *t, bool subarrays,
                        const osu_grid_t *grid, MPI_Comm comm, int from, int to)
{
    int    group = group_of(from, to), rank;
    size_t n     = (size_t)n_partners(grid, group), values;

    MPI_Comm_rank(comm, &rank);
    *t = (osu_transpose_t){
        .subarrays = subarrays,
        .n         = (int)n,
        .from      = osu_pencil_block(grid, from, rank),
        .to        = osu_pencil_block(grid, to, rank),
        .parts     = malloc(2 * n * sizeof(*t->parts)),
        .ints      = malloc(4 * n * sizeof(*t->ints)),
        .types     = malloc(2 * n * sizeof(*t->types)),
    };
    MPI_Comm_split(comm, partner(grid, group, rank, 0), rank, &t->comm);
    values    = osu_block_values(&t->from) + osu_block_values(&t->to);
    t->packed = subarrays ? NULL : malloc((values + 1) * sizeof(*t->packed));
    if (t->parts == NULL || t->ints == NULL || t->types == NULL ||
        (t->packed == NULL && !subarrays)) {
        t->n = 0; /* no types to free */
        return false;
    }
    lay_out(t, &t->from, from, 0);
    lay_out(t, &t->to, to, 1);
    return true;
}

static void run_packed(osu_transpose_t *t, const osu_value_t *in,
                       osu_value_t *out)
{
    int         *counts = t->ints, *displs = t->ints + t->n;
    osu_value_t *sent     = t->packed;
    osu_value_t *received = t->packed + osu_block_values(&t->from);

    for (int k = 0; k < t->n; ++k) {
        pack(&t->from, &t->parts[k], in, sent + displs[k]);
    }
    MPI_Alltoallv(sent, counts, displs, MPI_C_DOUBLE_COMPLEX, received,
                  counts + 2 * t->n, displs + 2 * t->n, MPI_C_DOUBLE_COMPLEX,
                  t->comm);
    for (int k = 0; k < t->n; ++k) {
        unpack(&t->to, &t->parts[t->n + k], received + displs[2 * t->n + k],
               out);
    }
}

void osu_transpose_run(osu_transpose_t *t, const osu_value_t *in,
                       osu_value_t *out)
{
    const int *counts = t->ints, *displs = t->ints + t->n;

    if (!t->subarrays) {
        run_packed(t, in, out);
        return;
    }
    MPI_Alltoallw(in, counts, displs, t->types, out, counts + 2 * t->n,
                  displs + 2 * t->n, t->types + t->n, t->comm);
}

void osu_transpose_fini(osu_transpose_t *t)
{
    for (int k = 0; k < 2 * t->n; ++k) {
        if (t->types[k] != MPI_C_DOUBLE_COMPLEX) {
            MPI_Type_free(&t->types[k]);
        }
    }
    MPI_Comm_free(&t->comm);
    free(t->parts);
    free(t->ints);
    free(t->types);
    free(t->packed);
}
