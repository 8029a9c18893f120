/* SPDX-License-Identifier: BSD-3-Clause */
/* A Gantt chart: bars on rows over time, with one moment marked. Drawn on a
 * terminal (fs_tool_gantt.c) or as SVG (fs_tool_svg.c). */
#ifndef FS_TOOL_CHART_H
#define FS_TOOL_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FS_TOOL_NAME_LEN = 32 };

typedef struct fs_tool_row {
    char        name[FS_TOOL_NAME_LEN];
    const char *partner; /* what a bar's partner is: "server", "rank" */
} fs_tool_row_t;

typedef struct fs_tool_bar {
    uint32_t row;
    uint32_t who;        /* number of the partner: letter and colour */
    uint64_t start, end; /* in the unit of the chart */
    uint64_t bytes;
} fs_tool_bar_t;

typedef struct fs_tool_chart {
    const char    *title;
    const char    *unit;      /* of the numbers at the time axis */
    uint64_t       per_unit;  /* of time */
    const char    *mark_name; /* of the moment marked, NULL: none */
    uint64_t       mark;
    uint64_t       end;       /* of the time axis; bars do not go beyond it */
    bool           no_memory; /* some rows or bars are missing */
    uint32_t       n_rows, max_rows;
    fs_tool_row_t *rows;
    size_t         n_bars, max_bars;
    fs_tool_bar_t *bars;
} fs_tool_chart_t;

void fs_tool_chart_init(fs_tool_chart_t *chart);
void fs_tool_chart_fini(fs_tool_chart_t *chart);

/* Returns the number of the row. */
uint32_t fs_tool_chart_row(fs_tool_chart_t *chart, const char *partner,
                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void fs_tool_chart_bar(fs_tool_chart_t *chart, fs_tool_bar_t bar);

/* A line for each row, columns wide in all; a cell shows who has the most of
 * its time, in base 36, or a dot. */
void fs_tool_gantt(FILE *out, const fs_tool_chart_t *chart, unsigned columns);

/* The same as SVG into a file. An exit code; unless FS_TOOL_OK, a message. */
int fs_tool_svg_file(const char *path, const fs_tool_chart_t *chart);

#endif
