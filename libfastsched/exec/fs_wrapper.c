/* SPDX-License-Identifier: BSD-3-Clause */
#include "exec/fs_wrapper.h"

#include "accel/fs_accel.h"
#include "base/fs_arith.h"
#include "exec/fs_coll.h"
#include "exec/fs_line.h"
#include "sched/fs_topo.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- parameters ---- */

fs_status_t fs_wrapper_parse(fs_wrapper_t *wrapper,
                             const char *(*value)(size_t                 k,
                                                  const fs_param_info_t *info),
                             char *why, size_t why_len)
{
    const fs_param_info_t *info;
    fs_status_t            status = FS_OK;

    fs_params_init(&wrapper->params);
    for (size_t k = 0; status == FS_OK && (info = fs_params_info(k)) != NULL;
         ++k) {
        const char *text = value(k, info);

        if (text != NULL) {
            status =
                fs_params_set(&wrapper->params, info->name, text, why, why_len);
        }
    }
    return status == FS_OK ? fs_params_check(&wrapper->params, why, why_len)
                           : status;
}

fs_status_t fs_wrapper_place(fs_wrapper_t *wrapper, uint32_t n_ranks, char *why,
                             size_t why_len)
{
    char        reason[400];
    fs_status_t status;

    if (wrapper->params.nodes[0] == '\0') {
        return FS_OK;
    }
    wrapper->world_server = calloc(n_ranks, sizeof(*wrapper->world_server));
    if (wrapper->world_server == NULL) {
        snprintf(why, why_len, "nodes: out of memory");
        return FS_ERR_NOMEM;
    }
    status = fs_topo_parse(wrapper->params.nodes, n_ranks,
                           wrapper->world_server, reason, sizeof(reason));
    if (status != FS_OK) {
        snprintf(why, why_len, "nodes: %s", reason);
    }
    return status;
}

void fs_wrapper_look_for_unknown(const fs_wrapper_t *wrapper,
                                 const char         *prefix,
                                 bool (*is_known)(const char *entry),
                                 const char *page)
{
    char      text[256];
    fs_line_t line;

    for (char **entry = environ; *entry != NULL; ++entry) {
        if (strncmp(*entry, prefix, strlen(prefix)) == 0 &&
            !is_known(*entry + strlen(prefix))) {
            line = (fs_line_t){text, sizeof(text), 0};
            fs_line_say(&line,
                        "%.*s is no parameter and has no effect; see man %s",
                        (int)strcspn(*entry, "="), *entry, page);
            wrapper->say(text);
        }
    }
}

/* ---- what there is once ---- */

/* For want of memory it is tried again: the next communicator may find some. */
fs_net_t *fs_wrapper_net(fs_wrapper_t *wrapper)
{
    pthread_mutex_lock(&wrapper->lock);
    if (wrapper->net == NULL &&
        (wrapper->net_status == FS_OK || wrapper->net_status == FS_ERR_NOMEM)) {
        wrapper->net_status = wrapper->create_net(
            wrapper->params.tcp_sndbuf, fs_nics_device(wrapper->nics),
            &wrapper->net, wrapper->no_net, sizeof(wrapper->no_net));
        if (wrapper->net_status == FS_OK && wrapper->net_is_up != NULL) {
            wrapper->net_is_up(wrapper->net);
        }
    }
    pthread_mutex_unlock(&wrapper->lock);
    return wrapper->net;
}

const char *fs_wrapper_no_net(const fs_wrapper_t *wrapper)
{
    return wrapper->no_net;
}

fs_nics_t *fs_wrapper_nics(fs_wrapper_t *wrapper)
{
    pthread_mutex_lock(&wrapper->lock);
    if (wrapper->nics == NULL) {
        (void)fs_nics_create(wrapper->params.nics, &wrapper->nics);
    }
    pthread_mutex_unlock(&wrapper->lock);
    return wrapper->nics;
}

/* What the MPI says of itself, by the functions that Open MPI and MPICH have for
 * it; under both of the names that they have for AMD's. */
