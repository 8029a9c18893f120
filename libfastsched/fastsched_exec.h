/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * libfastsched, the executing half: parameters, and alltoallv on one
 * communicator. Knows the host MPI by a few callbacks and the network by an
 * opaque fs_net_t (fastsched_ucx.h makes one).
 */
#ifndef FASTSCHED_EXEC_H
#define FASTSCHED_EXEC_H

#include "fastsched.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- parameters: one table for every wrapper ---- */

/** How much the user sees of each parameter. */
typedef enum fs_param_level {
    FS_PARAM_USER,  /**< for everyone */
    FS_PARAM_TUNER, /**< for who tunes a machine */
    FS_PARAM_DEVEL  /**< for who works on the library */
} fs_param_level_t;

/** One row of the table. All strings are static. */
typedef struct fs_param_info {
    const char      *name;
    const char      *default_value; /**< as a user would type it */
    const char      *allowed;       /**< for messages: "1 to 1024" */
    const char      *help;
    fs_param_level_t level;
} fs_param_info_t;

/** What the host's own algorithm is left to do. */
typedef enum fs_algorithm_param {
    FS_ALGORITHM_AUTO,
    FS_ALGORITHM_STAGED,
    FS_ALGORITHM_PIPE2D,
    FS_ALGORITHM_DIRECT,
    FS_ALGORITHM_OFF
} fs_algorithm_param_t;

typedef enum fs_transport_param {
    FS_TRANSPORT_AUTO, /**< UCX; the host's algorithm where it cannot reach */
    FS_TRANSPORT_UCX   /**< UCX; an error where it cannot reach */
} fs_transport_param_t;

enum { FS_NODES_MAX = 4096 };

/** All parameters, parsed. */
typedef struct fs_params {
    uint32_t algorithm;     /**< fs_algorithm_param_t */
    uint32_t mtm_threshold; /**< thousandths */
    uint64_t min_bytes;
    uint32_t lanes;               /**< per server; 0: one per local rank */
    char     nodes[FS_NODES_MAX]; /**< empty: ask the host MPI */
    uint64_t chunk;               /**< bytes */
    uint32_t window;
    uint64_t staging_limit; /**< bytes */
    uint32_t transport;     /**< fs_transport_param_t */
    uint32_t balance;       /**< fs_balance_t */
    uint32_t decompose;     /**< fs_decompose_t */
    uint64_t stage_cost;    /**< bytes */
    uint32_t check;
    uint32_t verbose;
    uint32_t stats;
    uint64_t rate;       /**< of one NIC, bits per second; 0: unknown */
    uint64_t tcp_sndbuf; /**< bytes */
} fs_params_t;

/** Row k of the table, in the order of the manual; NULL after the last. */
const fs_param_info_t *fs_params_info(size_t k);

/** All defaults. */
void fs_params_init(fs_params_t *params);

/**
 * Set one parameter from text.
 *
 * @param[out] why  On FS_ERR_INVAL: names parameter and value and says what is
 *                  allowed.
 * @return FS_OK, FS_ERR_INVAL
 */
fs_status_t fs_params_set(fs_params_t *params, const char *name,
                          const char *value, char *why, size_t why_len);

/** Do the parameters fit together? As fs_params_set(). */
fs_status_t fs_params_check(const fs_params_t *params, char *why,
                            size_t why_len);

/* ---- the host MPI ---- */

/** A network of this process, shared by its communicators. */
typedef struct fs_net fs_net_t;

/** What the library needs of the MPI around it, on one communicator. */
typedef struct fs_host {
    void *ctx;
    /**
     * Gather len bytes of every rank, in rank order, on every rank. Blocking
     * and collective; serves the network of progress() while it waits.
     */
    fs_status_t (*allgather)(void *ctx, const void *in, size_t len, void *out);
    /**
     * Let the MPI serve its own messages, and give up the core if it is shared:
     * called between two looks at our network when nothing happened.
     */
    void (*progress)(void *ctx);
    /** The network of this process, made at the first call; NULL if that is
     *  impossible. Asked for only when ranks are on several servers. */
    fs_net_t *(*net)(void *ctx);
} fs_host_t;

/* ---- a network ---- */

/**
 * Move messages of all communicators. Call it from the MPI's progress engine:
 * a peer may wait for the tail of a call that is over here. Returns at once
 * when another thread is at it.
 * @return Events handled; 0 when idle.
 */
unsigned fs_net_progress(fs_net_t *net);

/**
 * Free the network. No fs_coll_t may use it any more, and every peer must have
 * ended its last call (MPI_Finalize's own barrier is proof of that): an
 * alltoallv ends only when its receivers have said that all has arrived, so
 * there is nothing left to flush. NULL is fine.
 */
