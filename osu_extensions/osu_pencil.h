/* SPDX-License-Identifier: BSD-3-Clause */
/* A box of complex numbers in pencils over a grid of ranks, and transposes between
 * them, as libraries for 3D Fourier transforms have them.
 *
 * One axis of a pencil is whole. Of the two others the lower one is cut over the rows
 * of the grid (ranks with the same column), the higher one over its columns. So a
 * transpose between axes a and a + 1 is an exchange among the ranks of a column
 * (a = 0) or of a row (a = 1), and all rows, or all columns, make theirs at once. */
#ifndef OSU_PENCIL_H
#define OSU_PENCIL_H

#include <complex.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef double complex osu_value_t;

typedef struct osu_grid {
    int box[3];   /* values along each axis; the last one is contiguous */
    int ranks[2]; /* rows, columns */
} osu_grid_t;

/* What a rank has: [size[0]][size[1]][size[2]] values. */
typedef struct osu_block {
    int start[3], size[3];
} osu_block_t;

osu_block_t osu_pencil_block(const osu_grid_t *grid, int whole, int rank);
uint64_t    osu_block_values(const osu_block_t *block);

/* Add the bytes of a transpose to bytes, [n x n], [src][dst], of all ranks. */
void osu_transpose_bytes(const osu_grid_t *grid, int from, int to,
                         uint64_t *bytes);

typedef struct osu_transpose {
    bool          subarrays; /* MPI_Alltoallw, else MPI_Alltoallv */
    MPI_Comm      comm;
    int           n; /* its ranks */
    osu_block_t   from, to;
    osu_block_t  *parts;  /* [2 x n] of from, to each rank; of to, from each */
    int          *ints;   /* [4 x n] counts and displacements, as the call has
                               them */
    MPI_Datatype *types;  /* [2 x n] the parts, as subarrays */
    osu_value_t  *packed; /* or all parts sent, all received */
} osu_transpose_t;

/* Collective over comm, whose rank r is in row r / columns of the grid. subarrays:
 * by MPI_Alltoallw; else by MPI_Alltoallv, with packing and unpacking. False: this
 * rank is out of memory. Owned by the caller, to be given to osu_transpose_fini()
 * in any case. */
bool osu_transpose_init(osu_transpose_t *t, bool subarrays,
                        const osu_grid_t *grid, MPI_Comm comm, int from,
                        int to);
void osu_transpose_run(osu_transpose_t *t, const osu_value_t *in,
                       osu_value_t *out);
void osu_transpose_fini(osu_transpose_t *t);

#endif
