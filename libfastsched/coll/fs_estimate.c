/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/fs_estimate.h"

#include "base/fs_arith.h"
#include "coll/fs_chunks.h"
#include "coll/fs_eager.h"
#include "comm/fs_params.h"
#include "sched/model/fs_topo.h"
#include "sched/plan/fs_plan.h"

fs_plan_params_t fs_estimate_params(const fs_comm_t *comm)
{
    fs_plan_params_t params = fs_params_plan(&comm->params);

    if (fs_comm_is_tuned(comm) && comm->params.min_bytes == FS_MIN_BYTES_AUTO) {
        params.min_bytes = 0; /* it is the tuner that decides */
    }
    return params;
}

/* Until it is measured, no more than the fastest run says: see fs_calibration.h. A run of
 * a few bytes says nothing. */
static uint64_t start_cost(const fs_comm_t *comm)
{
    enum { LEAST = 2048 };
    uint64_t alpha = comm->params.stage_cost;

    return comm->quarter > 0 && !comm->calibration.done
               ? fs_u64_min(alpha, fs_u64_max(comm->quarter, LEAST))
               : alpha;
}

/* For the tuner, a byte as a nanosecond: it finds the factor. */
static uint64_t as_ns(fs_u128_t cost)
{
    return cost >= FS_TUNER_UNKNOWN ? FS_TUNER_UNKNOWN - 1
                                    : fs_u64_max((uint64_t)cost, 1);
}

/* Are there perhaps blocks that the MPI would not send at once anyway, as some may be
 * four times as long as the mean of their rank, and not too many for a rank's memory? */
static bool may_be_eager(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;
    uint64_t         most = request->outcome.traffic.max_inter;

    return fs_eager_can(comm) && !comm->has_rdma && most <= FS_EAGER_MOST &&
           4 * most > (uint64_t)FS_EAGER_PIECE * (comm->topo->n_ranks - 1);
}

bool fs_estimate_pays_eager(const fs_request_t *request)
{
    const fs_comm_t    *comm    = request->comm;
    const fs_outcome_t *outcome = &request->outcome;
    const fs_traffic_t *traffic = &outcome->traffic;
    uint64_t            alpha   = start_cost(comm);

    return traffic->inter_bytes > 0 && may_be_eager(request) &&
           fs_cost_native(comm->topo, traffic, outcome->bound, alpha) * 4 <=
               fs_cost_staged(comm->topo, traffic, outcome->bound, alpha) * 5;
}

/* What each candidate should take. A threshold that the user has set forces: the
 * native algorithm is not the first guess above it, and between staged and pipe2d
 * there is no choice. */
static void estimate(const fs_request_t *request, const fs_busiest_t *busiest,
                     uint64_t ns[FS_N_CANDIDATES])
{
    const fs_comm_t    *comm    = request->comm;
    const fs_outcome_t *outcome = &request->outcome;
    const fs_topo_t    *topo    = comm->topo;
    const fs_traffic_t *traffic = &outcome->traffic;
    fs_plan_params_t    params  = fs_estimate_params(comm);
    uint64_t            alpha   = start_cost(comm);
    uint64_t            chunk   = fs_chunks_cut(request, false).chunk;
    bool     forced = comm->params.mtm_threshold != FS_MTM_THRESHOLD_AUTO;
    uint64_t staged =
        as_ns(fs_cost_staged(topo, traffic, outcome->bound, alpha));

    ns[FS_CANDIDATE_NATIVE] =
        comm->params.min_bytes == FS_MIN_BYTES_AUTO
            ? as_ns(fs_cost_native(topo, traffic, outcome->bound, alpha))
            : FS_TUNER_UNKNOWN;
    ns[FS_CANDIDATE_EAGER] = comm->params.min_bytes == FS_MIN_BYTES_AUTO &&
                                     may_be_eager(request)
                                 ? ns[FS_CANDIDATE_NATIVE]
                                 : 0;
    ns[FS_CANDIDATE_BUNDLES] =
        fs_control_fits(comm->control, traffic->bytes, busiest->cell)
            ? as_ns(fs_cost_bundles(outcome->bound, alpha))
            : 0;
    if (fs_control_can_be_coarse(comm->control, busiest->cell)) {
        ns[FS_CANDIDATE_BUNDLES_COARSE] = ns[FS_CANDIDATE_BUNDLES];
    }
    if (!forced || outcome->choice.alg == FS_ALG_STAGED) {
        ns[FS_CANDIDATE_STAGED] = staged;
    }
    /* Where a lane's bytes are a chunk at most, it is the same. The first of them
     * takes longer through staging. */
    if (ns[FS_CANDIDATE_STAGED] != 0 && outcome->bound > chunk &&
        params.staging_limit / chunk / FS_TUNER_COARSE >=
            FS_STAGING_RINGS * FS_STAGING_MIN_SLOTS) {
        ns[FS_CANDIDATE_COARSE] =
            as_ns((fs_u128_t)staged + (FS_TUNER_COARSE - 1) * (fs_u128_t)chunk);
    }
    if (fs_select_can(topo, &params, FS_ALG_PIPE2D) &&
        (!forced || outcome->choice.alg == FS_ALG_PIPE2D)) {
        ns[FS_CANDIDATE_PIPE2D] =
            as_ns(fs_cost_pipe2d(topo, traffic, outcome->bound, alpha));
    }
}

void fs_estimate(fs_request_t *request, const fs_busiest_t *busiest)
{
    fs_outcome_t       *outcome  = &request->outcome;
    const fs_topo_t    *topo     = request->comm->topo;
    const fs_traffic_t *traffic  = &outcome->traffic;
    uint32_t            of_class = fs_tuner_class(
                   traffic->inter_bytes, fs_traffic_mtm_milli(topo, traffic),
                   fs_cost_server_skew_milli(traffic, busiest));

    outcome->tuned = (fs_tuner_call_t){
        .of_class = fs_tuner_class_for(request->collective->tuned, of_class),
        .bound    = outcome->bound};
    estimate(request, busiest, outcome->tuned.estimate);
}
