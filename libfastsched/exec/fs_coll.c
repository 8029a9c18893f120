/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One communicator, one MPI_Alltoallv, from the top:
 *
 *   summary   every rank learns the N x N matrix      fs_meta.c
 *   select    and takes the same decision             fs_select.c
 *   plan      its own program                         fs_plan.c
 *   agree     every rank could plan, and alike        fs_meta.c
 *   run                                               fs_exec.c
 *
 * Up to "agree" any rank may be unable to go on; then no rank does, and the
 * host's own algorithm serves the call.
 */
#include "exec/fs_coll.h"

#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "exec/fs_params.h"
#include "sched/fs_topo.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum {
    DRAIN_NS   = 2000000000,
    HOST_TURNS = 16 /* looks at our network between two at the host's */
};

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

bool fs_coll_active(const fs_coll_t *coll)
{
    return coll->params.check || coll->params.verbose > 0 ||
           (coll->topo->n_servers > 1 &&
            coll->params.algorithm != FS_ALGORITHM_OFF);
}

/* ---- a call ---- */

/* Drive step() until it ends: our network first, the host's now and then and
 * whenever ours is idle. */
static fs_status_t wait_for(fs_coll_t *coll, fs_status_t (*step)(fs_coll_t *))
{
    fs_status_t status;

    for (unsigned turn = 1;; ++turn) {
        pthread_mutex_lock(&coll->net->lock);
        unsigned events = coll->net->ops->progress(coll->net);
        status          = step(coll);
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
    return fs_meta_progress(coll->meta);
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
        coll->drain_until_ns = now_ns() + DRAIN_NS;
    }
    return now_ns() < coll->drain_until_ns ? FS_INPROGRESS : error;
}

/* ---- one call, step by step ---- */

/* The communicator is lost: say why, once and for all. */
static fs_status_t die(fs_coll_t *coll, fs_status_t status, const char *where)
{
    coll->dead = true;
    snprintf(coll->error, sizeof(coll->error), "rank %u, %s: %s", coll->rank,
             where, fs_strerror(status));
    return status;
}

/* What this rank has to say about its counts. */
static fs_meta_word_t own_word(const fs_coll_t *coll, const fs_call_t *call)
{
    const fs_topo_t *topo = coll->topo;
    uint32_t         home = fs_topo_server(topo, coll->rank);
    uint64_t         sent = 0, received = 0;
    fs_meta_word_t   word = {0};

    for (uint32_t r = 0; r < topo->n_ranks; ++r) {
        if (fs_topo_server(topo, r) != home) {
            sent += call->send_bytes[r];
            received += call->recv_bytes[r];
        }
        word.sum[0] += fs_digest_pair(coll->rank, r, call->send_bytes[r]);
        word.sum[1] += fs_digest_pair(r, coll->rank, call->recv_bytes[r]);
    }
    word.max_inter = fs_u64_max(sent, received);
    return word;
}

static fs_status_t exchange_summary(fs_coll_t *coll, const fs_call_t *call)
{
    fs_meta_word_t word = own_word(coll, call);
    fs_status_t    status;

    pthread_mutex_lock(&coll->net->lock);
    status = fs_meta_start_summary(coll->meta, &word, call->send_bytes,
                                   call->recv_bytes);
    pthread_mutex_unlock(&coll->net->lock);
    if (status == FS_OK) {
        status = wait_for(coll, meta_step);
    }
    return status;
}

/* The same on every rank: from the summary alone. */
static fs_choice_t choose(fs_coll_t *coll)
{
    const fs_meta_word_t *word   = fs_meta_word(coll->meta);
    fs_plan_params_t      params = fs_params_plan(&coll->params);

    coll->traffic = (fs_traffic_t){.n_servers = coll->topo->n_servers,
                                   .bytes     = fs_meta_matrix(coll->meta),
                                   .max_inter = word->max_inter};
    if (fs_traffic_sum(&coll->traffic) != FS_OK) {
        return (fs_choice_t){FS_ALG_HOST, false, "too many bytes"};
    }
    if (word->sum[0] != word->sum[1]) {
        return (fs_choice_t){FS_ALG_HOST, false,
                             "send and receive counts differ, see check"};
    }
    return fs_select(coll->topo, &coll->traffic, &params);
}

