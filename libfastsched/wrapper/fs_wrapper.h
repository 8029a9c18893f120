/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * What every wrapper of an MPI needs once in a process: parameters, the network
 * and the NICs at the first need, sums, the lines that people see; and once for
 * each communicator and call.
 */
#ifndef FS_WRAPPER_H
#define FS_WRAPPER_H

#include "accel/fs_accel.h"
#include "fastsched_exec.h"
#include "wrapper/fs_summary.h"

#include <pthread.h>
#include <stddef.h>

typedef struct fs_wrapper_comm fs_wrapper_comm_t;

/** How a call of a communicator of ours was served, on this rank. */
typedef struct fs_served {
    fs_alg_t alg;
    bool     blocking; /**< the thread that has called is still in it; else any
                               that drives the network ends it */
    uint64_t inter_bytes; /**< between servers, all ranks */
    uint64_t entered_ns;  /**< CLOCK_MONOTONIC */
    uint64_t waited_ns;   /**< until all ranks had entered; 0 also if unknown */
} fs_served_t;

/** One per process. The wrapper sets what comes first, and lock; the rest is zero
 *  then, and it may read it. */
typedef struct fs_wrapper {
    /** Print one line, from any rank; the wrapper puts its name in front. */
    void (*say)(const char *line);
    /** The same before something that may end the job: there is time to read it. */
    void (*say_last)(const char *line);
    /** fs_ucx_create() */
    fs_status_t (*create_net)(uint64_t tcp_sndbuf, const char *net_device,
                              fs_net_t **net_p, char *why, size_t why_len);
    /** The network is open: the MPI's progress may drive it from now on. Or NULL. */
    void (*net_is_up)(fs_net_t *net);
    /** A call has ended well. Or NULL. */
    void (*call_is_over)(const fs_wrapper_comm_t *comm,
                         const fs_served_t       *served);
    bool is_driven; /**< it does, on all ranks; else nonblocking calls need the
                            thread of parameter progress_thread */
    bool packs_in_calls;  /**< what drives it must not call the MPI: nonblocking
                            calls are packed where they start and unpacked where
                            they end */
    bool on_world_rank_0; /**< this process prints for the job */
    const char *served_by; /**< MPI_COMM_WORLD's calls, and why; NULL: by us */
    bool declined; /**< some communicator is left to the MPI, with a message */

    fs_params_t     params;
    uint32_t       *world_server; /**< parameter servers; NULL: ask the MPI */
    fs_net_t       *net;
    fs_status_t     net_status;  /**< of making it */
    char            no_net[256]; /**< why it could not be made */
    fs_nics_t      *nics;
    fs_accel_t     *accel;      /**< fs_wrapper_find_accel(), like the next */
    unsigned        mem_kinds;  /**< of device memory that the MPI takes itself:
                                    bits 1 << fs_mem_kind_t */
    bool            warned;     /**< that the network takes none of it */
    pthread_mutex_t lock;       /**< two threads may set up two communicators */
    struct fs_operation *ended; /**< fs_wrapper_next_ended() */

    char        *mpi_name;    /**< with its version; NULL: not asked for yet */
    fs_tuning_t *tuning;      /**< from the file of parameter tuning */
    bool         has_tuning;  /**< the file has been read */
    fs_tuning_t *learned;     /**< to be added to the file; NULL: nothing */
    bool         tuning_told; /**< an error of the file has been reported */
    bool         record_told; /**< likewise, of a recording */

    fs_wrapper_comm_t *comms;               /**< not reported yet */
    bool               spans_servers;       /**< some communicator of calls */
    unsigned           last_algorithm;      /**< fs_alg_t */
    unsigned long long calls;               /**< fs_wrapper_serve() */
    unsigned long long calls_by[FS_N_ALGS]; /**< of these, run by us */
    unsigned long long inter_bytes;         /**< between servers, all ranks */
    fs_summary_t       summary; /**< of communicators that have ended */
} fs_wrapper_t;

/**
 * Parse all parameters.
 *
 * @param[in]  value  The text of row k of the table, see fs_params_info();
 *                    NULL: its default.
 * @param[out] why    On FS_ERR_INVAL: one line, with name, value and what is
 *                    allowed.
 * @return FS_OK, FS_ERR_INVAL
 */
