/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of control messages: what all ranks must know before they decide, and
 * with it the small blocks of a call.
 */
#ifndef FS_CONTROL_H
#define FS_CONTROL_H

#include "comm/fs_bundle.h"
#include "net/fs_transport.h"

/* The vote of one rank, and the result: all votes combined. */
typedef struct fs_control_vote {
    uint64_t flags;      /* OR over all ranks */
    uint64_t max_inter;  /* maximum */
    uint64_t max_ns;     /* maximum */
    uint64_t min_ns;     /* minimum of those that are not 0 */
    uint64_t whole_ns;   /* likewise */
    uint64_t posted;     /* likewise */
    uint64_t max_waited; /* maximum, nanoseconds */
    uint64_t last;       /* minimum of those that are not 0: fs_entries.h */
    uint64_t sum[2];     /* sums modulo 2^64, of digests */
} fs_vote_t;

/* Flags of a summary that no rank sets: there are bytes that are in no bundle; there
 * are some in bundles; rows travel; they do not, as all blocks are equal. If both,
 * ranks are in different calls. All blocks are equal, whether rows travel or not. */
#define FS_VOTE_REST    (UINT64_C(1) << 63)
#define FS_VOTE_BUNDLED (UINT64_C(1) << 62)
#define FS_VOTE_ROWS    (UINT64_C(1) << 61)
#define FS_VOTE_UNIFORM (UINT64_C(1) << 60)
#define FS_VOTE_EQUAL   (UINT64_C(1) << 59)

typedef struct fs_control fs_control_t;

/* The rank that exchanges with other servers where not all of them share memory:
 * the proxy of lane 0. */
uint32_t fs_control_leader(const fs_topo_t *topo, uint32_t server);

/* What the ranks of a server would share, bytes, with bundle_memory for each of them
 * for bundles; 0 if it has only one. */
size_t fs_control_shared_bytes(const fs_topo_t *topo, uint32_t server,
                               uint64_t bundle_memory);

/* Of one communicator, equal on all ranks but for shared. */
typedef struct fs_control_setup {
    const fs_topo_t *topo; /* borrowed for life, like the next two */
    fs_transport_t  *transport;
    void    *shared; /* fs_control_shared_bytes(), zeroed, that all ranks of the
                     server have mapped: then only its lanes send messages. NULL
                     on all of them or on none */
    bool     all_share;     /* all servers do that have several ranks */
    uint64_t bundle_memory; /* as above */
} fs_control_setup_t;

/*
 * A round has three steps: the ranks of a server to its lanes, servers to each
 * other, lanes to their ranks. In a summary round counts go along: P + P numbers
 * inside the server, N numbers per pair of servers on the slow network (none if
 * all know them), never P x P; and bundles. FS_OK, FS_ERR_NOMEM.
 */
fs_status_t fs_control_create(const fs_control_setup_t *setup, uint32_t rank,
                              fs_control_t **control_p);
void        fs_control_destroy(fs_control_t *control);

/*
 * A summary is about to begin: its counts, copied, and the blocks that may go in
 * bundles, copied as well. All blocks of a pair of servers do, if they are no
 * more than limit bytes and every rank has room for its part; limit is equal on
 * all ranks, 0: there are no bundles. coarse, likewise: they are cut among lanes only
 * where they are FS_LANE_COARSE times as long. block_bytes: the length of every block of
 * the call (MPI_Alltoall), or 0. If no bundle has room for one, only votes travel
 * between servers: all know the counts. Returns a digest of which parts there are.
 */
uint64_t fs_control_offer(fs_control_t *control, const fs_call_t *call,
                          uint64_t limit, bool coarse, uint64_t block_bytes);

/* Begin a summary round with what has been offered, and with this vote, copied.
 * Under the net's lock, like fs_control_progress(). */
fs_status_t fs_control_start_summary(fs_control_t    *control,
                                     const fs_vote_t *mine);

/* Begin a round of votes without counts. */
fs_status_t fs_control_start_agree(fs_control_t    *control,
                                   const fs_vote_t *mine);

/* FS_INPROGRESS; FS_OK: the results below are set; an error of the transport, or
 * FS_ERR_MISMATCH, after which the object cannot be used any more. */
fs_status_t fs_control_progress(fs_control_t *control);

/* Memory of this rank alone for messages with bundles, bytes. */
uint64_t fs_control_own_bytes(const fs_control_t *control);

/* Does the round wait for ranks of this server alone, by their words in shared
 * memory? */
bool fs_control_waits_inside(const fs_control_t *control);

/* For messages: does the round wait for the vote of this rank? */
bool fs_control_awaits(const fs_control_t *control, uint32_t rank);

/* Have blocks of so many bytes from server to server ([N x N], none above `most`) room in
 * bundles? Unlike servers take bundles of unlike length. A rank's own memory, and lengths
 * that differ within a part, may keep some out of them. */
bool fs_control_fits(const fs_control_t *control, const uint64_t *bytes,
                     uint64_t most);

/* Would it matter if bundles of at most so many bytes were coarse? */
bool fs_control_can_be_coarse(const fs_control_t *control, uint64_t most);

/* Of the last round; valid until the next start. */
const fs_vote_t *fs_control_vote(const fs_control_t *control);
/* Of the last summary; valid until the next one starts.
 * [N x N] bytes between servers. */
uint64_t *fs_control_matrix(const fs_control_t *control);
/* Of these, what is not in bundles: the same matrix if there are none. */
uint64_t *fs_control_rest(const fs_control_t *control);
/* [n_local x n_ranks] counts of this server's ranks. */
const uint64_t *fs_control_local_send(const fs_control_t *control);
const uint64_t *fs_control_local_recv(const fs_control_t *control);
/* The block from a rank to this one, which must be in a bundle. False: what has
 * arrived is no bundle. */
bool fs_control_block_of(const fs_control_t *control, uint32_t src,
                         fs_bytes_t *block_p);
/* Bytes this rank has sent to other servers since this was last asked. */
uint64_t fs_control_take_wire_bytes(fs_control_t *control);

#endif
