/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * libfastsched, the scheduling core: topology, traffic, selection, plans.
 *
 * From the byte counts of one all-to-all(v) and the servers of its ranks it
 * makes one program per rank: a list of sends, receives and copies with
 * dependencies. Nothing here moves a byte, reads a clock or knows MPI or UCX;
 * fastsched_exec.h runs the programs.
 *
 * All calls are pure: equal inputs give byte-for-byte equal outputs on every
 * rank. All may be called from several threads at once on different objects.
 */
#ifndef FASTSCHED_H
#define FASTSCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ---- */

#define FS_STATUS_MAP(X)                                               \
    X(FS_OK, 0, "success")                                             \
    X(FS_INPROGRESS, 1, "operation in progress")                       \
    X(FS_ERR_INVAL, -1, "invalid argument")                            \
    X(FS_ERR_NOMEM, -2, "out of memory")                               \
    X(FS_ERR_OVERFLOW, -3, "a byte count does not fit in 64 bits")     \
    X(FS_ERR_UNREACHABLE, -4, "a peer cannot be reached")              \
    X(FS_ERR_TRUNCATE, -5, "message length differs from the plan")     \
    X(FS_ERR_TRANSPORT, -6, "the transport failed")                    \
    X(FS_ERR_NATIVE, -7, "a call into the MPI failed")                 \
    X(FS_ERR_MISMATCH, -8, "ranks disagree about an argument")         \
    X(FS_ERR_UNSUPPORTED, -9, "not supported by this build")           \
    X(FS_ERR_STALLED, -10, "nothing has moved for too long")           \
    X(FS_ERR_ACCEL, -11, "a call into an accelerator's driver failed") \
    X(FS_ERR_PEER, -12, "another rank has given up")

typedef enum fs_status {
#define X(_name, _value, _text) _name = (_value),
    FS_STATUS_MAP(X)
#undef X
} fs_status_t;

/** One sentence for a status; "unknown status" for a value not in the map. */
const char *fs_strerror(fs_status_t status);

/* ---- topology: which rank sits on which server ---- */

/**
 * Who sits where. Opaque, immutable, owned by the caller of create.
 *
 * Servers are numbered in the order of their lowest rank, local ranks inside a
 * server in rank order. A lane is one sender/receiver slot on the slow network,
 * served by one proxy rank of the server.
 */
typedef struct fs_topo fs_topo_t;

/**
 * @param[in]  n_ranks    1 or more.
 * @param[in]  server_of  [n_ranks] any label; equal labels share a server.
 * @param[in]  max_lanes  Lanes per server, at most; 0: one per local rank.
 * @param[out] topo_p     fs_topo_destroy() frees it.
 * @return FS_OK, FS_ERR_INVAL (no ranks), FS_ERR_NOMEM
 */
fs_status_t fs_topo_create(uint32_t n_ranks, const uint32_t *server_of,
                           uint32_t max_lanes, fs_topo_t **topo_p);

/** NULL is fine. */
void fs_topo_destroy(fs_topo_t *topo);

/**
 * Read a description of the servers: "4x4" (4 servers of 4 consecutive ranks),
 * "4+4+2+1" (uneven), "@0,1,0,1" (the server of each rank).
 *
 * @param[in]  text       See above.
 * @param[in]  n_ranks    What the description must add up to.
 * @param[out] server_of  [n_ranks]
 * @param[out] why        On FS_ERR_INVAL: one line with text, the error and
 *                        what is allowed.
 * @param[in]  why_len    Bytes at why.
 * @return FS_OK, FS_ERR_INVAL
 */
fs_status_t fs_topo_parse(const char *text, uint32_t n_ranks,
                          uint32_t *server_of, char *why, size_t why_len);