fs_status_t fs_wrapper_parse(fs_wrapper_t *wrapper,
                             const char *(*value)(size_t                 k,
                                                  const fs_param_info_t *info),
                             char *why, size_t why_len);

/**
 * Fill world_server from parameter servers, if it is set.
 *
 * @param[in] n_ranks  Of the whole job.
 * @return FS_OK, FS_ERR_INVAL, FS_ERR_NOMEM; then why is a line as above
 */
fs_status_t fs_wrapper_place(fs_wrapper_t *wrapper, uint32_t n_ranks, char *why,
                             size_t why_len);

/**
 * Report variables of the environment that have this prefix but are not the
 * name of a parameter: a mistyped name must not be ignored silently.
 *
 * @param[in] is_known  Is NAME=VALUE, what follows the prefix, one?
 * @param[in] page      Of the manual.
 */
void fs_wrapper_look_for_unknown(const fs_wrapper_t *wrapper,
                                 const char         *prefix,
                                 bool (*is_known)(const char *entry),
                                 const char *page);

enum { FS_SETTINGS_MAX = 2048 };

/**
 * A record of the settings that must be equal on all processes of the job. Two
 * processes can serve a communicator together if their records are equal.
 *
 * @param[in] version   Of the wrapper.
 * @param[in] priority  What decides whether the MPI takes it; one line.
 */
void fs_wrapper_settings(const fs_wrapper_t *wrapper, const char *version,
                         const char *priority, char record[FS_SETTINGS_MAX]);

/** One line for the user: the first difference of two records. */
void fs_wrapper_explain_settings(const char *record_a, uint32_t rank_a,
                                 const char *record_b, uint32_t rank_b,
                                 char *why, size_t why_len);

/** Has the MPI taken both, if it has taken one? */
bool fs_wrapper_same_priority(const char *record_a, const char *record_b);

/**
 * Look for accelerators, unless some are found or parameter accel is off. At
 * the first call of each communicator: a program may load a driver late. Any
 * thread.
 */
void fs_wrapper_find_accel(fs_wrapper_t *wrapper);

/** Are there any? Then all fields about them are set. Any thread. */
static inline bool fs_wrapper_has_accel(const fs_wrapper_t *wrapper)
{
    return __atomic_load_n(&wrapper->accel, __ATOMIC_ACQUIRE) != NULL;
}

/** The network of the process; NULL: there is none yet. Any thread. */
static inline fs_net_t *fs_wrapper_net(const fs_wrapper_t *wrapper)
{
    return __atomic_load_n(&wrapper->net, __ATOMIC_ACQUIRE);
}

/** Free all that the process holds, see fs_net_destroy(). */
void fs_wrapper_fini(fs_wrapper_t *wrapper);

/** The end of the process: the sums of all its calls (verbose, stats). */
void fs_wrapper_summary(const fs_wrapper_t *wrapper);

/**
 * What fs_native_t has to say of the process: its network, its NICs, its warnings.
 * The wrapper sets the rest.
 */
fs_native_t fs_wrapper_native(fs_wrapper_t *wrapper, void *ctx);

/* ---- the buffers of a call ---- */

/** Those of one call. The wrapper describes it by what comes first. */
typedef struct fs_buffers {
    fs_counts_t  counts;
    const void **send_block;      /**< [n_ranks] first byte of each */
    void       **recv_block;      /**< likewise */
    bool         in_place;        /**< the send side is as the receive side */
    bool         send_contiguous; /**< its bytes are where its blocks are; else
                                       pack() */
    bool         recv_contiguous; /**< likewise, unpack() */
    fs_reduction_t reduction; /**< of MPI_Allreduce, with block 0 alone; else
                                   elem_bytes is 0 */
    bool send_whole; /**< it is not, and pack() takes whole blocks only */
    bool recv_whole; /**< likewise, unpack() */
    /* What follows is the library's. */
    fs_mem_t    send_mem; /**< in place: of the receive buffer */
    fs_mem_t    recv_mem;
    void       *copy; /**< of the send blocks, before they are overwritten */
    uint64_t    copy_len;
    fs_mem_t    copy_mem;
    fs_accel_t *accel; /**< of copy_mem */
    void *landing; /**< of receive blocks that are unpacked as a whole, or of
                              a vector that a device does not reduce */
    bool *packed;  /**< [n_ranks] blocks that are in the copy */
    uint64_t *missing; /**< [n_ranks] bytes of blocks of the landing; 0: it has
                              been unpacked */
    fs_call_t call;
} fs_buffers_t;

