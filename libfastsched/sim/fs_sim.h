/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * An alpha-beta simulator of two-tier clusters that runs programs.
 *
 * It walks the programs of all ranks by the executor's rules (fs_exec.c: wire
 * receives are granted in plan order, a window of them at a time; wire sends go
 * out in plan order), but moves no bytes: a message takes alpha, then its bytes
 * share the ports on its way with those of other messages.
 *
 *   between servers  Each lane is a NIC, full duplex. A message takes up the
 *                    NIC of its sender and that of its receiver.
 *   inside servers   See fs_sim_fabric_t.
 *   sharing          Max-min fair: the rates of messages on a port grow alike
 *                    until the port, or another on their way, is full. Those
 *                    between the same two ranks follow one another.
 *   alpha            Runs from the moment that both ends are ready (the grant's
 *                    way included) to the first byte. It takes up no port, so
 *                    messages in a window hide it and a barrier exposes it.
 *   incast           While messages from k ranks come in through a NIC, it
 *                    carries 1 / (1 + incast * (k - 1)) of its rate: what
 *                    congestion control loses when many send to one.
 *
 *   look             A rank that computes sees what has ended, and what it has been
 *                    granted, only when it looks at the network: every look seconds,
 *                    ranks at different moments. Messages that have begun go on. 0:
 *                    it waits, and sees all at once.
 *
 * A message takes up no processor and no NIC besides its bytes, so programs of
 * many small messages come out far too fast: see sim/fs_sim_loggp.h for these.
 *
 * Numbers are doubles: nothing here decides anything that ranks must agree on.
 * Equal inputs give equal results on one platform; ties go to what was posted
 * first.
 */
#ifndef FS_SIM_H
#define FS_SIM_H

#include "fastsched.h"

/** How the ranks of a server are connected (FLASH §6.3). rate_up is what a rank
 *  can send over all its links together, and receive at the same time. */
#define FS_SIM_FABRIC_MAP(X)                                                    \
    /* each rank one port to a switch that never blocks */                      \
    X(FS_SIM_SWITCH, "switch")                                                  \
    /* a link for each pair, each with an equal part */                         \
    X(FS_SIM_MESH, "mesh")                                                      \
    /* two links to neighbours, each with a half; the shorter way; 32 ranks */  \
    X(FS_SIM_RING, "ring")                                                      \
    /* 8 ranks (DGX-1 with V100), six links each, two double; one hop or two */ \
    X(FS_SIM_CUBE, "hybrid-cube")

typedef enum fs_sim_fabric { FS_SIM_FABRIC_MAP(FS_LIST_VALUE) } fs_sim_fabric_t;

enum { FS_SIM_N_FABRICS = FS_SIM_FABRIC_MAP(FS_LIST_ONE) };

/** One message, copy or reduction that is over. */
typedef struct fs_sim_span {
    uint32_t     src;     /**< rank */
    uint32_t     dst;     /**< rank; no message: src */
    bool         wire;    /**< between servers */
    fs_channel_t channel; /**< FS_CH_LAST: no message */
    uint64_t     bytes;
    double       start; /**< seconds; of the first byte */
    double       end;
} fs_sim_span_t;

/** A cluster. Rates are bytes per second and direction, times seconds. */
typedef struct fs_sim_params {
    double          rate_out;  /**< of a NIC; above 0 */
    double          rate_up;   /**< of a rank inside its server; above 0 */
    double          rate_copy; /**< of a rank's copies and reductions; 0: they
                                    take no time */
    double          alpha_out; /**< of a message between servers */
    double          alpha_up;  /**< of a message inside, for each hop */
    double          incast;    /**< see above; 0: none */
    uint64_t        incast_bytes; /**< smaller messages fit into the switch's
                                       buffers: their senders do not count */
    double          look;         /**< seconds between two looks; 0: at once */
    fs_sim_fabric_t fabric;
    /** Called for each message, copy and reduction at its end, in order of
     *  time. NULL is fine. */
    void (*span)(void *ctx, const fs_sim_span_t *span);
    void *ctx;
} fs_sim_params_t;

