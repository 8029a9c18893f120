/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of a program's MPI_Alltoall, v and w fast has carried: preloaded, in
 * front of fast, it counts the bytes between servers of all calls, and of those
 * during which fast's own counter of served calls has grown.
 *
 *   mpicc -shared -fPIC -o libcount.so app_count.c
 *   mpirun -x LD_PRELOAD=libcount.so -x APP_SERVERS=0,0,1,1 ./app
 *
 * APP_SERVERS names the server of each rank of MPI_COMM_WORLD. One line at the
 * end of the program:
 *
 *   app_count: 12 calls, 12 served, 3456 bytes, 3456 served
 *
 * Counted are calls with bytes between servers for some rank, as the rank that
 * has most of them sees it; bytes are of all ranks, as received. Of nonblocking
 * calls, which end later, as many count as served as the counter has grown
 * besides, and that share of their bytes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKING, NONBLOCKING, N_KINDS };

static struct {
    int      depth; /* of wrappers: one may call another */
    uint64_t calls[N_KINDS], bytes[N_KINDS];
    uint64_t served_calls, served_bytes; /* blocking */
} sums;

/* ---- how many calls fast has served ---- */

static const char *const names[] = {"calls_bundles",       "calls_staged",
                                    "calls_staged_coarse", "calls_pipe2d",
                                    "calls_direct",        "calls_eager"};
enum { N_NAMES = sizeof(names) / sizeof(names[0]) };

static struct {
    int                ready;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle  handles[N_NAMES];
    int                there[N_NAMES];
} pvars;

static void open_pvars(void)
{
    int  level, provided, index, count;
    char name[64];

    pvars.ready = 1;
    /* To Open MPI 4.1 and 5.0 this level becomes that of the program. */
    if (PMPI_Query_thread(&level) != MPI_SUCCESS ||
        MPI_T_init_thread(level, &provided) != MPI_SUCCESS ||
        MPI_T_pvar_session_create(&pvars.session) != MPI_SUCCESS) {
        return;
    }
    for (int k = 0; k < N_NAMES; ++k) {
        snprintf(name, sizeof(name), "coll_fast_%s", names[k]);
        pvars.there[k] = MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER,
                                              &index) == MPI_SUCCESS &&
                         MPI_T_pvar_handle_alloc(pvars.session, index, NULL,
                                                 &pvars.handles[k],
                                                 &count) == MPI_SUCCESS;
    }
}

/* The library in front of MPICH has a function, Open MPI's component variables. */
static uint64_t served(void)
{
    unsigned long long (*counter)(const char *) = NULL;
    unsigned long long value;
    uint64_t           sum = 0;

    *(void **)&counter = dlsym(RTLD_DEFAULT, "mpich_fast_counter");
    if (counter == NULL && !pvars.ready) {
        open_pvars();
    }
    for (int k = 0; k < N_NAMES; ++k) {
        value = 0;
        if (counter != NULL) {
            value = counter(names[k]);
        } else if (pvars.there[k]) {
            MPI_T_pvar_read(pvars.session, pvars.handles[k], &value);
        }
        sum += value == ~0ull ? 0 : value;
    }
    return sum;
}

/* ---- the bytes of a call ---- */

static int server_of(int rank)
{
    const char *at = getenv("APP_SERVERS");

    while (at != NULL && rank-- > 0) {
        at = strchr(at, ',');
        at += at != NULL;
    }
    return at == NULL ? 0 : atoi(at);
}

/* What the caller receives from other servers: counts[r], or counts[0] of each
 * rank; of types[r], or types[0]. Received, since it is there in place, too. The
 * counts are int or MPI_Count. */
