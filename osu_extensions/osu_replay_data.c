/* SPDX-License-Identifier: BSD-3-Clause */
#include "osu_replay_data.h"

#include "base/fs_arith.h"
#include "trace/fs_recording_kinds.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On rank 0. */
typedef struct reader {
    fs_recordings_t     recordings;
    fs_recorded_kind_t *kinds;
    size_t              n_kinds;
    int                 n;      /* ranks of the job */
    int                *places; /* [n] of a communicator's ranks in it, or -1 */
} reader_t;

/* A communicator's call, to be put in order. */
typedef struct entry {
    uint64_t time_us;
    uint32_t kind, comm;
    size_t   call;
} entry_t;

/* Memory for all, or the end: nobody can wait for a rank that has none. */
static void *allocate(size_t n, size_t elem_bytes)
{
    void *memory = calloc(n + 1, elem_bytes);

    if (memory == NULL) {
        fprintf(stderr, "osu_alltoallv_replay: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return memory;
}

/* ---- rank 0: what is in the recording ---- */

static bool read_all(reader_t *r, const char *dir, char *why)
{
    fs_status_t status =
        fs_recordings_read(&r->recordings, dir, why, OSU_WHY_LEN);

    if (status == FS_OK) {
        status = fs_recordings_kinds(&r->recordings, &r->kinds, &r->n_kinds);
        if (status != FS_OK) {
            snprintf(why, OSU_WHY_LEN, "%.300s: %s", dir, fs_strerror(status));
        } else if (r->n_kinds == 0) {
            snprintf(why, OSU_WHY_LEN,
                     "%.300s: no recorded call has a byte to send", dir);
        }
    }
    return status == FS_OK && r->n_kinds > 0;
}

static int place_of(const reader_t *r, const fs_recording_t *comm, uint32_t k)
{
    return (int)(comm->ranks[k].world_rank % (uint32_t)r->n);
}

static int by_time(const void *left, const void *right)
{
    const entry_t *a = left, *b = right;

    if (a->time_us != b->time_us) {
        return a->time_us < b->time_us ? -1 : 1;
    }
    if (a->comm != b->comm) {
        return a->comm < b->comm ? -1 : 1;
    }
    return a->call < b->call ? -1 : a->call > b->call;
}

/* Each call that is of a kind. */
static void list_calls(const reader_t *r, osu_replay_t *replay)
{
    entry_t *entries = allocate(replay->n_calls, sizeof(*entries));
    size_t   n       = 0;

    for (uint32_t k = 0; k < r->n_kinds; ++k) {
        const fs_recorded_kind_t *kind = &r->kinds[k];
        const fs_recording_t     *comm = kind->comm;

        for (size_t c = kind->first; c < comm->n_calls; ++c) {
            if (comm->calls[c].matrix == kind->matrix) {
                entries[n++] =
                    (entry_t){comm->ranks[0].start_us + comm->calls[c].entry_us,
                              k, (uint32_t)(comm - r->recordings.all), c};
            }
        }
    }
    qsort(entries, n, sizeof(*entries), by_time);
    for (size_t c = 0; c < n; ++c) {
        replay->calls[c] = entries[c].kind;
    }
    free(entries);
}

/* Which ranks of the job have a rank of it. */
static void find_members(const reader_t *r, const fs_recording_t *comm,
                         int *members)
{
    memset(members, 0, (size_t)r->n * sizeof(*members));
    for (uint32_t k = 0; k < comm->n_ranks; ++k) {
        members[place_of(r, comm, k)] = 1;
    }
}

/* In the communicator's order here, that of MPI_COMM_WORLD. */
static int number_members(const int *members, int n, int *places)
{
    int size = 0;

    for (int k = 0; k < n; ++k) {
        places[k] = members[k] ? size++ : -1;
    }
    return size;
}

/* folded: [size x size] zeroed. Also what its busiest rank has. */
static void fold(reader_t *r, const fs_recorded_kind_t *recorded, int size,
                 uint64_t *folded, osu_kind_t *kind)
{
    const fs_recording_t *comm  = recorded->comm;
    size_t                n     = comm->n_ranks;
    uint64_t             *pairs = allocate(n * n, sizeof(*pairs));

    fs_recording_matrix(comm, recorded->matrix, pairs);
    for (size_t k = 0; k < n * n; ++k) {
        int src = r->places[place_of(r, comm, (uint32_t)(k / n))];
        int dst = r->places[place_of(r, comm, (uint32_t)(k % n))];

        folded[src * size + dst] += pairs[k];
    }
    free(pairs);
    for (int a = 0; a < size; ++a) {
        uint64_t sent = 0, received = 0;

        for (int b = 0; b < size; ++b) {
            sent += folded[a * size + b];
            received += folded[b * size + a];
        }
        if (fs_u64_max(sent, received) > kind->most) {
            kind->most      = fs_u64_max(sent, received);
            kind->most_rank = (uint64_t)a;
        }
    }
}

/* ---- all ranks: what rank 0 knows ---- */

static void share(void *data, size_t n, MPI_Datatype type)
{
    MPI_Bcast(data, (int)n, type, 0, MPI_COMM_WORLD);
}

static void describe_kinds(const reader_t *r, osu_replay_t *replay)
{
    for (size_t k = 0; k < r->n_kinds; ++k) {
        const fs_recorded_kind_t *kind = &r->kinds[k];

        replay->kinds[k] =
            (osu_kind_t){.comm     = (uint64_t)(kind->comm - r->recordings.all),
                         .n_calls  = kind->n,
                         .bytes    = kind->bytes,
                         .function = kind->function};
        replay->n_calls += kind->n;
    }
}

static void share_sizes(reader_t *r, osu_replay_t *replay, int rank)
{
    uint64_t sizes[] = {r->recordings.n, r->n_kinds, 0, 0};

    for (size_t k = 0; k < r->n_kinds && rank == 0; ++k) {
        sizes[2] += r->kinds[k].n;
        sizes[3] = fs_u64_max(sizes[3], r->kinds[k].comm->n_ranks);
    }
    share(sizes, 4, MPI_UINT64_T);
    replay->n_comms    = sizes[0];
    replay->n_kinds    = sizes[1];
    replay->n_calls    = 0;
    replay->n_recorded = sizes[3];
    replay->kinds      = allocate(sizes[1], sizeof(*replay->kinds));
    replay->calls      = allocate(sizes[2], sizeof(*replay->calls));
    replay->comms      = allocate(sizes[0], sizeof(*replay->comms));
    replay->ints       = allocate(sizes[1], sizeof(*replay->ints));
    for (uint64_t k = 0; k < replay->n_comms; ++k) {
        replay->comms[k] = MPI_COMM_NULL;
    }
    if (rank == 0) {
        describe_kinds(r, replay);
        list_calls(r, replay);
    }
    replay->n_calls = sizes[2];
    share(replay->calls, sizes[2], MPI_UINT32_T);
}

/* This rank's row and column. */
static void lay_out(osu_replay_t *replay, size_t k, const uint64_t *folded,
                    int size, int place)
{
    int *ints   = allocate(4 * (size_t)size, sizeof(*ints));
    int  n_send = 0, n_recv = 0;

    for (int p = 0; p < size; ++p) {
        ints[p]            = (int)folded[place * size + p];
        ints[size + p]     = n_send;
        ints[2 * size + p] = (int)folded[p * size + place];
        ints[3 * size + p] = n_recv;
        n_send += ints[p];
        n_recv += ints[2 * size + p];
    }
    replay->ints[k] = ints;
}

static void make_comms(reader_t *r, osu_replay_t *replay, int rank,
                       int *members)
{
    for (uint64_t c = 0; c < replay->n_comms; ++c) {
        if (rank == 0) {
            find_members(r, &r->recordings.all[c], members);
        }
        share(members, (size_t)r->n, MPI_INT);
        MPI_Comm_split(MPI_COMM_WORLD, members[rank] ? 1 : MPI_UNDEFINED, rank,
                       &replay->comms[c]);
    }
}

/* False: a rank would send or receive too much. */
static bool share_kind(reader_t *r, osu_replay_t *replay, size_t k, int rank,
                       int *members)
{
    osu_kind_t *kind = &replay->kinds[k];
    uint64_t   *folded;
    int         size = 0;

    if (rank == 0) {
        find_members(r, r->kinds[k].comm, members);
    }
    share(members, (size_t)r->n, MPI_INT);
    size   = number_members(members, r->n, r->places);
    folded = allocate((size_t)size * (size_t)size, sizeof(*folded));
    if (rank == 0) {
        fold(r, &r->kinds[k], size, folded, kind);
    }
    share(kind, sizeof(*kind) / sizeof(uint64_t), MPI_UINT64_T);
    for (int p = 0; p < size && kind->most <= INT_MAX; ++p) {
        share(folded + (size_t)p * (size_t)size, (size_t)size, MPI_UINT64_T);
    }
    if (members[rank] && kind->most <= INT_MAX) {
        lay_out(replay, k, folded, size, r->places[rank]);
    }
    free(folded);
    return kind->most <= INT_MAX;
}

static bool share_kinds(reader_t *r, osu_replay_t *replay, int rank,
                        int *members, char *why)
{
    for (size_t k = 0; k < replay->n_kinds; ++k) {
        if (!share_kind(r, replay, k, rank, members)) {
            snprintf(why, OSU_WHY_LEN,
                     "kind %zu: a rank sends or receives %llu bytes in a call; "
                     "allowed: up to %d, which MPI_Alltoallv can count: play "
                     "it on more ranks",
                     k + 1, (unsigned long long)replay->kinds[k].most, INT_MAX);
            return false;
        }
    }
    return true;
}

bool osu_replay_init(osu_replay_t *replay, const char *dir, char *why)
{
    reader_t r = {.n_kinds = 0};
    int     *members, rank, ready = 1;

    *replay = (osu_replay_t){.n_comms = 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r.n);
    r.places = allocate((size_t)r.n, sizeof(*r.places));
    members  = allocate((size_t)r.n, sizeof(*members));
    if (rank == 0) {
        ready = read_all(&r, dir, why);
    }
    share(&ready, 1, MPI_INT);
    if (ready) {
        share_sizes(&r, replay, rank);
        make_comms(&r, replay, rank, members);
        ready = share_kinds(&r, replay, rank, members, why);
    }
    fs_recordings_fini(&r.recordings);
    free(r.kinds);
    free(r.places);
    free(members);
    return ready;
}

void osu_replay_fini(osu_replay_t *replay)
{
    for (uint64_t k = 0; k < replay->n_comms; ++k) {
        if (replay->comms[k] != MPI_COMM_NULL) {
            MPI_Comm_free(&replay->comms[k]);
        }
    }
    for (uint64_t k = 0; k < replay->n_kinds; ++k) {
        free(replay->ints[k]);
    }
    free(replay->kinds);
    free(replay->calls);
    free(replay->comms);
    free(replay->ints);
}
