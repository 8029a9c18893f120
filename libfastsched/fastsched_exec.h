/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * libfastsched, the executing half: parameters, and alltoallv on one
 * communicator. Knows the MPI by a few callbacks and the network by an
 * opaque fs_net_t (fastsched_ucx.h makes one).
 */
#ifndef FASTSCHED_EXEC_H
#define FASTSCHED_EXEC_H

#include "fastsched.h"
#include "fastsched_accel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- parameters: one table for every wrapper ---- */

/** How much the user sees of each parameter. */
typedef enum fs_param_level {
    FS_PARAM_USER,  /**< for everyone */
    FS_PARAM_TUNER, /**< for system tuners */
    FS_PARAM_DEVEL  /**< for developers of the library */
} fs_param_level_t;

/** One row of the table. All strings are static. */
typedef struct fs_param_info {
    const char      *name;
    const char      *default_value; /**< as a user would type it */
    const char      *allowed;       /**< for messages: "1 to 1024" */
    const char      *help;
    fs_param_level_t level;
} fs_param_info_t;

/** Values of parameter algorithm besides those of fs_alg_t. */
enum {
    FS_ALGORITHM_OFF  = FS_ALG_NATIVE,
    FS_ALGORITHM_AUTO = FS_N_ALGS /**< fs_select() decides */
};

/* Lists as in fastsched.h. */

#define FS_TRANSPORT_MAP(X)                                             \
    X(FS_TRANSPORT_AUTO, auto, "ucx, or mpi if UCX fails")              \
    X(FS_TRANSPORT_UCX, ucx, "UCX; an error if it cannot reach a peer") \
    X(FS_TRANSPORT_MPI, mpi, "the MPI's own messages")

typedef enum fs_transport_param {
    FS_TRANSPORT_MAP(FS_LIST_VALUE)
} fs_transport_param_t;

#define FS_ACCEL_DIRECT_MAP(X)                                           \
    X(FS_ACCEL_DIRECT_AUTO, auto, "if UCX is built for it and has RDMA") \
    X(FS_ACCEL_DIRECT_ALWAYS, always, "if UCX is built for it")          \
    X(FS_ACCEL_DIRECT_NEVER, never, "data is staged through pinned host memory")

typedef enum fs_accel_direct {
    FS_ACCEL_DIRECT_MAP(FS_LIST_VALUE)
} fs_accel_direct_t;

enum {
    FS_SERVERS_MAX    = 4096,
    FS_TRACE_MAX      = 1024,
    FS_RECORD_DIR_MAX = 1024,
    FS_TUNING_MAX     = 1024,
    FS_CORES_MAX      = 256
};

/** Parameters min_bytes and mtm_threshold: the tuner decides. */
#define FS_MIN_BYTES_AUTO UINT64_MAX
enum { FS_MTM_THRESHOLD_AUTO = 0 };

/** What these stand for where there is no tuner. */
enum { FS_MIN_BYTES_USUAL = 65536, FS_MTM_THRESHOLD_USUAL = 2200 };

/** Do ranks that have entered a call begin before the others have? */
typedef enum fs_early_mode {
    FS_EARLY_AUTO,
    FS_EARLY_ON,
    FS_EARLY_OFF
} fs_early_mode_t;

/** Which calls of MPI_Allreduce are ours? */
#define FS_ALLREDUCE_MAP(X)                                               \
    X(FS_ALLREDUCE_OFF, off, "none")                                      \
    X(FS_ALLREDUCE_EXACT, exact, "integers and logical values")           \
    X(FS_ALLREDUCE_ALL, all,                                              \
      "floating point and the program's commutative operations as well, " \
      "whose result depends on the order, which depends on who comes late")

typedef enum fs_allreduce_mode {
    FS_ALLREDUCE_MAP(FS_LIST_VALUE)
} fs_allreduce_mode_t;

/** Values of parameter straggler besides ranks. */
#define FS_STRAGGLER_AUTO UINT32_MAX
#define FS_STRAGGLER_NONE (UINT32_MAX - 1)

