/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace for people: the calls, then one of them step by step, and its
 * critical path. */
#include "tools/fs_tool_trace.h"

#include <inttypes.h>
#include <string.h>

double fs_tool_trace_lane_ns(const fs_tool_trace_report_t *report,
                             uint64_t                      bytes)
{
    return report->rate == 0 ? 0 : 8e9 * (double)bytes / (double)report->rate;
}

static double ms(uint64_t ns)
{
    return (double)ns * 1e-6;
}

/* A share of something, "-" of nothing. */
static void print_percent(FILE *out, int width, double part, double whole)
{
    if (whole > 0 && part > 0) {
        fprintf(out, "%*.1f%%", width - 1, 100 * part / whole);
    } else {
        fprintf(out, "%*s", width, "-");
    }
}

/* ---- all calls ---- */

static void print_warnings(FILE *out, const fs_tool_trace_t *trace)
{
    uint32_t missing = 0;
    uint64_t dropped = 0;

    for (uint32_t r = 0; r < trace->n_ranks; ++r) {
        missing += !trace->ranks[r].there;
        dropped += trace->ranks[r].dropped;
    }
    if (missing > 0) {
        fprintf(out,
                "  of %u ranks there are no files: what follows is not all\n",
                missing);
    }
    if (dropped > 0) {
        fprintf(out,
                "  %" PRIu64 " events were dropped: the traces were full\n",
                dropped);
    }
    if (trace->n_clocks > 1) {
        fprintf(out, "  %u clocks, aligned by %s\n", trace->n_clocks,
                trace->aligned ? "messages" : "the time of day");
    }
}

static void print_call(FILE *out, const fs_tool_trace_report_t *report,
                       const fs_tool_trace_t *trace, uint32_t call)
{
    fs_tool_trace_sum_t sum;

    fs_tool_trace_sum(trace, call, &sum);
    fprintf(out, "%6u  %-7s %-12s %13" PRIu64 " %12.3f %9.3f ", call,
            sum.ran ? sum.algorithm : "host", sum.ran ? sum.decompose : "",
            sum.bytes, ms(sum.slowest_ns),
            ms(sum.last_entry - sum.first_entry));
    print_percent(out, 10,
                  sum.ran ? fs_tool_trace_lane_ns(report, sum.bound) : 0,
                  (double)sum.slowest_ns);
    fprintf(out, "%s%s\n", strcmp(sum.status, "success") == 0 ? "" : "  ",
            strcmp(sum.status, "success") == 0 ? "" : sum.status);
}

static void print_comm(FILE *out, const fs_tool_trace_report_t *report,
                       const fs_tool_trace_t *trace)
{
    fprintf(out, "%s (%s): %u ranks on %u servers\n",
            trace->comm[0] == '\0' ? "communicator" : trace->comm, trace->id,
            trace->n_ranks, trace->n_servers);
    print_warnings(out, trace);
    fprintf(out, "  call  algorithm                    bytes      time ms"
                 "   skew ms  of bound\n");
    for (size_t k = 0; k < trace->n_calls; ++k) {
        if (k == 0 || trace->calls[k].call != trace->calls[k - 1].call) {
            print_call(out, report, trace, trace->calls[k].call);
        }
    }
    fputc('\n', out);
}

/* ---- one call ---- */

static void print_head(FILE *out, const fs_tool_trace_report_t *report)
{
    const fs_tool_trace_sum_t *sum = &report->sum;

    fprintf(out, "Call %u of %s\n", sum->call, report->trace->comm);
    fprintf(out, "algorithm        %s%s%s\n",
            sum->ran ? sum->algorithm : "host",
            sum->decompose[0] == '\0' ? "" : ", ", sum->decompose);
    fprintf(out, "between servers  %" PRIu64 " bytes, %" PRIu64 " messages\n",
            sum->bytes, sum->messages);
    fprintf(out, "lower bound      %" PRIu64 " bytes per lane", sum->bound);
    if (report->rate > 0) {
        fprintf(out, ", %.3f ms",
                fs_tool_trace_lane_ns(report, sum->bound) * 1e-6);
    }
    fprintf(out, "\ntime             %.3f ms, slowest rank %u",
            ms(sum->slowest_ns), sum->slowest);
    if (report->rate > 0) {
        fprintf(out, ", %.3f times the bound",
                (double)sum->slowest_ns /
                    fs_tool_trace_lane_ns(report, sum->bound));
    }
    fprintf(out, "\n");
    if (sum->unmatched > 0) {
        fprintf(out,
                "unmatched        %" PRIu64
                " messages: their other ends are not in the traces\n",
                sum->unmatched);
    }
}

/* Bytes per nanosecond of a lane that is busy with a step. */
static double rate_of(const fs_tool_trace_step_t *step)
{
    return step->busy == 0 ? 0 : (double)step->sent / (double)step->busy;
}

/* What a lane could at best: the rate that is known, or that of the best
 * step. */
