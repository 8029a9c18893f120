/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers, bounds and names; see osu_fast_util.h. */
#include "osu_fast_util.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the servers behind the ranks ---- */

/* A server is named after its lowest rank. */
static void find_hosts(MPI_Comm comm, uint32_t *server_of)
{
    MPI_Comm host;
    uint32_t lowest;
    int      rank;

    MPI_Comm_rank(comm, &rank);
    lowest = (uint32_t)rank;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    MPI_Bcast(&lowest, 1, MPI_UINT32_T, 0, host);
    MPI_Comm_free(&host);
    MPI_Allgather(&lowest, 1, MPI_UINT32_T, server_of, 1, MPI_UINT32_T, comm);
}

static void print_shape(osu_cluster_t *cluster, size_t len)
{
    const fs_topo_t *topo      = cluster->topo;
    uint32_t         n_servers = fs_topo_n_servers(topo);
    int              at        = 0;

    cluster->even = true;
    for (uint32_t u = 1; u < n_servers; ++u) {
        cluster->even = cluster->even &&
                        fs_topo_n_local(topo, u) == fs_topo_n_local(topo, 0);
    }
    for (uint32_t u = 0; u < (cluster->even ? 1 : n_servers); ++u) {
        at += snprintf(cluster->shape + at, len - (size_t)at, "%s%u",
                       u == 0 ? "" : "+", fs_topo_n_local(topo, u));
    }
}

fs_status_t osu_cluster_init(MPI_Comm comm, const char *servers, uint32_t nics,
                             osu_cluster_t *cluster, char why[OSU_WHY_LEN])
{
    size_t      shape_len;
    int         n;
    fs_status_t status = FS_OK;

    MPI_Comm_size(comm, &n);
    shape_len          = (size_t)n * 11 + 1; /* ten digits and a plus each */
    cluster->n_ranks   = (uint32_t)n;
    cluster->topo      = NULL;
    cluster->server_of = malloc((size_t)n * sizeof(*cluster->server_of));
    cluster->shape     = malloc(shape_len);
    if (cluster->server_of == NULL || cluster->shape == NULL) {
        snprintf(why, OSU_WHY_LEN, "out of memory");
        return FS_ERR_NOMEM;
    }
    if (servers == NULL) {
        find_hosts(comm, cluster->server_of);
    } else {
        int len = snprintf(why, OSU_WHY_LEN, "--servers ");

        status = fs_topo_parse(servers, cluster->n_ranks, cluster->server_of,
                               why + len, OSU_WHY_LEN - (size_t)len);
    }
    if (status == FS_OK) {
        status = fs_topo_create(cluster->n_ranks, cluster->server_of, nics,
                                &cluster->topo);
    }
    if (status == FS_OK) {
        print_shape(cluster, shape_len);
    }
    return status;
}

void osu_cluster_fini(osu_cluster_t *cluster)
{
    fs_topo_destroy(cluster->topo);
    free(cluster->server_of);
    free(cluster->shape);
}

osu_bound_t osu_bound(const osu_cluster_t *cluster, const uint64_t *bytes,
                      uint64_t *sums)
{
    const fs_topo_t *topo  = cluster->topo;
    uint32_t         n     = cluster->n_ranks;
    uint64_t        *rank  = sums;         /* [2 x n] sent, received */
    uint64_t        *host  = sums + 2 * n; /* [2 x n_servers] likewise */
    uint64_t         total = 0, most = 0;
    osu_bound_t      bound = {0, 0};

    memset(sums, 0, 4 * (size_t)n * sizeof(*sums));
    for (uint32_t src = 0; src < n; ++src) {
        for (uint32_t dst = 0; dst < n; ++dst) {
            uint32_t u = fs_topo_server(topo, src);
            uint32_t w = fs_topo_server(topo, dst);
            uint64_t b = u == w ? 0 : bytes[(size_t)src * n + dst];

            rank[src] += b;
            rank[n + dst] += b;
            host[u] += b;
            host[n + w] += b;
            total += b;
        }
    }
    for (uint32_t i = 0; i < 2 * n; ++i) {
        most = rank[i] > most ? rank[i] : most;
    }
    for (uint32_t u = 0; u < fs_topo_n_servers(topo); ++u) {
        double nics = fs_topo_n_lanes(topo, u);

        bound.bytes_per_nic =
            fmax(bound.bytes_per_nic,
                 fmax((double)host[u], (double)host[n + u]) / nics);
    }
    bound.mtm = total == 0 ? 0 : (double)most * n / (double)total;
    return bound;
}

/* ---- the ceiling ---- */

#define STREAM_BYTES  (256 * 1024) /* bytes of a message */
#define STREAM_WINDOW 8            /* messages posted ahead, each way */

/* Seconds that this rank takes to send n_messages to one rank and to receive as
 * many from another. Receives are posted a window ahead, so that nothing
 * arrives unexpected. */
