/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One communicator, one MPI_Alltoallv, from the top:
 *
 *   skip      small calls in a row: straight to the host  fs_quiet.h
 *   summary   every rank learns the N x N matrix          fs_meta.c
 *   decide    and takes the same decision                 fs_coll_decide.c
 *   plan      its own program, or the one of last time    fs_plan.c, fs_plan_cache.c
 *   agree     every rank could plan, and alike            fs_meta.c
 *   run                                                   fs_exec.c
 *
 * Up to "agree" any rank may be unable to go on; then no rank does, and the
 * host's own algorithm serves the call. A plan from the cache needs no
 * agreement: what one rank finds there all find.
 *
 * After an error of the network a rank gives the communicator up and tells its
 * peers, who do the same: nobody waits for those who will not come.
 */
#include "exec/fs_coll.h"

#include "base/fs_arith.h"
#include "exec/fs_clock.h"
#include "exec/fs_params.h"
#include "sched/fs_topo.h"

#include <stdio.h>

enum {
    DRAIN_NS   = 2000000000,
    TELL_NS    = 500000000,
    HOST_TURNS = 16 /* looks at our network between two at the host's */
};

bool fs_coll_active(const fs_coll_t *coll)
{
    return coll->params.check || coll->params.verbose > 0 ||
           (coll->topo->n_servers > 1 &&
            coll->params.algorithm != FS_ALGORITHM_OFF);
}

unsigned fs_coll_mem_kinds(const fs_coll_t *coll)
{
    fs_accel_direct_t direct = coll->params.accel_direct;

    return coll->net == NULL || direct == FS_ACCEL_DIRECT_NEVER ||
                   (direct == FS_ACCEL_DIRECT_AUTO && !coll->net->rdma)
               ? 0
               : coll->net->mem_kinds;
}

/* ---- a call ---- */

/* Drive step() until it ends: our network first, the host's now and then and
 * whenever ours is idle. */
static fs_status_t wait_for(fs_coll_t *coll, fs_status_t (*step)(fs_coll_t *))
{
    fs_status_t status;

    fs_coll_watch_start(coll);
    for (unsigned turn = 1;; ++turn) {
        pthread_mutex_lock(&coll->net->lock);
        unsigned events = fs_net_turn(coll->net);
        status          = step(coll);
        if (status == FS_INPROGRESS &&
            (events == 0 || turn % HOST_TURNS == 0)) {
            status = fs_coll_watch(coll);
        }
        pthread_mutex_unlock(&coll->net->lock);
        if (status != FS_INPROGRESS) {
            return status;
        }
        if (events == 0 || turn % HOST_TURNS == 0) {
            coll->host.progress(coll->host.ctx);
        }
    }
}

static fs_status_t meta_step(fs_coll_t *coll)
{
    return fs_exec_lost_peer(coll->exec) == FS_NO_RANK
               ? fs_meta_progress(coll->meta)
               : FS_ERR_PEER;
}

/* After an error, give the network a little time to let go of the buffers. */
static fs_status_t exec_step(fs_coll_t *coll)
{
    fs_status_t status = fs_exec_progress(coll->exec);
    fs_status_t error  = fs_exec_error(coll->exec);

    if (status != FS_INPROGRESS || error == FS_OK) {
        return status;
    }
    if (coll->drain_until_ns == 0) {
        coll->drain_until_ns = fs_now_ns() + DRAIN_NS;
    }
    return fs_now_ns() < coll->drain_until_ns ? FS_INPROGRESS : error;
}

/* Until the words are out that we have given up, for a little time as well. */
static fs_status_t tell_step(fs_coll_t *coll)
{
    return coll->transport->n_grants_out > 0 &&
                   fs_now_ns() < coll->drain_until_ns
               ? FS_INPROGRESS
               : FS_OK;
}

/* ---- one call, step by step ---- */

