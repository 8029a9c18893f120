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

    uint32_t threshold = comm->params.mtm_threshold;

    fs_strbuf_add(line, ", MTM %llu.%03llu", (unsigned long long)mtm / 1000,
                  (unsigned long long)mtm % 1000);
    if (threshold != FS_MTM_THRESHOLD_AUTO) {
        fs_strbuf_add(line, " %s %u.%03u", outcome->choice.skewed ? ">=" : "<",
                      threshold / 1000, threshold % 1000);
    }
    fs_strbuf_add(line, "; %u servers, %llu bytes between them",
                  comm->topo->n_servers,
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

/* Of the call before, which this one's summary told about. */
static void say_entries(fs_strbuf_t *line, const fs_comm_t *comm)
{
    const fs_entries_t *entries = &comm->entries;

    if (entries->is_known) {
        fs_strbuf_add(line,
                      "; the call before: entries %.6f s apart, rank %u last",
                      (double)entries->apart_ns * 1e-9, entries->last);
    }
}

void fs_comm_describe(const fs_comm_t *comm, const char *comm_name, char *text,
                      size_t text_len)
{
    fs_strbuf_t line = {text, text_len, 0};

    fs_strbuf_add(&line, "%s call %llu: %s (%s)", comm_name,
                  (unsigned long long)comm->n_calls,
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
    if (comm->outcome.summarised) {
        say_entries(&line, comm);
    }
}

static void say_class(fs_strbuf_t *line, uint32_t of_class)
{
    uint32_t log2 = fs_tuner_bytes_log2(of_class);
    uint32_t band = fs_tuner_mtm_band(of_class);

    fs_strbuf_add(line, "calls of ");
    fs_strbuf_add_size(line, log2);
    fs_strbuf_add(line, " to ");
    fs_strbuf_add_size(line, log2 + 1);
    fs_strbuf_add(line, " bytes between servers, MTM %u ", 1u << band);
    if (band < FS_TUNER_MTM_BANDS - 1) {
        fs_strbuf_add(line, "to %u", 2u << band);
    } else {
        fs_strbuf_add(line, "and more");
    }
    fs_strbuf_add(line, ", %s servers", fs_tuner_skew_name(of_class));
}

static void say_verdict(fs_strbuf_t *line, const fs_tuner_class_t *class)
{
    uint64_t    best = fs_tuner_price(class, (fs_candidate_t) class->choice);
    const char *gap  = ";";

    fs_strbuf_add(line, "tuner: ");
    say_class(line, class->key);
    fs_strbuf_add(line, ": %s",
                  fs_candidate_name((fs_candidate_t) class->choice));
    for (unsigned c = 0; c < FS_N_CANDIDATES && best > 0; ++c) {
        uint64_t price = fs_tuner_price(class, (fs_candidate_t)c);

        if (c != class->choice && price > 0) {
            fs_strbuf_add(line, "%s %s took %.0f%%", gap,
                          fs_candidate_name((fs_candidate_t)c),
                          100 * (double)price / (double)best);
            gap = ",";
        }
    }
    fs_strbuf_add(line, "%s", *gap == ',' ? " of its time" : "");
}

/* The settled class with the lowest key from this on; NULL: there is none. */
static const fs_tuner_class_t *next_settled(const fs_tuner_t *tuner,
                                            uint32_t          from)
{
    const fs_tuner_class_t *lowest = NULL;

    for (uint32_t c = 0; c < FS_TUNER_CLASSES; ++c) {
        const fs_tuner_class_t *class = &tuner->classes[c];

        if (class->used != 0 && class->measured &&
            class->state != FS_TUNER_EXPLORE && class->key >= from &&
            (lowest == NULL || class->key < lowest->key)) {
            lowest = class;
        }
    }
    return lowest;
}

bool fs_comm_describe_tuner(const fs_comm_t *comm, uint32_t k, char *text,
                            size_t text_len)
{
    fs_strbuf_t line              = {text, text_len, 0};
    const fs_tuner_class_t *class = next_settled(&comm->tuner, 0);

    while (class != NULL && k-- > 0) {
        class = next_settled(&comm->tuner, class->key + 1);
    }
    if (class != NULL) {
        say_verdict(&line, class);
    }
    return class != NULL;
}