/** All parameters, parsed. */
typedef struct fs_params {
    uint32_t algorithm; /**< fs_alg_t, FS_ALGORITHM_AUTO or _OFF */
    uint32_t nonblocking;
    uint32_t frames;        /**< most calls in one */
    uint32_t early;         /**< fs_early_mode_t */
    uint32_t allreduce;     /**< fs_allreduce_mode_t */
    uint32_t straggler;     /**< rank, FS_STRAGGLER_AUTO or _NONE */
    uint64_t allreduce_min; /**< bytes */
    char     progress_thread[FS_CORES_MAX]; /**< "off", "on" or cores */
    uint32_t mtm_threshold; /**< thousandths, or FS_MTM_THRESHOLD_AUTO */
    uint64_t min_bytes;     /**< or FS_MIN_BYTES_AUTO */
    uint32_t lanes;         /**< per server; 0: as many as NICs in use */
    uint32_t nics;          /**< per server; 0: ask UCX and hwloc */
    char     servers[FS_SERVERS_MAX]; /**< empty: ask the MPI */
    uint64_t chunk;                   /**< bytes */
    uint32_t window;
    uint64_t staging_limit; /**< bytes */
    uint32_t transport;     /**< fs_transport_param_t */
    uint32_t decompose;     /**< fs_decompose_t */
    uint64_t stage_cost;    /**< bytes */
    uint32_t calibrate;
    uint32_t tuner;
    char     tuning[FS_TUNING_MAX]; /**< a file; empty: none */
    uint64_t bundle_memory;         /**< bytes per rank */
    uint64_t plan_cache;            /**< bytes */
    uint32_t check;
    uint32_t verbose;
    uint32_t stats;
    char     trace[FS_TRACE_MAX];       /**< a directory; empty: no trace */
    char     record[FS_RECORD_DIR_MAX]; /**< likewise; empty: no recording */
    uint64_t record_limit;              /**< bytes of a file */
    uint64_t rate;       /**< of one NIC, bits per second; 0: unknown */
    uint32_t watchdog;   /**< seconds; 0: off */
    uint64_t tcp_sndbuf; /**< bytes */
    uint32_t accel;
    uint32_t accel_direct; /**< fs_accel_direct_t */
    uint32_t accel_fallback;
} fs_params_t;

/** Row k of the table, in the order of the manual; NULL after the last. */
const fs_param_info_t *fs_params_info(size_t k);

/** Another name that row k goes by, in fs_params_set() as well; NULL: there is
 *  none. */
const char *fs_params_alias(size_t k);

/** May row k change between calls, see fs_native_t.wanted? */
bool fs_params_may_change(size_t k);

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

/* ---- the MPI ---- */

/** A network of this process, shared by its communicators. */
typedef struct fs_net fs_net_t;

/** The NICs that this process may use, shared by its communicators. */
typedef struct fs_nics fs_nics_t;

/** What tuners have found in earlier runs (parameter tuning). */
typedef struct fs_tuning fs_tuning_t;

#define FS_ANY_PEER UINT32_MAX

/**
 * Point-to-point messages of the MPI, on one communicator. A message matches a
 * receive by peer and tag; of equal ones the first posted match first, on both
 * sides, as MPI has it. Requests are the wrapper's; each ends with the test()
 * that does not return FS_INPROGRESS.
 */
