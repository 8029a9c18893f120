/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines about a communicator: its last call, what its tuner has decided. */
#include "comm/fs_comm.h"

#include "base/fs_strbuf.h"
#include "sched/model/fs_topo.h"
#include "sched/plan/fs_plan.h"

static void say_traffic(fs_strbuf_t *line, const fs_comm_t *comm)
{
    const fs_outcome_t *outcome = &comm->outcome;
    uint64_t mtm = fs_traffic_mtm_milli(comm->topo, &outcome->traffic);

    fs_strbuf_add(
        line,
        ", MTM %llu.%03llu %s %u.%03u; %u servers, %llu bytes between them",
        (unsigned long long)mtm / 1000, (unsigned long long)mtm % 1000,
        outcome->choice.skewed ? ">=" : "<", comm->params.mtm_threshold / 1000,
        comm->params.mtm_threshold % 1000, comm->topo->n_servers,
        (unsigned long long)outcome->traffic.inter_bytes);
}

/* How the servers take turns. */
static void say_schedule(fs_strbuf_t *line, const fs_comm_t *comm)
{
    fs_strbuf_add(line, ", %s", fs_decompose_name(comm->outcome.decompose));
    if (comm->outcome.n_stages > 0) {
        fs_strbuf_add(line, ", %u stage%s", comm->outcome.n_stages,
                      comm->outcome.n_stages == 1 ? "" : "s");
    }
}

/* The slowest rank's time, and the bound where the rate is known. */
static void say_time(fs_strbuf_t *line, const fs_comm_t *comm)
{
    double bound_s = (double)comm->outcome.bound * 8 /
                     (double)comm->params.rate;
    double time_s = (double)comm->outcome.slowest_ns * 1e-9;

    fs_strbuf_add(line, ", %.6f s%s", time_s,
                  comm->control == NULL ? " on this rank" : "");
    if (comm->outcome.summarised && comm->outcome.bound > 0 &&
        comm->params.rate > 0) {
        fs_strbuf_add(line, ", lower bound %.6f s (%.1f%%)", bound_s,
                      100 * bound_s / time_s);
    }
}

void fs_comm_describe(const fs_comm_t *comm, const char *comm_name, char *text,
                      size_t text_len)
{
    fs_strbuf_t line = {text, text_len, 0};

    fs_strbuf_add(&line, "%s call %llu: %s (%s)", comm_name,
                  (unsigned long long)comm->stats.calls,
                  fs_alg_name(comm->outcome.choice.alg),
                  comm->outcome.choice.reason);
    if (comm->outcome.summarised) {
        say_traffic(&line, comm);
    }
    if (fs_plan_has_schedule(comm->outcome.choice.alg)) {
        say_schedule(&line, comm);
    }
    if (comm->outcome.choice.alg != FS_ALG_NATIVE && comm->outcome.recalled) {
        fs_strbuf_add(&line, ", plan kept");
    }
    if (comm->outcome.slowest_ns > 0) {
        say_time(&line, comm);
    }
}

/* 16777216 is "16m". */
static void say_power_of_two(fs_strbuf_t *line, uint32_t log2)
{
    static const char *const units[] = {"", "k", "m", "g", "t", "p", "e"};

    fs_strbuf_add(line, "%u%s", 1u << log2 % 10, units[log2 / 10]);
}

static void say_verdict(fs_strbuf_t *line, const fs_tuner_t *tuner, uint32_t k)
{
    const fs_tuner_class_t *class = &tuner->classes[k];
    uint32_t log2 = k / FS_TUNER_BANDS, band = k % FS_TUNER_BANDS;
    double   ours = (double)fs_tuner_ours(class);

    fs_strbuf_add(line, "tuner: calls of ");
    say_power_of_two(line, log2);
    fs_strbuf_add(line, " to ");
    say_power_of_two(line, log2 + 1);
    fs_strbuf_add(line, " bytes between servers, MTM %u ", 1u << band);
    if (band < FS_TUNER_BANDS - 1) {
        fs_strbuf_add(line, "to %u", 2u << band);
    } else {
        fs_strbuf_add(line, "and more");
    }
    fs_strbuf_add(
        line,
        ", switched to the native algorithm, which took %.0f%% of our time",
        100 * (double)class->native / ours);
}

bool fs_comm_describe_tuner(const fs_comm_t *comm, uint32_t k, char *text,
                            size_t text_len)
{
    fs_strbuf_t line = {text, text_len, 0};

    for (uint32_t c = 0; c < FS_TUNER_CLASSES; ++c) {
        if (comm->tuner.classes[c].state == FS_TUNER_STATE_NATIVE && k-- == 0) {
            say_verdict(&line, &comm->tuner, c);
            return true;
        }
    }
    return false;
}