static uint64_t bytes_of(MPI_Comm comm, const void *counts, size_t width,
                         int n_counts, const MPI_Datatype *types, int n_types)
{
    int       n, me, size, inter;
    int      *ranks;
    uint64_t  bytes = 0;
    MPI_Group all, some;

    PMPI_Comm_test_inter(comm, &inter);
    if (inter) {
        return 0;
    }
    PMPI_Comm_size(comm, &n);
    ranks = malloc(2 * (size_t)n * sizeof(*ranks));
    for (int r = 0; r < n; ++r) {
        ranks[n + r] = r;
    }
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Comm_group(comm, &some);
    PMPI_Group_translate_ranks(some, n, ranks + n, all, ranks);
    PMPI_Group_free(&some);
    PMPI_Group_free(&all);
    PMPI_Comm_rank(comm, &me);
    for (int r = 0; r < n; ++r) {
        int      k     = n_counts == 1 ? 0 : r;
        uint64_t count = width == sizeof(int)
                             ? (uint64_t)((const int *)counts)[k]
                             : (uint64_t)((const MPI_Count *)counts)[k];

        if (count == 0 || server_of(ranks[r]) == server_of(ranks[me])) {
            continue;
        }
        PMPI_Type_size(types[n_types == 1 ? 0 : r], &size);
        bytes += count * (uint64_t)size;
    }
    free(ranks);
    return bytes;
}

static void count(int kind, uint64_t bytes, uint64_t before)
{
    if (bytes == 0) {
        return;
    }
    sums.calls[kind]++;
    sums.bytes[kind] += bytes;
    if (kind == BLOCKING && served() > before) {
        sums.served_calls++;
        sums.served_bytes += bytes;
    }
}

/* CALL, counted, unless it is made by another of these functions. */
#define COUNTED(KIND, N_COUNTS, TYPES, N_TYPES, CALL)                          \
    uint64_t bytes_ = 0, before_ = 0;                                          \
    int      rc_;                                                              \
    if (sums.depth++ == 0) {                                                   \
        bytes_  = bytes_of(comm, r_counts, sizeof(*r_counts), N_COUNTS, TYPES, \
                           N_TYPES);                                           \
        before_ = served();                                                    \
    }                                                                          \
    rc_ = CALL;                                                                \
    if (--sums.depth == 0) {                                                   \
        count(KIND, bytes_, before_);                                          \
    }                                                                          \
    return rc_

int MPI_Alltoall(const void *s, int s_count, MPI_Datatype s_type, void *r,
                 int r_count, MPI_Datatype r_type, MPI_Comm comm)
{
    const int *r_counts = &r_count;

    COUNTED(BLOCKING, 1, &r_type, 1,
            PMPI_Alltoall(s, s_count, s_type, r, r_count, r_type, comm));
}

int MPI_Ialltoall(const void *s, int s_count, MPI_Datatype s_type, void *r,
                  int r_count, MPI_Datatype r_type, MPI_Comm comm,
                  MPI_Request *request)
{
    const int *r_counts = &r_count;

    COUNTED(
        NONBLOCKING, 1, &r_type, 1,
        PMPI_Ialltoall(s, s_count, s_type, r, r_count, r_type, comm, request));
}

int MPI_Alltoallv(const void *s, const int *s_counts, const int *s_displs,
                  MPI_Datatype s_type, void *r, const int *r_counts,
                  const int *r_displs, MPI_Datatype r_type, MPI_Comm comm)
{
    COUNTED(BLOCKING, 0, &r_type, 1,
            PMPI_Alltoallv(s, s_counts, s_displs, s_type, r, r_counts, r_displs,
                           r_type, comm));
}

int MPI_Ialltoallv(const void *s, const int *s_counts, const int *s_displs,
                   MPI_Datatype s_type, void *r, const int *r_counts,
                   const int *r_displs, MPI_Datatype r_type, MPI_Comm comm,
                   MPI_Request *request)
{
    COUNTED(NONBLOCKING, 0, &r_type, 1,
            PMPI_Ialltoallv(s, s_counts, s_displs, s_type, r, r_counts,
                            r_displs, r_type, comm, request));
}

