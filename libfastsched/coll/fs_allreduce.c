/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allreduce: by StragglAR, or as a stream, where one rank is late; as a ring; or
 * by the MPI.
 *
 * Count, type and operation are equal on all ranks, so each rank decides alone, and
 * those that are there begin without a word to anybody: what they do before the late
 * rank comes is the gain. Only a new plan is agreed on.
 *
 *   note      who was late, and what took how long    fs_late.c
 *   schedule  who sends what to whom in which round    fs_straggler.h
 *   plan      the program of this rank                 fs_straggler_plan.c
 */
#include "base/fs_arith.h"
#include "base/fs_clock.h"
#include "base/fs_digest.h"
#include "coll/fs_request.h"
#include "comm/fs_params.h"
#include "sched/allreduce/fs_straggler_plan.h"
#include "sched/model/fs_topo.h"

#include <string.h>

enum { FEWEST_SERVERS = 4, MOST_SERVERS = 256 };

/* ---- what serves a call ---- */

/* NULL: we can. Which ranks' vectors are on a device, no rank knows of the others: where
 * some may be, all ranks must be able to serve them. */
static const char *why_native(const fs_comm_t      *comm,
                              const fs_reduction_t *reduction)
{
    const fs_topo_t *topo = comm->topo;

    bool even = fs_topo_is_even(topo) && fs_topo_all_have_lanes(topo);

    return comm->params.algorithm == FS_ALGORITHM_OFF ? "algorithm is off"
           : comm->has_accel && reduction->device_how == 0
               ? "a rank has an accelerator, which does not reduce that"
           : topo->n_servers < FEWEST_SERVERS ? "few servers"
           : topo->n_servers > MOST_SERVERS   ? "many servers"
           : !even                            ? "not every rank has a lane"
                                              : NULL;
}

static fs_choice_t by(fs_alg_t alg, const char *reason)
{
    return (fs_choice_t){alg, false, reason};
}

/* Without a trial: in finer pieces than StragglAR's? Of several ranks of a server each
 * exchanges a part. */
static bool should_stream(const fs_comm_t *comm, uint64_t bytes)
{
    const fs_topo_t *topo = comm->topo;

    return comm->late.setup.streams &&
           fs_straggler_streams(topo->n_servers,
                                bytes / fs_topo_n_local(topo, 0),
                                comm->params.stage_cost);
}

static void choose(const fs_comm_t *comm, const fs_reduction_t *reduction,
                   fs_outcome_t *outcome)
{
    uint64_t         bytes     = fs_reduction_bytes(reduction);
    uint32_t         straggler = comm->params.straggler;
    const char      *why       = why_native(comm, reduction);
    fs_late_choice_t choice;

    if (why != NULL) {
        outcome->choice = fs_comm_leave(why);
    } else if (straggler < comm->topo->n_ranks) {
        outcome->choice    = by(FS_ALG_STRAGGLAR, "parameter straggler");
        outcome->straggler = straggler;
        outcome->streams   = should_stream(comm, bytes);
    } else {
        choice                 = fs_late_choose(&comm->late, bytes);
        outcome->choice        = by(choice.alg, choice.reason);
        outcome->straggler     = choice.straggler;
        outcome->streams       = comm->late.setup.compares
                                     ? choice.streams
                                     : should_stream(comm, bytes);
        outcome->reduced_bytes = bytes;
    }
}

/* A rank's vectors may be where only the MPI can use them: what is recalled has to be
 * voted on as well. */
static bool may_refuse(const fs_comm_t *comm)
{
    return comm->has_accel && !comm->params.accel_fallback;
}

/* By what the blocking calls before it have found, which all have ended on all ranks
 * when it is made. A thread of ours must not add up by a function of the MPI. */
static bool takes(const fs_comm_t *comm, const fs_reduction_t *reduction)
{
    fs_outcome_t outcome = {.reduced_bytes = 0};

    choose(comm, reduction, &outcome);
    return outcome.choice.alg != FS_ALG_NATIVE && !may_refuse(comm) &&
           strcmp(comm->params.progress_thread, "off") == 0;
}

/* Has there been a plan for this? */
static void find_plan(fs_request_t *request)
{
    const fs_reduction_t *reduction = &request->call->reduction;
    const fs_outcome_t   *outcome   = &request->outcome;
    bool           is_straggler     = outcome->choice.alg == FS_ALG_STRAGGLAR;
    const uint64_t words[]          = {
                 outcome->choice.alg,   is_straggler ? outcome->straggler : 0,
                 outcome->streams,      reduction->n_elems,
                 reduction->elem_bytes, reduction->in_place};

    request->key = 0;
    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); ++k) {
        request->key = fs_digest_add(request->key, words[k]);
    }
    request->counts_key = request->key;
    fs_request_recall(request);
}

/* Each schedule sends each chunk to all servers but one, and adds up those of all but
 * one. */
static uint64_t bytes_between(const fs_comm_t *comm, uint64_t bytes)
{
    uint64_t sum;

    return fs_u64_mul(2 * (uint64_t)(comm->topo->n_servers - 1), bytes, &sum)
               ? sum
               : UINT64_MAX;
}