static unsigned find_mem_kinds(void)
{
    static const struct {
        const char *name;
        unsigned    mem_kinds;
    } questions[] = {
        {"MPIX_Query_cuda_support",
         1u << FS_MEM_CUDA | 1u << FS_MEM_CUDA_MANAGED},
        {"MPIX_Query_rocm_support",
         1u << FS_MEM_ROCM | 1u << FS_MEM_ROCM_MANAGED},
        {"MPIX_Query_hip_support",
         1u << FS_MEM_ROCM | 1u << FS_MEM_ROCM_MANAGED},
    };
    unsigned mem_kinds = 0;

    for (size_t k = 0; k < sizeof(questions) / sizeof(questions[0]); ++k) {
        int (*is_supported)(void) = NULL;

        *(void **)&is_supported = dlsym(RTLD_DEFAULT, questions[k].name);
        if (is_supported != NULL && is_supported() == 1) {
            mem_kinds |= questions[k].mem_kinds;
        }
    }
    return mem_kinds;
}

void fs_wrapper_find_accel(fs_wrapper_t *wrapper)
{
    pthread_mutex_lock(&wrapper->lock);
    if (wrapper->accel == NULL && wrapper->params.accel) {
        wrapper->mem_kinds = find_mem_kinds();
        /* Other threads look at it without the lock, see fs_wrapper_has_accel(). */
        __atomic_store_n(&wrapper->accel, fs_accel_create(), __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&wrapper->lock);
}

void fs_wrapper_close(fs_wrapper_t *wrapper)
{
    fs_accel_destroy(wrapper->accel);
    fs_net_destroy(wrapper->net);
    fs_nics_destroy(wrapper->nics);
    free(wrapper->world_server);
    wrapper->net          = NULL;
    wrapper->nics         = NULL;
    wrapper->world_server = NULL;
    wrapper->accel        = NULL;
}

/* ---- sums ---- */

/* Threads may be in calls on other communicators. */
static void add(unsigned long long *counter, unsigned long long n)
{
    (void)__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

void fs_wrapper_enter(fs_wrapper_t *wrapper)
{
    add(&wrapper->calls, 1);
    __atomic_store_n(&wrapper->last_algorithm, (unsigned)FS_ALG_HOST,
                     __ATOMIC_RELAXED);
}

static void count(fs_wrapper_t *wrapper, const fs_coll_t *coll,
                  uint64_t inter_bytes_before)
{
    fs_alg_t        alg = fs_coll_last_alg(coll);
    fs_coll_stats_t stats;

    fs_coll_get_stats(coll, &stats);
    __atomic_store_n(&wrapper->last_algorithm, (unsigned)alg, __ATOMIC_RELAXED);
    if (alg != FS_ALG_HOST) {
        add(&wrapper->calls_by[alg], 1);
    }
    add(&wrapper->inter_bytes, stats.inter_bytes - inter_bytes_before);
}

fs_status_t fs_wrapper_alltoallv(fs_wrapper_t *wrapper, fs_coll_t *coll,
                                 const fs_call_t *call, bool *ran)
{
    fs_coll_stats_t before;
    fs_status_t     status;

    if (coll->topo->n_servers > 1) {
        __atomic_store_n(&wrapper->spans_servers, true, __ATOMIC_RELAXED);
    }
    fs_coll_get_stats(coll, &before);
    status = fs_coll_alltoallv(coll, call, ran);
    if (status == FS_OK) {
        count(wrapper, coll, before.inter_bytes);
    }
    return status;
}

/* ---- lines for people ---- */

void fs_wrapper_report(const fs_wrapper_t *wrapper, const fs_coll_t *coll,
                       const char *comm_name)
{
    char line[512];

    fs_coll_describe(coll, comm_name, line, sizeof(line));
    wrapper->say(line);
}

static unsigned long long ull(uint64_t n)
{
    return n;
}

/* A field of the sums of n ranks: least/mean/most. */
static void say_range(fs_line_t *line, const fs_coll_stats_t *all, uint32_t n,
                      size_t field, bool is_time)
{
    uint64_t least = UINT64_MAX, most = 0;
    double   sum = 0;

    for (uint32_t r = 0; r < n; ++r) {
        uint64_t value = *(const uint64_t *)((const char *)&all[r] + field);

        least = fs_u64_min(least, value);
        most  = fs_u64_max(most, value);
        sum += (double)value;
    }
    if (is_time) {
        fs_line_say(line, "%.6f/%.6f/%.6f s", (double)least * 1e-9,
                    sum / n * 1e-9, (double)most * 1e-9);
    } else {
        fs_line_say(line, "%llu/%.0f/%llu", ull(least), sum / n, ull(most));
    }
}

static void say_ranges(fs_line_t *line, const fs_coll_stats_t *all, uint32_t n)
{
    static const struct {
        const char *text;
        size_t      field;
        bool        is_time;
    } rows[] = {
        {"summaries ", offsetof(fs_coll_stats_t, summary_ns), true},
        {", bytes to other servers in these ",
         offsetof(fs_coll_stats_t, meta_bytes), false},
        {"; plans ", offsetof(fs_coll_stats_t, plan_ns), true},
        {"; runs ", offsetof(fs_coll_stats_t, run_ns), true},
        {", device copies ", offsetof(fs_coll_stats_t, copy_ns), true},
        {"; bytes moved inside the server ",
         offsetof(fs_coll_stats_t, moved_bytes), false},
        {"; peak senders ", offsetof(fs_coll_stats_t, peak_senders), false},
        {"; messages dropped ", offsetof(fs_coll_stats_t, dropped), false},
        {"; peak staging ", offsetof(fs_coll_stats_t, peak_staging), false},
    };

    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); ++k) {
        fs_line_say(line, "%s", rows[k].text);
        say_range(line, all, n, rows[k].field, rows[k].is_time);
    }
}

