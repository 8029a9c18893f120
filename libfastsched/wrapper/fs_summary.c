/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrapper/fs_summary.h"

#include "base/fs_arith.h"
#include "base/fs_strbuf.h"
#include "comm/fs_comm.h"
#include "sched/model/fs_topo.h"

typedef unsigned long long ull_t;

enum {
    LATE_PART =
        4,    /* of the time in calls: ranks that come so far apart count */
    WORTH = 5 /* per cent: less is no gain */
};

/* ---- add ---- */

/* The bytes of the busiest NICs over the mean of all. */
static uint64_t over_mean(const fs_topo_t *topo, const fs_account_t *account)
{
    uint64_t n_lanes = 0;

    for (uint32_t u = 0; u < topo->n_servers; ++u) {
        n_lanes += topo->n_lanes[u];
    }
    return account->inter_bytes == 0
               ? 0
               : (uint64_t)((fs_u128_t)account->bound * n_lanes * 1000 /
                            account->inter_bytes);
}

static uint32_t first_rank_of(const fs_topo_t *topo, uint32_t server)
{
    uint32_t r = 0;

    while (r < topo->n_ranks && topo->server[r] != server) {
        ++r;
    }
    return r;
}

static void add_busiest(fs_summary_comm_t *of, const fs_comm_t *comm)
{
    const fs_account_t      *account = &comm->account;
    const fs_account_line_t *busiest = fs_account_busiest(account);
    uint32_t                 line;

    if (busiest == NULL) {
        return;
    }
    line           = (uint32_t)(busiest - account->lines);
    of->n_busiest  = busiest->n_calls;
    of->n_known    = account->n_calls;
    of->server     = line / 2;
    of->receives   = line % 2 == 1;
    of->first_rank = first_rank_of(comm->topo, of->server);
    of->mean_milli = over_mean(comm->topo, account);
}

static fs_summary_comm_t look_at(const fs_comm_t       *comm,
                                 const fs_comm_stats_t *stats, const char *name)
{
    fs_summary_comm_t of   = {.apart_calls  = stats->apart_calls,
                              .apart_ns     = stats->apart_ns,
                              .apart_max_ns = stats->apart_max_ns,
                              .last_rank    = stats->last_rank,
                              .last_calls   = stats->last_calls};
    fs_strbuf_t       line = {of.name, sizeof(of.name), 0};

    fs_strbuf_add(&line, "%s", name);
    for (unsigned alg = 0; alg < FS_N_ALGS; ++alg) {
        of.ns += stats->ns_by[alg];
    }
    add_busiest(&of, comm);
    return of;
}

void fs_summary_add(fs_summary_t *summary, const fs_comm_t *comm,
                    const char *name)
{
    fs_tuner_gain_t   gain = fs_tuner_gain(&comm->tuner);
    fs_comm_stats_t   stats;
    fs_summary_comm_t of;

    fs_comm_get_stats(comm, &stats);
    summary->is_forced |= comm->exec != NULL && !fs_comm_is_tuned(comm);
    of = look_at(comm, &stats, name);
    if (of.ns > summary->longest.ns) {
        summary->longest = of;
    }
    for (unsigned alg = 0; alg < FS_N_ALGS; ++alg) {
        summary->ns_by[alg] += stats.ns_by[alg];
    }
    summary->gain.n_calls += gain.n_calls;
    summary->gain.ns += gain.ns;
    summary->gain.native_ns += gain.native_ns;
    summary->gain.n_unknown += gain.n_unknown;
    for (unsigned k = 0; k < FS_ACCOUNT_REASONS; ++k) {
        const fs_account_left_t *left = &comm->account.left[k];

        if (left->reason != NULL) {
            fs_account_add_left(summary->left, left->reason, left->n_calls);
        }
    }
}

/* ---- say ---- */

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

static uint64_t total_ns(const fs_summary_t *summary)
{
    uint64_t ns = 0;

    for (unsigned alg = 0; alg < FS_N_ALGS; ++alg) {
        ns += summary->ns_by[alg];
    }
    return ns;
}

/* Each of the following writes a line; false: there is nothing to say. */

static bool write_times(const fs_summary_t *summary, fs_strbuf_t *line)
{
    const char *gap = ":";

    fs_strbuf_add(line, "time in blocking calls on this rank %.6f s",
                  seconds(total_ns(summary)));
    for (unsigned alg = 0; alg < FS_N_ALGS; ++alg) {
        if (summary->ns_by[alg] > 0) {
            fs_strbuf_add(line, "%s %s %.6f s", gap,
                          alg == FS_ALG_NATIVE ? "the MPI's own algorithm"
                                               : fs_alg_name((fs_alg_t)alg),
                          seconds(summary->ns_by[alg]));
            gap = ",";
        }
    }
    return total_ns(summary) > 0;
}

static bool write_gain(const fs_summary_t *summary, fs_strbuf_t *line)
{
    const fs_tuner_gain_t *gain = &summary->gain;

    if (gain->n_calls == 0 || gain->ns == 0) {
        fs_strbuf_add(line, "gain over the MPI's own algorithm: not measured, "
                            "because the tuner has not timed both");
        return total_ns(summary) > 0;
    }
    fs_strbuf_add(line,
                  "gain over the MPI's own algorithm: %llu calls took %.6f s, "
                  "all by its own they would have taken about %.6f s (%.2fx)",
                  (ull_t)gain->n_calls, seconds(gain->ns),
                  seconds(gain->native_ns),
                  (double)gain->native_ns / (double)gain->ns);
    if (gain->n_unknown > 0) {
        fs_strbuf_add(line, "; %llu other calls: not measured",
                      (ull_t)gain->n_unknown);
    }
    return true;
}

