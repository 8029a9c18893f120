/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FFTW's MPI transform of three dimensions, there and back.
 *
 *   fftw_transform N0 N1 N2 FILE
 *
 * FFTW calls MPI_Alltoallv only for plans out of place, made with FFTW_ESTIMATE
 * | FFTW_DESTROY_INPUT, and N1 x N2 that the number of ranks does not divide.
 *
 * The transform goes to FILE (of one host), every rank writing its part; rank 0
 * prints a digest of it. Fails if the way back does not lead to the input.
 */
#include <fcntl.h>
#include <fftw3-mpi.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct grid {
    ptrdiff_t n[3];
    ptrdiff_t n_rows;  /* of dimension 0, on this rank */
    ptrdiff_t start;   /* the first of them */
    size_t    n_local; /* points on this rank */
    size_t    n_alloc;
} grid_t;

static int rank;

static void fail(const char *what)
{
    fprintf(stderr, "fftw_transform: FAILED on rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static grid_t read_grid(char **argv)
{
    grid_t g;

    for (int k = 0; k < 3; ++k) {
        g.n[k] = atoi(argv[1 + k]);
    }
    g.n_alloc = (size_t)fftw_mpi_local_size_3d(
        g.n[0], g.n[1], g.n[2], MPI_COMM_WORLD, &g.n_rows, &g.start);
    g.n_local = (size_t)(g.n_rows * g.n[1] * g.n[2]);
    return g;
}

/* Index of the first local point in the whole grid. */
static uint64_t first_point(const grid_t *g)
{
    return (uint64_t)(g->start * g->n[1] * g->n[2]);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* From -1 to 1, by the place in the whole grid: no two points are alike. */
static double input(uint64_t point, uint64_t part)
{
    uint64_t number = mix(2 * point + part + 0x9e3779b97f4a7c15u);

    return (double)(int64_t)number / 9223372036854775808.0;
}

static void fill(const grid_t *g, fftw_complex *data)
{
    for (size_t k = 0; k < g->n_local; ++k) {
        data[k][0] = input(first_point(g) + k, 0);
        data[k][1] = input(first_point(g) + k, 1);
    }
}

static void transform(const grid_t *g, fftw_complex *from, fftw_complex *to,
                      int sign, void (*prepare)(const grid_t *, fftw_complex *))
{
    fftw_plan plan = fftw_mpi_plan_dft_3d(g->n[0], g->n[1], g->n[2], from, to,
                                          MPI_COMM_WORLD, sign,
                                          FFTW_ESTIMATE | FFTW_DESTROY_INPUT);

    if (plan == NULL) {
        fail("no plan");
    }
    if (prepare != NULL) {
        prepare(g, from);
    }
    fftw_execute(plan);
    fftw_destroy_plan(plan);
}

/* The same for every distribution: a sum over points. */
static uint64_t digest(const grid_t *g, const fftw_complex *data)
{
    const uint64_t *bits = (const uint64_t *)data;
    uint64_t        sum  = 0, all;

    for (size_t k = 0; k < 2 * g->n_local; ++k) {
        sum += mix(bits[k] + mix(2 * first_point(g) + k));
    }
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return all;
}

static void write_out(const grid_t *g, const fftw_complex *data,
                      const char *name)
{
    const char *bytes = (const char *)data;
    size_t      len   = g->n_local * sizeof(*data);
    size_t      at    = first_point(g) * sizeof(*data);
    int         fd    = open(name, O_WRONLY | O_CREAT, 0600);

    if (fd < 0) {
        fail("cannot open the file");
    }
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(fd, bytes + done, len - done, (off_t)(at + done));

        if (n <= 0) {
            fail("cannot write the file");
        }
        done += (size_t)n;
    }
    close(fd);
}

static void compare_with_input(const grid_t *g, const fftw_complex *data)
{
    double scale = 1.0 / (double)(g->n[0] * g->n[1] * g->n[2]);

    for (size_t k = 0; k < g->n_local; ++k) {
        for (int part = 0; part < 2; ++part) {
            double was = input(first_point(g) + k, (uint64_t)part);

            if (!(fabs(data[k][part] * scale - was) < 1e-12)) {
                fail("the way back leads elsewhere");
            }
        }
    }
}

static void there_and_back(const grid_t *g, const char *name)
{
    fftw_complex *a = fftw_alloc_complex(g->n_alloc);
    fftw_complex *b = fftw_alloc_complex(g->n_alloc);
    uint64_t      sum;

    if (a == NULL || b == NULL) {
        fail("out of memory");
    }
    transform(g, a, b, FFTW_FORWARD, fill);
    write_out(g, b, name);
    sum = digest(g, b);
    transform(g, b, a, FFTW_BACKWARD, NULL);
    compare_with_input(g, a);
    if (rank == 0) {
        printf("fftw_transform: digest %016" PRIx64 "\n", sum);
    }
    fftw_free(a);
    fftw_free(b);
}

int main(int argc, char **argv)
{
    grid_t g;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 5) {
        fail("usage: fftw_transform N0 N1 N2 FILE");
    }
    fftw_mpi_init();
    g = read_grid(argv);
    there_and_back(&g, argv[4]);
    fftw_mpi_cleanup();
    MPI_Finalize();
    return 0;
}