/* What all ranks do alike is told as this rank has it. */
static void say_stats(const fs_wrapper_t *wrapper, const fs_coll_t *coll,
                      const fs_coll_stats_t *all, uint32_t n)
{
    const fs_coll_stats_t *s = &coll->stats;
    char                   text[1024];
    fs_line_t              line = {text, sizeof(text), 0};

    fs_line_say(&line, "stats: %s", coll->comm_name);
    if (n < coll->topo->n_ranks) {
        fs_line_say(&line, ", rank %u alone", coll->rank);
    }
    fs_line_say(
        &line,
        ": %llu calls, %llu staged, %llu pipe2d, %llu direct, %llu plans "
        "kept from earlier calls, %llu calls without a summary; guard: "
        "%llu looks, %llu classes back to the host; stage cost %llu "
        "bytes; least/mean/most of %u ranks: ",
        ull(s->calls), ull(s->calls_by[FS_ALG_STAGED]),
        ull(s->calls_by[FS_ALG_PIPE2D]), ull(s->calls_by[FS_ALG_DIRECT]),
        ull(s->cache_hits), ull(s->skipped), ull(s->guard_looks),
        ull(s->guard_gone_back), ull(s->stage_cost), n);
    say_ranges(&line, all, n);
    fs_line_say(&line, " bytes of %llu", ull(wrapper->params.staging_limit));
    wrapper->say(text);
}

/* By the MPI, which has all ranks here even if our network has lost some. */
static void tell_stats(const fs_wrapper_t *wrapper, fs_coll_t *coll,
                       bool together)
{
    const fs_host_t *host = &coll->host;
    fs_coll_stats_t  mine;

    fs_coll_get_stats(coll, &mine);
    if (together && host->allgather(host->ctx, &mine, sizeof(mine),
                                    coll->all_stats) == FS_OK) {
        if (coll->rank == 0) {
            say_stats(wrapper, coll, coll->all_stats, coll->topo->n_ranks);
        }
        return;
    }
    say_stats(wrapper, coll, &mine, 1);
}

