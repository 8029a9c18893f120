/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines that people see: of a call, of a communicator, of the process. */
#include "base/fs_arith.h"
#include "comm/fs_comm.h"
#include "base/fs_strbuf.h"
#include "wrapper/fs_report.h"

#include <stddef.h>

/* ---- of a call, and of a communicator ---- */

void fs_report_call(const fs_wrapper_comm_t *comm)
{
    char line[512];

    fs_comm_describe(comm->ours, comm->name, line, sizeof(line));
    comm->wrapper->say(line);
}

void fs_report_failure(const fs_wrapper_comm_t  *comm,
                       const fs_wrapper_calls_t *calls, const char *why)
{
    char        text[1024];
    fs_strbuf_t line = {text, sizeof(text), 0};

    fs_strbuf_add(&line, "%s failed on %s: %s", calls->name, comm->name, why);
    comm->wrapper->say_last(text);
}

static unsigned long long ull(uint64_t n)
{
    return n;
}

/* A field of the sums of n ranks: least/mean/most. */
static void say_range(fs_strbuf_t *line, const fs_comm_stats_t *all, uint32_t n,
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
        fs_strbuf_add(line, "%.6f/%.6f/%.6f s", (double)least * 1e-9,
                      sum / n * 1e-9, (double)most * 1e-9);
    } else {
        fs_strbuf_add(line, "%llu/%.0f/%llu", ull(least), sum / n, ull(most));
    }
}

static void say_ranges(fs_strbuf_t *line, const fs_comm_stats_t *all,
                       uint32_t n)
{
    static const struct {
        const char *text;
        size_t      field;
        bool        is_time;
    } rows[] = {
        {"summaries ", offsetof(fs_comm_stats_t, summary_ns), true},
        {", bytes to other servers in these ",
         offsetof(fs_comm_stats_t, meta_bytes), false},
        {"; plans ", offsetof(fs_comm_stats_t, plan_ns), true},
        {"; runs ", offsetof(fs_comm_stats_t, run_ns), true},
        {", device copies ", offsetof(fs_comm_stats_t, copy_ns), true},
        {"; bytes sent early ", offsetof(fs_comm_stats_t, early_bytes), false},
        {"; bytes moved inside the server ",
         offsetof(fs_comm_stats_t, moved_bytes), false},
        {"; peak senders ", offsetof(fs_comm_stats_t, peak_senders), false},
        {"; messages dropped ", offsetof(fs_comm_stats_t, dropped), false},
        {"; peak staging ", offsetof(fs_comm_stats_t, peak_staging), false},
    };

    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); ++k) {
        fs_strbuf_add(line, "%s", rows[k].text);
        say_range(line, all, n, rows[k].field, rows[k].is_time);
    }
}

/* ", N staged", for each algorithm of ours. */
static void say_algorithm(fs_strbuf_t *line, unsigned alg, unsigned long long n)
{
    fs_strbuf_add(line, ", %llu %s", n, fs_alg_name((fs_alg_t)alg));
}

/* When ranks came: the report that says who keeps the others waiting. */
static void say_entries(fs_strbuf_t *line, const fs_comm_stats_t *s)
{
    if (s->apart_calls > 0) {
        fs_strbuf_add(line,
                      "; entries %.6f s apart, at most %.6f s (%llu calls), "
                      "last most often: rank %llu (%llu calls)",
                      (double)s->apart_ns * 1e-9 / (double)s->apart_calls,
                      (double)s->apart_max_ns * 1e-9, ull(s->apart_calls),
                      ull(s->last_rank), ull(s->last_calls));
    }
}

/* Values that are equal on all ranks are printed from the first. */
static void say_stats(const fs_wrapper_comm_t *comm, const fs_comm_stats_t *all,
                      uint32_t n)
{
    const fs_comm_stats_t *s = all; /* of rank 0, or of this one alone */
    char                   text[1280];
    fs_strbuf_t            line = {text, sizeof(text), 0};

    fs_strbuf_add(&line, "stats: %s", comm->name);
    if (n < comm->n_ranks) {
        fs_strbuf_add(&line, ", rank %u alone", comm->rank);
    }
    fs_strbuf_add(&line, ": %llu calls", ull(s->calls));
    for (unsigned alg = FS_ALG_NATIVE + 1; alg < FS_N_ALGS; ++alg) {
        say_algorithm(&line, alg, s->calls_by[alg]);
    }
    fs_strbuf_add(&line,
                  ", %llu calls in frames, %llu begun early, %llu calls with "
                  "the plan of an "
                  "earlier one; "
                  "tuner: %llu probes, %llu classes settled on the native "
                  "algorithm; stage "
                  "cost %llu "
                  "bytes; minimum/mean/maximum over %u ranks: ",
                  ull(s->framed), ull(s->early), ull(s->cache_hits),
                  ull(s->tuner_probes), ull(s->tuner_gone_back),
                  ull(s->stage_cost), n);
    say_ranges(&line, all, n);
    fs_strbuf_add(&line, " bytes of %llu",
                  ull(comm->wrapper->params.staging_limit));
    say_entries(&line, s);
    comm->wrapper->say(text);
}

/* Gathered by the MPI, which reaches all ranks even if our network has lost
 * some. */
void fs_report_stats(const fs_wrapper_comm_t *comm, bool together)
{
    fs_comm_t         *ours   = comm->ours;
    const fs_native_t *native = &ours->native;
    fs_comm_stats_t    mine;

    fs_comm_get_stats(ours, &mine);
    if (together && native->allgather(native->ctx, &mine, sizeof(mine),
                                      ours->all_stats) == FS_OK) {
        if (comm->rank == 0) {
            say_stats(comm, ours->all_stats, comm->n_ranks);
        }
        return;
    }
    say_stats(comm, &mine, 1);
}

/* The tuner decides the same on every rank. */
void fs_report_tuner(const fs_wrapper_comm_t *comm)
{
    char verdict[256], text[512];

    for (uint32_t k = 0;
         fs_comm_describe_tuner(comm->ours, k, verdict, sizeof(verdict)); ++k) {
        fs_strbuf_t line = {text, sizeof(text), 0};

        fs_strbuf_add(&line, "%s: %s", comm->name, verdict);
        comm->wrapper->say(text);
    }
}

/* ---- of the process ---- */

/* The reason why fast has served no call; NULL: it has. */
static const char *why_unused(const fs_wrapper_t *wrapper)
{
    return wrapper->calls == 0      ? "no call of MPI_Alltoallv"
           : wrapper->spans_servers ? NULL
           : wrapper->declined      ? "see the message above"
                               : "no call on a communicator that spans servers";
}

void fs_wrapper_summary(const fs_wrapper_t *wrapper)
{
    const char *unused = wrapper->served_by != NULL ? wrapper->served_by
                                                    : why_unused(wrapper);
    char        text[256];
    fs_strbuf_t line = {text, sizeof(text), 0};

    if (wrapper->params.verbose == 0 || !wrapper->on_world_rank_0) {
        return;
    }
    if (unused != NULL) {
        fs_strbuf_add(&line, "summary: not used: %s", unused);
    } else {
        fs_strbuf_add(&line, "summary: %llu calls", wrapper->calls);
        for (unsigned alg = FS_ALG_NATIVE + 1; alg < FS_N_ALGS; ++alg) {
            say_algorithm(&line, alg, wrapper->calls_by[alg]);
        }
        fs_strbuf_add(&line, ", %llu bytes between servers",
                      wrapper->inter_bytes);
    }
    wrapper->say(text);
}