static void decide(fs_request_t *request)
{
    const fs_reduction_t *reduction = &request->call->reduction;

    choose(request->comm, reduction, &request->outcome);
    if (request->outcome.choice.alg != FS_ALG_NATIVE) {
        request->flags = FS_FLAG_CONFIRMS;
        if (may_refuse(request->comm)) {
            request->flags |= FS_FLAG_PREPARES;
        }
        if (fs_request_is_nonblocking(request)) {
            request->flags |= FS_FLAG_NONBLOCKING;
        }
        request->outcome.traffic.inter_bytes =
            bytes_between(request->comm, fs_reduction_bytes(reduction));
        find_plan(request);
    }
}

/* Of ranks, or of servers that have several: a late rank makes its server late. */
static fs_status_t make_schedule(const fs_comm_t    *comm,
                                 const fs_outcome_t *outcome,
                                 fs_straggler_t    **schedule_p)
{
    const fs_topo_t *topo = comm->topo;
    uint32_t         late;

    if (outcome->choice.alg == FS_ALG_RING) {
        return fs_straggler_create(FS_STRAGGLER_RING, topo->n_servers, 0,
                                   schedule_p);
    }
    late = topo->server[outcome->straggler];
    return outcome->streams
               ? fs_straggler_create_stream(topo->n_servers, &late, 1,
                                            FS_STRAGGLER_PIECES, schedule_p)
               : fs_straggler_create(FS_STRAGGLER_STRAGGLAR, topo->n_servers,
                                     late, schedule_p);
}

static fs_status_t plan(const fs_request_t *request, fs_plan_t **plan_p,
                        fs_schedule_t **lane_p)
{
    const fs_comm_t    *comm     = request->comm;
    const fs_outcome_t *outcome  = &request->outcome;
    fs_plan_params_t    params   = fs_params_plan(&comm->params);
    fs_straggler_t     *schedule = NULL;
    fs_status_t         status   = make_schedule(comm, outcome, &schedule);

    (void)lane_p; /* a lane's turns are not known in advance */
    if (status == FS_OK) {
        status = fs_reduction_plan(schedule, comm->topo, &params,
                                   &request->call->reduction, comm->rank,
                                   plan_p);
    }
    fs_straggler_destroy(schedule);
    if (status == FS_OK) {
        (*plan_p)->alg = outcome->choice.alg;
    }
    return status;
}

const fs_collective_t fs_allreduce = {
    .decide = decide, .plan = plan, .takes = takes};

/* ---- after a call ---- */

/* The smallest time that a rank says, and whose it is; 0: it says none. */
static fs_status_t find_least(fs_comm_t *comm, uint64_t ns, uint64_t *least_ns,
                              uint32_t *rank)
{
    fs_vote_t   vote   = {.last = fs_entries_word(ns, comm->rank)};
    fs_status_t status = fs_comm_vote(comm, &vote);

    *least_ns = fs_entries_time(vote.last);
    *rank     = fs_entries_rank(vote.last);
    return status;
}

/* Of one rank after another: the last, then the last of the other servers. */
static fs_status_t find_last(fs_comm_t *comm, uint64_t ahead_ns,
                             fs_late_found_t *found)
{
    const uint32_t *server = comm->topo->server;
    uint64_t        last_ns, second_ns;
    uint32_t        second;
    fs_status_t     status = find_least(comm, ahead_ns, &last_ns, &found->rank);

    if (status == FS_OK) {
        bool beside = server[comm->rank] == server[found->rank];

        status = find_least(comm, beside ? 0 : ahead_ns, &second_ns, &second);
        found->lead_ns = second_ns - last_ns;
    }
    return status;
}

/* The first round marks the end of the epoch. */
static fs_status_t compare_times(fs_comm_t *comm, const fs_late_epoch_t *epoch,
                                 fs_late_found_t *found)
{
    fs_vote_t   vote   = {.last   = fs_entries_word(epoch->spent_ns, comm->rank),
                          .max_ns = fs_now_ns() - epoch->began_ns};
    fs_status_t status = fs_comm_vote(comm, &vote);

    *found = (fs_late_found_t){.now_ns   = fs_now_ns(),
                               .least_ns = fs_entries_time(vote.last)};
    return status != FS_OK || epoch->began_ns == 0
               ? status
               : find_last(comm,
                           fs_late_ahead(epoch, found->now_ns, vote.max_ns),
                           found);
}

fs_status_t fs_allreduce_note(fs_comm_t *comm)
{
    const fs_outcome_t *outcome = &comm->outcome;
    uint64_t            bytes   = outcome->reduced_bytes;
    fs_late_epoch_t     epoch;
    fs_late_found_t     found;
    fs_status_t         status = FS_OK;

    if (fs_late_add(&comm->late, bytes, outcome->entered_ns, fs_now_ns(),
                    &epoch)) {
        status = compare_times(comm, &epoch, &found);
        if (status == FS_OK) {
            fs_late_conclude(&comm->late, bytes, &found);
        }
    }
    return status;
}
