/* SPDX-License-Identifier: BSD-3-Clause */
/* A Gantt chart of characters. */
#include "tools/fs_tool_chart.h"

#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 u128_t;

/* Time times n, so that cell c of n is exactly [c * end, (c + 1) * end). */
static u128_t scaled(uint64_t time, unsigned n)
{
    return (u128_t)time * n;
}

static u128_t overlap(const fs_tool_bar_t *bar, u128_t from, u128_t to,
                      unsigned n)
{
    u128_t start = scaled(bar->start, n), end = scaled(bar->end, n);

    start = start > from ? start : from;
    end   = end < to ? end : to;
    return end > start ? end - start : 0;
}

/* Each bar bids for the cells it touches with the time it has there. */
static void paint(const fs_tool_chart_t *chart, uint32_t row, char *cells,
                  u128_t *most, unsigned n)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";

    memset(cells, '.', n);
    memset(most, 0, n * sizeof(*most));
    for (size_t k = 0; k < chart->n_bars; ++k) {
        const fs_tool_bar_t *bar = &chart->bars[k];
        unsigned first = (unsigned)(scaled(bar->start, n) / chart->end);

        for (unsigned c = first; bar->row == row && c < n; ++c) {
            u128_t from = scaled(chart->end, c);
            u128_t time = overlap(bar, from, from + chart->end, n);

            if (time == 0) {
                break;
            }
            if (time > most[c]) {
                most[c]  = time;
                cells[c] = letters[bar->who % 36];
            }
        }
    }
}

static unsigned name_width(const fs_tool_chart_t *chart)
{
    unsigned width = 0;

    for (uint32_t r = 0; r < chart->n_rows; ++r) {
        unsigned len = (unsigned)strlen(chart->rows[r].name);

        width = len > width ? len : width;
    }
    return width;
}

/* An arrow under the cell in which the moment ends, the words where there is
 * room for them. */
static void print_mark(FILE *out, const fs_tool_chart_t *chart, unsigned left,
                       unsigned n)
{
    unsigned words = (unsigned)strlen(chart->mark_name) + 1;
    unsigned at    = (unsigned)(scaled(chart->mark, n) / chart->end);

    at = left + (at > 0 ? at - 1 : 0);
    if (at + words < left + n) {
        fprintf(out, "%*s^ %s\n", (int)at, "", chart->mark_name);
    } else {
        fprintf(out, "%*s %s ^\n", (int)(at - words), "", chart->mark_name);
    }
}

void fs_tool_gantt(FILE *out, const fs_tool_chart_t *chart, unsigned columns)
{
    unsigned left  = name_width(chart) + 2;
    unsigned n     = columns > left + 10 ? columns - left : 10;
    char    *cells = calloc(n, 1);
    u128_t  *most  = calloc(n, sizeof(*most));

    if (cells != NULL && most != NULL && chart->end > 0) {
        fprintf(out, "%s\n", chart->title);
        for (uint32_t r = 0; r < chart->n_rows; ++r) {
            paint(chart, r, cells, most, n);
            fprintf(out, "%*s  %.*s\n", (int)left - 2, chart->rows[r].name,
                    (int)n, cells);
        }
        if (chart->mark_name != NULL && chart->mark <= chart->end) {
            print_mark(out, chart, left, n);
        }
    }
    free(cells);
    free(most);
}
