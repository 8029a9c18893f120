/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * What every wrapper of an MPI needs once in a process: parameters, the network
 * and the NICs at the first need, sums, the lines that people see; and once for
 * each communicator: the byte counts and blocks of a call.
 */
#ifndef FS_WRAPPER_H
#define FS_WRAPPER_H

#include "accel/fs_accel.h"
#include "fastsched_exec.h"

#include <pthread.h>
#include <stddef.h>

/** One per process. The wrapper sets what comes first, and lock; the rest is zero
 *  then, and it may read it. */
typedef struct fs_wrapper {
    /** One line for people, from any rank; the wrapper puts its name before. */
    void (*say)(const char *line);
    /** fs_ucx_create() */
    fs_status_t (*create_net)(uint64_t tcp_sndbuf, const char *net_device,
                              fs_net_t **net_p, char *why, size_t why_len);
    /** The network is there: the MPI's progress may drive it from now on. NULL:
     *  it cannot. */
    void (*net_is_up)(fs_net_t *net);
    bool        on_world_rank_0; /**< this process speaks for the job */
    const char *served_by; /**< MPI_COMM_WORLD's calls, and why; NULL: by us */
    bool        declined;  /**< some communicator is left to the MPI, as said */

    fs_params_t     params;
    uint32_t       *world_server; /**< parameter nodes; NULL: ask the MPI */
    fs_net_t       *net;
    fs_status_t     net_status;  /**< of making it */
    char            no_net[256]; /**< why it could not be made */
    fs_nics_t      *nics;
    fs_accel_t     *accel;     /**< fs_wrapper_find_accel(), like the next */
    unsigned        mem_kinds; /**< of device memory that the MPI takes itself:
                                    bits 1 << fs_mem_kind_t */
    bool            warned;    /**< that the network takes none of it */
    pthread_mutex_t lock;      /**< two threads may set up two communicators */

    fs_coll_t         *colls; /**< fs_wrapper_welcome(), no farewell yet */
    bool               spans_servers;       /**< some communicator of calls */
    unsigned           last_algorithm;      /**< fs_alg_t */
    unsigned long long calls;               /**< fs_wrapper_enter() */
    unsigned long long calls_by[FS_N_ALGS]; /**< of these, run by us */
    unsigned long long inter_bytes;         /**< between servers, all ranks */
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
 * Parameter nodes, if there is one, becomes world_server.
 *
 * @param[in] n_ranks  Of the whole job.
 * @return FS_OK, FS_ERR_INVAL, FS_ERR_NOMEM; then why is a line as above
 */
fs_status_t fs_wrapper_place(fs_wrapper_t *wrapper, uint32_t n_ranks, char *why,
                             size_t why_len);

/**
 * A parameter that is mistyped must not be ignored in silence: say so of what
 * the environment has with this prefix and no parameter has as its name.
 *
 * @param[in] is_known  Is NAME=VALUE, what follows the prefix, one?
 * @param[in] page      Of the manual.
 */
void fs_wrapper_look_for_unknown(const fs_wrapper_t *wrapper,
                                 const char         *prefix,
                                 bool (*is_known)(const char *entry),
                                 const char *page);

enum { FS_WORD_MAX = 2048 };

/**
 * A word for the other processes of the job: what must be equal on all of them.
 * Two processes can serve a communicator together if their words are equal.
 *
 * @param[in] version   Of the wrapper.
 * @param[in] priority  What decides whether the MPI takes it; one line.
 */
void fs_wrapper_word(const fs_wrapper_t *wrapper, const char *version,
                     const char *priority, char word[FS_WORD_MAX]);

/** One line for people: what two words that differ disagree about first. */
void fs_wrapper_explain_words(const char *word_a, uint32_t rank_a,
                              const char *word_b, uint32_t rank_b, char *why,
                              size_t why_len);

/** Has the MPI taken both, if it has taken one? */
bool fs_wrapper_same_priority(const char *word_a, const char *word_b);

/** The network, for fs_host_t.net; and why there is none, for
 *  fs_host_t.why_no_net. */
fs_net_t   *fs_wrapper_net(fs_wrapper_t *wrapper);
const char *fs_wrapper_no_net(const fs_wrapper_t *wrapper);

/** The NICs, for fs_host_t.nics. */
fs_nics_t *fs_wrapper_nics(fs_wrapper_t *wrapper);

/**
 * Look for accelerators, unless some are found or parameter accel is off. At
 * the first call of each communicator: a program may load a driver late. Any
 * thread.
 */
void fs_wrapper_find_accel(fs_wrapper_t *wrapper);

/** Are there any? What goes with them is there then, too. Any thread. */
static inline bool fs_wrapper_has_accel(const fs_wrapper_t *wrapper)
{
    return __atomic_load_n(&wrapper->accel, __ATOMIC_ACQUIRE) != NULL;
}

/** Free all that the process holds, see fs_net_destroy(). */
void fs_wrapper_close(fs_wrapper_t *wrapper);

/** An MPI_Alltoallv begins, on any communicator. Any thread. */
void fs_wrapper_enter(fs_wrapper_t *wrapper);

/** fs_coll_alltoallv(), which is counted. Any thread. */
fs_status_t fs_wrapper_alltoallv(fs_wrapper_t *wrapper, fs_coll_t *coll,
                                 const fs_call_t *call, bool *ran);

/** Parameter verbose: the line about the last call, on one rank. */
void fs_wrapper_report(const fs_wrapper_t *wrapper, const fs_coll_t *coll,
                       const char *comm_name);

/** A communicator begins. Any thread.
 *  @param[in] comm_name  Borrowed until the farewell. */
void fs_wrapper_welcome(fs_wrapper_t *wrapper, fs_coll_t *coll,
                        const char *comm_name);

/**
 * The end of a communicator: its sums (parameter stats) and what the guard has
 * decided (verbose). Nothing if there was no welcome, or a farewell before.
 *
 * @param[in] together  All ranks are here: with parameter stats collective, and
 *                      one rank tells the sums of all. Else each tells its own.
 */
void fs_wrapper_farewell(fs_wrapper_t *wrapper, fs_coll_t *coll, bool together);

/**
 * The same for all communicators that are left, in an order that is the same on
 * all ranks. All ranks of the job are here.
 *
 * @param[in] then  Called after each with fs_host_t.ctx, and may destroy it.
 *                  NULL: nothing to do.
 */
void fs_wrapper_farewell_all(fs_wrapper_t *wrapper, void (*then)(void *ctx));

/** The end of the process: the sums of all its calls (verbose). */
void fs_wrapper_summary(const fs_wrapper_t *wrapper);

/** The call in hand of one communicator. */
typedef struct fs_blocks {
    uint32_t     n_ranks;
    uint64_t    *send_bytes; /**< [n_ranks] like the rest; call points here */
    uint64_t    *recv_bytes;
    const void **send_block;
    void       **recv_block;
    void        *copy; /**< of the send blocks, see fs_blocks_copy() */
    uint64_t     copy_len;
    fs_mem_t     copy_mem;
    fs_accel_t  *accel; /**< of copy_mem */
    fs_call_t    call;
} fs_blocks_t;

/** @return FS_OK, FS_ERR_NOMEM */
fs_status_t fs_blocks_init(fs_blocks_t *blocks, uint32_t n_ranks);

/** Zeroed blocks are fine. */
void fs_blocks_fini(fs_blocks_t *blocks);

/**
 * For fs_call_t.prepare, when what is sent will be overwritten: copy all send
 * blocks into memory of their own, and send_block to there. Blocks that are not
 * contiguous come by call.pack(); those on a device are copied there.
 *
 * @param[in] contiguous  send_block is where the bytes are.
 * @return FS_OK, FS_ERR_NOMEM, FS_ERR_ACCEL, or what pack() said
 */
fs_status_t fs_blocks_copy(fs_blocks_t *blocks, bool contiguous);

/**
 * The call is over.
 *
 * @param[in] all_done  Nobody reads the copy any more; else it is left alone
 *                      for good.
 */
void fs_blocks_end(fs_blocks_t *blocks, bool all_done);

/** Of the buffers of a call; the wrapper sets what comes first. */
typedef struct fs_buffers {
    bool     in_place;
    bool     send_contiguous; /**< in place: as recv_contiguous */
    bool     recv_contiguous;
    fs_mem_t send_mem; /**< in place: of the receive buffer */
    fs_mem_t recv_mem;
} fs_buffers_t;

/**
 * Where are they?
 *
 * @param[in] blocks  Described, with all addresses.
 * @return True: on a device or managed, one at least.
 */
bool fs_buffers_find(fs_buffers_t *buffers, const fs_wrapper_t *wrapper,
                     const fs_blocks_t *blocks);

/**
 * Before fs_coll_alltoallv(): what the call has to know. Local.
 *
 * @param[out] device  Also on an error: the other ranks wait for this one's word,
 *                     which is no.
 * @param[out] why     On an error: one line for people.
 * @return FS_OK; FS_ERR_UNSUPPORTED (gaps in a datatype on a device, or parameter
 *         accel_fallback forbids the way round)
 */
fs_status_t fs_buffers_for_coll(const fs_buffers_t *buffers,
                                fs_wrapper_t *wrapper, const fs_coll_t *coll,
                                fs_call_device_t *device, char *why,
                                size_t why_len);

/** Host memory that stands for a buffer on a device. */
typedef struct fs_shadow {
    fs_mem_t      mem; /**< of the buffer */
    char         *memory;
    fs_segment_t *segments; /**< [n_ranks] from the blocks; NULL: no shadow */
    ptrdiff_t     shift;    /**< from the buffer's addresses to the shadow's */
} fs_shadow_t;

/** Those of one call; zeroed before. */
typedef struct fs_shadows {
    fs_shadow_t send; /**< in place: none */
    fs_shadow_t recv;
} fs_shadows_t;

/**
 * Before the MPI's own algorithm: make shadows of what it cannot use where it is,
 * and copy to them what it reads. Local; the other ranks need not know.
 *
 * @param[out] why  On an error: one line for people.
 * @return FS_OK; FS_ERR_UNSUPPORTED as above, and no other rank hears of it;
 *         FS_ERR_NOMEM; FS_ERR_ACCEL
 */
fs_status_t fs_shadows_begin(fs_shadows_t *shadows, const fs_buffers_t *buffers,
                             const fs_wrapper_t *wrapper,
                             const fs_blocks_t *blocks, char *why,
                             size_t why_len);

/**
 * After it; also after an error of begin.
 *
 * @param[in] moved     It has written to the receive blocks: copy them back.
 * @param[in] all_done  Nobody uses the shadows any more; else they are left
 *                      alone for good.
 * @return FS_OK, FS_ERR_ACCEL
 */
fs_status_t fs_shadows_end(fs_shadows_t *shadows, const fs_wrapper_t *wrapper,
                           const fs_blocks_t *blocks, bool moved,
                           bool all_done);

#endif
