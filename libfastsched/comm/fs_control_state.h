/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files about rounds of control messages share:
 *
 *   fs_control.c              a round, step by step
 *   fs_control_lane.c         what a lane says to other servers, and hears of them
 *   fs_control_instalments.c  long bundles leave while ranks enter
 *   fs_control_offer.c        what a rank puts into a summary, and finds there
 *   fs_control_message.c      messages, also those inside a server
 */
#ifndef FS_CONTROL_STATE_H
#define FS_CONTROL_STATE_H

#include "comm/fs_control.h"
#include "comm/fs_control_block.h"
#include "comm/fs_lane_pairs.h"

/* Number in the key. */
enum {
    FS_CONTROL_TO_LEADER,
    FS_CONTROL_FROM_LEADER,
    FS_CONTROL_HEAD,
    FS_CONTROL_RANGE,
    FS_CONTROL_INSTALMENT /* the first; the others follow */
};

typedef enum fs_control_step {
    FS_CONTROL_IDLE,
    FS_CONTROL_COLLECT,
    FS_CONTROL_EXCHANGE,
    FS_CONTROL_WAIT
} fs_control_step_t;

typedef struct fs_pending {
    fs_xfer_t     xfer; /* first */
    fs_control_t *control;
    uint64_t      len_bytes; /* expected, at least; then what has come */
    uint32_t      peer;
    bool          receives;
    bool          at_least;
    bool          ended;
} fs_pending_t;

/* A lane's of a bundle: parts of the ranks from first on. */
typedef struct fs_instalments {
    uint32_t first;
    uint32_t n_ranks;
    uint32_t n;        /* 0: the bundle does not go so */
    uint64_t ends_len; /* of the bundle, before all parts */
    uint64_t part_len;
    uint32_t left; /* bit k: instalment k has not left yet */
} fs_instalments_t;

/* What a lane knows of another server. If the bundle before was cut the next one is,
 * mostly. So who had a range then, but no head, receives the next at once, and who sent
 * one sends again, though it may be empty. */
typedef struct fs_lane_server {
    uint32_t peer;  /* the rank there that it talks to */
    uint32_t place; /* fs_topo_place() of this lane */
    uint64_t
        sent; /* length of the bundle in the summary before: both ends know */
    uint64_t came;
    char    *out;   /* room for this lane's message, and for instalments */
    char    *early; /* room for a range that is received at once */
    fs_pending_t
        *incoming; /* that range, or the head; NULL: neither is expected */
    fs_instalments_t goes; /* in this summary */
    fs_instalments_t comes;
} fs_lane_server_t;

struct fs_control {
    const fs_topo_t *topo;
    fs_transport_t  *transport;
    uint32_t         rank;
    uint32_t         server;
    uint32_t         leader;
    uint32_t         n_local;
    uint32_t         local;       /* this rank's position there */
    uint32_t         n_lanes;     /* of this server, that exchange messages */
    uint32_t         lane;        /* this rank's; FS_NO_LANE: none of these */
    bool             messages;    /* inside the server */
    bool             has_bundles; /* the last summary */
    bool             all_share;   /* all servers share memory */
    bool             summary;
    uint64_t         bundle_memory;
    uint64_t         bundle_max;  /* of blocks, that fits everywhere */
    uint64_t         bundle_most; /* to any server */
    fs_lane_pair_t  *pairs;       /* [N] */
    uint64_t         least_cut;   /* of any pairs */
    uint64_t         limit;       /* of bundles, in this summary; */
    bool             coarse;      /* they are */
    uint64_t block_bytes;   /* of every block in this summary; 0: they differ */
    bool     all_know;      /* what its rows say: none travel */
    uint64_t kept_bytes[2]; /* lane 0: block_bytes of the matrix that is in each
                               set, if all know it */
    uint64_t round;
    uint32_t n_said;    /* lane: local ranks below have said */
    uint32_t n_leaving; /* lane: bundles with instalments to be sent */
    uint32_t n_here; /* lane: local ranks that had said when it last looked */
    fs_control_step_t  state;
    fs_status_t        status;
    uint32_t           n_pending;
    uint32_t           n_receiving; /* of these, receives */
    uint32_t           n_posted;
    fs_pending_t      *pending; /* [max_pending] of this round */
    uint64_t           wire_bytes;
    fs_vote_t          vote; /* the result */
    fs_control_block_t block;
    uint64_t          *up; /* messages to the leader: one; there [n_local] */
    /* Of a lane: */
    fs_control_head_t *head;   /* what its server says */
    fs_bytes_t        *pieces; /* [1 + n_local] of a bundle */
    uint32_t          *ends;   /* [n_local] of its parts */
    char              *room;   /* of messages, to all servers and from them */
    uint64_t           room_bytes;
    uint32_t          *todo; /* [N] servers whose messages are not received or
                                  expected yet */
    uint32_t           n_todo;
    fs_lane_server_t  *servers; /* [N] */
};

