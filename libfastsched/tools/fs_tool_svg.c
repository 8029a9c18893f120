/* SPDX-License-Identifier: BSD-3-Clause */
/* A Gantt chart as SVG 1.1: valid XML, no scripts, no fonts to fetch. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_chart.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
    WIDTH  = 1000, /* of the time axis */
    LEFT   = 190,  /* of the names */
    RIGHT  = 30,
    TOP    = 60,
    BOTTOM = 50,
    ROW    = 18,
    BAR    = 14,
    TICKS  = 10
};

static void escape(FILE *out, const char *text)
{
    for (; *text != '\0'; ++text) {
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

static double place(const fs_tool_chart_t *chart, uint64_t time)
{
    double end = chart->end == 0 ? 1 : (double)chart->end;

    return LEFT + WIDTH * ((double)time / end);
}

static const char *colour(uint32_t who)
{
    static const char *const colours[] = {
        "#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#edc948", "#76b7b2",
        "#e15759", "#9c755f", "#8cd17d", "#d37295", "#86bcb6", "#bab0ac"};

    return colours[who % (sizeof(colours) / sizeof(colours[0]))];
}

static void draw_rows(FILE *out, const fs_tool_chart_t *chart)
{
    for (uint32_t r = 0; r < chart->n_rows; ++r) {
        unsigned y = TOP + r * ROW;

        fprintf(out,
                "<rect x=\"%d\" y=\"%u\" width=\"%d\" height=\"%d\" "
                "class=\"row\"/>\n<text x=\"%d\" y=\"%u\" "
                "text-anchor=\"end\">",
                LEFT, y, WIDTH, BAR, LEFT - 8, y + BAR - 3);
        escape(out, chart->rows[r].name);
        fprintf(out, "</text>\n");
    }
}

static void draw_bars(FILE *out, const fs_tool_chart_t *chart)
{
    for (size_t k = 0; k < chart->n_bars; ++k) {
        const fs_tool_bar_t *bar = &chart->bars[k];
        double               x   = place(chart, bar->start);

        fprintf(out,
                "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" "
                "fill=\"%s\"><title>",
                x, TOP + bar->row * ROW, place(chart, bar->end) - x, BAR,
                colour(bar->who));
        escape(out, chart->rows[bar->row].name);
        fprintf(out, ", %s %u: %" PRIu64 " bytes</title></rect>\n",
                chart->rows[bar->row].partner, bar->who, bar->bytes);
    }
}

/* 1, 2 or 5 times a power of ten, so that there are at most TICKS of it. */
static uint64_t tick(const fs_tool_chart_t *chart)
{
    uint64_t step = 1;

    for (int k = 0; chart->end / step > TICKS; ++k) {
        step = k % 3 == 1 ? step / 2 * 5 : step * 2;
    }
    return step;
}

static void draw_axis(FILE *out, const fs_tool_chart_t *chart, unsigned bottom)
{
    uint64_t step = tick(chart);

    for (uint64_t time = 0; time <= chart->end; time += step) {
        fprintf(out,
                "<line x1=\"%.2f\" y1=\"%u\" x2=\"%.2f\" y2=\"%u\" "
                "class=\"axis\"/>\n<text x=\"%.2f\" y=\"%u\" "
                "text-anchor=\"middle\">%.6g</text>\n",
                place(chart, time), bottom, place(chart, time), bottom + 5,
                place(chart, time), bottom + 18,
                (double)time / (double)chart->per_unit);
    }
    fprintf(out, "<text x=\"%d\" y=\"%u\" text-anchor=\"middle\">",
            LEFT + WIDTH / 2, bottom + 38);
    escape(out, chart->unit);
    fprintf(out, "</text>\n");
}

static void draw_mark(FILE *out, const fs_tool_chart_t *chart, unsigned bottom)
{
    double x = place(chart, chart->mark);

    fprintf(out,
            "<line x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%u\" "
            "class=\"mark\"/>\n<text x=\"%.2f\" y=\"%d\" "
            "text-anchor=\"end\" class=\"mark\">",
            x, TOP - 14, x, bottom, x - 4, TOP - 6);
    escape(out, chart->mark_name);
    fprintf(out, "</text>\n");
}

static void draw(FILE *out, const fs_tool_chart_t *chart)
{
    unsigned bottom = TOP + chart->n_rows * ROW;

    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" "
            "width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\">\n"
            "<style>text{font:11px sans-serif;fill:#222}"
            ".row{fill:#f0f0f0}.axis{stroke:#222}"
            "line.mark{stroke:#c00;stroke-width:2}text.mark{fill:#c00}"
            "</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%d\" y=\"24\" style=\"font-size:15px\">",
            LEFT + WIDTH + RIGHT, bottom + BOTTOM, LEFT + WIDTH + RIGHT,
            bottom + BOTTOM, LEFT);
    escape(out, chart->title);
    fprintf(out, "</text>\n");
    draw_rows(out, chart);
    draw_bars(out, chart);
    draw_axis(out, chart, bottom);
    if (chart->mark_name != NULL) {
        draw_mark(out, chart, bottom);
    }
    fprintf(out, "</svg>\n");
}

int fs_tool_svg_file(const char *path, const fs_tool_chart_t *chart)
{
    FILE *file = fopen(path, "w");
    bool  failed;

    if (file == NULL) {
        return fs_tool_failed("%s: %s", path, strerror(errno));
    }
    draw(file, chart);
    failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        return fs_tool_failed("%s: %s", path, strerror(errno));
    }
    return FS_TOOL_OK;
}
