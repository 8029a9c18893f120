/* SPDX-License-Identifier: BSD-3-Clause */
/* What the methods of fs_schedule_create() read and write. */
#ifndef FS_SCHEDULE_H
#define FS_SCHEDULE_H

#include "base/fs_arena.h"
#include "base/fs_digest.h"
#include "fastsched.h"

/* The matrix to schedule. The diagonal is ignored. */
typedef struct fs_demand {
    uint32_t        n;
    const uint64_t *bytes;      /* [n x n], [src][dst], per lane */
    const uint64_t *row;        /* [n] sums without the diagonal */
    const uint64_t *col;        /* [n] */
    uint64_t        bound;      /* the largest of them */
    uint64_t        stage_cost; /* see fs_schedule_create() */
    uint32_t        n_words;    /* 64-bit words of a row of bits */
    const uint64_t *some;    /* [n x n_words] bit j of row i: there are bytes;
                                   not on the diagonal */
    const uint32_t *n_dsts;  /* [n] receivers of a server */
    const uint32_t *n_srcs;  /* [n] senders to it */
    size_t          n_pairs; /* with bytes */
} fs_demand_t;

/* The pairs of the server with the most of them, sent or received. */
uint32_t fs_demand_most_pairs(const fs_demand_t *demand);

/* For qsort(): transfers by start, then src. */
int fs_transfer_by_start(const void *a, const void *b);

/* A schedule in the making. The first failure sticks in status and turns every
 * later call into a no-op, so methods check once, at the end. */
typedef struct fs_draft {
    fs_status_t    status;
    uint32_t       only_server; /* or FS_ALL_SERVERS */
    fs_decompose_t chosen;      /* by AUTO, then what made it */
    uint32_t       n_stages;
    uint32_t       n_rounds; /* messages of a server in a row, at most */
    uint64_t       total;
    uint64_t       digest;
    fs_transfer_t *transfers; /* fs_draft_fini() frees them */
    size_t         n_transfers;
    size_t         max_transfers;
} fs_draft_t;

/* Keep a transfer for the schedule. */
void fs_draft_keep(fs_draft_t *draft, const fs_transfer_t *transfer);

/* Odd factors, so that no part can stand in for another; one mix, as there may
 * be a million transfers. */
static inline uint64_t fs_transfer_digest(const fs_transfer_t *transfer)
{
    uint64_t pair = (uint64_t)transfer->src << 32 | transfer->dst;

    return fs_mix64(pair * 0x9e3779b97f4a7c15ull +
                    transfer->start * 0xd1342543de82ef95ull +
                    transfer->bytes * 0xf1357aea2e62a9c5ull);
}

/* Add a transfer. No bytes: nothing happens. */
static inline void fs_draft_transfer(fs_draft_t *draft, uint32_t src,
                                     uint32_t dst, uint64_t bytes,
                                     uint64_t start)
{
    fs_transfer_t transfer = {src, dst, bytes, start};

    if (bytes == 0) {
        return;
    }
    draft->digest += fs_transfer_digest(&transfer);
    if (draft->only_server == FS_ALL_SERVERS || draft->only_server == src ||
        draft->only_server == dst) {
        fs_draft_keep(draft, &transfer);
    }
}

/* The transfers since the last stage, which started at draft->total, are a
 * stage of this length. */
void fs_draft_end_stage(fs_draft_t *draft, uint64_t weight);

/* Schedule a matrix: demand has n, bytes and stage_cost, and gets the rest. FS_OK;
 * errors as fs_schedule_create(). */
fs_status_t fs_draft_make(fs_draft_t *draft, fs_decompose_t how,
                          fs_demand_t *demand, fs_arena_t *arena);

/* Copy a finished draft into a schedule: one block, which fs_schedule_destroy()
 * frees. FS_OK, the draft's status, FS_ERR_NOMEM. */
fs_status_t fs_draft_seal(const fs_draft_t *draft, uint32_t n_servers,
                          uint64_t bound, fs_schedule_t **schedule_p);

/* Exchange what two drafts hold. */
void fs_draft_swap(fs_draft_t *a, fs_draft_t *b);

/* Back to nothing; the memory is kept. */
void fs_draft_clear(fs_draft_t *draft);

void fs_draft_fini(fs_draft_t *draft);

/* A method, which is one file. */
typedef struct fs_decompose_method {
    /* Write the draft. Memory comes from arena. FS_OK, FS_ERR_NOMEM. */
    fs_status_t (*build)(const fs_demand_t *demand, fs_arena_t *arena,
                         fs_draft_t *draft);
    /* A plan balances so, whatever is asked. */
    bool         fixes_balance;
    fs_balance_t balance;
} fs_decompose_method_t;

/* Those of FS_DECOMPOSE_MAP: fs_decompose_compact and so on. */
#define X(_how, _word, _text) \
    extern const fs_decompose_method_t fs_decompose_##_word;
FS_DECOMPOSE_MAP(X)
#undef X

/* NULL: there is none in this program. */
const fs_decompose_method_t *fs_decompose_method(fs_decompose_t how);

/* Those of the papers, for fs_decompose_method(). NULL: of no paper, or linked
 * without papers/, as plugins and libfastsched.so are. */
const fs_decompose_method_t *fs_papers_decompose(fs_decompose_t how);

#endif
