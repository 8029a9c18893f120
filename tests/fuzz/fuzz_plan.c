/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes are a cluster, a matrix and parameters. Schedules and programs made
 * of them must be right, or refused; made twice, they must be the same.
 */
#include "fuzz_input.h"

#include "fastsched.h"
#include "prop/schedule_check.h"
#include "sched/plan/fs_plan_check.h"
#include "sched/papers/fs_papers.h"

#include <string.h>

enum {
    MAX_SERVERS = 6,
    MAX_LOCAL   = 4,
    MAX_RANKS   = MAX_SERVERS * MAX_LOCAL,
    MAX_CHUNKS  = 12 /* of a block: programs stay small */
};

typedef struct fuzz_case {
    uint32_t           n_ranks;
    fs_topo_t         *topo;
    fs_alg_t           alg;
    fs_plan_params_t   params;
    fs_traffic_t       traffic;
    uint64_t           server_bytes[MAX_SERVERS * MAX_SERVERS];
    uint64_t           counts[MAX_RANKS * MAX_RANKS];
    fs_local_traffic_t local;
    uint64_t           send[MAX_LOCAL * MAX_RANKS];
    uint64_t           recv[MAX_LOCAL * MAX_RANKS];
    uint8_t            layouts; /* bits of ranks, round and round */
} fuzz_case_t;

/* ---- the case ---- */

static void read_topo(fuzz_input_t *in, fuzz_case_t *c)
{
    uint32_t server_of[MAX_RANKS];
    uint32_t n_servers         = 1 + fuzz_below(in, MAX_SERVERS);
    uint32_t lanes             = fuzz_below(in, MAX_LOCAL + 1);
    uint32_t used[MAX_SERVERS] = {0};

    c->n_ranks = 1 + fuzz_below(in, n_servers * MAX_LOCAL);
    for (uint32_t r = 0; r < c->n_ranks; ++r) {
        uint32_t s = fuzz_below(in, n_servers);

        while (used[s] == MAX_LOCAL) {
            s = (s + 1) % n_servers;
        }
        server_of[r] = s;
        ++used[s];
    }
    fuzz_must(fs_topo_create(c->n_ranks, server_of, lanes, &c->topo) == FS_OK,
              "no topology");
}

static void read_params(fuzz_input_t *in, fuzz_case_t *c)
{
    static const fs_alg_t algs[] = {FS_ALG_MAP(FS_LIST_VALUE)};

    c->alg    = algs[fuzz_below(in, sizeof(algs) / sizeof(algs[0]))];
    c->params = (fs_plan_params_t){
        .balance    = (fs_balance_t)fuzz_below(in, FS_N_ALL_BALANCES),
        .decompose  = (fs_decompose_t)fuzz_below(in, FS_N_ALL_DECOMPOSITIONS),
        .chunk      = 1 + fuzz_u64(in) % (UINT64_C(1) << 40),
        .window     = fuzz_below(in, 9),
        .stage_cost = fuzz_u64(in),
    };
    c->params.staging_limit = c->params.chunk * fuzz_below(in, 64);
    c->layouts              = fuzz_u8(in);
}

/* Small numbers times a unit, so that they add up to interesting sums, and a
 * chunk that does not make too many messages of them. */
static void read_counts(fuzz_input_t *in, fuzz_case_t *c)
{
    uint64_t unit = 1 + fuzz_u64(in) % (UINT64_C(1) << 48), most = 0;

    for (uint32_t k = 0; k < c->n_ranks * c->n_ranks; ++k) {
        c->counts[k] = fuzz_u8(in) * unit + fuzz_below(in, 3);
        most         = c->counts[k] > most ? c->counts[k] : most;
    }
    if (c->params.chunk < most / MAX_CHUNKS) {
        uint64_t slots = c->params.staging_limit / c->params.chunk;

        c->params.chunk         = most / MAX_CHUNKS;
        c->params.staging_limit = c->params.chunk * slots;
    }
}

static uint64_t *server_cell(fuzz_case_t *c, uint32_t i, uint32_t j)
{
    return &c->server_bytes[fs_topo_server(c->topo, i) * c->traffic.n_servers +
                            fs_topo_server(c->topo, j)];
}

static fs_status_t sum_up(fuzz_case_t *c)
{
    c->traffic.n_servers = fs_topo_n_servers(c->topo);
    c->traffic.bytes     = c->server_bytes;
    for (uint32_t i = 0; i < c->n_ranks; ++i) {
        for (uint32_t j = 0; j < c->n_ranks; ++j) {
            *server_cell(c, i, j) += c->counts[i * c->n_ranks + j];
        }
    }
    return fs_traffic_sum(&c->traffic);
}

/* ---- programs ---- */

