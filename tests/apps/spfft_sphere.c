/* SPDX-License-Identifier: BSD-3-Clause */
/* A transform of SpFFT, to and fro, of the waves inside a sphere, as
 * plane-wave codes make them: the columns of the sphere are dealt so that every
 * rank has about as many waves, the planes of the box are dealt evenly. For
 * record.sh and run_spfft.sh.
 *
 *   spfft_sphere N [EXCHANGE]
 *
 * The box is N x N x N, the sphere has half its width. Rank 0 prints digests
 * of the results. */
#include <inttypes.h>
#include <mpi.h>
#include <spfft/spfft.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n, rank, n_ranks;

/* Waves of the column at x, y; their indexes to triplets unless that is NULL. */
static int column(int x, int y, int *triplets)
{
    int half = n / 2, quarter = n / 4, found = 0;

    for (int z = -half; z < n - half; ++z) {
        if (x * x + y * y + z * z > quarter * quarter) {
            continue;
        }
        if (triplets != NULL) {
            triplets[3 * found]     = (x + n) % n;
            triplets[3 * found + 1] = (y + n) % n;
            triplets[3 * found + 2] = (z + n) % n;
        }
        found++;
    }
    return found;
}

/* Deal columns to the rank that has the fewest waves; how many elements this one
 * has. */
static int deal(int *triplets, int *n_columns_p)
{
    long *load    = calloc((size_t)n_ranks, sizeof(*load));
    int   quarter = n / 4, n_mine = 0;

    *n_columns_p = 0;
    for (int x = -quarter; x <= quarter; ++x) {
        for (int y = -quarter; y <= quarter; ++y) {
            int waves = column(x, y, NULL), to = 0;

            for (int r = 1; r < n_ranks; ++r) {
                to = load[r] < load[to] ? r : to;
            }
            load[to] += waves;
            if (waves > 0 && to == rank) {
                n_mine += column(x, y, triplets + 3 * n_mine);
                ++*n_columns_p;
            }
        }
    }
    free(load);
    return n_mine;
}

static void must(SpfftError error, const char *what)
{
    if (error != SPFFT_SUCCESS) {
        fprintf(stderr, "spfft_sphere: %s: error %d\n", what, (int)error);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static SpfftExchangeType exchange_of(const char *name)
{
    static const struct {
        const char       *name;
        SpfftExchangeType type;
    } types[] = {
        {"buffered", SPFFT_EXCH_BUFFERED},
        {"buffered-float", SPFFT_EXCH_BUFFERED_FLOAT},
        {"compact", SPFFT_EXCH_COMPACT_BUFFERED},
        {"compact-float", SPFFT_EXCH_COMPACT_BUFFERED_FLOAT},
        {"unbuffered", SPFFT_EXCH_UNBUFFERED},
    };

    for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); ++k) {
        if (strcmp(types[k].name, name) == 0) {
            return types[k].type;
        }
    }
    fprintf(stderr, "spfft_sphere: no exchange \"%s\"\n", name);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return SPFFT_EXCH_DEFAULT;
}

/* Of the bits of all ranks' values, in the order of the ranks; on rank 0. */
static void say_digest(const char *what, const double *values, size_t n_values)
{
    uint64_t mine = 0xcbf29ce484222325u, all = 0, word;
    uint64_t theirs[n_ranks];

    for (size_t k = 0; k < n_values; ++k) {
        memcpy(&word, &values[k], sizeof(word));
        mine = (mine ^ word) * 0x100000001b3u;
        mine ^= mine >> 29;
    }
    MPI_Gather(&mine, 1, MPI_UINT64_T, theirs, 1, MPI_UINT64_T, 0,
               MPI_COMM_WORLD);
    for (int r = 0; rank == 0 && r < n_ranks; ++r) {
        all = (all ^ theirs[r]) * 0x100000001b3u;
        all ^= all >> 29;
    }
    if (rank == 0) {
        printf("%s: digest %016" PRIx64 "\n", what, all);
    }
}

int main(int argc, char **argv)
{
    SpfftGrid      grid;
    SpfftTransform transform;
    int           *triplets;
    double        *waves, *space;
    int            n_columns, n_waves, planes;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    n = argc > 1 ? atoi(argv[1]) : 48;
    triplets =
        malloc(3 * (size_t)n * (size_t)n * (size_t)n * sizeof(*triplets));
    n_waves = deal(triplets, &n_columns);
    planes  = n / n_ranks + (rank < n % n_ranks);
    waves   = calloc(2 * (size_t)n_waves + 1, sizeof(*waves));
    for (int k = 0; k < 2 * n_waves; ++k) {
        waves[k] = (double)((k * 7919 + rank * 31) % 1000) / 999.0;
    }
    must(spfft_grid_create_distributed(
             &grid, n, n, n, n_columns, planes, SPFFT_PU_HOST, 1,
             MPI_COMM_WORLD, exchange_of(argc > 2 ? argv[2] : "compact")),
         "grid");
    must(spfft_transform_create(&transform, grid, SPFFT_PU_HOST,
                                SPFFT_TRANS_C2C, n, n, n, planes, n_waves,
                                SPFFT_INDEX_TRIPLETS, triplets),
         "transform");
    must(spfft_transform_backward(transform, waves, SPFFT_PU_HOST), "backward");
    must(spfft_transform_get_space_domain(transform, SPFFT_PU_HOST, &space),
         "space");
    say_digest("space", space, 2 * (size_t)n * (size_t)n * (size_t)planes);
    must(spfft_transform_forward(transform, SPFFT_PU_HOST, waves,
                                 SPFFT_FULL_SCALING),
         "forward");
    say_digest("waves", waves, 2 * (size_t)n_waves);
    must(spfft_transform_destroy(transform), "destroy");
    must(spfft_grid_destroy(grid), "destroy");
    free(waves);
    free(triplets);
    MPI_Finalize();
    return 0;
}