/** What came out. */
typedef struct fs_sim_result {
    double   time;    /**< until the last operation is done */
    double   optimal; /**< bytes of the busiest server, sent or received, over
                           its lanes' rate: FAST's bound, with the inside
                           infinitely fast */
    double   optimal_rank;   /**< bytes of the busiest NIC over its rate: what
                                 these programs could not beat */
    double   first_wire;     /**< first byte between servers; 0 if none */
    double   last_wire;      /**< the last */
    double   algo_bandwidth; /**< total_bytes / (ranks * time), bytes per
                                  second and rank (FAST §5) */
    uint64_t total_bytes;    /**< that reach a receive buffer, those of a rank
                                 to itself included */
    uint64_t wire_bytes;     /**< between servers */
    uint64_t up_bytes;       /**< messages inside servers */
    uint64_t copy_bytes;     /**< copies and reductions of a rank */
    uint64_t staging_bytes;  /**< of the rank that needs most */
    uint64_t n_ops;
    uint64_t n_messages;
    uint32_t max_senders; /**< most ranks that sent to one NIC at once */
} fs_sim_result_t;

/** A simulation in the making: a cluster and programs. Not thread-safe. */
typedef struct fs_sim fs_sim_t;

/**
 * @param[in]  topo    Borrowed until fs_sim_destroy(). Ranks that serve no lane
 *                     share the NIC of the last rank before them that does.
 * @param[in]  params  Copied.
 * @param[out] sim_p   Set on FS_OK only; the caller's.
 * @return FS_OK; FS_ERR_INVAL (a rate or a time out of range, a server that
 *         does not fit the fabric); FS_ERR_NOMEM
 */
fs_status_t fs_sim_create(const fs_topo_t *topo, const fs_sim_params_t *params,
                          fs_sim_t **sim_p);

/** NULL is fine. */
void fs_sim_destroy(fs_sim_t *sim);

/**
 * Give a rank its program. What matters is copied (32 bytes an operation, 4 an
 * edge): the plan may go at once. A rank without a program does nothing.
 *
 * @return FS_OK; FS_ERR_INVAL (no such rank, it has a program, the program is
 *         malformed); FS_ERR_NOMEM
 */
fs_status_t fs_sim_add(fs_sim_t *sim, uint32_t rank, const fs_plan_t *plan);

/**
 * Let a rank enter later than at time 0: it begins nothing before.
 *
 * @param[in]  seconds  0 or more; the last word counts.
 * @return FS_OK; FS_ERR_INVAL (no such rank, no time, it ran before)
 */
fs_status_t fs_sim_enter(fs_sim_t *sim, uint32_t rank, double seconds);

/**
 * Run all programs from time 0 until every operation is done. Once.
 *
 * @param[out] result_p  Set on FS_OK only.
 * @param[out] why       On FS_ERR_MISMATCH: one line that names rank and
 *                       operation and says what is wrong.
 * @param[in]  why_len   Bytes at why.
 * @return FS_OK; FS_ERR_MISMATCH (a message without a partner or of another
 *         length there, programs that wait for each other); FS_ERR_INVAL (it
 *         ran before); FS_ERR_NOMEM
 *
 * Time: about 1 us per operation as long as few messages share their ports;
 * for k messages at once through ports that are linked by such messages, k
 * times that.
 */
fs_status_t fs_sim_run(fs_sim_t *sim, fs_sim_result_t *result_p, char *why,
                       size_t why_len);

/* ---- what others do: baselines of the papers' figures ---- */

/**
 * A list as in fastsched.h, of value, word and function:
 *
 *  - ALL_AT_ONCE: every pair's message posted at the start, as RCCL does (FLASH
 *    §6.1);
 *  - SPREADOUT: rank r to r + 1, then r + 2, ...: a step ends when what the rank
 *    sends and receives in it has (MPI's spread-out, FAST §5);
 *  - TWO_PHASE: all bytes gathered on their rails, then sent along them, without
 *    overlap (MSCCL's hierarchical one, FLASH §6.1; "SABRE w/o overlap", §8.3);
 *  - RELAY: each rank sends to its namesake on every server, which passes on
 *    what is not its own: aggregation at the receiver (DeepEP, FAST §5.1)
 *  - ROTATION: rank r to r + 1, then r + 2, ...: a message starts when the last
 *    but one of its sender has ended, whatever the receiver is doing (MPICH's
 *    scattered; Open MPI's linear, up to where it begins)
 */
