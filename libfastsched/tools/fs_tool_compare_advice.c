/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One line of advice. A gain has two causes, which multiply:
 *
 *   lanes   one NIC of a server has more bytes than the others, which wait: what
 *           the busiest NIC takes over what its server would take together;
 *   turns   messages wait for each other: what the best of the ways takes over
 *           what its busiest NIC takes.
 */
#include "base/fs_strbuf.h"
#include "tools/fs_tool_compare.h"
#include "tools/fs_tool_units.h"

/* Seconds of the busiest NIC, if ranks send their own bytes. */
static double busiest_nic(const fs_tool_compare_t *compare)
{
    return compare->ways[FS_TOOL_PAIRWISE].outcome.result.optimal_rank;
}

static double lanes_cause(const fs_tool_compare_t *compare)
{
    return busiest_nic(compare) / compare->bound;
}

static double turns_cause(const fs_tool_compare_t *compare)
{
    return compare->ways[compare->best].outcome.time / busiest_nic(compare);
}

static void say_lanes(fs_strbuf_t *text, double lanes)
{
    fs_strbuf_add(
        text,
        "one NIC has %.1f times the bytes per NIC of the busiest server, and "
        "fast shares bytes among the NICs of a server",
        lanes);
}

static void say_turns(fs_strbuf_t *text, double turns)
{
    fs_strbuf_add(
        text,
        "messages wait for each other (%.1f times what the busiest NIC needs), "
        "and fast lets a server send to one server at a time",
        turns);
}

static void advise_gain(const fs_tool_compare_t *compare, fs_strbuf_t *text,
                        double gain)
{
    double lanes = lanes_cause(compare), turns = turns_cause(compare);
    bool   by_lanes = lanes >= FS_TOOL_COUNTS || lanes > turns;
    bool   by_turns = turns >= FS_TOOL_COUNTS || turns >= lanes;

    fs_strbuf_add(text,
                  "You would gain %.1fx over the best of these, %s: ", gain,
                  fs_tool_way_name(compare->best));
    if (by_lanes) {
        say_lanes(text, lanes);
    }
    if (by_turns) {
        fs_strbuf_add(text, by_lanes ? "; " : "");
        say_turns(text, turns);
    }
    fs_strbuf_add(text, ".");
}

static void advise_no_gain(const fs_tool_compare_t *compare, fs_strbuf_t *text)
{
    const fs_tool_sim_outcome_t *best = &compare->ways[compare->best].outcome;
    double                       over = best->time / best->result.optimal;

    fs_strbuf_add(
        text,
        "You gain nothing: %s already takes only %.2f times the lower "
        "bound",
        fs_tool_way_name(compare->best), over);
    if (compare->over_mean < 1.1) {
        fs_strbuf_add(text,
                      ", as the traffic is balanced (the busiest server has "
                      "%.2f times the mean).",
                      compare->over_mean);
    } else {
        fs_strbuf_add(text,
                      ". The NICs of server %u are the limit, whatever the "
                      "order.",
                      compare->bounds.busiest_server);
    }
}

static void advise_inside(fs_strbuf_t *text)
{
    fs_strbuf_add(
        text, "You gain nothing: no bytes go from one server to another, and "
              "fast leaves such a call to the MPI.");
}

static void advise_small(const fs_tool_compare_t *compare, fs_strbuf_t *text)
{
    double per_rank = (double)compare->traffic->summary.inter_bytes /
                      compare->traffic->n_ranks;

    fs_strbuf_add(
        text,
        "This is a small call: only %s per rank leave the server. Start-up "
        "costs decide, not bytes: compare the algorithms bundles and direct "
        "of fastsched sim --level loggp.",
        fs_tool_bytes_text(per_rank).s);
}

static void advise_loss(const fs_tool_compare_t *compare, fs_strbuf_t *text,
                        double gain)
{
    fs_strbuf_add(text,
                  "You would lose: fast takes %.2f times as long as %s. Its "
                  "tuner (parameter tuner) would leave such calls to the MPI.",
                  1 / gain, fs_tool_way_name(compare->best));
}

static fs_tool_advice_t classify(const fs_tool_compare_t *compare, double gain)
{
    if (!compare->simulated) {
        return compare->busiest_bytes == 0 ? FS_TOOL_INSIDE : FS_TOOL_SMALL;
    }
    return gain >= FS_TOOL_COUNTS      ? FS_TOOL_GAIN
           : gain > 1 / FS_TOOL_COUNTS ? FS_TOOL_NO_GAIN
                                       : FS_TOOL_LOSS;
}

void fs_tool_compare_advise(fs_tool_compare_t *compare)
{
    fs_strbuf_t text = {compare->text, sizeof(compare->text), 0};
    double      gain = fs_tool_compare_gain(
             compare, compare->ways[compare->best].outcome.time);

    compare->advice = classify(compare, gain);
    switch (compare->advice) {
    case FS_TOOL_INSIDE:
        advise_inside(&text);
        break;
    case FS_TOOL_SMALL:
        advise_small(compare, &text);
        break;
    case FS_TOOL_GAIN:
        advise_gain(compare, &text, gain);
        break;
    case FS_TOOL_NO_GAIN:
        advise_no_gain(compare, &text);
        break;
    case FS_TOOL_LOSS:
        advise_loss(compare, &text, gain);
        break;
    }
}
