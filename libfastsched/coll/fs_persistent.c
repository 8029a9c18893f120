/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/fs_persistent.h"

#include "base/fs_arith.h"
#include "comm/fs_control_block.h"
#include "sched/model/fs_topo.h"

#include <stdio.h>

/* ---- a communicator of its own ---- */

/* What bundles need of parameter bundle_memory. Inside a server a rank may have more
 * bytes than for others; what has no room is planned with each start. */
static uint64_t bundle_memory(const fs_comm_t    *comm,
                              const fs_traffic_t *traffic)
{
    enum { LEAST = 4096, POOL = 8 };
    uint64_t most = comm->params.bundle_memory, memory = LEAST;

    while (memory < most &&
           (memory < traffic->max_inter * POOL ||
            !fs_control_bundles_fit(comm->topo, traffic->bytes, memory))) {
        memory *= 2;
    }
    return fs_u64_min(memory, most);
}

static fs_status_t make_comm(fs_persistent_t *p, const fs_comm_t *of)
{
    fs_native_t native = of->native;
    fs_params_t params = of->params;
    fs_member_t member = {.n_ranks      = of->topo->n_ranks,
                          .rank         = of->rank,
                          .server_label = of->topo->server[of->rank],
                          .world_rank   = of->world_rank};
    char        why[256];
    fs_status_t status;

    native.p2p           = NULL;
    native.wanted        = NULL;
    params.check         = false;
    params.frames        = 1;
    params.stats         = false;
    params.tuning[0]     = '\0';
    params.bundle_memory = 0;
    if (p->plan == NULL) {
        params.algorithm     = FS_ALG_BUNDLES;
        params.bundle_memory = bundle_memory(of, &p->outcome.traffic);
        params.early         = FS_EARLY_OFF; /* its one message has the data */
    } else {
        params.algorithm = p->outcome.choice.alg; /* if it begins early */
    }
    if (p->collective->vote == NULL) {
        params.early = FS_EARLY_OFF; /* no rank waits for all to begin */
    }
    status =
        fs_comm_create(&native, &params, &member, &p->comm, why, sizeof(why));
    p->memory += params.bundle_memory;
    if (status == FS_OK && p->plan == NULL && p->comm->control != NULL) {
        p->memory += fs_control_own_bytes(p->comm->control);
    }
    return status;
}

/* What this rank needs for its starts, unless all that is kept is too much. */
static fs_status_t reserve(fs_persistent_t *p, const fs_call_t *call)
{
    fs_comm_t  *comm   = p->comm;
    fs_net_t   *net    = comm->net;
    fs_status_t status = FS_OK;

    fs_net_lock(net);
    if (p->plan != NULL) {
        p->memory += p->plan->plan->staging_bytes;
    }
    if (net->kept_bytes + p->memory > comm->params.staging_limit) {
        status = FS_ERR_NOMEM;
    } else if (p->plan != NULL) {
        status = fs_exec_reserve(comm->exec, p->plan->plan, call);
    }
    net->kept_bytes += p->memory;
    pthread_mutex_unlock(&net->lock);
    return status;
}

/* ---- from init to fini ---- */

static fs_status_t get_ready(fs_persistent_t *p, const fs_comm_t *of,
                             const fs_call_t *call)
{
    fs_status_t status = make_comm(p, of);

    if (status != FS_OK) {
        p->memory = 0;
        return status;
    }
    p->comm->forecast[p->collective->tuned] = (fs_forecast_t){
        .known     = p->outcome.question.reason != FS_TUNER_NONE,
        .candidate = p->outcome.question.candidate}; /* coarse bundles? */
    p->comm->apart       = of->apart;
    p->comm->early_chunk = fs_early_chunk(p->outcome.bound, of->params.chunk);
    return of->native.agree(of->native.ctx, reserve(p, call));
}

/* Errors of the network may be known to some ranks only: then the others do not go
 * on either. Others are the same on all ranks, or leave the call to the MPI. */
static fs_status_t agree(fs_comm_t *comm, fs_status_t mine)
{
    fs_status_t all = comm->native.agree(comm->native.ctx, mine);

    if (all != FS_OK && comm->error[0] == '\0') {
        snprintf(comm->error, sizeof(comm->error), "a rank has failed: %s",
                 fs_strerror(all));
    }
    return all;
}

static bool is_ours(const fs_persistent_t *p, fs_status_t status)
{
    return status == FS_OK && p->outcome.choice.alg != FS_ALG_NATIVE;
}

fs_status_t fs_persistent_init(fs_persistent_t *p, fs_comm_t *comm,
                               fs_status_t            mine,
                               const fs_collective_t *collective,
                               const fs_call_t       *call)
{
    fs_request_t request;
    fs_status_t  status;

    *p = (fs_persistent_t){.collective = collective};
    fs_request_wait_all(comm);
    status = agree(comm, comm->dead ? FS_ERR_TRANSPORT : mine);
    if (status != FS_OK) {
        return status == FS_ERR_TRANSPORT ? status : FS_OK;
    }
    status     = fs_comm_plan(&request, comm, collective, call);
    p->plan    = request.plan;
    p->flags   = request.flags;
    p->outcome = request.outcome;
    status     = agree(comm, status);
    if (!is_ours(p, status) || get_ready(p, comm, call) != FS_OK) {
        fs_persistent_fini(p);
    }
    p->outcome.traffic.bytes = NULL; /* the matrix of that call */
    p->outcome.gathered_ns   = 0;    /* its ranks */
    return status == FS_ERR_UNSUPPORTED ? FS_OK : status;
}

void fs_persistent_start(fs_persistent_t *p, fs_request_t *request,
                         const fs_call_t *call,
                         void (*done)(fs_request_t *request))
{
    fs_request_init(request, p->comm, p->collective, call);
    if (p->plan != NULL && !fs_comm_begins_early(p->comm)) {
        request->plan    = fs_cached_plan_use(p->plan);
        request->flags   = p->flags;
        request->outcome = p->outcome;
    }
    fs_comm_post(request, done);
}

static void add_stats(fs_comm_stats_t *to, const fs_comm_stats_t *from)
{
    to->calls += from->calls;
    for (unsigned alg = 0; alg < FS_N_ALGS; ++alg) {
        to->calls_by[alg] += from->calls_by[alg];
    }
    to->early += from->early;
    to->early_bytes += from->early_bytes;
    to->inter_bytes += from->inter_bytes;
    to->moved_bytes += from->moved_bytes;
    to->meta_bytes += from->meta_bytes;
    to->peak_staging = fs_u64_max(to->peak_staging, from->peak_staging);
    to->peak_senders = fs_u64_max(to->peak_senders, from->peak_senders);
}

void fs_persistent_give_stats(fs_persistent_t *p, fs_comm_t *comm)
{
    if (comm != NULL) {
        add_stats(&comm->stats, &p->comm->stats);
    }
    p->comm->stats = (fs_comm_stats_t){0};
}

void fs_persistent_fini(fs_persistent_t *p)
{
    fs_cached_plan_release(p->plan);
    if (p->comm != NULL) {
        fs_net_t *net = p->comm->net;

        fs_net_lock(net);
        net->kept_bytes -= p->memory;
        pthread_mutex_unlock(&net->lock);
        fs_comm_destroy(p->comm);
    }
    *p = (fs_persistent_t){.comm = NULL};
}