typedef struct fs_native_p2p {
    /** Tags 0 to n_tags - 1 are reserved for us; 32768, which every MPI
     *  has, are enough, but calls with more messages are then left to the
     *  native algorithm. */
    uint32_t n_tags;
    /** Once, before the first of these messages, on all ranks together: make what
     *  they need. In fs_comm_create(), or in the first call that goes eager. The
     *  ranks learn of an error on one of them. NULL: they need nothing. */
    fs_status_t (*open)(void *ctx);
    /** The buffer is borrowed until the request ends. FS_OK, or an error and
     *  there is no request. */
    fs_status_t (*isend)(void *ctx, const void *buf, uint64_t len_bytes,
                         uint32_t peer, uint32_t tag, void **request_p);
    /** Likewise; FS_ANY_PEER: from any sender. */
    fs_status_t (*irecv)(void *ctx, void *buf, uint64_t len_bytes,
                         uint32_t peer, uint32_t tag, void **request_p);
    /** Has it ended? Looks only: it is fs_native_t.progress that moves messages.
     *  @param[out] len_p  Bytes received; of a send NULL.
     *  @return FS_INPROGRESS; FS_OK; FS_ERR_TRUNCATE and other errors, that of
     *          a cancelled receive among them */
    fs_status_t (*test)(void *ctx, void *request, uint64_t *len_p);
    /** Try to take back a receive; it still ends. */
    void (*cancel)(void *ctx, void *request);
} fs_native_p2p_t;

/** What the library needs of the MPI around it, on one communicator. */
typedef struct fs_native {
    void *ctx;
    void *
        process; /**< of what belongs to the process: net and what follows it */
    /**
     * Gather len bytes of every rank, in rank order, on every rank. Blocking
     * and collective; serves the network of progress() while it waits.
     */
    fs_status_t (*allgather)(void *ctx, const void *in, size_t len, void *out);
    /**
     * The worst status of all ranks, on every rank: the smallest number. Like
     * allgather(), but it needs no memory that grows with the number of ranks, so
     * that a rank without memory can take part.
     * @return That status; FS_ERR_NATIVE
     */
    fs_status_t (*agree)(void *ctx, fs_status_t mine);
    /**
     * Progress the MPI's own messages, and yield the core if it is shared:
     * called between two turns of our network without events.
     */
    void (*progress)(void *ctx);
    /** The network of this process, created at the first call; NULL if that is
     *  impossible. Called only if ranks are on several servers. */
    fs_net_t *(*net)(void *process);
    /** The reason why net() returned none. NULL: unknown. */
    const char *(*why_no_net)(void *process);
    /** The NICs of this process, found at the first call; NULL: unknown.
     *  Called only if ranks are on several servers. */
    fs_nics_t *(*nics)(void *process);
    /** Print one line about something that does not stop the call. NULL: do
     *  not print it. */
    void (*warn)(void *process, const char *line);
    /** The MPI's own messages, for peers that net cannot reach, and for calls
     *  that go eager. Static; NULL:
     *  not to be used. */
    const fs_native_p2p_t *p2p;
    /** Kinds of device memory that these take: bits 1 << fs_mem_kind_t. */
    unsigned mem_kinds;
    /** Name and version of the MPI: times of its own algorithm are its own. NULL:
     *  unknown. */
    const char *name;
    /** What is in the file of parameter tuning, read at the first call. Asked for
     *  on rank 0 only, which tells the others. NULL, or returning NULL: nothing
     *  is known. */
    const fs_tuning_t *(*tuning)(void *process);
    /** Parameters algorithm, tuner and verbose as this rank wants them from now on:
     * they may be written between calls. A communicator changes its own at its
     * second blocking call with a summary after all its ranks want the same.
     * Borrowed for life; NULL: they stay. */
    const fs_params_t *wanted;
} fs_native_t;

/* ---- a network ---- */

/**
 * Move messages of all communicators. Call it from the MPI's progress engine:
 * a peer may wait for the tail of a call that is over here. Returns at once
 * when another thread is at it.
 * @return Events handled; 0 when idle.
 */
unsigned fs_net_progress(fs_net_t *net);

/**
 * Free the network. No fs_comm_t may use it any more, and every peer must have
 * ended its last call (MPI_Finalize's own barrier ensures that): an alltoallv
 * ends only when its receivers have confirmed that all data has arrived, so
 * there is nothing left to flush. NULL is fine. If a communicator has been
 * lost, operations may never end; then UCX's memory for them is not freed.
 */
void fs_net_destroy(fs_net_t *net);

/* ---- NICs ---- */