uint32_t fs_topo_n_ranks(const fs_topo_t *topo);
uint32_t fs_topo_n_servers(const fs_topo_t *topo);
/** Index of the server of a rank. */
uint32_t fs_topo_server(const fs_topo_t *topo, uint32_t rank);
/** Position of a rank inside its server. */
uint32_t fs_topo_local(const fs_topo_t *topo, uint32_t rank);
/** Ranks on a server. */
uint32_t fs_topo_n_local(const fs_topo_t *topo, uint32_t server);
/** The rank at a position of a server. */
uint32_t fs_topo_rank(const fs_topo_t *topo, uint32_t server, uint32_t local);
/** Lanes of a server, 1 to its number of ranks. */
uint32_t fs_topo_n_lanes(const fs_topo_t *topo, uint32_t server);
/** Position inside the server of the rank that serves a lane. */
uint32_t fs_topo_proxy(const fs_topo_t *topo, uint32_t server, uint32_t lane);
/** The lane a rank serves, FS_NO_LANE if it serves none. */
uint32_t fs_topo_lane(const fs_topo_t *topo, uint32_t rank);
#define FS_NO_LANE UINT32_MAX

/* ---- traffic: what every rank knows of one call ---- */

/**
 * The summary of one call, equal on every rank (DESIGN: N x N numbers cross
 * the slow network, never P x P).
 */
typedef struct fs_traffic {
    uint32_t  n_servers;
    uint64_t *bytes;       /**< [n_servers x n_servers], [src][dst], bytes */
    uint64_t  inter_bytes; /**< sum off the diagonal */
    uint64_t  total_bytes; /**< sum of everything */
    uint64_t  max_inter;   /**< largest inter-server volume of one rank, sent
                                or received, bytes */
} fs_traffic_t;

/**
 * Fill the sums of a traffic whose bytes[] and max_inter are set.
 * @return FS_OK; FS_ERR_OVERFLOW: a sum passes 2^62, the largest we plan.
 */
fs_status_t fs_traffic_sum(fs_traffic_t *traffic);

/**
 * Lower bound of the slow network (FAST Theorem 1): the busiest server's
 * bytes, sent or received, over its lanes, rounded up. Bytes per lane.
 */
uint64_t fs_traffic_lower_bound(const fs_topo_t    *topo,
                                const fs_traffic_t *traffic);

/**
 * Max-to-mean ratio of the ranks' inter-server bytes (SABRE §4), in
 * thousandths, rounded down: n_ranks * max / sum. 0 if nothing is sent.
 */
uint64_t fs_traffic_mtm_milli(const fs_topo_t    *topo,
                              const fs_traffic_t *traffic);

/* ---- bounds: what no schedule can beat ---- */

/**
 * Lower bounds of one exchange: bytes the busiest endpoint of the slow network
 * has to send or to receive, whichever is more. Divided by the bandwidth of a
 * lane they are times. A rank's bytes to itself count nowhere.
 */
typedef struct fs_bounds {
    uint64_t flat;      /**< of ranks that send all bytes to others through
                              their own NIC, as if every rank were a server
                              (DHBvN eq. 3) */
    uint64_t rank_send; /**< most that a rank sends to other servers (eq. 4) */
    uint64_t rank_recv; /**< most that one receives from them (eq. 5) */
    uint64_t rank;      /**< larger of the two: without help inside servers */
    uint64_t server_send;    /**< most that a server sends, over its own lanes,
                               rounded up; bytes per lane */
    uint64_t server_recv;    /**< likewise received */
    uint64_t server;         /**< larger of the two: with help (FAST Theorem 1,
                               SABRE §5.2, DHBvN eq. 10). The
                               result of fs_traffic_lower_bound() */
    uint32_t busiest_rank;   /**< lowest that reaches rank; 0 if none sends */
    uint32_t busiest_server; /**< lowest that reaches server; likewise */
} fs_bounds_t;

