/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program sends: preloaded, it writes the matrix of the program's calls
 * of MPI_Alltoallv, as text that osu_alltoallv_skew -p file: reads.
 *
 *   mpicc -shared -fPIC -o librecord.so record.c
 *   mpirun -x LD_PRELOAD=librecord.so -x RECORD=FILE ./app
 *
 * FILE gets the sum over all calls, one row for each rank of MPI_COMM_WORLD,
 * when the program ends. With RECORD_CALLS=DIR every call becomes a file there
 * besides, named after the communicator and the number of its call:
 *
 *   DIR/16r0s15c1.txt     16 ranks, the first is rank 0 of MPI_COMM_WORLD and the
 *                        last rank 15; the second call with such ranks
 *
 * Counted are MPI_Alltoallv and MPI_Alltoallw, blocking and not, called from C
 * or C++: Fortran's do not come by here. Sub-communicators count; what is sent
 * to itself does, too. */
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KINDS = 4096 };

static struct {
    int       n_ranks, rank;
    uint64_t *row; /* [n_ranks] to each rank of MPI_COMM_WORLD */
    uint64_t  n_calls;
    /* Communicators that look alike, and how many calls they have had. */
    struct {
        int n_ranks, first, last, n_calls;
    } kinds[MAX_KINDS];
    int n_kinds;
} record;

static void prepare(void)
{
    if (record.row == NULL) {
        PMPI_Comm_size(MPI_COMM_WORLD, &record.n_ranks);
        PMPI_Comm_rank(MPI_COMM_WORLD, &record.rank);
        record.row = calloc((size_t)record.n_ranks, sizeof(*record.row));
    }
}

/* [size of comm] its ranks in MPI_COMM_WORLD, the caller's. */
static int *world_ranks(MPI_Comm comm, int n)
{
    int      *ranks = malloc(2 * (size_t)n * sizeof(*ranks));
    MPI_Group all, some;

    for (int r = 0; r < n; ++r) {
        ranks[n + r] = r;
    }
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Comm_group(comm, &some);
    PMPI_Group_translate_ranks(some, n, ranks + n, all, ranks);
    PMPI_Group_free(&some);
    PMPI_Group_free(&all);
    return ranks;
}

static int next_number(int n, int first, int last)
{
    int k = 0;

    while (k < record.n_kinds &&
           (record.kinds[k].n_ranks != n || record.kinds[k].first != first ||
            record.kinds[k].last != last)) {
        k++;
    }
    if (k == MAX_KINDS) {
        return INT_MAX;
    }
    if (k == record.n_kinds) {
        record.kinds[record.n_kinds++].n_ranks = n;
        record.kinds[k].first                  = first;
        record.kinds[k].last                   = last;
    }
    return record.kinds[k].n_calls++;
}

static void write_matrix(const char *path, const char *what, int n,
                         const uint64_t *bytes)
{
    FILE *out = fopen(path, "w");

    if (out == NULL) {
        perror(path);
        return;
    }
    fprintf(out, "# %s, %d ranks, bytes\n", what, n);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            fprintf(
                out, "%s%llu", j == 0 ? "" : " ",
                (unsigned long long)bytes[(size_t)i * (size_t)n + (size_t)j]);
        }
        fputc('\n', out);
    }
    fclose(out);
}

/* Collective over comm: the rows of all ranks, on its rank 0; NULL elsewhere. */
static uint64_t *gather(MPI_Comm comm, int n, const uint64_t *row)
{
    uint64_t *all = NULL;
    int       rank;

    PMPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        all = malloc((size_t)n * (size_t)n * sizeof(*all));
    }
    PMPI_Gather(row, n, MPI_UINT64_T, all, n, MPI_UINT64_T, 0, comm);
    return all;
}