/**
 * Find the NICs of this server that the process may use: those in
 * UCX_NET_DEVICES, if that is a list; otherwise those that hwloc finds usable.
 * That takes some milliseconds.
 *
 * @param[in]  n_nics  Parameter nics: this number. 0: find them.
 * @param[out] nics_p  fs_nics_destroy() frees it. Finding none is not an error.
 * @return FS_OK, FS_ERR_NOMEM
 */
fs_status_t fs_nics_create(uint32_t n_nics, fs_nics_t **nics_p);

/** NULL is fine. */
void fs_nics_destroy(fs_nics_t *nics);

/**
 * The device to which the wire should be bound, as UCX names it: set by the
 * first fs_comm_create() before it opens the net. NULL: leave it to UCX,
 * because no NIC is known by name, or because UCX_NET_DEVICES is "all" or a
 * list of devices to exclude. Owned by nics.
 */
const char *fs_nics_device(const fs_nics_t *nics);

/* ---- alltoallv on one communicator ---- */

typedef struct fs_comm fs_comm_t;

/** Who this rank is. */
typedef struct fs_member {
    uint32_t n_ranks;
    uint32_t rank;
    uint32_t server_label; /**< equal on ranks of one server, and only there */
    /** The MPI says so. If by that no two ranks share a server, the hosts decide:
     *  MPICH 5.0 over UCX alone never has two. */
    bool server_from_mpi;
    /** An earlier error of the wrapper on this rank alone (out of memory): then
     *  all ranks fail. */
    fs_status_t status;
    /** Its buffers may be on an accelerator: then reductions that no device does are
     *  the MPI's, on all ranks. */
    bool has_accel;
    /* The following appears in traces. */
    uint32_t    world_rank; /**< in this process's MPI_COMM_WORLD */
    const char *comm_name;  /**< for messages; NULL: none. Not kept. */
} fs_member_t;

/**
 * Set up one communicator. Collective and blocking; the outcome is the same on
 * every rank.
 *
 * @param[in]  native  Copied.
 * @param[in]  params  Copied.
 * @param[out] comm_p  On FS_OK; fs_comm_destroy() frees it.
 * @param[out] why     On an error: one line for the user.
 * @return FS_OK; FS_ERR_UNREACHABLE (some rank has no net or cannot reach a
 *         peer); FS_ERR_MISMATCH (parameters differ between ranks);
 *         FS_ERR_NOMEM (on some rank) or the status of that rank's member;
 *         FS_ERR_NATIVE
 */
fs_status_t fs_comm_create(const fs_native_t *native, const fs_params_t *params,
                           const fs_member_t *member, fs_comm_t **comm_p,
                           char *why, size_t why_len);

/** Local. NULL is fine. */
void fs_comm_destroy(fs_comm_t *comm);

/** Its ranks on their servers. Owned by coll. */
const fs_topo_t *fs_comm_topo(const fs_comm_t *comm);

/** False if every call will be left to the native algorithm: the caller may
 *  use it directly. The same on every rank. */
bool fs_comm_active(const fs_comm_t *comm);

/** Can this rank take part in a call that the others want to run? */
typedef enum fs_consent {
    FS_CONSENT_YES,
    FS_CONSENT_NATIVE, /**< only the native algorithm can read its buffers */
    FS_CONSENT_OURS,   /**< the native algorithm cannot */
    FS_CONSENT_NO      /**< neither can */
} fs_consent_t;

/** Of a call: where its blocks are. Zeroed: on the host. */
typedef struct fs_call_device {
    fs_mem_t    send_mem; /**< on a device: the side is contiguous */
    fs_mem_t    recv_mem;
    fs_accel_t *accel; /**< of these devices; only the plugins make one */
    /** Data on a device is staged through host memory. Otherwise the network
     *  accesses it directly, and both sides are contiguous. */
    bool         staged;
    fs_consent_t consent;
} fs_call_device_t;

/** How much a rank sends and receives in one call, and all that is to be known of it:
 *  one pass over the ranks fills it. */