static fs_status_t make_plan(fs_coll_t *coll, const fs_call_t *call,
                             fs_plan_t **plan_p)
{
    fs_plan_params_t   params = fs_params_plan(&coll->params);
    fs_local_traffic_t local  = {
         .send        = fs_meta_local_send(coll->meta),
         .recv        = fs_meta_local_recv(coll->meta),
         .send_packed = call->send_block != NULL,
         .recv_packed = call->recv_block != NULL,
    };
    fs_status_t status = FS_OK;

    if (call->prepare != NULL) {
        status = call->prepare(call->ctx);
    }
    if (status == FS_OK) {
        status = fs_plan_create(coll->choice.alg, coll->topo, &coll->traffic,
                                &params, coll->rank, &local, plan_p);
    }
    if (status == FS_OK) {
        status = fs_exec_reserve(coll->exec, *plan_p);
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
 * times each of them. */
static fs_status_t agree(fs_coll_t *coll, bool planned, const fs_plan_t *plan,
                         bool *agreed_p)
{
    uint64_t       digest = planned ? plan->digest : 0;
    fs_meta_word_t mine   = {.flags = planned ? 0 : FS_FLAG_DECLINE,
                             .sum   = {digest, 0}};
    fs_meta_word_t all    = {0};
    fs_status_t    status = ask_all(coll, &mine, &all);

    *agreed_p = status == FS_OK && !(all.flags & FS_FLAG_DECLINE) &&
                all.sum[0] == digest * coll->topo->n_ranks;
    return status;
}

/* For people: how long the call took the slowest rank. */
static fs_status_t find_slowest(fs_coll_t *coll, uint64_t own_ns)
{
    fs_meta_word_t mine   = {.max_ns = own_ns};
    fs_meta_word_t all    = {0};
    fs_status_t    status = ask_all(coll, &mine, &all);

    coll->slowest_ns = all.max_ns;
    return status;
}

static fs_status_t run(fs_coll_t *coll, const fs_plan_t *plan,
                       const fs_call_t *call)
{
    pthread_mutex_lock(&coll->net->lock);
    fs_exec_start(coll->exec, plan, call, (uint32_t)coll->stats.calls);
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
    coll->decompose     = plan->decompose;
    coll->n_stages      = plan->n_stages;
}

/* The summary says that it pays: plan, agree, run. */
static fs_status_t serve(fs_coll_t *coll, const fs_call_t *call, bool *ran)
{
    uint64_t    start  = now_ns(), planned;
    fs_plan_t  *plan   = NULL;
    bool        ok     = make_plan(coll, call, &plan) == FS_OK;
    fs_status_t status = agree(coll, ok, plan, ran);

    planned = now_ns();
    coll->stats.plan_ns += planned - start;
    if (status != FS_OK) {
        status = die(coll, status, "agreement on the plan");
    } else if (!*ran) {
        coll->choice = (fs_choice_t){FS_ALG_HOST, coll->choice.skewed,
                                     "a rank could not plan"};
    } else {
        status = run(coll, plan, call);
        if (status != FS_OK) {
            return die(coll, status, "exchange"); /* the plan is in use */
        }
        coll->stats.run_ns += now_ns() - planned;
        count_run(coll, plan);
    }
    fs_plan_destroy(plan);
    return status;
}

fs_status_t fs_coll_alltoallv(fs_coll_t *coll, const fs_call_t *call, bool *ran)
{
    uint64_t    start = now_ns();
    fs_status_t status;

    *ran = false;
    if (coll->dead) {
        return FS_ERR_TRANSPORT;
    }
    ++coll->stats.calls;
    coll->n_stages   = 0;
    coll->summarised = false;
    if (coll->params.check) {
        status = fs_coll_check_counts(coll, call);
        if (status != FS_OK) {
            return status;
        }
    }
    if (coll->topo->n_servers < 2) {
        coll->choice = (fs_choice_t){FS_ALG_HOST, false, "one server"};
        return FS_OK;
    }
    if (coll->params.algorithm == FS_ALGORITHM_OFF) {
        coll->choice = (fs_choice_t){FS_ALG_HOST, false, "algorithm is off"};
        return FS_OK;
    }
    status = exchange_summary(coll, call);
    coll->stats.summary_ns += now_ns() - start;
    coll->stats.meta_bytes = fs_meta_wire_bytes(coll->meta);
    if (status != FS_OK) {
        return die(coll, status, "summary exchange");
    }
    coll->choice     = choose(coll);
    coll->summarised = true;
    if (coll->choice.alg != FS_ALG_HOST) {
        status = serve(coll, call, ran);
    }
    if (status == FS_OK && *ran && coll->params.verbose > 0) {
        status = find_slowest(coll, now_ns() - start);
    }
    return status;
}

/* ---- what people see ---- */

const char *fs_coll_error(const fs_coll_t *coll)
{
    return coll->error;
}

fs_alg_t fs_coll_last_alg(const fs_coll_t *coll)
{
    return coll->choice.alg;
}

void fs_coll_get_stats(const fs_coll_t *coll, fs_coll_stats_t *stats_p)
{
    *stats_p = coll->stats;
}

/* A line in the making; what does not fit is left out. */
typedef struct line {
    char  *text;
    size_t len;
    size_t used;
} line_t;

static void say(line_t *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(line_t *line, const char *format, ...)
{
    va_list args;
    int     n;

    va_start(args, format);
    n = vsnprintf(line->text + line->used, line->len - line->used, format,
                  args);
    va_end(args);
    if (n > 0) {
        line->used = fs_u64_min(line->used + (size_t)n, line->len - 1);
    }
}

static void say_traffic(line_t *line, const fs_coll_t *coll)
{
    uint64_t mtm = fs_traffic_mtm_milli(coll->topo, &coll->traffic);

    say(line,
        ", MTM %llu.%03llu %s %u.%03u; %u servers, %llu bytes between them",
        (unsigned long long)mtm / 1000, (unsigned long long)mtm % 1000,
        coll->choice.skewed ? ">=" : "<", coll->params.mtm_threshold / 1000,
        coll->params.mtm_threshold % 1000, coll->topo->n_servers,
        (unsigned long long)coll->traffic.inter_bytes);
}

/* How the servers take turns. */
static void say_schedule(line_t *line, const fs_coll_t *coll)
{
    say(line, ", %s", fs_decompose_name(coll->decompose));
    if (coll->n_stages > 0) {
        say(line, ", %u stage%s", coll->n_stages,
            coll->n_stages == 1 ? "" : "s");
    }
}

/* The slowest rank's time, and the bound where the rate is known. */
static void say_time(line_t *line, const fs_coll_t *coll)
{
    double bound_s =
        (double)fs_traffic_lower_bound(coll->topo, &coll->traffic) * 8 /
        (double)coll->params.rate;
    double time_s = (double)coll->slowest_ns * 1e-9;

    say(line, ", %.6f s", time_s);
    if (coll->params.rate > 0 && time_s > 0) {
        say(line, ", lower bound %.6f s (%.1f%%)", bound_s,
            100 * bound_s / time_s);
    }
}

void fs_coll_describe(const fs_coll_t *coll, const char *comm_name, char *text,
                      size_t text_len)
{
    line_t line = {text, text_len, 0};

    say(&line, "%s call %llu: %s (%s)", comm_name,
        (unsigned long long)coll->stats.calls, fs_alg_name(coll->choice.alg),
        coll->choice.reason);
    if (coll->summarised) {
        say_traffic(&line, coll);
    }
    if (coll->choice.alg == FS_ALG_STAGED) {
        say_schedule(&line, coll);
    }
    if (coll->choice.alg != FS_ALG_HOST) {
        say_time(&line, coll);
    }
}
