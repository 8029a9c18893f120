/* SPDX-License-Identifier: BSD-3-Clause */
/* To whom ports send over time, as characters. */
#include "tools/fs_tool_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 u128_t;

/* Time of [start, end) in cell c of n; times are n times as long here, so that
 * the cell is exactly [c * total, (c + 1) * total). */
static u128_t overlap(const fs_transfer_t *t, uint64_t total, unsigned c,
                      unsigned n)
{
    u128_t start = (u128_t)t->start * n, end = start + (u128_t)t->bytes * n;
    u128_t from = (u128_t)total * c, to = from + total;

    start = start > from ? start : from;
    end   = end < to ? end : to;
    return end > start ? end - start : 0;
}

/* Each transfer bids for the cells it touches with the time it has there. */
static void paint(const fs_tool_plan_t *plan, uint32_t port, char *cells,
                  u128_t *most, unsigned n)
{
    static const char    letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    const fs_schedule_t *schedule  = plan->schedule;

    memset(cells, '.', n);
    memset(most, 0, n * sizeof(*most));
    for (size_t k = 0; k < schedule->n_transfers; ++k) {
        const fs_transfer_t *t = &schedule->transfers[k];
        unsigned c = (unsigned)((u128_t)t->start * n / schedule->total);
        u128_t   time;

        for (; t->src == port && c < n &&
               (time = overlap(t, schedule->total, c, n)) > 0;
             ++c) {
            if (time > most[c]) {
                most[c]  = time;
                cells[c] = letters[fs_ports_server(&plan->ports, t->dst)];
            }
        }
    }
}

/* An arrow under the cell in which the bound ends, the words where there is
 * room for them. */
static void print_bound(const fs_tool_plan_t *plan, unsigned left, unsigned n)
{
    static const char words[] = "lower bound";
    unsigned          at =
        (unsigned)((u128_t)plan->lower_bound * n / plan->schedule->total);

    at = left + (at > 0 ? at - 1 : 0);
    if (at + sizeof(words) < left + n) {
        printf("%*s^ %s\n", (int)at, "", words);
    } else {
        printf("%*s %s ^\n", (int)(at - sizeof(words)), "", words);
    }
}

void fs_tool_plan_gantt(const fs_tool_plan_t *plan, unsigned columns)
{
    uint32_t n_ports = plan->ports.n_ports;
    char     port[FS_TOOL_PORT_LEN];
    unsigned left =
        2 + (unsigned)strlen(fs_tool_plan_port(plan, n_ports - 1, port));
    unsigned n     = columns > left + 10 ? columns - left : 10;
    char    *cells = calloc(n, 1);
    u128_t  *most  = calloc(n, sizeof(*most));

    for (uint32_t k = 0; cells != NULL && most != NULL && k < n_ports; ++k) {
        paint(plan, k, cells, most, n);
        printf("%*s  %.*s\n", (int)left - 2, fs_tool_plan_port(plan, k, port),
               (int)n, cells);
    }
    if (plan->lower_bound <= plan->schedule->total) {
        print_bound(plan, left, n);
    }
    free(cells);
    free(most);
}