/**
 * @param[in]  topo        Servers may differ in ranks and lanes.
 * @param[in]  rank_bytes  [n_ranks x n_ranks] row-major, [src][dst], bytes.
 * @param[out] bounds_p    Set on FS_OK only.
 * @return FS_OK; FS_ERR_OVERFLOW (the sum of all bytes passes 2^62);
 *         FS_ERR_NOMEM. O(n_ranks^2).
 */
fs_status_t fs_bounds(const fs_topo_t *topo, const uint64_t *rank_bytes,
                      fs_bounds_t *bounds_p);

/* ---- selection ---- */

/*
 * Lists of choices, with a row for each: X(value, word, text). The word is what
 * users type and logs print, the text is a short description. Enum, tables,
 * allowed words, help texts and counters are generated from the list, and the
 * word is part of the name of the object that does the work (fs_alg_staged,
 * fs_balance_minmove, fs_decompose_compact).
 */

/** Of a row: its value in an enum; one more, in a sum; its word, in an array that
 *  values index. */
#define FS_LIST_VALUE(_value, ...)       _value,
#define FS_LIST_ONE(...)                 +1
#define FS_LIST_NAME(_value, _word, ...) [_value] = #_word,

/** Algorithms: what serves a call. */
#define FS_ALG_MAP(X)                                          \
    X(FS_ALG_STAGED, staged, "balance, then stages (FAST)")    \
    X(FS_ALG_PIPE2D, pipe2d, "along rails, pipelined (SABRE)") \
    X(FS_ALG_DIRECT, direct, "rank r to r + 1, r + 2, ...")

typedef enum fs_alg {
    FS_ALG_NATIVE, /**< the MPI's own algorithm, "native" */
    FS_ALG_MAP(FS_LIST_VALUE)
    /** "bundles": small blocks of a pair of servers in one message. No plan. */
    FS_ALG_BUNDLES,
    /* Of MPI_Allreduce; no values of parameter algorithm. */
    FS_ALG_RING,      /**< "ring" */
    FS_ALG_STRAGGLAR, /**< "stragglar": for one late rank (StragglAR) */
    /** "eager": all blocks at once, by the MPI's own short messages. No plan. */
    FS_ALG_EAGER
} fs_alg_t;

enum { FS_N_ALGS = FS_ALG_EAGER + 1 };

/** Methods that make lane streams of a tile. */
#define FS_BALANCE_MAP(X)                                                  \
    /* for lanes of equal length, each to the lane of its number (ours) */ \
    X(FS_BALANCE_MINMOVE, minmove, "fewest bytes moved inside servers")

/** Those of the papers, for comparisons: the command has them, this library and
 *  the plugins do not. */
#define FS_PAPERS_BALANCE_MAP(X)                                             \
    /* equal row sums, merged peer transfer, FAST 4.1 */                     \
    X(FS_BALANCE_EQUALIZE, equalize, "FAST")                                 \
    /* blocks by size to the lane of their destination, SABRE Algorithm 1 */ \
    X(FS_BALANCE_GREEDY, greedy, "SABRE")                                    \
    /* rows and columns, until every sum is at most the target, DHBvN IV */  \
    X(FS_BALANCE_ROWCOL, rowcol, "DHBvN")

typedef enum fs_balance {
    FS_BALANCE_MAP(FS_LIST_VALUE) FS_PAPERS_BALANCE_MAP(FS_LIST_VALUE)
} fs_balance_t;

enum { FS_N_BALANCES = FS_BALANCE_MAP(FS_LIST_ONE) };

/** Methods that make a schedule of the server matrix. */
#define FS_DECOMPOSE_MAP(X)                           \
    X(FS_DECOMPOSE_AUTO, auto, "by cost")             \
    /* within 2% of the bound (ours) */               \
    X(FS_DECOMPOSE_COMPACT, compact, "few stages")    \
    /* list scheduling (ours) */                      \
    X(FS_DECOMPOSE_OPENSHOP, openshop, "no stages")   \
    /* FAST 4.2 */                                    \
    X(FS_DECOMPOSE_BIRKHOFF, birkhoff, "exact, FAST") \
    /* of all of these */                             \
    X(FS_DECOMPOSE_BEST, best, "the cheapest, however long it takes")