/** For fs_wrapper_calls_t.describe() of an allreduce, between contiguous vectors;
 *  send is NULL if it is in place; device_how as in fs_reduction_t. */
void fs_buffers_reduce(fs_buffers_t *buffers, const void *send, void *recv,
                       uint64_t n_elems, uint32_t elem_bytes,
                       uint32_t device_how);

/* ---- a communicator ---- */

/** One communicator of the MPI. */
struct fs_wrapper_comm {
    fs_wrapper_t             *wrapper;
    const char               *name; /**< borrowed */
    uint32_t                  n_ranks;
    uint32_t                  rank;
    fs_comm_t                *ours;   /**< NULL: every call is the MPI's own */
    struct fs_wrapper_record *record; /**< fs_wrapper_record.h; NULL: off */
    fs_buffers_t              buffers;
    fs_wrapper_comm_t        *next; /**< of those not reported yet */
};

/**
 * At its first call: fs_comm_create(), and what there is to say about it.
 * Collective; the outcome is the same on every rank.
 *
 * @param[in]  params  The wrapper's, as they were when the call began: MPI_T may
 *                     write others meanwhile.
 * @param[in]  member  Its comm_name is borrowed for life.
 * @param[out] comm    Also on an error fit for fs_wrapper_serve().
 * @return FS_OK, and coll may be NULL; FS_ERR_UNREACHABLE: parameter transport is
 *         "ucx", and the call fails; FS_ERR_NOMEM on some rank
 */
fs_status_t fs_wrapper_open(fs_wrapper_t *wrapper, fs_wrapper_comm_t *comm,
                            const fs_params_t *params,
                            const fs_native_t *native,
                            const fs_member_t *member);

/** The same in a thread: its native functions are for the set-up alone. Once it has
 *  others it is listed: fs_wrapper_report_all() finds it. */
fs_status_t fs_wrapper_open_unlisted(fs_wrapper_t      *wrapper,
                                     fs_wrapper_comm_t *comm,
                                     const fs_params_t *params,
                                     const fs_native_t *native,
                                     const fs_member_t *member);
void        fs_wrapper_list(fs_wrapper_comm_t *comm);

/** End the nonblocking calls that are under way. */
void fs_wrapper_wait(fs_wrapper_comm_t *comm);

/**
 * All ranks of a communicator are here, and it gets no more calls; those that are under
 * way end. Tells its sums (parameter stats) and what the tuner has decided (verbose).
 * Collective with parameter stats: one rank tells the sums of all.
 */
void fs_wrapper_report(fs_wrapper_comm_t *comm);

/**
 * The end of a communicator, with no call under way; more than once is fine. Without
 * fs_wrapper_report() before it each rank tells its own sums.
 */
void fs_wrapper_close(fs_wrapper_comm_t *comm);

/**
 * The sums of all communicators that are left, in an order that is the same on all
 * ranks; then, on one rank, what tuners have found goes into the file of parameter
 * tuning. All ranks of the job are here.
 *
 * @param[in] then  Called after each with fs_native_t.ctx, and may close it. NULL:
 *                  nothing to do.
 */
void fs_wrapper_report_all(fs_wrapper_t *wrapper, void (*then)(void *ctx));

/* ---- a call ---- */