/* It decides the same on every rank. */
static void say_guard(const fs_wrapper_t *wrapper, const fs_coll_t *coll)
{
    char verdict[256], text[512];

    for (uint32_t k = 0;
         fs_coll_describe_guard(coll, k, verdict, sizeof(verdict)); ++k) {
        fs_line_t line = {text, sizeof(text), 0};

        fs_line_say(&line, "%s: %s", coll->comm_name, verdict);
        wrapper->say(text);
    }
}

/* ---- communicators come and go ---- */

void fs_wrapper_welcome(fs_wrapper_t *wrapper, fs_coll_t *coll,
                        const char *comm_name)
{
    pthread_mutex_lock(&wrapper->lock);
    coll->comm_name = comm_name;
    coll->next      = wrapper->colls;
    wrapper->colls  = coll;
    pthread_mutex_unlock(&wrapper->lock);
}

/* Was it on the list? */
static bool take_off(fs_wrapper_t *wrapper, const fs_coll_t *coll)
{
    fs_coll_t **at = &wrapper->colls;
    bool        found;

    pthread_mutex_lock(&wrapper->lock);
    while (*at != NULL && *at != coll) {
        at = &(*at)->next;
    }
    found = *at != NULL;
    if (found) {
        *at = coll->next;
    }
    pthread_mutex_unlock(&wrapper->lock);
    return found;
}

void fs_wrapper_farewell(fs_wrapper_t *wrapper, fs_coll_t *coll, bool together)
{
    if (!take_off(wrapper, coll)) {
        return;
    }
    if (coll->all_stats != NULL && coll->stats.calls > 0) {
        tell_stats(wrapper, coll, together);
    }
    if (wrapper->params.verbose > 0 && coll->rank == 0) {
        say_guard(wrapper, coll);
    }
}

/* Ranks have communicators in common and others not. Where all go by one order
 * of all communicators nobody waits in a circle. */
static fs_coll_t *lowest(fs_wrapper_t *wrapper)
{
    fs_coll_t *lowest = NULL;

    pthread_mutex_lock(&wrapper->lock);
    for (fs_coll_t *coll = wrapper->colls; coll != NULL; coll = coll->next) {
        lowest = lowest == NULL || coll->id < lowest->id ? coll : lowest;
    }
    pthread_mutex_unlock(&wrapper->lock);
    return lowest;
}

void fs_wrapper_farewell_all(fs_wrapper_t *wrapper, void (*then)(void *ctx))
{
    fs_coll_t *coll;

    while ((coll = lowest(wrapper)) != NULL) {
        void *ctx = coll->host.ctx;

        fs_wrapper_farewell(wrapper, coll, true);
        if (then != NULL) {
            then(ctx);
        }
    }
}

/* Asked for, and why there is nothing to tell of it; NULL: there is. */
static const char *why_unused(const fs_wrapper_t *wrapper)
{
    return wrapper->calls == 0      ? "no call of MPI_Alltoallv"
           : wrapper->spans_servers ? NULL
           : wrapper->declined      ? "see why above"
                                    : "no call on ranks of several servers";
}

void fs_wrapper_summary(const fs_wrapper_t *wrapper)
{
    const char *unused = wrapper->served_by != NULL ? wrapper->served_by
                                                    : why_unused(wrapper);
    char        text[256];
    fs_line_t   line = {text, sizeof(text), 0};

    if (wrapper->params.verbose == 0 || !wrapper->on_world_rank_0) {
        return;
    }
    if (unused != NULL) {
        fs_line_say(&line, "summary: not used: %s", unused);
    } else {
        fs_line_say(&line,
                    "summary: %llu calls, %llu staged, %llu pipe2d, "
                    "%llu direct, %llu bytes between servers",
                    wrapper->calls, wrapper->calls_by[FS_ALG_STAGED],
                    wrapper->calls_by[FS_ALG_PIPE2D],
                    wrapper->calls_by[FS_ALG_DIRECT], wrapper->inter_bytes);
    }
    wrapper->say(text);
}