static double stream(MPI_Comm comm, int to, int from, uint64_t n_messages,
                     char *buffer)
{
    MPI_Request request[2 * STREAM_WINDOW];
    MPI_Status  unused[2]; /* MPICH's MPI_STATUSES_IGNORE trips a gcc warning */
    double      start = MPI_Wtime();

    for (uint64_t k = 0; k < n_messages + STREAM_WINDOW; ++k) {
        uint64_t     slot = k % STREAM_WINDOW;
        MPI_Request *pair = request + 2 * slot;

        if (k >= STREAM_WINDOW) {
            MPI_Waitall(2, pair, unused);
        }
        if (k < n_messages) {
            char *in = buffer + slot * 2 * STREAM_BYTES;

            MPI_Irecv(in, STREAM_BYTES, MPI_CHAR, from, 1, comm, pair);
            MPI_Isend(in + STREAM_BYTES, STREAM_BYTES, MPI_CHAR, to, 1, comm,
                      pair + 1);
        } else {
            pair[0] = pair[1] = MPI_REQUEST_NULL;
        }
    }
    return MPI_Wtime() - start;
}

/* The rank of a place in the ring; MPI_PROC_NULL if it is on this server. */
static int other_server(const fs_topo_t *topo, uint32_t server, uint32_t at)
{
    uint32_t u = 0;

    for (; at >= fs_topo_n_lanes(topo, u); ++u) {
        at -= fs_topo_n_lanes(topo, u);
    }
    return u == server ? MPI_PROC_NULL
                       : (int)fs_topo_rank(topo, u, fs_topo_proxy(topo, u, at));
}

/* A ring of the ranks that serve a lane, one for each NIC. In the order of
 * their servers, each sends to the rank that is as many places on as the
 * largest server has NICs, which is on another server unless that server has
 * more than half of all. MPI_PROC_NULL: this rank has nothing to do. */
static void find_ring(const fs_topo_t *topo, uint32_t rank, int *to_p,
                      int *from_p)
{
    uint32_t server = fs_topo_server(topo, rank);
    uint32_t lane   = fs_topo_lane(topo, rank);
    uint32_t n = 0, most = 0, at = 0;

    for (uint32_t u = 0; u < fs_topo_n_servers(topo); ++u) {
        uint32_t nics = fs_topo_n_lanes(topo, u);

        at   = u == server ? n + lane : at;
        n    = n + nics;
        most = nics > most ? nics : most;
    }
    *to_p = *from_p = MPI_PROC_NULL;
    if (lane == FS_NO_LANE) {
        return;
    }
    *to_p   = other_server(topo, server, (at + most) % n);
    *from_p = other_server(topo, server, (at + n - most) % n);
}

double osu_ceiling_mbit(MPI_Comm comm, const osu_cluster_t *cluster)
{
    uint64_t n_messages = 2 * STREAM_WINDOW;
    double   seconds    = 0;
    int      rank, to, from;
    /* Zeroed, so that the pages exist before the clock starts. */
    char *buffer = calloc(2 * STREAM_WINDOW, STREAM_BYTES);
    int   ready  = buffer != NULL;

    MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, comm);
    if (fs_topo_n_servers(cluster->topo) < 2 || !ready) {
        free(buffer);
        return 0;
    }
    MPI_Comm_rank(comm, &rank);
    find_ring(cluster->topo, (uint32_t)rank, &to, &from);
    stream(comm, to, from, STREAM_WINDOW, buffer); /* connects */
    /* Twice as much until it takes a second: start-up no longer counts. */
    while (seconds < 1.0) {
        n_messages *= 2;
        MPI_Barrier(comm);
        seconds = stream(comm, to, from, n_messages, buffer);
        MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
    }
    free(buffer);
    return (double)n_messages * STREAM_BYTES * 8 / seconds / 1e6;
}

/* ---- order statistics ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void osu_sleep(uint64_t ns)
{
    struct timespec time = {.tv_sec  = (time_t)(ns / 1000000000),
                            .tv_nsec = (long)(ns % 1000000000)};

    if (ns > 0) {
        nanosleep(&time, NULL);
    }
}

void osu_sort(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), ascending);
}

double osu_percentile(const double *sorted, size_t n, double percent)
{
    double at    = percent / 100 * (double)(n - 1);
    size_t below = (size_t)at;

    if (below + 1 >= n) {
        return sorted[n - 1];
    }
    return sorted[below] +
           (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* ---- what ran ---- */

void osu_impl_name(char name[OSU_NAME_LEN])
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int  len, n = 0;

    MPI_Get_library_version(text, &len);
    if (strncmp(text, "Open MPI", 8) == 0) {
        snprintf(name, OSU_NAME_LEN, "ompi");
        return;
    }
    for (; isalnum((unsigned char)text[n]) && n < OSU_NAME_LEN - 1; ++n) {
        name[n] = (char)tolower((unsigned char)text[n]);
    }
    name[n] = '\0';
}

