/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan for people: numbers, the first stages, a Gantt chart. */
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_plan.h"

#include <string.h>

enum {
    COLUMNS      = 79,
    MAX_STAGES   = 20, /* shown, of stages or of transfers */
    MAX_SERVERS  = 32, /* in the chart */
    SIZE_LEN     = 32,
    PAIRS_COLUMN = 44
};

/* "1234 (1.2 KiB)" */
static const char *size(uint64_t bytes, char out[SIZE_LEN])
{
    static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB"};
    double                   value   = (double)bytes;
    size_t                   k       = 0;

    for (; value >= 1024 && k < 6; ++k) {
        value /= 1024;
    }
    snprintf(out, SIZE_LEN, "%.*f %s", k == 0 ? 0 : 1, value, units[k]);
    return out;
}

static void print_bytes(FILE *out, const char *name, uint64_t bytes,
                        const char *more)
{
    char text[SIZE_LEN];

    fprintf(out, "%-16s %llu bytes%s (%s)\n", name, (unsigned long long)bytes,
            more, size(bytes, text));
}

static void print_moved(FILE *out, const fs_tool_plan_t *plan)
{
    double inter = (double)plan->traffic->summary.inter_bytes;

    inter = inter == 0 ? 1 : inter;
    fprintf(out,
            "%-16s %s; %.1f%% of the bytes gathered, %.1f%% redistributed\n",
            "balance", fs_tool_balance_word(plan->params.balance),
            100 * (double)plan->moved_gather / inter,
            100 * (double)plan->moved_redist / inter);
}

static void print_schedule(FILE *out, const fs_tool_plan_t *plan)
{
    const fs_schedule_t *schedule = plan->schedule;

    fprintf(out, "%-16s %s, ", "decompose",
            fs_decompose_name(schedule->decompose));
    if (schedule->decompose == FS_DECOMPOSE_OPENSHOP) {
        fprintf(out, "%zu transfers", schedule->n_transfers);
    } else {
        fprintf(out, "%u stages", schedule->n_stages);
    }
    fprintf(out, ", found in %.0f us\n", (double)plan->plan_ns / 1000);
}

static void print_permutations(FILE *out, const fs_hierarchy_t *hierarchy)
{
    fprintf(out, "%-16s %zu of ranks, %llu bytes, bound %llu\n", "permutations",
            hierarchy->n_stages, (unsigned long long)hierarchy->total,
            (unsigned long long)hierarchy->lower_bound);
}

static void print_numbers(FILE *out, const fs_tool_plan_t *plan)
{
    const fs_topo_t *topo = plan->traffic->topo;
    uint32_t         n = fs_topo_n_servers(topo), min = UINT32_MAX, max = 0;

    for (uint32_t u = 0; u < n; ++u) {
        uint32_t lanes = fs_topo_n_lanes(topo, u);

        min = lanes < min ? lanes : min;
        max = lanes > max ? lanes : max;
    }
    fprintf(out, "%-16s %u, lanes %u", "servers", n, min);
    if (max > min) {
        fprintf(out, " to %u", max);
    }
    fprintf(out, ", ranks %u\n", plan->traffic->n_ranks);
    print_bytes(out, "between servers", plan->traffic->summary.inter_bytes, "");
    print_bytes(out, "inside servers",
                plan->traffic->summary.total_bytes -
                    plan->traffic->summary.inter_bytes,
                "");
    fprintf(out, "%-16s %llu.%03llu\n", "MTM",
            (unsigned long long)(plan->mtm_milli / 1000),
            (unsigned long long)(plan->mtm_milli % 1000));
    fprintf(out, "%-16s %s (%s)\n", "algorithm", fs_alg_name(plan->choice.alg),
            plan->choice.reason);
    print_moved(out, plan);
    print_schedule(out, plan);
    if (plan->hierarchy != NULL) {
        print_permutations(out, plan->hierarchy);
    }
    print_bytes(out, "without balance", plan->bounds.rank, " at least");
    print_bytes(out, "lower bound", plan->lower_bound, " per lane");
    print_bytes(out, "total", plan->schedule->total, " per lane");
    fprintf(out, "%-16s %.2f%%\n", "efficiency",
            100 * fs_tool_plan_efficiency(plan));
}

/* "0>1 1>2 ...", as many as fit. */
static void print_pairs(FILE *out, const fs_tool_plan_t *plan, size_t k,
                        size_t end)
{
    size_t column = PAIRS_COLUMN;

    for (; k < end; ++k) {
        const fs_transfer_t *t = &plan->schedule->transfers[k];
        char                 pair[32];
        int len = snprintf(pair, sizeof(pair), " %u>%u", t->src, t->dst);

        column += (size_t)len;
        if (column + 4 > COLUMNS && k + 1 < end) {
            fprintf(out, " ...");
            break;
        }
        fputs(pair, out);
    }
    fputc('\n', out);
}

static void print_stages(FILE *out, const fs_tool_plan_t *plan)
{
    uint32_t s = 0;

    fprintf(out, "\nstage  bytes per lane               bytes  pairs\n");
    for (size_t k = 0; k < plan->schedule->n_transfers;) {
        size_t   end  = fs_tool_plan_stage_end(plan, k);
        uint64_t real = 0;

        if (s == MAX_STAGES) {
            fprintf(out, "... and %u stages more\n",
                    plan->schedule->n_stages - s);
            return;
        }
        for (size_t i = k; i < end; ++i) {
            real += plan->real[i];
        }
        fprintf(out, "%5u  %14llu  %18llu ", s++,
                (unsigned long long)fs_tool_plan_stage_bytes(plan, k),
                (unsigned long long)real);
        print_pairs(out, plan, k, end);
        k = end;
    }
}

static void print_transfers(FILE *out, const fs_tool_plan_t *plan)
{
    size_t n = plan->schedule->n_transfers;

    fprintf(out, "\n  src   dst               start                 end"
                 "               bytes\n");
    for (size_t k = 0; k < n; ++k) {
        const fs_transfer_t *t = &plan->schedule->transfers[k];

        if (k == MAX_STAGES) {
            fprintf(out, "... and %zu transfers more\n", n - k);
            return;
        }
        fprintf(out, "%5u %5u  %18llu  %18llu  %18llu\n", t->src, t->dst,
                (unsigned long long)t->start,
                (unsigned long long)(t->start + t->bytes),
                (unsigned long long)plan->real[k]);
    }
}

static void print_chart(FILE *out, const fs_tool_plan_t *plan)
{
    uint32_t n = plan->schedule->n_servers;

    fprintf(out, "\nTo whom each server sends, over time%s\n",
            n <= 36 ? "" : " (its number modulo 36)");
    fs_tool_plan_gantt(out, plan, n < MAX_SERVERS ? n : MAX_SERVERS, COLUMNS);
    if (n > MAX_SERVERS) {
        fprintf(out, "... and %u servers more\n", n - MAX_SERVERS);
    }
}

void fs_tool_plan_text(FILE *out, const fs_tool_plan_t *plan)
{
    print_numbers(out, plan);
    if (plan->schedule->n_transfers == 0) {
        return;
    }
    if (plan->schedule->decompose == FS_DECOMPOSE_OPENSHOP) {
        print_transfers(out, plan);
    } else {
        print_stages(out, plan);
    }
    print_chart(out, plan);
}