/* The communicator is lost: say why, once and for all, and to all. */
static fs_status_t die(fs_coll_t *coll, fs_status_t status, const char *where)
{
    coll->dead      = true;
    coll->net->lost = true;
    fs_coll_explain(coll, status, where, coll->error, sizeof(coll->error));
    pthread_mutex_lock(&coll->net->lock);
    fs_exec_give_up(coll->exec);
    pthread_mutex_unlock(&coll->net->lock);
    coll->drain_until_ns = fs_now_ns() + TELL_NS;
    (void)wait_for(coll, tell_step);
    return status;
}

static bool is_lost(const fs_coll_t *coll)
{
    return coll->dead ||
           (coll->exec != NULL && fs_exec_lost_peer(coll->exec) != FS_NO_RANK);
}

/* For the trace. */
static void enter(fs_coll_t *coll, fs_trace_phase_t phase)
{
    if (coll->trace != NULL) {
        fs_trace_enter(coll->trace, phase);
    }
}

static void begin(fs_coll_t *coll)
{
    ++coll->stats.calls;
    coll->summarised = coll->looks = false;
    coll->hit                      = NULL;
    coll->n_stages                 = 0;
    coll->slowest_ns               = 0;
}

bool fs_coll_skip(fs_coll_t *coll, uint64_t sent_bytes)
{
    if (is_lost(coll) || !fs_quiet_skips(&coll->quiet, sent_bytes)) {
        return false;
    }
    begin(coll);
    ++coll->stats.skipped;
    coll->choice = fs_coll_leave("not asked, see skip");
    if (coll->params.verbose > 0) {
        coll->entered_ns = fs_now_ns();
    }
    return true;
}

/* ---- summary ---- */

static fs_status_t exchange_summary(fs_coll_t *coll, const fs_call_t *call)
{
    fs_meta_word_t word = fs_coll_word(coll, call);
    fs_status_t    status;

    pthread_mutex_lock(&coll->net->lock);
    status = fs_meta_start_summary(coll->meta, &word, call->send_bytes,
                                   call->recv_bytes);
    pthread_mutex_unlock(&coll->net->lock);
    if (status == FS_OK) {
        status = wait_for(coll, meta_step);
    }
    coll->decided_ns  = fs_now_ns();
    coll->told_run_ns = coll->told_summary_ns = 0;
    coll->stats.summary_ns += coll->decided_ns - coll->entered_ns;
    coll->stats.meta_bytes = fs_meta_wire_bytes(coll->meta);
    return status;
}

/* ---- plan ---- */

/* All that this rank alone may fail at. made_p: unless there is a plan. */
static fs_status_t get_ready(fs_coll_t *coll, const fs_call_t *call,
                             fs_plan_t **made_p)
{
    fs_plan_params_t   params = fs_params_plan(&coll->params);
    fs_local_traffic_t local  = {
         .send        = fs_meta_local_send(coll->meta),
         .recv        = fs_meta_local_recv(coll->meta),
         .send_packed = fs_call_sends_packed(call),
         .recv_packed = fs_call_receives_packed(call),
    };
    fs_status_t status = FS_OK;

    if (call->prepare != NULL) {
        status = call->prepare(call->ctx);
    }
    if (status == FS_OK && coll->hit == NULL) {
        status = fs_plan_create(coll->choice.alg, coll->topo, &coll->traffic,
                                &params, coll->rank, &local, made_p);
    }
    if (status == FS_OK) {
        status = fs_exec_reserve(
            coll->exec, coll->hit == NULL ? *made_p : coll->hit->plan, call);
    }
    return status;
}

/* A round of words: what all ranks together say. */
static fs_status_t ask_all(fs_coll_t *coll, const fs_meta_word_t *mine,
                           fs_meta_word_t *all_p)
{
    fs_status_t status;

    pthread_mutex_lock(&coll->net->lock);
    status = fs_meta_start_agree(coll->meta, mine);
    pthread_mutex_unlock(&coll->net->lock);
    if (status == FS_OK) {
        status = wait_for(coll, meta_step);
    }
    if (status == FS_OK) {
        *all_p = *fs_meta_word(coll->meta);
    }
    return status;
}

/* Did all ranks plan, and the same stages? The sum of n equal digests is n
 * times each of them. Here the maximum is of the plans' sizes. */