typedef struct fs_counts {
    uint32_t        n_ranks;
    uint32_t        rank;
    const uint32_t *server_of;  /**< [n_ranks]; NULL: all on one */
    uint64_t       *send_bytes; /**< [n_ranks] like the next */
    uint64_t       *recv_bytes;
    uint64_t       *row; /**< [n_servers] bytes sent to each; UINT64_MAX if a
                                   sum does not fit */
    uint64_t        sent_bytes;     /**< to all, this rank among them */
    uint64_t        sent_inter;     /**< to other servers */
    uint64_t        received_inter; /**< from other servers */
    uint64_t send_digest; /**< sums over all ranks: equal if what is sent is */
    uint64_t received_digest; /**< what is expected */
} fs_counts_t;

/** @return FS_OK, FS_ERR_NOMEM */
fs_status_t fs_counts_init(fs_counts_t *counts, uint32_t n_ranks,
                           uint32_t rank);

/** Zeroed counts are fine. */
void fs_counts_fini(fs_counts_t *counts);

/** A call begins, on a communicator with these servers; NULL: the MPI will serve
 *  it anyway. Then fs_counts_add() once for each rank. topo is borrowed. */
void fs_counts_begin(fs_counts_t *counts, const fs_topo_t *topo);

/** What this rank sends to a peer and receives from it, bytes. */
void fs_counts_add(fs_counts_t *counts, uint32_t peer, uint64_t send_bytes,
                   uint64_t recv_bytes);

/** One call on this rank, in bytes. Borrowed until the call ends. */
typedef struct fs_call {
    fs_reduction_t     reduction; /**< of MPI_Allreduce; else elem_bytes is 0 */
    const fs_counts_t *counts;
    /** [n_ranks] start of each block; NULL if blocks are not contiguous, then
     *  pack() is asked for ranges of them. */
    const void *const *send_block;
    void *const       *recv_block; /**< likewise, unpack() */
    fs_call_device_t   device;
    /** The blocks are there only when the call is prepared, see prepare(): until
     *  then there is pack(), or unpack(), of whole blocks. */
    bool  send_late;
    bool  recv_late;
    void *ctx;
    /** Copy bytes offset to offset + len of a send block, as packed by the
     *  MPI's datatype engine. Offsets of a block come in any order. */
    fs_status_t (*pack)(void *ctx, uint32_t block, uint64_t offset,
                        uint64_t len_bytes, void *dst);
    fs_status_t (*unpack)(void *ctx, uint32_t block, uint64_t offset,
                          uint64_t len_bytes, const void *src);
    /** dst[i] = src[i] op dst[i] for all elements in len_bytes, which are
     *  whole ones, on the host: MPI_Reduce_local(src, dst, ...). Only for
     *  plans with reductions. */
    fs_status_t (*reduce)(void *ctx, const void *src, void *dst,
                          uint64_t len_bytes);
    /** Called once all ranks know that they will run the call, before any
     *  block is read; may set the blocks. NULL: nothing to prepare. If it fails
     *  (out of memory) on any rank, all ranks use the native algorithm; but if
     *  the call goes eager, the communicator is lost. */
    fs_status_t (*prepare)(void *owner);
    /** Called before bytes of a send block are read, any number of times: it may
     *  be filled only then. An error ends the call. NULL: it is there. */
    fs_status_t (*fetch)(void *owner, uint32_t block);
    /** Called when so many bytes more of a receive block are there, but not for
     *  small blocks that came with the summary. An error ends the call. NULL:
     *  nobody asks. */
    fs_status_t (*landed)(void *owner, uint32_t block, uint64_t len_bytes);
    void *owner;
} fs_call_t;

/**
 * One MPI_Alltoallv. Collective and blocking.
 *
 * @param[out] ran  False: nothing was moved, on any rank; the caller runs the
 *                  native algorithm.
 * @return FS_OK; FS_ERR_MISMATCH (counts differ, fs_comm_error() tells where; with
 *         parameter check the pair); FS_ERR_NOMEM (for that check, on some rank);
 *         FS_ERR_UNSUPPORTED (the call cannot be served, see
 *         fs_consent_t: nothing was moved); an error of the transport,
 *         FS_ERR_NOMEM or FS_ERR_TRUNCATE (of an eager call: out of memory;
 *         counts differ), FS_ERR_ACCEL, FS_ERR_STALLED (parameter watchdog), or FS_ERR_PEER
 *         (another rank has had one of these), after which the communicator is
 *         unusable and the network may still write into the receive blocks.
 */