#define PVAR_NAME "coll_fast_last_algorithm"

/* Allocate a handle for variable `index` if it is the one we look for. */
static bool try_pvar(osu_algorithm_t *a, int index)
{
    char  name[256] = "";
    int   name_len = sizeof(name), no_text = 0, verbosity, pvar_class, bind;
    int   readonly, continuous, atomic, count = 0;
    void *object = NULL;

    if (MPI_T_pvar_get_info(index, name, &name_len, &verbosity, &pvar_class,
                            &a->type, &a->names, NULL, &no_text, &bind,
                            &readonly, &continuous, &atomic) != MPI_SUCCESS ||
        strcmp(name, PVAR_NAME) != 0 ||
        (a->type != MPI_INT && a->type != MPI_UNSIGNED &&
         a->type != MPI_UNSIGNED_LONG && a->type != MPI_UNSIGNED_LONG_LONG)) {
        return false;
    }
    if (bind == MPI_T_BIND_MPI_COMM) {
        object = &a->comm;
    }
    if (MPI_T_pvar_handle_alloc(a->session, index, object, &a->handle,
                                &count) != MPI_SUCCESS ||
        count != 1) {
        return false;
    }
    if (!continuous) {
        MPI_T_pvar_start(a->session, a->handle);
    }
    return true;
}

void osu_algorithm_init(MPI_Comm comm, osu_algorithm_t *algorithm)
{
    int level, provided, n = 0;

    algorithm->comm  = comm;
    algorithm->found = false;
    MPI_Query_thread(&level); /* Open MPI 5.0 makes it the program's */
    MPI_T_init_thread(level, &provided);
    MPI_T_pvar_session_create(&algorithm->session);
    MPI_T_pvar_get_num(&n);
    for (int i = 0; i < n && !algorithm->found; ++i) {
        algorithm->found = try_pvar(algorithm, i);
    }
}

/* Beside MPICH the library that serves the calls tells by a function. */
static int ask_counter(void)
{
    unsigned long long (*counter)(const char *name);
    void *library = dlopen("libmpich_coll_fast.so", RTLD_LAZY | RTLD_NOLOAD);

    library = library != NULL
                  ? library
                  : dlopen("libfastsched_mpi_abi.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        return -1;
    }
    *(void **)&counter = dlsym(library, "mpich_fast_counter");
    dlclose(library);
    return (int)counter("last_algorithm");
}

/* -1 if it cannot be read. */
static int read_pvar(const osu_algorithm_t *a)
{
    union {
        int                i;
        unsigned           u;
        unsigned long      ul;
        unsigned long long ull;
    } value;

    if (!a->found) {
        return ask_counter();
    }
    if (MPI_T_pvar_read(a->session, a->handle, &value) != MPI_SUCCESS) {
        return -1;
    }
    return a->type == MPI_INT             ? value.i
           : a->type == MPI_UNSIGNED      ? (int)value.u
           : a->type == MPI_UNSIGNED_LONG ? (int)value.ul
                                          : (int)value.ull;
}

void osu_algorithm_last(const osu_algorithm_t *algorithm,
                        char                   name[OSU_NAME_LEN])
{
    int value = read_pvar(algorithm), n = 0, item, len;

    snprintf(name, OSU_NAME_LEN, "-");
    if (value < 0) {
        return;
    }
    if (!algorithm->found || algorithm->names == MPI_T_ENUM_NULL) {
        if (value < FS_N_ALGS) {
            snprintf(name, OSU_NAME_LEN, "%s", fs_alg_name((fs_alg_t)value));
        }
        return;
    }
    len = OSU_NAME_LEN;
    MPI_T_enum_get_info(algorithm->names, &n, name, &len);
    for (int i = 0; i < n; ++i) {
        len = OSU_NAME_LEN;
        MPI_T_enum_get_item(algorithm->names, i, &item, name, &len);
        if (item == value) {
            return;
        }
    }
    snprintf(name, OSU_NAME_LEN, "-");
}

void osu_algorithm_fini(osu_algorithm_t *algorithm)
{
    if (algorithm->found) {
        MPI_T_pvar_handle_free(algorithm->session, &algorithm->handle);
    }
    MPI_T_pvar_session_free(&algorithm->session);
    MPI_T_finalize();
}

int osu_answer(osu_verdict_t verdict, const char    *program,
               void (*usage)(FILE *out), const char *why)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && verdict == OSU_HELP) {
        usage(stdout);
    } else if (rank == 0 && verdict == OSU_VERSION) {
        printf("%s " FS_VERSION "\n", program);
    } else if (rank == 0) {
        fprintf(stderr, "%s: %s\n", program, why);
    }
    return verdict == OSU_BAD ? 2 : 0;
}
