# SPDX-License-Identifier: BSD-3-Clause
"""A Gantt chart as SVG 1.1: valid XML, no scripts, no fonts to fetch."""
from . import output
from .output import escaped

WIDTH = 1000  # of the time axis
LEFT = 190  # of the names
RIGHT = 30
TOP = 60
BOTTOM = 50
ROW = 18
BAR = 14
TICKS = 10

COLOURS = (
    "#4e79a7 #f28e2b #59a14f #b07aa1 #edc948 #76b7b2 #e15759 #9c755f #8cd17d #d37295 #86bcb6 #bab0ac"
).split()

STYLE = (
    "text{font:11px sans-serif;fill:#222}.row{fill:#f0f0f0}.axis{stroke:#222}"
    "line.mark{stroke:#c00;stroke-width:2}text.mark{fill:#c00}"
)


def _place(chart, time):
    return LEFT + WIDTH * (time / (chart.end or 1))


def _head(chart, bottom):
    width, height = LEFT + WIDTH + RIGHT, bottom + BOTTOM
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">\n<style>{STYLE}</style>\n'
        '<rect width="100%" height="100%" fill="#fff"/>\n'
        f'<text x="{LEFT}" y="24" style="font-size:15px">{escaped(chart.title)}</text>\n'
    )


def _rows(chart):
    for k, row in enumerate(chart.rows):
        y = TOP + k * ROW
        yield (
            f'<rect x="{LEFT}" y="{y}" width="{WIDTH}" height="{BAR}" class="row"/>\n'
            f'<text x="{LEFT - 8}" y="{y + BAR - 3}" text-anchor="end">{escaped(row.name)}</text>\n'
        )


def _bars(chart):
    for bar in chart.bars:
        x, row = _place(chart, bar.start), chart.rows[bar.row]
        yield (
            f'<rect x="{x:.2f}" y="{TOP + bar.row * ROW}" width="{_place(chart, bar.end) - x:.2f}" '
            f'height="{BAR}" fill="{COLOURS[bar.who % len(COLOURS)]}"><title>{escaped(row.name)}, '
            f"{row.partner} {bar.who}: {bar.bytes} bytes</title></rect>\n"
        )


def _tick(chart):
    """1, 2 or 5 times a power of ten, so that there are at most TICKS of it."""
    step, k = 1, 0
    while chart.end // step > TICKS:
        step = step // 2 * 5 if k % 3 == 1 else step * 2
        k += 1
    return step


def _axis(chart, bottom):
    for time in range(0, chart.end + 1, _tick(chart)):
        x = f"{_place(chart, time):.2f}"
        yield (
            f'<line x1="{x}" y1="{bottom}" x2="{x}" y2="{bottom + 5}" class="axis"/>\n'
            f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{time / chart.per_unit:.6g}</text>\n'
        )
    yield (
        f'<text x="{LEFT + WIDTH // 2}" y="{bottom + 38}" text-anchor="middle">'
        f"{escaped(chart.unit)}</text>\n"
    )


def _mark(chart, bottom):
    x = _place(chart, chart.mark)
    yield (
        f'<line x1="{x:.2f}" y1="{TOP - 14}" x2="{x:.2f}" y2="{bottom}" class="mark"/>\n'
        f'<text x="{x - 4:.2f}" y="{TOP - 6}" text-anchor="end" class="mark">'
        f"{escaped(chart.mark_name)}</text>\n"
    )


def _drawn(chart):
    bottom = TOP + len(chart.rows) * ROW
    yield from _head(chart, bottom)
    yield from _rows(chart)
    yield from _bars(chart)
    yield from _axis(chart, bottom)
    if chart.mark is not None:
        yield from _mark(chart, bottom)
    yield "</svg>\n"


def write(path, chart):
    """Write the chart into a file."""
    output.write(path, _drawn(chart))
