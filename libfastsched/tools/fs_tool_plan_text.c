/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan as text: numbers, the first stages, a Gantt chart. */
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    COLUMNS      = 79,
    MAX_STAGES   = 20, /* shown, of stages or of transfers */
    MAX_PORTS    = 16, /* in the chart; of more nobody would see a thing */
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

static void print_bytes(const char *name, uint64_t bytes, const char *more)
{
    char text[SIZE_LEN];

    printf("%-16s %" PRIu64 " bytes%s (%s)\n", name, bytes, more,
           size(bytes, text));
}

static void print_moved(const fs_tool_plan_t *plan)
{
    double inter = (double)plan->traffic->summary.inter_bytes;

    inter = inter == 0 ? 1 : inter;
    printf("%-16s %s; %.1f%% of the bytes gathered, %.1f%% redistributed\n",
           "balance", fs_tool_balance_word(plan->params.balance),
           100 * (double)plan->moved_gather / inter,
           100 * (double)plan->moved_redist / inter);
}

static void print_schedule(const fs_tool_plan_t *plan)
{
    const fs_schedule_t *schedule = plan->schedule;

    printf("%-16s %s, ", "decompose", fs_decompose_name(schedule->decompose));
    if (schedule->decompose == FS_DECOMPOSE_OPENSHOP) {
        printf("%zu transfers", schedule->n_transfers);
    } else {
        printf("%u stages", schedule->n_stages);
    }
    printf(", found in %.0f us\n", (double)plan->plan_ns / 1000);
}

static void print_permutations(const fs_hierarchy_t *hierarchy)
{
    printf("%-16s %zu of ranks, %" PRIu64 " bytes, bound %" PRIu64 "\n",
           "permutations", hierarchy->n_stages, hierarchy->total,
           hierarchy->lower_bound);
}

static void print_numbers(const fs_tool_plan_t *plan)
{
    const fs_topo_t *topo = plan->traffic->topo;
    uint32_t         n = fs_topo_n_servers(topo), min = UINT32_MAX, max = 0;

    for (uint32_t u = 0; u < n; ++u) {
        uint32_t lanes = fs_topo_n_lanes(topo, u);

        min = lanes < min ? lanes : min;
        max = lanes > max ? lanes : max;
    }
    printf("%-16s %u, lanes %u", "servers", n, min);
    if (max > min) {
        printf(" to %u", max);
    }
    if (plan->ports.n_ports > n) { /* several of a server */
        printf(" in %u ports of %u", plan->ports.n_ports, plan->ports.width);
    }
    printf(", ranks %u\n", plan->traffic->n_ranks);
    print_bytes("between servers", plan->traffic->summary.inter_bytes, "");
    print_bytes("inside servers",
                plan->traffic->summary.total_bytes -
                    plan->traffic->summary.inter_bytes,
                "");
    printf("%-16s %.3f\n", "MTM", (double)plan->mtm_milli / 1000);
    printf("%-16s %s (%s)\n", "algorithm", fs_alg_name(plan->choice.alg),
           plan->choice.reason);
    print_moved(plan);
    print_schedule(plan);
    if (plan->hierarchy != NULL) {
        print_permutations(plan->hierarchy);
    }
    print_bytes("without balance", plan->bounds.rank, " at least");
    print_bytes("lower bound", plan->lower_bound, " per lane");
    print_bytes("total", plan->schedule->total, " per lane");
    printf("%-16s %.2f%%\n", "efficiency", 100 * fs_tool_plan_efficiency(plan));
}

/* "0>1 1>2 ...", as many as fit. */
static void print_pairs(const fs_tool_plan_t *plan, size_t k, size_t end)
{
    size_t column = PAIRS_COLUMN;

    for (; k < end; ++k) {
        const fs_transfer_t *t = &plan->schedule->transfers[k];
        char                 src[FS_TOOL_PORT_LEN], dst[FS_TOOL_PORT_LEN];
        char                 pair[2 * FS_TOOL_PORT_LEN];
        int                  len = snprintf(pair, sizeof(pair), " %s>%s",
                                            fs_tool_plan_port(plan, t->src, src),
                                            fs_tool_plan_port(plan, t->dst, dst));

        column += (size_t)len;
        if (column + 4 > COLUMNS && k + 1 < end) {
            printf(" ...");
            break;
        }
        fputs(pair, stdout);
    }
    putchar('\n');
}

static void print_stages(const fs_tool_plan_t *plan)
{
    uint32_t s = 0;

    printf("\nstage  bytes per lane               bytes  pairs\n");
    for (size_t k = 0; k < plan->schedule->n_transfers;) {
        size_t   end  = fs_tool_plan_stage_end(plan, k);
        uint64_t real = 0;

        if (s == MAX_STAGES) {
            printf("... and %u more stages\n", plan->schedule->n_stages - s);
            return;
        }
        for (size_t i = k; i < end; ++i) {
            real += plan->real[i];
        }
        printf("%5u  %14" PRIu64 "  %18" PRIu64 " ", s++,
               fs_tool_plan_stage_bytes(plan, k), real);
        print_pairs(plan, k, end);
        k = end;
    }
}

static void print_transfers(const fs_tool_plan_t *plan)
{
    size_t n = plan->schedule->n_transfers;

    printf("\n  src   dst               start                 end"
           "               bytes\n");
    for (size_t k = 0; k < n; ++k) {
        const fs_transfer_t *t = &plan->schedule->transfers[k];
        char                 src[FS_TOOL_PORT_LEN], dst[FS_TOOL_PORT_LEN];

        if (k == MAX_STAGES) {
            printf("... and %zu more transfers\n", n - k);
            return;
        }
        printf("%5s %5s  %18" PRIu64 "  %18" PRIu64 "  %18" PRIu64 "\n",
               fs_tool_plan_port(plan, t->src, src),
               fs_tool_plan_port(plan, t->dst, dst), t->start,
               (t->start + t->bytes), plan->real[k]);
    }
}

static void print_chart(const fs_tool_plan_t *plan)
{
    if (plan->ports.n_ports > MAX_PORTS) {
        printf("\n--svg FILE draws the servers over time\n");
        return;
    }
    printf("\nDestination of each %s over time\n",
           plan->ports.n_ports > plan->traffic->summary.n_servers ? "port"
                                                                  : "server");
    fs_tool_plan_gantt(plan, COLUMNS);
}

void fs_tool_plan_text(const fs_tool_plan_t *plan)
{
    print_numbers(plan);
    if (plan->schedule->n_transfers == 0) {
        return;
    }
    if (plan->schedule->decompose == FS_DECOMPOSE_OPENSHOP) {
        print_transfers(plan);
    } else {
        print_stages(plan);
    }
    print_chart(plan);
}