int MPI_Alltoallw(const void *s, const int *s_counts, const int *s_displs,
                  const MPI_Datatype *s_types, void *r, const int *r_counts,
                  const int *r_displs, const MPI_Datatype *r_types,
                  MPI_Comm comm)
{
    COUNTED(BLOCKING, 0, r_types, 0,
            PMPI_Alltoallw(s, s_counts, s_displs, s_types, r, r_counts,
                           r_displs, r_types, comm));
}

int MPI_Ialltoallw(const void *s, const int *s_counts, const int *s_displs,
                   const MPI_Datatype *s_types, void *r, const int *r_counts,
                   const int *r_displs, const MPI_Datatype *r_types,
                   MPI_Comm comm, MPI_Request *request)
{
    COUNTED(NONBLOCKING, 0, r_types, 0,
            PMPI_Ialltoallw(s, s_counts, s_displs, s_types, r, r_counts,
                            r_displs, r_types, comm, request));
}

#if MPI_VERSION >= 4 /* the same with large counts */

int MPI_Alltoall_c(const void *s, MPI_Count s_count, MPI_Datatype s_type,
                   void *r, MPI_Count r_count, MPI_Datatype r_type,
                   MPI_Comm comm)
{
    const MPI_Count *r_counts = &r_count;

    COUNTED(BLOCKING, 1, &r_type, 1,
            PMPI_Alltoall_c(s, s_count, s_type, r, r_count, r_type, comm));
}

int MPI_Ialltoall_c(const void *s, MPI_Count s_count, MPI_Datatype s_type,
                    void *r, MPI_Count r_count, MPI_Datatype r_type,
                    MPI_Comm comm, MPI_Request *request)
{
    const MPI_Count *r_counts = &r_count;

    COUNTED(NONBLOCKING, 1, &r_type, 1,
            PMPI_Ialltoall_c(s, s_count, s_type, r, r_count, r_type, comm,
                             request));
}

int MPI_Alltoallv_c(const void *s, const MPI_Count *s_counts,
                    const MPI_Aint *s_displs, MPI_Datatype s_type, void *r,
                    const MPI_Count *r_counts, const MPI_Aint *r_displs,
                    MPI_Datatype r_type, MPI_Comm comm)
{
    COUNTED(BLOCKING, 0, &r_type, 1,
            PMPI_Alltoallv_c(s, s_counts, s_displs, s_type, r, r_counts,
                             r_displs, r_type, comm));
}

int MPI_Ialltoallv_c(const void *s, const MPI_Count *s_counts,
                     const MPI_Aint *s_displs, MPI_Datatype s_type, void *r,
                     const MPI_Count *r_counts, const MPI_Aint *r_displs,
                     MPI_Datatype r_type, MPI_Comm comm, MPI_Request *request)
{
    COUNTED(NONBLOCKING, 0, &r_type, 1,
            PMPI_Ialltoallv_c(s, s_counts, s_displs, s_type, r, r_counts,
                              r_displs, r_type, comm, request));
}

int MPI_Alltoallw_c(const void *s, const MPI_Count *s_counts,
                    const MPI_Aint *s_displs, const MPI_Datatype *s_types,
                    void *r, const MPI_Count *r_counts,
                    const MPI_Aint *r_displs, const MPI_Datatype *r_types,
                    MPI_Comm comm)
{
    COUNTED(BLOCKING, 0, r_types, 0,
            PMPI_Alltoallw_c(s, s_counts, s_displs, s_types, r, r_counts,
                             r_displs, r_types, comm));
}

int MPI_Ialltoallw_c(const void *s, const MPI_Count *s_counts,
                     const MPI_Aint *s_displs, const MPI_Datatype *s_types,
                     void *r, const MPI_Count *r_counts,
                     const MPI_Aint *r_displs, const MPI_Datatype *r_types,
                     MPI_Comm comm, MPI_Request *request)
{
    COUNTED(NONBLOCKING, 0, r_types, 0,
            PMPI_Ialltoallw_c(s, s_counts, s_displs, s_types, r, r_counts,
                              r_displs, r_types, comm, request));
}

#endif

/* ---- the line at the end ---- */