static void fill_local(fuzz_case_t *c, uint32_t rank)
{
    uint32_t n = c->n_ranks, server = fs_topo_server(c->topo, rank);

    for (uint32_t i = 0; i < fs_topo_n_local(c->topo, server); ++i) {
        uint32_t r = fs_topo_rank(c->topo, server, i);

        for (uint32_t k = 0; k < n; ++k) {
            c->send[i * n + k] = c->counts[r * n + k];
            c->recv[i * n + k] = c->counts[k * n + r];
        }
    }
    c->local = (fs_local_traffic_t){c->send, c->recv,
                                    (c->layouts >> rank % 8 & 1) != 0,
                                    (c->layouts >> (rank + 3) % 8 & 1) != 0};
}

static fs_plan_t *plan_of(fuzz_case_t *c, uint32_t rank, fs_status_t *status_p)
{
    fs_plan_t *plan = NULL;

    fill_local(c, rank);
    *status_p = fs_plan_create(c->alg, c->topo, &c->traffic, &c->params, rank,
                               &c->local, &plan);
    fuzz_must((*status_p == FS_OK) == (plan != NULL), "a plan after an error");
    return plan;
}

/* The plan of a rank, made twice. */
static fs_plan_t *twins(fuzz_case_t *c, uint32_t rank, fs_status_t *status_p)
{
    fs_plan_t *a = plan_of(c, rank, status_p), *b = plan_of(c, rank, status_p);

    fuzz_must((a == NULL) == (b == NULL), "refused once, made once");
    if (a != NULL) {
        fuzz_must(a->digest == b->digest && a->n_ops == b->n_ops &&
                      a->n_next == b->n_next &&
                      a->staging_bytes == b->staging_bytes,
                  "two plans of one input");
        fuzz_must(memcmp(a->ops, b->ops, a->n_ops * sizeof(*a->ops)) == 0 &&
                      memcmp(a->next, b->next, a->n_next * sizeof(*a->next)) ==
                          0,
                  "two programs of one input");
    }
    fs_plan_destroy(b);
    return a;
}

static void try_plans(fuzz_case_t *c)
{
    fs_plan_t  *plans[MAX_RANKS] = {0};
    char        why[200]         = "";
    fs_status_t first = FS_OK, status = FS_OK;

    for (uint32_t r = 0; r < c->n_ranks; ++r) {
        plans[r] = twins(c, r, &status);
        fuzz_must(r == 0 || status == first, "refused by some ranks only");
        first = status;
    }
    if (status == FS_OK) {
        status = fs_plan_check(c->topo, &c->params, c->counts, plans, why,
                               sizeof(why));
        fuzz_must(status == FS_OK, why);
    } else {
        fuzz_must(status == FS_ERR_INVAL || status == FS_ERR_OVERFLOW,
                  "refused for another reason");
    }
    for (uint32_t r = 0; r < c->n_ranks; ++r) {
        fs_plan_destroy(plans[r]);
    }
}

/* ---- schedules and bounds, of the numbers as they are ---- */

static void try_schedules(fuzz_case_t *c, uint32_t only)
{
    uint32_t n = c->traffic.n_servers;

    for (int how = 0; how < FS_N_ALL_DECOMPOSITIONS; ++how) {
        fs_schedule_t *all = NULL, *part = NULL;
        const char    *problem;
        fs_status_t    status =
            fs_schedule_create((fs_decompose_t)how, c->params.stage_cost, n,
                               c->server_bytes, FS_ALL_SERVERS, &all);

        if (status != FS_OK) {
            fuzz_must(status == FS_ERR_OVERFLOW, "no schedule");
            continue;
        }
        problem =
            schedule_problem(all, (fs_decompose_t)how, n, c->server_bytes);
        fuzz_must(problem == NULL, problem);
        fuzz_must(fs_schedule_create((fs_decompose_t)how, c->params.stage_cost,
                                     n, c->server_bytes, only, &part) == FS_OK,
                  "no part of the schedule");
        problem = part_problem(part, all, only);
        fuzz_must(problem == NULL, problem);
        fs_schedule_destroy(all);
        fs_schedule_destroy(part);
    }
}

static void try_bounds(const fuzz_case_t *c)
{
    fs_bounds_t bounds;
    fs_status_t status = fs_bounds(c->topo, c->counts, &bounds);

    fuzz_must(status == FS_OK, "no bounds of what can be summed");
    fuzz_must(bounds.server == fs_traffic_lower_bound(c->topo, &c->traffic) &&
                  bounds.rank <= bounds.flat,
              "bounds");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static fuzz_case_t c; /* too large for a stack */
    fuzz_input_t       in = {data, len};
    uint32_t           only;

    memset(&c, 0, sizeof(c));
    read_topo(&in, &c);
    read_params(&in, &c);
    read_counts(&in, &c);
    only = fuzz_below(&in, fs_topo_n_servers(c.topo));
    if (sum_up(&c) == FS_OK) {
        try_bounds(&c);
        try_plans(&c);
    }
    for (uint32_t k = 0; in.len > 0 && k < MAX_SERVERS * MAX_SERVERS; ++k) {
        c.server_bytes[k] = fuzz_u64(&in);
    }
    try_schedules(&c, only);
    fs_topo_destroy(c.topo);
    return 0;
}