static inline bool fs_control_is_leader(const fs_control_t *control)
{
    return control->rank == control->leader;
}

static inline bool fs_control_is_lane(const fs_control_t *control)
{
    return control->lane != FS_NO_LANE;
}

/* Has a local rank said what it has to say in this round? */
static inline bool fs_control_has_said(const fs_control_t *control,
                                       uint32_t            local)
{
    return fs_control_block_is_round(
        fs_control_block_said(&control->block, local), control->round);
}

/* ---- messages ---- */

/* Post one; an error goes into status, and after one nothing is posted. */
void fs_control_send(fs_control_t *control, uint32_t peer, uint32_t kind,
                     const void *message, uint64_t len_bytes);

/* Likewise, of least to most bytes. NULL after an error. */
fs_pending_t *fs_control_recv(fs_control_t *control, uint32_t peer,
                              uint32_t kind, void *message, uint64_t least,
                              uint64_t most);

/* Inside a server without shared memory: what this rank says goes to the leader, and
 * the result comes, or the leader takes all; it has them all; it says the result. */
void fs_control_post_up(fs_control_t *control);
void fs_control_unpack(fs_control_t *control);
void fs_control_post_down(fs_control_t *control);

/* ---- a lane ---- */

/* FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_lane_alloc(fs_control_t *control);

/* A round begins: receive what other servers say to this lane. */
void fs_lane_begin(fs_control_t *control);

/* All local ranks have said: send what the server says. */
void fs_lane_send(fs_control_t *control);

/* Is the lane through with all servers? */
bool fs_lane_progress(fs_control_t *control);

/* The round is over: the vote of all. */
void fs_lane_add_votes(fs_control_t *control);

/* Does the lane send and receive heads for a server? */
static inline bool fs_lane_has_head(const fs_control_t *control,
                                    uint32_t            server)
{
    return control->servers[server].place == control->pairs[server].head;
}

/* A lane's of a bundle that so many lanes of its pair share. */
typedef struct fs_lane_share {
    uint32_t k;
    uint32_t n; /* 0: this lane has nothing of it */
} fs_lane_share_t;

fs_lane_share_t fs_lane_share(const fs_control_t *control, uint32_t server,
                              uint64_t bundle_len);

/* Bytes from a server to another, if all blocks are equal. */
uint64_t fs_control_uniform_cell(const fs_control_t *control, uint32_t u,
                                 uint32_t v);

/* ---- instalments ---- */

/* Those that a lane sends to another server, or receives from it, at most. */
uint32_t fs_instalments_max(const fs_control_t *control);

/* A round begins: none has left. */
void fs_instalments_reset(fs_control_t *control);

/* Does the bundle to a server go so, and that from there? */
void fs_instalments_find(fs_control_t *control, uint32_t server);

/* Receive that from there. */
void fs_instalments_receive(fs_control_t *control, uint32_t server);

/* Send those whose ranks have all said. */
void fs_instalments_send(fs_control_t *control);

/* The length of a bundle between two servers, if all blocks are equal. */
uint64_t fs_instalments_len(const fs_control_t *control, uint32_t from,
                            uint32_t to);

/* ---- parts ---- */

/* That of a local rank for a server. */
fs_bytes_t fs_control_part_of(const fs_control_t *control, uint32_t local,
                              uint32_t server);

#endif
