/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One line of advice. A gain has two causes, which multiply:
 *
 *   lanes   one NIC of a server has more bytes than the others, which wait: what
 *           the busiest NIC takes over what its server would take together;
 *   turns   messages wait for each other: what the best of the ways takes over
 *           what its busiest NIC takes.
 */
#include "tools/fs_tool_compare.h"
#include "tools/fs_tool_units.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void say(fs_tool_compare_t *compare, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(fs_tool_compare_t *compare, const char *format, ...)
{
    size_t  len = strlen(compare->text);
    va_list args;

    va_start(args, format);
    vsnprintf(compare->text + len, sizeof(compare->text) - len, format, args);
    va_end(args);
}

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

static void say_lanes(fs_tool_compare_t *compare, double lanes)
{
    say(compare,
        "one NIC has %.1f times the bytes per NIC of the busiest server, and "
        "fast shares bytes among the NICs of a server",
        lanes);
}

static void say_turns(fs_tool_compare_t *compare, double turns)
{
    say(compare,
        "messages wait for each other (%.1f times what the busiest NIC needs), "
        "and fast lets a server send to one server at a time",
        turns);
}

static void advise_gain(fs_tool_compare_t *compare, double gain)
{
    double lanes = lanes_cause(compare), turns = turns_cause(compare);

    say(compare, "You would gain %.1fx over the best of these, %s: ", gain,
        fs_tool_way_name(compare->best));
    if (lanes >= FS_TOOL_COUNTS) {
        say_lanes(compare, lanes);
    }
    if (turns >= FS_TOOL_COUNTS) {
        say(compare, lanes >= FS_TOOL_COUNTS ? "; " : "");
        say_turns(compare, turns);
    }
    say(compare, ".");
}

static void advise_no_gain(fs_tool_compare_t *compare)
{
    const fs_tool_sim_outcome_t *best = &compare->ways[compare->best].outcome;
    double                       over = best->time / best->result.optimal;

    say(compare,
        "You gain nothing: %s already takes only %.2f times the lower "
        "bound",
        fs_tool_way_name(compare->best), over);
    if (compare->over_mean < 1.1) {
        say(compare,
            ", as the traffic is balanced (the busiest server has "
            "%.2f times the mean).",
            compare->over_mean);
    } else {
        say(compare,
            ". The NICs of server %u are the limit, whatever the "
            "order.",
            compare->bounds.busiest_server);
    }
}

static void advise_inside(fs_tool_compare_t *compare)
{
    say(compare,
        "You gain nothing: no bytes go from one server to another, and "
        "fast leaves such a call to the MPI.");
}

static void advise_small(fs_tool_compare_t *compare)
{
    double per_rank = (double)compare->traffic->summary.inter_bytes /
                      compare->traffic->n_ranks;

    say(compare,
        "This is a small call: only %s per rank leave the server. Start-up "
        "costs decide, not bytes: compare the algorithms bundles and direct "
        "of fastsched sim --level loggp.",
        fs_tool_bytes_text(per_rank).s);
}

static void advise_loss(fs_tool_compare_t *compare, double gain)
{
    say(compare,
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
    double gain = fs_tool_compare_gain(
        compare, compare->ways[compare->best].outcome.time);

    compare->advice  = classify(compare, gain);
    compare->text[0] = '\0';
    switch (compare->advice) {
    case FS_TOOL_INSIDE:
        advise_inside(compare);
        break;
    case FS_TOOL_SMALL:
        advise_small(compare);
        break;
    case FS_TOOL_GAIN:
        advise_gain(compare, gain);
        break;
    case FS_TOOL_NO_GAIN:
        advise_no_gain(compare);
        break;
    case FS_TOOL_LOSS:
        advise_loss(compare, gain);
        break;
    }
}
