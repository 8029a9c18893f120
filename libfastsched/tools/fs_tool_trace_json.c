/* SPDX-License-Identifier: BSD-3-Clause */
/* What fs_tool_trace_text() tells, for programs. Times are nanoseconds from the
 * first thing that the communicator's traces tell. */
#include "base/fs_json.h"
#include "tools/fs_tool_trace.h"

static void put_sum(fs_json_t *json, const fs_tool_trace_report_t *report,
                    const fs_tool_trace_sum_t *sum)
{
    double bound_ns = fs_tool_trace_lane_ns(report, sum->bound);

    fs_json_u64(json, "call", sum->call);
    fs_json_text(json, "algorithm", sum->ran ? sum->algorithm : "host");
    fs_json_text(json, "decompose", sum->decompose);
    fs_json_u64(json, "stages", sum->stages);
    fs_json_u64(json, "bytes", sum->bytes);
    fs_json_u64(json, "lower_bound", sum->bound);
    fs_json_u64(json, "planned", sum->planned);
    fs_json_u64(json, "messages", sum->messages);
    fs_json_u64(json, "unmatched", sum->unmatched);
    fs_json_u64(json, "first_entry_ns", sum->first_entry);
    fs_json_u64(json, "last_entry_ns", sum->last_entry);
    fs_json_u64(json, "end_ns", sum->end);
    fs_json_u64(json, "slowest_ns", sum->slowest_ns);
    fs_json_u64(json, "slowest_rank", sum->slowest);
    if (sum->ran && bound_ns > 0 && sum->slowest_ns > 0) {
        fs_json_real(json, "efficiency", bound_ns / (double)sum->slowest_ns, 4);
    }
    fs_json_text(json, "status", sum->status);
}

static void put_comm(fs_json_t *json, const fs_tool_trace_report_t *report,
                     const fs_tool_trace_t *trace)
{
    uint64_t missing = 0, dropped = 0;

    for (uint32_t r = 0; r < trace->n_ranks; ++r) {
        missing += !trace->ranks[r].there;
        dropped += trace->ranks[r].dropped;
    }
    fs_json_open(json, NULL, '{');
    fs_json_text(json, "comm", trace->comm);
    fs_json_text(json, "id", trace->id);
    fs_json_u64(json, "ranks", trace->n_ranks);
    fs_json_u64(json, "servers", trace->n_servers);
    fs_json_u64(json, "missing_ranks", missing);
    fs_json_u64(json, "dropped", dropped);
    fs_json_u64(json, "clocks", trace->n_clocks);
    fs_json_bool(json, "aligned", trace->aligned || trace->n_clocks < 2);
    fs_json_open(json, "calls", '[');
    for (size_t k = 0; k < trace->n_calls; ++k) {
        if (k == 0 || trace->calls[k].call != trace->calls[k - 1].call) {
            fs_tool_trace_sum_t sum;

            fs_tool_trace_sum(trace, trace->calls[k].call, &sum);
            fs_json_open(json, NULL, '{');
            put_sum(json, report, &sum);
            fs_json_close(json);
        }
    }
    fs_json_close(json);
    fs_json_close(json);
}

static void put_step(fs_json_t *json, const fs_tool_trace_step_t *step)
{
    fs_json_open(json, NULL, '{');
    fs_json_u64(json, "start", step->start);
    fs_json_u64(json, "bytes", step->bytes);
    fs_json_u64(json, "sent", step->sent);
    fs_json_u64(json, "first_ns", step->first);
    fs_json_u64(json, "last_ns", step->last);
    fs_json_u64(json, "busy_ns", step->busy);
    fs_json_u64(json, "longest_ns", step->longest);
    fs_json_u64(json, "longest_gap_ns", step->longest_gap);
    fs_json_text(json, "pairs", step->pairs);
    fs_json_close(json);
}

static void put_hop(fs_json_t *json, const fs_tool_hop_t *hop)
{
    fs_json_open(json, NULL, '{');
    fs_json_text(json, "what", fs_tool_hop_name(hop->kind));
    fs_json_u64(json, "rank", hop->rank);
    if (hop->peer != FS_TOOL_NONE) {
        fs_json_u64(json, "peer", hop->peer);
    }
    fs_json_u64(json, "begin_ns", hop->begin);
    fs_json_u64(json, "end_ns", hop->end);
    fs_json_u64(json, "bytes", hop->bytes);
    fs_json_u64(json, "messages", hop->messages);
    fs_json_text(json, "after", hop->after);
    fs_json_close(json);
}

static void put_detail(fs_json_t *json, const fs_tool_trace_report_t *report)
{
    fs_json_open(json, "detail", '{');
    fs_json_text(json, "id", report->trace->id);
    put_sum(json, report, &report->sum);
    fs_json_open(json, "steps", '[');
    for (long k = 0; k < report->n_steps; ++k) {
        put_step(json, &report->steps[k]);
    }
    fs_json_close(json);
    fs_json_open(json, "share_ns", '{');
    for (int k = 0; k < FS_TOOL_N_HOPS; ++k) {
        fs_json_u64(json, fs_tool_hop_name(k), report->path.share_ns[k]);
    }
    fs_json_close(json);
    fs_json_open(json, "path", '[');
    for (size_t k = 0; k < report->path.n; ++k) {
        put_hop(json, &report->path.hops[k]);
    }
    fs_json_close(json);
    fs_json_close(json);
}

void fs_tool_trace_json(FILE *out, const fs_tool_trace_report_t *report)
{
    fs_json_t json;

    fs_json_init(&json, out, 3);
    fs_json_open(&json, NULL, '{');
    fs_json_u64(&json, "rate", report->rate);
    fs_json_open(&json, "communicators", '[');
    for (size_t k = 0; k < report->traces->n; ++k) {
        put_comm(&json, report, &report->traces->list[k]);
    }
    fs_json_close(&json);
    put_detail(&json, report);
    fs_json_close(&json);
}