/** Likewise. */
#define FS_PAPERS_DECOMPOSE_MAP(X)                                          \
    /* lanes permuted, DHBvN III; always balanced with ROWCOL */            \
    X(FS_DECOMPOSE_HIERARCHICAL, hierarchical, "exact, with rowcol, DHBvN") \
    /* the baseline */                                                      \
    X(FS_DECOMPOSE_SPREADOUT, spreadout, "shifted diagonals")

typedef enum fs_decompose {
    FS_DECOMPOSE_MAP(FS_LIST_VALUE) FS_PAPERS_DECOMPOSE_MAP(FS_LIST_VALUE)
} fs_decompose_t;

enum { FS_N_DECOMPOSITIONS = FS_DECOMPOSE_MAP(FS_LIST_ONE) };

/* ---- schedule: the server matrix in time ---- */

/** One message between two servers. A unit of time is what a lane needs for a
 *  byte, so lengths and times are both bytes per lane. */
typedef struct fs_transfer {
    uint32_t src;   /**< server */
    uint32_t dst;   /**< server */
    uint64_t bytes; /**< per lane, never 0 */
    uint64_t start; /**< it ends at start + bytes */
} fs_transfer_t;

/**
 * Who sends to whom and when. At any time a server sends to at most one server
 * and receives from at most one. Read-only; everything lives in one block.
 */
typedef struct fs_schedule {
    fs_decompose_t decompose; /**< what made it, never AUTO */
    uint32_t       n_servers;
    uint32_t       n_stages;    /**< 0: there are none (OPENSHOP) */
    uint64_t       lower_bound; /**< largest row or column sum */
    uint64_t       total;       /**< no transfer ends later; the sum of the
                                     stages */
    uint64_t       digest;      /**< of all transfers, whatever was kept */
    size_t         n_transfers;
    fs_transfer_t *transfers; /**< by start, then src. Those of one stage have
                                   one start, the next stage's start is its
                                   end. */
} fs_schedule_t;

/** Keep the transfers of all servers. */
#define FS_ALL_SERVERS UINT32_MAX

/**
 * Turn a server matrix into a schedule.
 *
 * @param[in]  how          See fs_decompose_t.
 * @param[in]  stage_cost   Read by AUTO and BEST: alpha, the start-up cost of a message,
 *                          as the bytes a lane could send meanwhile.
 * @param[in]  n_servers    1 or more.
 * @param[in]  bytes        [n_servers x n_servers] row-major, [src][dst], bytes
 *                          per lane. The diagonal is ignored. Read during the
 *                          call only.
 * @param[in]  only_server  Keep only the transfers from and to this server;
 *                          FS_ALL_SERVERS keeps all. Totals and digest are
 *                          those of the whole.
 * @param[out] schedule_p   Set on FS_OK only; fs_schedule_destroy() frees it.
 * @return FS_OK; FS_ERR_INVAL (how is unknown or not in this library, no
 *         servers); FS_ERR_OVERFLOW (a line sum passes 2^62, or the total of
 *         SPREADOUT 2^64); FS_ERR_NOMEM
 */
fs_status_t fs_schedule_create(fs_decompose_t how, uint64_t stage_cost,
                               uint32_t n_servers, const uint64_t *bytes,
                               uint32_t        only_server,
                               fs_schedule_t **schedule_p);

/** NULL is fine. */
void fs_schedule_destroy(fs_schedule_t *schedule);

/** The word users type; "unknown" for what is not in this library. */
const char *fs_decompose_name(fs_decompose_t how);