static fs_status_t agree(fs_coll_t *coll, const fs_plan_t *plan, bool *agreed_p,
                         uint64_t *size_p)
{
    uint64_t       digest = plan != NULL ? plan->digest : 0;
    fs_meta_word_t mine   = {.flags = plan != NULL ? 0 : FS_FLAG_DECLINE,
                             .sum   = {digest, 0}};
    fs_meta_word_t all    = {0};
    fs_status_t    status;

    mine.max_inter = plan != NULL ? fs_plan_cache_size(plan) : 0;
    status         = ask_all(coll, &mine, &all);
    *agreed_p      = status == FS_OK && !(all.flags & FS_FLAG_DECLINE) &&
                all.sum[0] == digest * coll->topo->n_ranks;
    *size_p = all.max_inter;
    return status;
}

/* For people: how long the call took the slowest rank. Without a network, this
 * one. */
static fs_status_t find_slowest(fs_coll_t *coll)
{
    fs_meta_word_t mine   = {.max_ns = fs_now_ns() - coll->entered_ns};
    fs_meta_word_t all    = mine;
    fs_status_t    status = FS_OK;

    if (coll->meta != NULL) {
        status = ask_all(coll, &mine, &all);
    }
    coll->slowest_ns = all.max_ns;
    return status == FS_OK ? FS_OK : die(coll, status, "times for verbose");
}

/* ---- run ---- */

static fs_status_t run(fs_coll_t *coll, const fs_plan_t *plan,
                       const fs_call_t *call)
{
    enter(coll, FS_TRACE_RUN);
    pthread_mutex_lock(&coll->net->lock);
    fs_exec_start(coll->exec, plan, call, (uint32_t)coll->stats.calls,
                  coll->confirms);
    pthread_mutex_unlock(&coll->net->lock);
    return wait_for(coll, exec_step);
}

static void count_run(fs_coll_t *coll, const fs_plan_t *plan)
{
    fs_coll_stats_t *stats = &coll->stats;

    ++stats->calls_by[plan->alg];
    stats->inter_bytes += coll->traffic.inter_bytes;
    stats->moved_bytes += plan->moved_gather + plan->moved_redist;
    stats->peak_staging = fs_u64_max(stats->peak_staging, plan->staging_bytes);
    stats->peak_senders = fs_exec_peak_senders(coll->exec);
    stats->copy_ns      = fs_exec_copy_ns(coll->exec);
    coll->decompose     = plan->decompose;
    coll->n_stages      = plan->n_stages;
    /* Without stages the busiest server has about one round per other. */
    fs_calibration_expect(&coll->calibration, plan->total_per_lane,
                          plan->n_stages > 0 ? plan->n_stages
                                             : coll->topo->n_servers - 1);
}

/* For the guard: the next summary tells the others. */
static void tell(fs_coll_t *coll, uint64_t ended_ns)
{
    coll->told_run_ns     = ended_ns - coll->decided_ns;
    coll->told_summary_ns = coll->decided_ns - coll->entered_ns;
}

static fs_status_t run_plan(fs_coll_t *coll, const fs_plan_t *plan,
                            const fs_call_t *call)
{
    uint64_t    start  = fs_now_ns(), end;
    fs_status_t status = run(coll, plan, call);

    if (status != FS_OK) {
        return die(coll, status, "exchange");
    }
    end = fs_now_ns();
    coll->stats.plan_ns += start - coll->decided_ns;
    coll->stats.run_ns += end - start;
    count_run(coll, plan);
    tell(coll, end);
    return FS_OK;
}

/* Keep a plan for the next call with the same counts, or free it. */
static void keep(fs_coll_t *coll, fs_plan_t *plan, uint64_t size)
{
    fs_cached_plan_t entry = {.key     = coll->key,
                              .size    = size,
                              .plan    = plan,
                              .choice  = coll->choice,
                              .traffic = coll->traffic,
                              .bound   = coll->bound};

    if (!fs_plan_cache_add(&coll->cache, coll->params.plan_cache, &entry)) {
        fs_plan_destroy(plan);
    }
}

/* The summary says that it pays: plan, agree, run. What the executor once has
 * reserved it keeps, so a plan from the cache can run at once. */