static void write_call(MPI_Comm comm, int n, const int *ranks,
                       const uint64_t *row)
{
    const char *directory = getenv("RECORD_CALLS");
    int         number    = next_number(n, ranks[0], ranks[n - 1]);
    char        path[PATH_MAX], what[64];
    uint64_t   *all;

    if (directory == NULL) {
        return;
    }
    all = gather(comm, n, row);
    if (all != NULL) {
        snprintf(path, sizeof(path), "%s/%dr%ds%dc%d.txt", directory, n,
                 ranks[0], ranks[n - 1], number);
        snprintf(what, sizeof(what), "call %d", number);
        write_matrix(path, what, n, all);
    }
    free(all);
}

/* counts[k] of types[k], or of types[0] if there is but one. */
static void note(MPI_Comm comm, const int *counts, const MPI_Datatype *types,
                 int n_types)
{
    int       n, size, is_inter;
    int      *ranks;
    uint64_t *row;

    prepare();
    PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter) {
        return;
    }
    PMPI_Comm_size(comm, &n);
    ranks = world_ranks(comm, n);
    row   = calloc((size_t)n, sizeof(*row));
    for (int r = 0; r < n; ++r) {
        if (counts[r] == 0) {
            continue; /* the type may be none */
        }
        PMPI_Type_size(types[n_types == 1 ? 0 : r], &size);
        row[r] = (uint64_t)counts[r] * (uint64_t)size;
        if (ranks[r] != MPI_UNDEFINED) { /* spawned processes */
            record.row[ranks[r]] += row[r];
        }
    }
    record.n_calls++;
    write_call(comm, n, ranks, row);
    free(row);
    free(ranks);
}

/* In place a rank sends what it receives. */
#define NOTE_V()                                        \
    note(comm, s == MPI_IN_PLACE ? r_counts : s_counts, \
         s == MPI_IN_PLACE ? &r_type : &s_type, 1)
#define NOTE_W()                                        \
    note(comm, s == MPI_IN_PLACE ? r_counts : s_counts, \
         s == MPI_IN_PLACE ? r_types : s_types, 0)

int MPI_Alltoallv(const void *s, const int *s_counts, const int *s_displs,
                  MPI_Datatype s_type, void *r, const int *r_counts,
                  const int *r_displs, MPI_Datatype r_type, MPI_Comm comm)
{
    NOTE_V();
    return PMPI_Alltoallv(s, s_counts, s_displs, s_type, r, r_counts, r_displs,
                          r_type, comm);
}

int MPI_Ialltoallv(const void *s, const int *s_counts, const int *s_displs,
                   MPI_Datatype s_type, void *r, const int *r_counts,
                   const int *r_displs, MPI_Datatype r_type, MPI_Comm comm,
                   MPI_Request *request)
{
    NOTE_V();
    return PMPI_Ialltoallv(s, s_counts, s_displs, s_type, r, r_counts, r_displs,
                           r_type, comm, request);
}

int MPI_Alltoallw(const void *s, const int *s_counts, const int *s_displs,
                  const MPI_Datatype *s_types, void *r, const int *r_counts,
                  const int *r_displs, const MPI_Datatype *r_types,
                  MPI_Comm comm)
{
    NOTE_W();
    return PMPI_Alltoallw(s, s_counts, s_displs, s_types, r, r_counts, r_displs,
                          r_types, comm);
}

int MPI_Ialltoallw(const void *s, const int *s_counts, const int *s_displs,
                   const MPI_Datatype *s_types, void *r, const int *r_counts,
                   const int *r_displs, const MPI_Datatype *r_types,
                   MPI_Comm comm, MPI_Request *request)
{
    NOTE_W();
    return PMPI_Ialltoallw(s, s_counts, s_displs, s_types, r, r_counts,
                           r_displs, r_types, comm, request);
}

int MPI_Finalize(void)
{
    const char *path = getenv("RECORD");
    uint64_t   *all;
    char        what[64];

    prepare();
    all = gather(MPI_COMM_WORLD, record.n_ranks, record.row);
    if (all != NULL && path != NULL) {
        snprintf(what, sizeof(what), "sum of %llu calls of rank 0",
                 (unsigned long long)record.n_calls);
        write_matrix(path, what, record.n_ranks, all);
    }
    free(all);
    free(record.row);
    return PMPI_Finalize();
}