/** What a plan depends on besides the traffic; equal on every rank. */
typedef struct fs_plan_params {
    fs_alg_t       algorithm; /**< only when force_algorithm */
    bool           force_algorithm;
    fs_balance_t   balance;
    fs_decompose_t decompose;
    uint32_t       mtm_threshold_milli; /**< SABRE's 2.2 is 2200 */
    uint64_t       min_bytes;           /**< smaller average inter-server bytes
                                          per rank: native */
    uint64_t       chunk;               /**< bytes of one message, at most */
    uint32_t       window;              /**< messages on their way to a lane */
    uint64_t       staging_limit;       /**< bytes of staging per rank */
    uint64_t       stage_cost;          /**< see fs_schedule_create() */
} fs_plan_params_t;

/** A decision and its reason, a static string. */
typedef struct fs_choice {
    fs_alg_t    alg;
    bool        skewed; /**< MTM at or above the threshold */
    const char *reason;
} fs_choice_t;

/** The word users type; "native"; "unknown" for other values. */
const char *fs_alg_name(fs_alg_t alg);

/** Pick the algorithm of one call (SABRE §4). Integers only. */
fs_choice_t fs_select(const fs_topo_t *topo, const fs_traffic_t *traffic,
                      const fs_plan_params_t *params);

/* ---- plan: the program of one rank ---- */

/** Operations of a program. */
#define FS_OP_MAP(X)                                            \
    /* src to dst, on this rank */                              \
    X(FS_OP_COPY, copy)                                         \
    /* src to a peer */                                         \
    X(FS_OP_SEND, send)                                         \
    /* from a peer to dst */                                    \
    X(FS_OP_RECV, recv)                                         \
    /* dst becomes src op dst, on this rank: src is the left */ \
    /* operand, as "in" of MPI_Reduce_local() */                \
    X(FS_OP_REDUCE, reduce)

typedef enum fs_op_kind { FS_OP_MAP(FS_LIST_VALUE) } fs_op_kind_t;

enum { FS_N_OP_KINDS = FS_OP_MAP(FS_LIST_ONE) };

#define FS_BUFFER_MAP(X)                                        \
    /* the user's send buffer: offset in the block of a peer */ \
    X(FS_BUF_SEND, send)                                        \
    /* the user's receive buffer, likewise */                   \
    X(FS_BUF_RECV, recv)                                        \
    /* this rank's staging pool, offset from its start */       \
    X(FS_BUF_STAGING, staging)

typedef enum fs_buffer { FS_BUFFER_MAP(FS_LIST_VALUE) } fs_buffer_t;

/** A range of bytes. */
typedef struct fs_place {
    uint32_t buffer; /**< fs_buffer_t */
    uint32_t block;  /**< peer whose block it is; 0 for staging */
    uint64_t offset; /**< bytes from the start of the packed block */
} fs_place_t;

/** What a message is for; messages of one kind between two ranks are numbered
 *  in plan order, equally on both. */
#define FS_CHANNEL_MAP(X)                             \
    /* lane to lane between servers; needs a grant */ \
    X(FS_CH_WIRE, wire)                               \
    /* to the proxy that will send it */              \
    X(FS_CH_GATHER, gather)                           \
    /* from the proxy that received it */             \
    X(FS_CH_REDIST, redist)                           \
    /* server-internal traffic of the collective */   \
    X(FS_CH_INTRA, intra)

typedef enum fs_channel {
    FS_CHANNEL_MAP(FS_LIST_VALUE) FS_CH_LAST
} fs_channel_t;

/** One operation. Runs once all operations it waits for are done. */
typedef struct fs_op {
    uint8_t    kind;    /**< fs_op_kind_t */
    uint8_t    channel; /**< fs_channel_t, of a send or receive */
    uint16_t   unused;  /**< 0: plans are compared byte by byte */
    uint32_t   n_after; /**< operations it waits for */
    uint32_t   peer;    /**< rank, of a send or receive */
    uint32_t   seq;     /**< number of the message in (channel, peer) */
    uint32_t   next;    /**< first of its successors in fs_plan_t.next */
    uint32_t   n_next;
    uint64_t   len_bytes;
    fs_place_t src;
    fs_place_t dst;
} fs_op_t;

