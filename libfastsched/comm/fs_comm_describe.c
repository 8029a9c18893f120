/* SPDX-License-Identifier: BSD-3-Clause */
/* What people see of a communicator: a line about its last call, its sums. */
#include "comm/fs_comm.h"

#include "base/fs_strbuf.h"
#include "sched/model/fs_topo.h"

const char *fs_coll_error(const fs_coll_t *coll)
{
    return coll->error;
}

fs_alg_t fs_coll_last_alg(const fs_coll_t *coll)
{
    return coll->outcome.choice.alg;
}

void fs_coll_get_stats(const fs_coll_t *coll, fs_coll_stats_t *stats_p)
{
    *stats_p         = coll->stats;
    stats_p->dropped = coll->net != NULL ? coll->net->n_dropped : 0;
}

static void say_traffic(fs_line_t *line, const fs_coll_t *coll)
{
    const fs_outcome_t *outcome = &coll->outcome;
    uint64_t mtm = fs_traffic_mtm_milli(coll->topo, &outcome->traffic);

    fs_line_say(
        line,
        ", MTM %llu.%03llu %s %u.%03u; %u servers, %llu bytes between them",
        (unsigned long long)mtm / 1000, (unsigned long long)mtm % 1000,
        outcome->choice.skewed ? ">=" : "<", coll->params.mtm_threshold / 1000,
        coll->params.mtm_threshold % 1000, coll->topo->n_servers,
        (unsigned long long)outcome->traffic.inter_bytes);
}

/* How the servers take turns. */
static void say_schedule(fs_line_t *line, const fs_coll_t *coll)
{
    fs_line_say(line, ", %s", fs_decompose_name(coll->outcome.decompose));
    if (coll->outcome.n_stages > 0) {
        fs_line_say(line, ", %u stage%s", coll->outcome.n_stages,
                    coll->outcome.n_stages == 1 ? "" : "s");
    }
}

/* The slowest rank's time, and the bound where the rate is known. */
static void say_time(fs_line_t *line, const fs_coll_t *coll)
{
    double bound_s = (double)coll->outcome.bound * 8 /
                     (double)coll->params.rate;
    double time_s = (double)coll->outcome.slowest_ns * 1e-9;

    fs_line_say(line, ", %.6f s%s", time_s,
                coll->meta == NULL ? " on this rank" : "");
    if (coll->outcome.summarised && coll->outcome.bound > 0 &&
        coll->params.rate > 0) {
        fs_line_say(line, ", lower bound %.6f s (%.1f%%)", bound_s,
                    100 * bound_s / time_s);
    }
}

void fs_coll_describe(const fs_coll_t *coll, const char *comm_name, char *text,
                      size_t text_len)
{
    fs_line_t line = {text, text_len, 0};

    fs_line_say(&line, "%s call %llu: %s (%s)", comm_name,
                (unsigned long long)coll->stats.calls,
                fs_alg_name(coll->outcome.choice.alg),
                coll->outcome.choice.reason);
    if (coll->outcome.summarised) {
        say_traffic(&line, coll);
    }
    if (coll->outcome.choice.alg == FS_ALG_STAGED) {
        say_schedule(&line, coll);
    }
    if (coll->outcome.choice.alg != FS_ALG_HOST && coll->outcome.recalled) {
        fs_line_say(&line, ", plan kept");
    }
    if (coll->outcome.slowest_ns > 0) {
        say_time(&line, coll);
    }
}

/* 16777216 is "16m". */
static void say_power_of_two(fs_line_t *line, uint32_t log2)
{
    static const char *const units[] = {"", "k", "m", "g", "t", "p", "e"};

    fs_line_say(line, "%u%s", 1u << log2 % 10, units[log2 / 10]);
}

static void say_verdict(fs_line_t *line, const fs_guard_t *guard, uint32_t k)
{
    const fs_guard_class_t *class = &guard->classes[k];
    uint32_t log2 = k / FS_GUARD_BANDS, band = k % FS_GUARD_BANDS;
    double   ours = (double)fs_guard_ours(class);

    fs_line_say(line, "guard: calls of ");
    say_power_of_two(line, log2);
    fs_line_say(line, " to ");
    say_power_of_two(line, log2 + 1);
    fs_line_say(line, " bytes between servers, MTM %u ", 1u << band);
    if (band < FS_GUARD_BANDS - 1) {
        fs_line_say(line, "to %u", 2u << band);
    } else {
        fs_line_say(line, "and more");
    }
    fs_line_say(line,
                ", went back to the host's algorithm, which took %.0f%% of our "
                "time",
                100 * (double)class->host / ours);
}

bool fs_coll_describe_guard(const fs_coll_t *coll, uint32_t k, char *text,
                            size_t text_len)
{
    fs_line_t line = {text, text_len, 0};

    for (uint32_t c = 0; c < FS_GUARD_CLASSES; ++c) {
        if (coll->guard.classes[c].state == FS_GUARD_STATE_HOST && k-- == 0) {
            say_verdict(&line, &coll->guard, c);
            return true;
        }
    }
    return false;
}