static fs_status_t serve(fs_coll_t *coll, const fs_call_t *call, bool *ran)
{
    fs_plan_t       *made = NULL;
    const fs_plan_t *plan = NULL;
    uint64_t         size = 0;
    fs_status_t      status;

    *ran = true;
    if (coll->hit == NULL || coll->prepares) {
        status = get_ready(coll, call, &made);
        plan   = status != FS_OK ? NULL : made != NULL ? made : coll->hit->plan;
        enter(coll, FS_TRACE_AGREE);
        status = agree(coll, plan, ran, &size);
        if (status != FS_OK) {
            fs_plan_destroy(made);
            return die(coll, status, "agreement on the plan");
        }
    } else {
        plan = coll->hit->plan;
    }
    if (!*ran) {
        fs_plan_destroy(made);
        coll->choice.alg    = FS_ALG_HOST;
        coll->choice.reason = "a rank could not plan";
        return FS_OK;
    }
    status = run_plan(coll, plan, call);
    if (status == FS_OK && made != NULL) {
        keep(coll, made, size);
    }
    return status; /* after an error the plan is in use */
}

/* As with unequal counts: the call has failed, the communicator has not. */
static fs_status_t refuse(fs_coll_t *coll)
{
    snprintf(coll->error, sizeof(coll->error),
             "a rank's buffers are on a device, and what serves this call "
             "cannot use them there");
    return FS_ERR_UNSUPPORTED;
}

static fs_status_t alltoallv(fs_coll_t *coll, const fs_call_t *call, bool *ran)
{
    fs_status_t status;
    uint64_t    flags;

    *ran = false;
    if (coll->dead) {
        return FS_ERR_TRANSPORT;
    }
    begin(coll);
    coll->entered_ns = fs_now_ns();
    if (coll->params.check) {
        enter(coll, FS_TRACE_CHECK);
        status = fs_coll_check_counts(coll, call);
        if (status != FS_OK) {
            return status;
        }
    }
    if (coll->topo->n_servers < 2 ||
        coll->params.algorithm == FS_ALGORITHM_OFF) {
        coll->choice = fs_coll_leave(
            coll->topo->n_servers < 2 ? "one server" : "algorithm is off");
        return FS_OK;
    }
    enter(coll, FS_TRACE_SUMMARY);
    status = exchange_summary(coll, call);
    if (status != FS_OK) {
        return die(coll, status, "summary exchange");
    }
    flags = fs_meta_word(coll->meta)->flags;
    if (flags & FS_FLAG_REFUSES) {
        return refuse(coll);
    }
    enter(coll, FS_TRACE_PLAN);
    fs_coll_decide(coll, call);
    if (coll->trace != NULL && coll->summarised) {
        fs_plan_params_t params = fs_params_plan(&coll->params);

        fs_trace_decision(coll->trace, &coll->choice, &coll->traffic, &params);
    }
    if (coll->choice.alg != FS_ALG_HOST) {
        status = serve(coll, call, ran);
    }
    if (status == FS_OK && !*ran && flags & FS_FLAG_NO_HOST) {
        return refuse(coll);
    }
    if (status == FS_OK && *ran && coll->params.verbose > 0) {
        enter(coll, FS_TRACE_REPORT);
        status = find_slowest(coll);
    }
    return status;
}

fs_status_t fs_coll_alltoallv(fs_coll_t *coll, const fs_call_t *call, bool *ran)
{
    fs_status_t status;

    if (coll->trace == NULL || coll->dead) {
        return alltoallv(coll, call, ran);
    }
    fs_trace_begin(coll->trace, coll->stats.calls + 1);
    status = alltoallv(coll, call, ran);
    fs_trace_end(coll->trace, status);
    if (coll->dead) {
        fs_coll_write_trace(coll); /* there may be no later */
    }
    return status;
}

fs_status_t fs_coll_host_done(fs_coll_t *coll)
{
    if (coll->looks) {
        tell(coll, fs_now_ns());
    }
    return coll->params.verbose > 0 ? find_slowest(coll) : FS_OK;
}
