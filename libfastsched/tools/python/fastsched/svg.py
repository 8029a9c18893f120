# SPDX-License-Identifier: BSD-3-Clause
"""A Gantt chart as SVG 1.1: valid XML, no scripts, no fonts to fetch.

Bars that are less than a pixel wide are drawn together with their neighbours, so that a picture stays small.
"""
from . import output, strips
from .chart import Bar
from .output import escaped

WIDTH = 1000  # of the time axis
LEFT = 190  # of the names
RIGHT = 30
TOP = 60
ROW = 18
BAR = 14
TICKS = 10

STYLE = (
    "text{font:11px sans-serif;fill:#222}.row{fill:#f0f0f0}.axis{stroke:#222}"
    "line.mark{stroke:#c00;stroke-width:2}text.mark{fill:#c00}"
) + strips.style()


def _place(chart, time):
    return LEFT + WIDTH * (time / (chart.end or 1))


def _head(chart, bottom):
    width = LEFT + WIDTH + RIGHT
    height = bottom + LEGEND + LINE * (len(_legends(chart)) + (2 if chart.note else 1))
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


def _together(bars):
    """One bar for neighbours: with whom most bytes are."""
    bytes_ = {}
    for bar in bars:
        bytes_[bar.who] = bytes_.get(bar.who, 0) + bar.bytes
    who = max(bytes_, key=lambda who: (bytes_[who], -who))
    return Bar(bars[0].row, who, bars[0].start, max(bar.end for bar in bars), sum(bytes_.values())), len(bytes_)


def _merged(chart):
    """Yield (bar, number of partners)."""
    pixel = (chart.end or 1) / WIDTH
    small = []
    for bar in sorted(chart.bars, key=lambda bar: (bar.row, bar.start)):
        is_small = bar.end - bar.start < pixel
        if small and not (is_small and bar.row == small[0].row and bar.end - small[0].start < pixel):
            yield _together(small)
            small = []
        if is_small:
            small.append(bar)
        else:
            yield bar, 1
    if small:
        yield _together(small)


def _bars(chart):
    for bar, n_partners in _merged(chart):
        x, row = _place(chart, bar.start), chart.rows[bar.row]
        more = f" and {n_partners - 1} more" if n_partners > 1 else ""
        yield (
            f'<rect x="{x:.2f}" y="{TOP + bar.row * ROW}" width="{_place(chart, bar.end) - x:.2f}" '
            f'height="{BAR}" class="{strips.colour_class(bar.who)}"><title>{escaped(row.name)}, '
            f"{row.partner} {bar.who}{more}: {bar.bytes} bytes</title></rect>\n"
        )
    for strip in chart.strips:
        yield (
            f'<path transform="translate({LEFT} {TOP + strip.row * ROW})" '
            f'class="{strips.colour_class(strip.who)}" d="{strip.path}"/>\n'
        )


# ---- the legends ----

ENTRY, PER_LINE = 100, 10  # pixels of one
LEGEND, LINE = 60, 18  # from the last row to the legends, and from line to line


def _entries(drawn):
    """(colour class, text): the numbers that have it."""
    found = {}
    for each in drawn:
        found.setdefault(strips.colour_class(each.who), set()).add(each.who)
    for kind, numbers in sorted(found.items(), key=lambda entry: (strips.SEVERAL in entry[1], min(entry[1]))):
        some = sorted(numbers)
        text = ", ".join(str(who) for who in some[:3]) + (", ..." if len(some) > 3 else "")
        yield kind, "several" if strips.SEVERAL in numbers else text


def _legends(chart):
    """Lines of (name, entries), a legend for each kind of partner: a colour may be a server here, a rank there."""
    kinds = {}
    for drawn in (*chart.bars, *chart.strips):
        kinds.setdefault(chart.rows[drawn.row].kind, []).append(drawn)
    lines = []
    for name, drawn in sorted(kinds.items()):
        entries = list(_entries(drawn))
        for k in range(0, len(entries), PER_LINE):
            lines.append(("" if k else name, entries[k : k + PER_LINE]))
    return lines


def _foot(chart, bottom):
    y = bottom + LEGEND
    for name, entries in _legends(chart):
        if name:
            yield f'<text x="{LEFT - 8}" y="{y + 10}" text-anchor="end">{escaped(name)}</text>\n'
        for k, (kind, text) in enumerate(entries):
            x = LEFT + k * ENTRY
            yield f'<rect x="{x}" y="{y}" width="11" height="11" class="{kind}"/>\n'
            yield f'<text x="{x + 16}" y="{y + 10}">{escaped(text)}</text>\n'
        y += LINE
    if chart.note:
        yield f'<text x="{LEFT}" y="{y + LINE}">{escaped(chart.note)}</text>\n'


# ---- the axis ----


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
    yield from _foot(chart, bottom)
    yield "</svg>\n"


def write(path, chart):
    """Write the chart into a file."""
    output.write(path, _drawn(chart))