static void say(void)
{
    uint64_t all     = served(), more;
    uint64_t mine[4] = {
        sums.calls[BLOCKING] + sums.calls[NONBLOCKING], sums.served_calls,
        sums.bytes[BLOCKING] + sums.bytes[NONBLOCKING], sums.served_bytes};
    uint64_t most[4], total[4];
    int      rank;

    more = all - sums.served_calls;
    if (sums.calls[NONBLOCKING] > 0 && all > sums.served_calls) {
        more = more < sums.calls[NONBLOCKING] ? more : sums.calls[NONBLOCKING];
        mine[1] += more;
        mine[3] += (uint64_t)((double)sums.bytes[NONBLOCKING] * (double)more /
                              (double)sums.calls[NONBLOCKING]);
    }
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Reduce(mine, most, 4, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    PMPI_Reduce(mine, total, 4, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        fprintf(stderr,
                "app_count: %llu calls, %llu served, %llu bytes, %llu served\n",
                (unsigned long long)most[0], (unsigned long long)most[1],
                (unsigned long long)total[2], (unsigned long long)total[3]);
    }
}

int MPI_Finalize(void)
{
    say();
    return PMPI_Finalize();
}

/* Fortran in Open MPI calls no MPI_ function of C. */
#ifdef OPEN_MPI

#define NEXT(NAME) (*(void **)&next = dlsym(RTLD_NEXT, #NAME))

/* CALL by the next function of that name. */
#define COUNTED_F(N_COUNTS, CALL)                                        \
    MPI_Comm     comm = PMPI_Comm_f2c(*f_comm);                          \
    MPI_Datatype type = PMPI_Type_f2c(*r_type);                          \
    uint64_t     bytes =                                                 \
        bytes_of(comm, r_counts, sizeof(*r_counts), N_COUNTS, &type, 1); \
    uint64_t before = served();                                          \
                                                                         \
    sums.depth++;                                                        \
    CALL;                                                                \
    sums.depth--;                                                        \
    count(BLOCKING, bytes, before)

void mpi_alltoall_(void *s, MPI_Fint *s_count, MPI_Fint *s_type, void *r,
                   MPI_Fint *r_counts, MPI_Fint *r_type, MPI_Fint *f_comm,
                   MPI_Fint *error);
void mpi_alltoallv_(void *s, MPI_Fint *s_counts, MPI_Fint *s_displs,
                    MPI_Fint *s_type, void *r, MPI_Fint *r_counts,
                    MPI_Fint *r_displs, MPI_Fint *r_type, MPI_Fint *f_comm,
                    MPI_Fint *error);
void mpi_finalize_(MPI_Fint *error);

void mpi_alltoall_(void *s, MPI_Fint *s_count, MPI_Fint *s_type, void *r,
                   MPI_Fint *r_counts, MPI_Fint *r_type, MPI_Fint *f_comm,
                   MPI_Fint *error)
{
    void (*next)(void *, MPI_Fint *, MPI_Fint *, void *, MPI_Fint *, MPI_Fint *,
                 MPI_Fint *, MPI_Fint *);

    NEXT(mpi_alltoall_);
    COUNTED_F(1, next(s, s_count, s_type, r, r_counts, r_type, f_comm, error));
}

void mpi_alltoallv_(void *s, MPI_Fint *s_counts, MPI_Fint *s_displs,
                    MPI_Fint *s_type, void *r, MPI_Fint *r_counts,
                    MPI_Fint *r_displs, MPI_Fint *r_type, MPI_Fint *f_comm,
                    MPI_Fint *error)
{
    void (*next)(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, void *, MPI_Fint *,
                 MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);

    NEXT(mpi_alltoallv_);
    COUNTED_F(0, next(s, s_counts, s_displs, s_type, r, r_counts, r_displs,
                      r_type, f_comm, error));
}

void mpi_finalize_(MPI_Fint *error)
{
    void (*next)(MPI_Fint *);

    NEXT(mpi_finalize_);
    say();
    next(error);
}

#endif