fs_status_t fs_comm_alltoallv(fs_comm_t *comm, const fs_call_t *call,
                              bool *ran);

/**
 * After the native algorithm has served a call that fs_comm_alltoallv() left to
 * it: the tuner may need the time. Collective.
 *
 * @return FS_OK; an error of the transport, after which the communicator is
 *         unusable.
 */
fs_status_t fs_comm_native_done(fs_comm_t *comm);

/** One line about the last error of a call. Owned by coll. */
const char *fs_comm_error(const fs_comm_t *comm);

/** The algorithm of the last call. */
fs_alg_t fs_comm_last_alg(const fs_comm_t *comm);

/**
 * One line about the last call: algorithm and reason, skew, bytes;
 * with parameter verbose also the time of the slowest rank, from its entry to
 * its exit, and with parameter rate the lower bound: the busiest server's bytes
 * over its lanes, each at that rate.
 */
void fs_comm_describe(const fs_comm_t *comm, const char *comm_name, char *text,
                      size_t text_len);

/**
 * One line about class k of the classes of calls that the tuner has settled, lowest
 * first: the fastest algorithm. False: there are no more than k.
 */
bool fs_comm_describe_tuner(const fs_comm_t *comm, uint32_t k, char *text,
                            size_t text_len);

/** Sums over the calls of one communicator, for this rank. */
typedef struct fs_comm_stats {
    uint64_t calls;
    uint64_t calls_by[FS_N_ALGS]; /**< of these, by fs_alg_t; native: blocking
                                       ones that were left to the MPI */
    uint64_t ns_by[FS_N_ALGS];    /**< from entry to exit of those that were
                                       blocking */
    uint64_t waited_ns;           /**< in these, until all ranks had entered */
    uint64_t summary_ns;          /**< in the summary exchange */
    uint64_t plan_ns;             /**< in planning and agreeing on it */
    uint64_t run_ns;              /**< in moving the data */
    uint64_t copy_ns;      /**< of that, with copies from, to or on a device */
    uint64_t inter_bytes;  /**< between servers, all ranks, in those calls,
                                but for eager ones without a summary */
    uint64_t moved_bytes;  /**< gathered or redistributed by this rank */
    uint64_t meta_bytes;   /**< of summaries this rank sent between servers */
    uint64_t peak_staging; /**< bytes */
    uint64_t dropped;      /**< messages to this process with a wrong secret,
                                all communicators */
    uint64_t peak_senders; /**< that sent to this rank from other servers at one
                                 time, without those that have at most the
                                 plan's look_ahead left */
    uint64_t cache_hits;   /**< calls that used the plan of an earlier one */
    uint64_t framed;       /**< calls that had a schedule with others */
    uint64_t early;        /**< calls that began before all had entered */
    uint64_t early_bytes;  /**< of these, this rank's sends before that */
    uint64_t tuner_probes; /**< calls of another algorithm to measure it */
    uint64_t tuner_gone_back; /**< classes settled on the native algorithm */
    uint64_t stage_cost;      /**< bytes, given or measured; 0: no call yet */
    uint64_t apart_calls;  /**< calls of which the next three tell, all but the
                                last one, those without a summary, and the one
                                before several of these that go eager */
    uint64_t apart_ns;     /**< sum: from the first entry to the last */
    uint64_t apart_max_ns; /**< likewise, of one call */
    uint64_t last_rank;    /**< that entered last most often, with parameter
                                stats or verbose */
    uint64_t last_calls;   /**< and in how many calls */
} fs_comm_stats_t;

/** Copy out the sums. */
void fs_comm_get_stats(const fs_comm_t *comm, fs_comm_stats_t *stats_p);

#ifdef __cplusplus
}
#endif

#endif
