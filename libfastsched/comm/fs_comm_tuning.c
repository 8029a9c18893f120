/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator's tuner begins with what earlier runs have found, and leaves what
 * it has found to later ones: see fs_tuning.h.
 *
 * Ranks must think alike, and their files may differ: what rank 0 knows goes to all
 * of them, by gathers of the MPI of which only its part counts.
 */
#include "comm/fs_comm.h"

#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "base/fs_strbuf.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>
#include <string.h>

enum { IN_A_PIECE = 8 };

typedef struct fact {
    uint32_t of_class;
    uint32_t choice;
    uint64_t price[FS_N_CANDIDATES];
} fact_t;

/* What is told in one gather. */
typedef struct piece {
    uint32_t n;
    uint32_t more; /* there is another piece */
    fact_t   facts[IN_A_PIECE];
} piece_t;

/* ---- where times hold ---- */

/* "4x4", or "4+4+2+1"; what does not fit ends with a digest of all. */
static void write_layout(const fs_topo_t *topo, char text[FS_TUNING_TEXT])
{
    enum { SHOWN = 40 };
    char        whole[FS_TUNING_TEXT + 16];
    fs_strbuf_t line   = {whole, sizeof(whole), 0};
    uint64_t    digest = 0;
    uint32_t    n0     = fs_topo_n_local(topo, 0);
    bool        even   = true;

    for (uint32_t u = 0; u < topo->n_servers; ++u) {
        even &= fs_topo_n_local(topo, u) == n0;
    }
    if (even) {
        fs_strbuf_add(&line, "%ux%u", topo->n_servers, n0);
    }
    for (uint32_t u = 0; u < topo->n_servers && !even; ++u) {
        uint32_t n = fs_topo_n_local(topo, u);

        fs_strbuf_add(&line, "%s%u", u == 0 ? "" : "+", n);
        digest = fs_digest_add(digest, n);
    }
    if (strlen(whole) < FS_TUNING_TEXT) {
        memcpy(text, whole, strlen(whole));
        return;
    }
    line = (fs_strbuf_t){text, FS_TUNING_TEXT, 0};
    fs_strbuf_add(&line, "%.*s...%016llx", SHOWN, whole,
                  (unsigned long long)digest);
}

static fs_tuning_place_t place_of(const fs_comm_t *comm)
{
    const fs_topo_t  *topo  = comm->topo;
    const char       *mpi   = comm->native.name;
    fs_tuning_place_t place = {.lanes = 0};
    fs_strbuf_t       name  = {place.mpi, sizeof(place.mpi), 0};
    fs_strbuf_t       net   = {place.transport, sizeof(place.transport), 0};

    for (uint32_t u = 0; u < topo->n_servers; ++u) {
        place.lanes = fs_u32_max(place.lanes, topo->n_lanes[u]);
    }
    write_layout(topo, place.layout);
    fs_strbuf_add(&net, "%s", comm->own_net != NULL ? "mpi" : "ucx");
    fs_strbuf_add(&name, "%s", mpi != NULL && mpi[0] != '\0' ? mpi : "unknown");
    return place;
}

/* ---- from rank 0 to all ---- */

/* The next piece from entry *k_p on. */
static piece_t next_piece(const fs_tuning_t       *tuning,
                          const fs_tuning_place_t *place, size_t *k_p)
{
    piece_t piece;
    size_t  k = *k_p;

    memset(&piece, 0, sizeof(piece));
    for (; tuning != NULL && k < tuning->n && piece.more == 0; ++k) {
        const fs_tuning_entry_t *entry = &tuning->entries[k];

        if (!fs_tuning_same_place(&entry->place, place)) {
            continue;
        }
        if (piece.n == IN_A_PIECE) {
            piece.more = 1;
            break;
        }
        fact_t *fact   = &piece.facts[piece.n++];
        fact->of_class = entry->of_class;
        fact->choice   = (uint32_t)entry->choice;
        memcpy(fact->price, entry->price, sizeof(fact->price));
    }
    *k_p = k;
    return piece;
}

static void seed(fs_tuner_t *tuner, const piece_t *piece)
{
    for (uint32_t k = 0; k < piece->n; ++k) {
        const fact_t *fact = &piece->facts[k];

        fs_tuner_seed(tuner, fact->of_class, (fs_candidate_t)fact->choice,
                      fact->price);
    }
}

fs_status_t fs_comm_get_tuning(fs_comm_t *comm)
{
    const fs_native_t *native = &comm->native;
    piece_t           *pieces = calloc(comm->topo->n_ranks, sizeof(*pieces));
    fs_tuning_place_t  place  = place_of(comm);
    const fs_tuning_t *tuning = NULL;
    size_t             k      = 0;
    fs_status_t        status =
        native->agree(native->ctx, pieces != NULL ? FS_OK : FS_ERR_NOMEM);

    if (status == FS_OK && comm->rank == 0 && native->tuning != NULL) {
        tuning = native->tuning(native->process);
    }
    while (status == FS_OK) {
        piece_t mine = next_piece(tuning, &place, &k);

        status = native->allgather(native->ctx, &mine, sizeof(mine), pieces) ==
                         FS_OK
                     ? FS_OK
                     : FS_ERR_NATIVE;
        if (status == FS_OK) {
            seed(&comm->tuner, &pieces[0]);
        }
        if (status != FS_OK || pieces[0].more == 0) {
            break;
        }
    }
    free(pieces);
    return status;
}

/* ---- and to later runs ---- */

fs_status_t fs_comm_put_tuning(const fs_comm_t *comm, fs_tuning_t *learned)
{
    fs_tuning_entry_t entry  = {.place = place_of(comm)};
    fs_status_t       status = FS_OK;

    for (uint32_t k = 0; k < FS_TUNER_CLASSES && status == FS_OK; ++k) {
        const fs_tuner_class_t *class = &comm->tuner.classes[k];

        if (class->used == 0 || !class->measured ||
            class->state == FS_TUNER_EXPLORE) {
            continue;
        }
        entry.of_class = class->key;
        entry.choice   = (fs_candidate_t) class->choice;
        entry.n_calls  = class->n_calls;
        for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
            entry.price[c] = fs_tuner_price(class, (fs_candidate_t)c);
        }
        status = fs_tuning_add(learned, &entry);
    }
    return status;
}