#define FS_SIM_BASELINE_MAP(X)                        \
    X(FS_SIM_ALL_AT_ONCE, "all-at-once", all_at_once) \
    X(FS_SIM_SPREADOUT, "spreadout", spreadout)       \
    X(FS_SIM_TWO_PHASE, "hierarchical2d", two_phase)  \
    X(FS_SIM_RELAY, "relay", relay)                   \
    X(FS_SIM_ROTATION, "rotation", rotation)

typedef enum fs_sim_baseline {
    FS_SIM_BASELINE_MAP(FS_LIST_VALUE)
} fs_sim_baseline_t;

enum { FS_SIM_N_BASELINES = FS_SIM_BASELINE_MAP(FS_LIST_ONE) };

/** The word users type; "unknown" for what is none. */
const char *fs_sim_baseline_name(fs_sim_baseline_t which);

/**
 * The program of one rank. It is for the simulator only: places say which
 * buffer, but not where in it, and ALL_AT_ONCE, SPREADOUT and ROTATION
 * send between servers without asking.
 *
 * @param[in]  rank_bytes  [n_ranks x n_ranks] row-major, [src][dst], bytes.
 * @param[in]  chunk       Bytes of a message on rails, at most; above 0.
 * @param[out] plan_p      Set on FS_OK only; fs_plan_destroy() frees it.
 * @return FS_OK; FS_ERR_INVAL (which, rank or chunk out of range);
 *         FS_ERR_OVERFLOW (too many messages between two ranks); FS_ERR_NOMEM
 */
fs_status_t fs_sim_baseline_create(fs_sim_baseline_t which,
                                   const fs_topo_t  *topo,
                                   const uint64_t *rank_bytes, uint64_t chunk,
                                   uint32_t rank, fs_plan_t **plan_p);

/* ---- large clusters ---- */

/**
 * Simulate the staged algorithm with one lane for each server: that of
 * thousands of ranks, whose programs would not fit into memory.
 *
 * The schedule is that of all servers, its transfers are granted and sent by
 * the same rules, each in up to three messages (three quarters, most of the
 * rest, the last chunk). All lanes of a server are taken to carry the same, as
 * they do after balancing. The bytes that each tile moves inside its two
 * servers, and those that never leave one, are spread evenly over the ranks and
 * pass through one port per lane, a transfer's first chunk before its first
 * message, its last chunk after its last; one more alpha_up at either end. Not
 * seen: ranks of one server that have more to move than others.
 *
 * @param[in]  topo        The real one.
 * @param[in]  rank_bytes  [n_ranks x n_ranks] row-major, [src][dst], bytes.
 * @param[in]  plan        balance, decompose, chunk, window and stage_cost are
 *                         read.
 * @param[in]  params      fabric must be FS_SIM_SWITCH. Spans name servers,
 *                         not ranks; incast_bytes is of a lane.
 * @param[out] result_p    Set on FS_OK only. Bytes are those of all lanes
 *                         (copy_bytes: of ranks to themselves),
 *                         operations and messages those of one per server;
 *                         staging_bytes is 0.
 * @return FS_OK; FS_ERR_UNSUPPORTED (fabric); FS_ERR_INVAL, FS_ERR_OVERFLOW,
 *         FS_ERR_NOMEM
 *
 * Cost: that of the schedule, some microseconds for each tile and each
 * transfer.
 */
fs_status_t fs_sim_run_lanes(const fs_topo_t *topo, const uint64_t *rank_bytes,
                             const fs_plan_params_t *plan,
                             const fs_sim_params_t  *params,
                             fs_sim_result_t        *result_p);

#endif
