/* SPDX-License-Identifier: BSD-3-Clause */
/* To whom servers send over time, as characters. */
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
static void paint(const fs_schedule_t *schedule, uint32_t server, char *cells,
                  u128_t *most, unsigned n)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";

    memset(cells, '.', n);
    memset(most, 0, n * sizeof(*most));
    for (size_t k = 0; k < schedule->n_transfers; ++k) {
        const fs_transfer_t *t = &schedule->transfers[k];
        unsigned c = (unsigned)((u128_t)t->start * n / schedule->total);
        u128_t   time;

        for (; t->src == server && c < n &&
               (time = overlap(t, schedule->total, c, n)) > 0;
             ++c) {
            if (time > most[c]) {
                most[c]  = time;
                cells[c] = letters[t->dst];
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
    uint32_t servers = plan->schedule->n_servers;
    unsigned left    = (unsigned)snprintf(NULL, 0, "%u  ", servers - 1);
    unsigned n       = columns > left + 10 ? columns - left : 10;
    char    *cells   = calloc(n, 1);
    u128_t  *most    = calloc(n, sizeof(*most));

    for (uint32_t u = 0; cells != NULL && most != NULL && u < servers; ++u) {
        paint(plan->schedule, u, cells, most, n);
        printf("%*u  %.*s\n", (int)left - 2, u, (int)n, cells);
    }
    if (plan->lower_bound <= plan->schedule->total) {
        print_bound(plan, left, n);
    }
    free(cells);
    free(most);
}