void fs_net_destroy(fs_net_t *net);

/* ---- alltoallv on one communicator ---- */

typedef struct fs_coll fs_coll_t;

/** Who this rank is. */
typedef struct fs_member {
    uint32_t n_ranks;
    uint32_t rank;
    uint32_t server_label; /**< equal on ranks of one server, and only there */
} fs_member_t;

/**
 * Set up one communicator. Collective and blocking; the outcome is the same on
 * every rank.
 *
 * @param[in]  host    Copied.
 * @param[in]  params  Copied.
 * @param[out] coll_p  On FS_OK; fs_coll_destroy() frees it.
 * @param[out] why     On an error: one line for people.
 * @return FS_OK; FS_ERR_UNREACHABLE (some rank has no net or cannot reach a
 *         peer); FS_ERR_MISMATCH (parameters differ between ranks);
 *         FS_ERR_NOMEM (alone: a rank that cannot even hold what the gathers
 *         return leaves the others behind); FS_ERR_HOST
 */
fs_status_t fs_coll_create(const fs_host_t *host, const fs_params_t *params,
                           const fs_member_t *member, fs_coll_t **coll_p,
                           char *why, size_t why_len);

/** Local. NULL is fine. */
void fs_coll_destroy(fs_coll_t *coll);

/** False if every call will be left to the host's own algorithm: the caller may
 *  go there at once. The same on every rank. */
bool fs_coll_active(const fs_coll_t *coll);

/** The buffers of one call, in bytes. Borrowed until the call ends. */
typedef struct fs_call {
    const uint64_t *send_bytes; /**< [n_ranks] */
    const uint64_t *recv_bytes; /**< [n_ranks] */
    /** [n_ranks] start of each block; NULL if blocks are not contiguous, then
     *  pack() is asked for ranges of them. */
    const void *const *send_block;
    void *const       *recv_block; /**< likewise, unpack() */
    void              *ctx;
    /** Copy bytes offset to offset + len of a send block, as packed by the
     *  MPI's datatype engine. Offsets of a block come in any order. */
    fs_status_t (*pack)(void *ctx, uint32_t block, uint64_t offset,
                        uint64_t len_bytes, void *dst);
    fs_status_t (*unpack)(void *ctx, uint32_t block, uint64_t offset,
                          uint64_t len_bytes, const void *src);
    /** Called once all ranks know that they will run the call, before any
     *  block is read; may set the blocks. NULL: nothing to prepare. If it fails
     *  (out of memory) on any rank, all ranks use the host's algorithm. */
    fs_status_t (*prepare)(void *ctx);
} fs_call_t;

/**
 * One MPI_Alltoallv. Collective and blocking.
 *
 * @param[out] ran  False: nothing was moved, on any rank; the caller runs the
 *                  host's own algorithm.
 * @return FS_OK; FS_ERR_MISMATCH (parameter check: fs_coll_error() names the
 *         pair); an error of the transport, after which the communicator is
 *         unusable.
 */
fs_status_t fs_coll_alltoallv(fs_coll_t *coll, const fs_call_t *call,
                              bool *ran);

/** One line about the last error of a call. Owned by coll. */
const char *fs_coll_error(const fs_coll_t *coll);

/** The last call: what ran. */
fs_alg_t fs_coll_last_alg(const fs_coll_t *coll);

/**
 * One true line about the last call, for people: what ran and why, skew, bytes;
 * with parameter verbose also the time of the slowest rank, from its entry to
 * its exit, and with parameter rate the lower bound: the busiest server's bytes
 * over its lanes, each at that rate.
 */
void fs_coll_describe(const fs_coll_t *coll, const char *comm_name, char *text,
                      size_t text_len);

enum { FS_N_ALGS = FS_ALG_DIRECT + 1 };

/** Sums over the calls of one communicator, this rank's view. */
typedef struct fs_coll_stats {
    uint64_t calls;
    uint64_t calls_by[FS_N_ALGS]; /**< of these, run here, by fs_alg_t */
    uint64_t summary_ns;   /**< in the summary exchange */
    uint64_t plan_ns;      /**< in planning and agreeing on it */
    uint64_t run_ns;       /**< in moving the data */
    uint64_t inter_bytes;  /**< between servers, all ranks, calls run here */
    uint64_t moved_bytes;  /**< gathered or redistributed by this rank */
    uint64_t meta_bytes;   /**< of summaries this rank sent between servers */
    uint64_t peak_staging; /**< bytes */
} fs_coll_stats_t;

/** Copy out the sums. */
void fs_coll_get_stats(const fs_coll_t *coll, fs_coll_stats_t *stats_p);

#ifdef __cplusplus
}
#endif

#endif