/** What an allreduce works on: a vector, which is block 0 of the receive buffer,
 *  and, unless in place, of the send buffer. Equal on all ranks. */
typedef struct fs_reduction {
    uint64_t n_elems;
    uint32_t elem_bytes; /**< above 0; no element is ever cut */
    bool     in_place;   /**< a rank's own vector is in its receive buffer, and
                              nobody reads the send buffer */
    uint32_t device_how; /**< fs_device_how() of fastsched_accel.h; 0: no device
                              does it. Plans are the same. */
} fs_reduction_t;

/** The program of one rank. Read-only; everything lives in one block. */
typedef struct fs_plan {
    uint32_t       n_ops;
    uint32_t       n_next;
    fs_op_t       *ops;           /**< [n_ops], in plan order */
    uint32_t      *next;          /**< [n_next] op indexes waiting for an op */
    uint64_t       staging_bytes; /**< size of FS_BUF_STAGING */
    uint32_t       window;     /**< wire receives posted at a time, at most */
    uint64_t       look_ahead; /**< bytes: another sender may be asked for its
                                   first message when the one before has no more
                                   to send */
    fs_alg_t       alg;        /**< what made it */
    fs_decompose_t decompose;  /**< staged only; never AUTO there */
    uint32_t       n_stages;   /**< 0: there are none (see fs_schedule_t) */
    uint64_t total_per_lane;   /**< of the schedule, bytes per lane; 0 if the
                                   algorithm has none */
    uint64_t moved_gather;     /**< bytes this rank sends to proxies */
    uint64_t moved_redist;     /**< bytes this rank forwards as a proxy */
    uint64_t digest; /**< of the whole schedule: equal on every rank */
} fs_plan_t;

/** One rank's view of the traffic, beyond the summary. */
typedef struct fs_local_traffic {
    /** [n_local x n_ranks] bytes that local rank i sends to each rank. */
    const uint64_t *send;
    /** [n_local x n_ranks] bytes that local rank i receives from each rank. */
    const uint64_t *recv;
    bool            send_packed; /**< this rank's send blocks are contiguous */
    bool recv_packed; /**< this rank's receive blocks are contiguous */
} fs_local_traffic_t;

/**
 * Plan one exchange for one rank.
 *
 *   staged  balance inside servers, stages in which each server sends to at
 *           most one server and receives from at most one, redistribute
 *           (FAST §4)
 *   pipe2d  directly along rails while the rest is gathered on its rail, then
 *           the rest (SABRE §6)
 *   direct  rank r to r + 1, r + 2, ...
 *
 * @param[in]  alg     Not FS_ALG_NATIVE: that is the MPI's to run.
 * @param[in]  topo, traffic, params  Equal on every rank, like alg. Borrowed
 *                                    during the call only. params.algorithm is
 *                                    not read.
 * @param[in]  rank    Whose program.
 * @param[in]  local   Counts of all ranks of rank's server.
 * @param[out] plan_p  Set on FS_OK only; fs_plan_destroy() frees it.
 * @return FS_OK; FS_ERR_INVAL (alg or params out of range); FS_ERR_MISMATCH
 *         (local does not add up to traffic); FS_ERR_OVERFLOW (more than 2^24
 *         messages between two ranks: use a larger chunk); FS_ERR_NOMEM
 *
 * Cost: that of fs_schedule_create() if staged, plus the counts of the server's
 * ranks and the operations of this rank.
 */
fs_status_t fs_plan_create(fs_alg_t alg, const fs_topo_t *topo,
                           const fs_traffic_t     *traffic,
                           const fs_plan_params_t *params, uint32_t rank,
                           const fs_local_traffic_t *local, fs_plan_t **plan_p);

/** NULL is fine. */
void fs_plan_destroy(fs_plan_t *plan);

#ifdef __cplusplus
}
#endif

#endif