/** How a collective of an MPI is described and done, ctx is one call of it. */
typedef struct fs_wrapper_calls {
    const char                 *name;       /**< "MPI_Alltoallv" */
    const struct fs_collective *collective; /**< coll/fs_collective.h */
    /** Describe the call, with fs_counts_add() once for each rank.
     *  @return FS_OK; FS_ERR_INVAL: its arguments make no sense, and it is the MPI
     *          that complains. It is described, but FS_ERR_UNSUPPORTED: pack() or
     *          unpack() cannot do it; FS_ERR_NOMEM, of a call that is not blocking:
     *          what it needs later cannot be kept */
    fs_status_t (*describe)(void *ctx, fs_buffers_t *buffers);
    /** As in fs_call_t. */
    fs_status_t (*pack)(void *ctx, uint32_t block, uint64_t offset,
                        uint64_t len_bytes, void *dst);
    fs_status_t (*unpack)(void *ctx, uint32_t block, uint64_t offset,
                          uint64_t len_bytes, const void *src);
    /** Likewise, of a collective that reduces: then pack() and unpack() are not
     *  called. Else NULL. */
    fs_status_t (*reduce)(void *ctx, const void *src, void *dst,
                          uint64_t len_bytes);
    /** The MPI's own algorithm, with both buffers so many bytes elsewhere.
     *  @return An MPI error code, 0: success. */
    int (*native)(void *ctx, ptrdiff_t send_shift, ptrdiff_t recv_shift);
    /** The call has failed, and why has been said.
     *  @return Its MPI error code, of which the error handler knows. */
    int (*raise)(void *ctx, fs_status_t status);
} fs_wrapper_calls_t;

/**
 * One blocking call: by us, or by the MPI's own algorithm. Any thread.
 *
 * @return An MPI error code.
 */
int fs_wrapper_serve(fs_wrapper_comm_t *comm, const fs_wrapper_calls_t *calls,
                     void *ctx);

/* ---- a nonblocking call ---- */

/** One that is ours, from its start to fs_wrapper_end(); or a persistent one. */
typedef struct fs_operation fs_operation_t;

/** Is this call, nonblocking or persistent, ours? If not, the MPI's own algorithm has
 *  to be started now. The same on all ranks. Counts it; ctx, as of
 *  fs_wrapper_start(), is only used in this call, with describe(). */
bool fs_wrapper_takes_nonblocking(const fs_wrapper_comm_t  *comm,
                                  const fs_wrapper_calls_t *calls, void *ctx);

/**
 * Start one that is. Local. Any thread.
 *
 * @param[in]  ctx          Lives until fs_wrapper_end(); with pack() and unpack()
 *                          that do not use what belongs to the caller of the MPI.
 * @param[out] operation_p  NULL on FS_OK: the MPI has to serve it, on all ranks, or
 *                          complains about its arguments.
 * @return FS_OK; FS_ERR_NOMEM, FS_ERR_TRANSPORT: this rank cannot take part, which
 *         has been said. Where it only cannot keep or pack what describe() has found,
 *         it does, and the call ends with an error on all ranks
 */
fs_status_t fs_wrapper_start(fs_wrapper_comm_t        *comm,
                             const fs_wrapper_calls_t *calls, void *ctx,
                             fs_operation_t **operation_p);

/** Is none under way on this rank? */
bool fs_wrapper_is_idle(const fs_wrapper_comm_t *comm);

/** An operation that fs_net_progress() has ended; each once, to one thread. NULL:
 *  there is none. */
fs_operation_t *fs_wrapper_next_ended(fs_wrapper_t *wrapper);

/** Free it, unless it is persistent.
 *  @param[out] ctx_p  As it was started with.
 *  @return An MPI error code. */
int fs_wrapper_end(fs_operation_t *operation, void **ctx_p);

/* ---- a persistent call ---- */

/**
 * Make one, if fs_wrapper_takes_nonblocking(). Collective and blocking; nonblocking
 * calls that came before end in it.
 *
 * @param[in]  ctx          Lives until fs_wrapper_free_persistent(); otherwise as
 *                          of fs_wrapper_start(). NULL: out of memory, which the
 *                          other ranks have to hear.
 * @param[out] operation_p  NULL on FS_OK: the MPI is to serve it, on all ranks.
 * @return FS_OK; FS_ERR_MISMATCH, FS_ERR_TRANSPORT, FS_ERR_PEER: the call fails,
 *         which has been said
 */
fs_status_t fs_wrapper_init_persistent(fs_wrapper_comm_t        *comm,
                                       const fs_wrapper_calls_t *calls,
                                       void *ctx, fs_operation_t **operation_p);

/** Start it. Local. Any thread. It ends as others do, with fs_wrapper_end(), and may
 *  be started again then. */
void fs_wrapper_start_persistent(fs_operation_t *operation);

/** Free it. Local; it is not under way. */
void fs_wrapper_free_persistent(fs_operation_t *operation);

#endif