static bool write_busiest(const fs_summary_t *summary, fs_strbuf_t *line)
{
    const fs_summary_comm_t *of = &summary->longest;

    fs_strbuf_add(line,
                  "busiest server of %s: %u, that of rank %u, by what it %s, "
                  "in %llu of %llu calls; the busiest NICs have %.2f times the "
                  "mean",
                  of->name, of->server, of->first_rank,
                  of->receives ? "receives" : "sends", (ull_t)of->n_busiest,
                  (ull_t)of->n_known, (double)of->mean_milli / 1000);
    return of->n_known > 0;
}

static bool write_entries(const fs_summary_t *summary, fs_strbuf_t *line)
{
    const fs_summary_comm_t *of = &summary->longest;

    if (of->apart_calls == 0) {
        return false;
    }
    fs_strbuf_add(line, "ranks of %s enter a call %.6f s apart, at most %.6f s",
                  of->name, seconds(of->apart_ns / of->apart_calls),
                  seconds(of->apart_max_ns));
    if (of->last_calls > 0) {
        fs_strbuf_add(line, "; last most often: rank %llu (%llu of %llu calls)",
                      (ull_t)of->last_rank, (ull_t)of->last_calls,
                      (ull_t)of->apart_calls);
    }
    return true;
}

static bool write_left(const fs_summary_t *summary, fs_strbuf_t *line)
{
    const fs_account_left_t *usual = fs_account_usual(summary->left);
    uint64_t                 n     = 0;

    for (unsigned k = 0; k < FS_ACCOUNT_REASONS; ++k) {
        n += summary->left[k].n_calls;
    }
    if (usual == NULL) {
        return false;
    }
    fs_strbuf_add(line,
                  "left to the MPI: %llu calls, most often (%llu) because: %s",
                  (ull_t)n, (ull_t)usual->n_calls, usual->reason);
    return true;
}

/* ---- advise: the first that holds ---- */

/* Do ranks come so far apart that it counts? */
static bool is_late(const fs_summary_comm_t *of)
{
    return of->apart_calls > 0 && of->apart_ns > of->ns / LATE_PART;
}

static bool advise_one_late(const fs_summary_t *summary, fs_strbuf_t *line)
{
    const fs_summary_comm_t *of = &summary->longest;

    fs_strbuf_add(
        line,
        "rank %llu of %s keeps the others waiting, %.6f s a call: "
        "give it less work before the call; no algorithm makes up "
        "for that",
        (ull_t)of->last_rank, of->name,
        seconds(of->apart_calls == 0 ? 0 : of->apart_ns / of->apart_calls));
    return is_late(of) && of->last_calls > of->apart_calls / 2;
}

static bool advise_late(const fs_summary_t *summary, fs_strbuf_t *line)
{
    fs_strbuf_add(line,
                  "ranks of %s wait for others that come later%s: balance the "
                  "work before the calls",
                  summary->longest.name,
                  summary->longest.last_calls > 0 ? ", not always the same ones"
                                                  : "");
    return is_late(&summary->longest);
}

static bool advise_no_gain(const fs_summary_t *summary, fs_strbuf_t *line)
{
    const fs_tuner_gain_t *gain = &summary->gain;

    fs_strbuf_add(line, "fast gains little or nothing in these calls: the MPI "
                        "alone is enough for them");
    return gain->n_calls > gain->n_unknown &&
           (fs_u128_t)gain->native_ns * 100 <
               (fs_u128_t)gain->ns * (100 + WORTH);
}

static bool advise_forced(const fs_summary_t *summary, fs_strbuf_t *line)
{
    fs_strbuf_add(line, "with algorithm auto and tuner 1 the first calls would "
                        "compare the algorithms, the MPI's own among them");
    return summary->is_forced;
}

static bool write_advice(const fs_summary_t *summary, fs_strbuf_t *line)
{
    static bool (*const advise[])(const fs_summary_t *, fs_strbuf_t *) = {
        advise_one_late, advise_late, advise_no_gain, advise_forced};
    size_t used;

    fs_strbuf_add(line, "advice: ");
    used = line->used;
    for (size_t k = 0; k < sizeof(advise) / sizeof(advise[0]); ++k) {
        if (advise[k](summary, line)) {
            return true;
        }
        line->used = used;
    }
    return false;
}

void fs_summary_say(const fs_summary_t *summary, void (*say)(const char *line))
{
    static bool (*const write[])(const fs_summary_t *, fs_strbuf_t *) = {
        write_times,   write_left,    write_gain,
        write_busiest, write_entries, write_advice};
    char text[512];

    for (size_t k = 0; k < sizeof(write) / sizeof(write[0]); ++k) {
        fs_strbuf_t line = {text, sizeof(text), 0};

        fs_strbuf_add(&line, "summary: ");
        if (write[k](summary, &line)) {
            say(text);
        }
    }
}
