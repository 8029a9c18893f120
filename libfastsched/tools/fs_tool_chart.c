/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fs_tool_chart.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void fs_tool_chart_init(fs_tool_chart_t *chart)
{
    *chart = (fs_tool_chart_t){.title = "", .unit = "", .per_unit = 1};
}

void fs_tool_chart_fini(fs_tool_chart_t *chart)
{
    free(chart->rows);
    free(chart->bars);
    memset(chart, 0, sizeof(*chart));
}

uint32_t fs_tool_chart_row(fs_tool_chart_t *chart, const char *partner,
                           const char *format, ...)
{
    va_list args;

    if (chart->n_rows == chart->max_rows) {
        uint32_t max  = chart->max_rows * 2 + 16;
        void    *rows = realloc(chart->rows, max * sizeof(*chart->rows));

        if (rows == NULL) {
            chart->no_memory = true;
            return chart->n_rows;
        }
        chart->rows     = rows;
        chart->max_rows = max;
    }
    chart->rows[chart->n_rows].partner = partner;
    va_start(args, format);
    vsnprintf(chart->rows[chart->n_rows].name, FS_TOOL_NAME_LEN, format, args);
    va_end(args);
    return chart->n_rows++;
}

void fs_tool_chart_bar(fs_tool_chart_t *chart, fs_tool_bar_t bar)
{
    if (bar.row >= chart->n_rows) {
        return;
    }
    if (chart->n_bars == chart->max_bars) {
        size_t max  = chart->max_bars * 2 + 64;
        void  *bars = realloc(chart->bars, max * sizeof(*chart->bars));

        if (bars == NULL) {
            chart->no_memory = true;
            return;
        }
        chart->bars     = bars;
        chart->max_bars = max;
    }
    chart->bars[chart->n_bars++] = bar;
}