static double best_rate(const fs_tool_trace_report_t *report)
{
    double best = (double)report->rate / 8e9;

    for (long k = 0; report->rate == 0 && k < report->n_steps; ++k) {
        double rate = rate_of(&report->steps[k]);

        best = rate > best ? rate : best;
    }
    return best;
}

static void print_step(FILE *out, const fs_tool_trace_report_t *report, long k,
                       double best)
{
    const fs_tool_trace_step_t *step = &report->steps[k];
    double                      zero = ms(report->sum.last_entry);

    fprintf(out, "%5ld %13" PRIu64 " %13" PRIu64, k, step->start, step->bytes);
    if (step->sent > 0) {
        fprintf(out, " %10.3f %10.3f %10.3f %8.3f %8.1f ",
                ms(step->first) - zero, ms(step->last) - zero,
                ms(step->longest), ms(step->longest_gap), rate_of(step) * 8e3);
    } else {
        fprintf(out, " %10s %10s %10s %8s %8s ", "-", "-", "-", "-", "-");
    }
    print_percent(out, 7, rate_of(step), best);
    fprintf(out, "  %s%s\n", step->pairs, step->more_pairs ? "..." : "");
}

static void print_steps(FILE *out, const fs_tool_trace_report_t *report)
{
    double best = best_rate(report);

    if (report->n_steps == 0) {
        return;
    }
    fprintf(
        out,
        "\nSteps: planned, bytes per lane; first send, last arrival; the "
        "lane that took longest,\nthe longest pause of a lane before it; "
        "mean rate of busy lanes, %s; ms\n"
        " step          from         bytes      first       last    longest "
        "   pause   Mbit/s  effic.  servers\n",
        report->rate > 0 ? "of the full rate" : "of the best");
    for (long k = 0; k < report->n_steps; ++k) {
        print_step(out, report, k, best);
    }
}

static void print_shares(FILE *out, const fs_tool_trace_report_t *report,
                         uint64_t total)
{
    fprintf(out, "\nWhat the end waited for, %.3f ms in all\n", ms(total));
    for (int k = 0; k < FS_TOOL_N_HOPS; ++k) {
        uint64_t share = report->path.share_ns[k];

        if (share > 0) {
            fprintf(out, "%-8s %10.3f ms ", fs_tool_hop_name(k), ms(share));
            print_percent(out, 8, (double)share, (double)total);
            fprintf(out, "  %s\n", fs_tool_hop_help(k));
        }
    }
}

static void print_wire(FILE *out, const fs_tool_trace_report_t *report)
{
    uint64_t bytes = 0, ns = report->path.share_ns[FS_TOOL_HOP_WIRE];

    for (size_t k = 0; k < report->path.n; ++k) {
        if (report->path.hops[k].kind == FS_TOOL_HOP_WIRE) {
            bytes += report->path.hops[k].bytes;
        }
    }
    if (ns > 0) {
        fprintf(out,
                "The wire on this path carried %" PRIu64
                " bytes at %.1f Mbit/s",
                bytes, (double)bytes * 8e3 / (double)ns);
        if (report->rate > 0) {
            fprintf(out, "; at full rate %.3f ms",
                    fs_tool_trace_lane_ns(report, bytes) * 1e-6);
        }
        fputs(".\n", out);
    }
}

static void print_hop(FILE *out, const fs_tool_trace_report_t *report,
                      const fs_tool_hop_t *hop)
{
    char peer[16] = "", bytes[48] = "";

    if (hop->peer != FS_TOOL_NONE) {
        snprintf(peer, sizeof(peer), "%u", hop->peer);
    }
    if (hop->bytes > 0) {
        snprintf(bytes, sizeof(bytes), "%" PRIu64, hop->bytes);
    }
    fprintf(out, "%11.3f %10.3f  %-8s %5u %5s %12s %5u  %s\n",
            ms(hop->begin) - ms(report->sum.last_entry),
            ms(hop->end - hop->begin), fs_tool_hop_name(hop->kind), hop->rank,
            peer, bytes, hop->messages, hop->after);
}

void fs_tool_trace_text(FILE *out, const fs_tool_trace_report_t *report)
{
    const fs_tool_path_t *path  = &report->path;
    uint64_t              total = 0;

    for (size_t k = 0; k < report->traces->n; ++k) {
        print_comm(out, report, &report->traces->list[k]);
    }
    print_head(out, report);
    print_steps(out, report);
    for (int k = 0; k < FS_TOOL_N_HOPS; ++k) {
        total += path->share_ns[k];
    }
    print_shares(out, report, total);
    print_wire(out, report);
    fprintf(out, "\nCritical path; ms from when the last rank had entered\n"
                 "    from ms    took ms  what      rank  peer        bytes  "
                 "msgs  waited for\n");
    for (size_t k = 0; k < path->n; ++k) {
        print_hop(out, report, &path->hops[k]);
    }
}
