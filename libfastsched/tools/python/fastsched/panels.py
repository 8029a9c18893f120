# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a report: bars of times, a heat map of the servers, a timeline of the busiest ones."""
from . import strips
from .output import escaped
from .units import bytes_text, round_text, ticks, time_text

WIDTH = 900
LEFT = 120  # of the names


def _svg(width, height, name, more=""):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escaped(name)}"{more}>\n'
    )


def _text(x, y, text, kind=""):
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escaped(text)}</text>\n'


def _rect(x, y, width, height, kind, more="", inner=""):
    end = f">{inner}</rect>\n" if inner else "/>\n"
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" class="{kind}"{more}{end}'


def _line(x, top, bottom, kind):
    return f'<line x1="{x:g}" y1="{top:g}" x2="{x:g}" y2="{bottom:g}" class="{kind}"/>\n'


# ---- bars ----


def _entries(about):
    """(name, what it is, microseconds, is it fast)"""
    for way in about["ways"]:
        if way["simulated"]:
            yield way["name"], way["meaning"], float(way["time_us"]), False
    fast = about["fast"]
    plan = ", ".join(word for word in (fast["algorithm"], fast["decompose"]) if word)
    yield "fast", plan, float(fast["time_us"]), True


BAR_LEFT, BAR_ROOM, BAR_ROW = 330, 200, 46  # of names and meanings; of numbers behind the bars


def bars(about):
    """A bar for each way, and the bound."""
    entries = list(_entries(about))
    bound, fast_us = float(about["lower_bound_us"]), entries[-1][2]
    scale = (WIDTH - BAR_LEFT - BAR_ROOM) / max(entry[2] for entry in entries)
    height = BAR_ROW * len(entries) + 26
    yield _svg(WIDTH, height, "Times: " + ", ".join(f"{name} {time_text(us * 1e3)}" for name, _, us, _ in entries))
    for k, (name, meaning, time_us, is_fast) in enumerate(entries):
        y, end = 26 + k * BAR_ROW, BAR_LEFT + max(2, time_us * scale)
        more = f"{time_us / bound:.2f}× the bound" if is_fast else f"fast gains {time_us / fast_us:.2f}×"
        yield _text(0, y + 13, name, "b")
        yield _text(0, y + 29, meaning, "t s")
        yield _rect(BAR_LEFT, y + 2, end - BAR_LEFT, 24, "fast" if is_fast else "other", ' rx="3"')
        yield _text(end + 10, y + 19, time_text(time_us * 1e3), "b")
        yield _text(end + 80, y + 19, more, "t")
    yield _line(BAR_LEFT + bound * scale, 18, height - 8, "bound")
    yield _text(BAR_LEFT + bound * scale, 12, f"lower bound {time_text(bound * 1e3)}", "bound s m")
    yield "</svg>\n"


# ---- heat map ----

MOST_CELLS = 64  # of a side; more servers are drawn in groups


def _grouped(matrix):
    """The matrix of groups of servers, and how many are in a group."""
    size = -(-len(matrix) // MOST_CELLS)
    if size == 1:
        return matrix, 1
    n = -(-len(matrix) // size)
    groups = [[0] * n for _ in range(n)]
    for u, row in enumerate(matrix):
        for w, bytes_ in enumerate(row):
            groups[u // size][w // size] += bytes_ if u != w else 0
    return groups, size


def _name(k, size):
    return f"server {k}" if size == 1 else f"servers {k * size} to {k * size + size - 1}"


class _Map:
    """A heat map: cells, and the sums of rows and columns at its edges."""

    def __init__(self, about):
        self.matrix, self.size = _grouped(about["matrix"])
        self.n = len(self.matrix)
        self.cell = min(72, max(8, 500 // self.n))
        self.busiest = about["busiest_server"]
        self.side = self.cell * self.n
        self.left = (WIDTH - self.side - 180) / 2 + 20
        self.top = 44
        between = [row[:u] + row[u + 1 :] for u, row in enumerate(self.matrix)] if self.size == 1 else self.matrix
        self.most = max([1, *(bytes_ for row in between for bytes_ in row)])
        self.sent = [sum(row) for row in between]
        self.received = [
            sum(row[w] for u, row in enumerate(self.matrix) if u != w or self.size > 1) for w in range(self.n)
        ]
        self.most_sum = max([1, *self.sent, *self.received])

    def cells(self):
        """A square for each pair."""
        for u, row in enumerate(self.matrix):
            for w, bytes_ in enumerate(row):
                yield from self._cell(u, w, bytes_)

    def _cell(self, u, w, bytes_):
        x, y, edge = self.left + w * self.cell, self.top + u * self.cell, self.cell - (1 if self.cell < 14 else 2)
        inside = u == w and self.size == 1
        title = f"{_name(u, self.size)} to {_name(w, self.size)}: {bytes_text(bytes_)}"
        if inside:
            title = f"inside server {u}: {bytes_text(bytes_)}"
        share = bytes_ / self.most
        opacity = "" if inside else f' fill-opacity="{0.05 + 0.95 * share:.3f}"'
        yield _rect(x, y, edge, edge, "inside" if inside else "heat", opacity, f"<title>{title}</title>")
        if self.cell >= 56 and not inside:
            kind = "m s on" if share > 0.85 else "m s"  # light below: dark letters are easier to read
            yield _text(x + edge / 2, y + edge / 2 + 4, bytes_text(bytes_), kind)

    def _is_busiest(self, k, direction):
        return k == self.busiest["server"] // self.size and direction == self.busiest["direction"]

    def sums(self):
        """Bars: on the right what is sent, below what is received."""
        bar, end = max(3, self.cell * 0.45), self.left + self.side
        for k in range(self.n):
            at = (self.cell - 2 - bar) / 2 + k * self.cell
            length = 84 * self.sent[k] / self.most_sum
            kind = "hot" if self._is_busiest(k, "sends") else "other"
            title = f"<title>{_name(k, self.size)} sends {bytes_text(self.sent[k])}</title>"
            yield _rect(end + 8, self.top + at, max(1, length), bar, kind, ' rx="2"', title)
            length = 84 * self.received[k] / self.most_sum
            kind = "hot" if self._is_busiest(k, "receives") else "other"
            title = f"<title>{_name(k, self.size)} receives {bytes_text(self.received[k])}</title>"
            yield _rect(self.left + at, self.top + self.side + 8, bar, max(1, length), kind, ' rx="2"', title)
            if self.cell >= 40:
                x = end + 14 + 84 * self.sent[k] / self.most_sum
                yield _text(x, self.top + at + bar / 2 + 4, bytes_text(self.sent[k]), "t s")
            if self.cell >= 56:
                x, y = self.left + at + bar / 2, self.top + self.side + length + 22
                yield _text(x, y, bytes_text(self.received[k]), "t s m")

    def names(self):
        """Numbers of servers, as many as there is room for, and what rows and columns are."""
        each = -(-22 // self.cell)
        for k in range(0, self.n, each):
            middle = k * self.cell + self.cell / 2
            yield _text(self.left + middle, self.top - 8, str(k * self.size), "t s m")
            yield _text(self.left - 8, self.top + middle + 4, str(k * self.size), "t s r")
        yield _text(self.left + self.side / 2, self.top - 26, "to server", "t m")
        yield _text(self.left - 40, self.top + self.side / 2, "from", "t r")
        yield _text(self.left - 40, self.top + self.side / 2 + 16, "server", "t r")
        yield _text(self.left + self.side + 8, self.top - 8, "sent", "t s")
        yield _text(self.left - 8, self.top + self.side + 20, "received", "t s r")


def heat_map(about):
    """Bytes between servers."""
    drawn = _Map(about)
    yield _svg(WIDTH, drawn.top + drawn.side + 116, "Bytes from each server to each other server", ' class="map"')
    yield from drawn.names()
    yield from drawn.cells()
    yield from drawn.sums()
    yield "</svg>\n"
    group = f" A cell is {drawn.size} x {drawn.size} servers." if drawn.size > 1 else " Grey: inside a server."
    yield (
        f"<figcaption>The stronger the colour, the more bytes.{group} Bars: all that a server sends, and receives; "
        "in orange the busiest.</figcaption>\n"
    )


# ---- timeline ----

FONTS = "system-ui,-apple-system,Segoe UI,Roboto,Noto Sans,DejaVu Sans,sans-serif"
STRIP, GAP, MOST_SERVERS = 20, 3, 4
RIGHT = 20
PANEL_TOP = 34


def _busiest(about):
    """The servers that are drawn."""
    matrix, lanes = about["matrix"], about["lanes"]
    n = len(matrix)

    def key(u):
        sent = sum(matrix[u]) - matrix[u][u]
        received = sum(row[u] for row in matrix) - matrix[u][u]
        return (-max(sent, received) / lanes[u], u)

    return sorted(range(n), key=key)[:MOST_SERVERS]


class _Timeline:
    """Panels that share an axis."""

    def __init__(self, about, loads):
        self.about, self.loads = about, loads
        self.servers = _busiest(about)
        self.partners = set()
        ways = about["ways"]
        shown = sorted(way for way in loads if way < len(ways))
        self.ways = [(way, ways[way]["name"], float(ways[way]["time_us"]) * 1e3) for way in shown]
        self.ways.append((about["fast_way"], "fast", float(about["fast"]["time_us"]) * 1e3))
        self.end = max(ns for _, _, ns in self.ways)
        self.scale = (WIDTH - LEFT - RIGHT) / self.end

    def x(self, ns):
        """The place of a moment."""
        return LEFT + ns * self.scale

    def height(self):
        """Of a panel."""
        return PANEL_TOP + len(self.servers) * (2 * (STRIP + GAP) + 8)

    def strip(self, way, server, direction, y):
        """One row: name, track, load."""
        name = f"server {server} {direction}" if direction == "sends" else direction
        yield _text(LEFT - 10, y + 14, name, "t s r")
        yield _rect(LEFT, y, WIDTH - LEFT - RIGHT, STRIP, "track")
        load = self.loads[way]
        rate = self.about["lanes"][server] * self.about["scale_out"] / 1e9
        yield f'<g transform="translate(0 {y})">'
        bins = load.shares((server, direction), rate)
        for who, path in strips.paths(bins, lambda k: round(min(self.x(k * load.width), self.x(self.end)), 1), STRIP):
            self.partners.add(who)
            yield f'<path class="{strips.colour_class(who)}" d="{path}"/>'
        yield "</g>\n"

    def panel(self, way, name, ns, top):
        """The strips of the servers in one way."""
        yield _text(LEFT, top + 16, name, "b")
        y = top + PANEL_TOP
        for server in self.servers:
            for direction in ("sends", "receives"):
                yield from self.strip(way, server, direction, y)
                y += STRIP + GAP
            y += 8
        bottom = top + self.height() - 8
        bound = self.x(float(self.about["lower_bound_us"]) * 1e3)
        yield _line(bound, top + 22, bottom, "bound")
        yield _line(self.x(ns), top + 22, bottom, "end")
        kind = "b s r" if self.x(ns) > WIDTH - 80 else "b s"
        yield _text(self.x(ns), top + 16, time_text(ns), kind)

    def axis(self, top):
        """Ticks below."""
        for ns in ticks(self.end):
            yield _line(self.x(ns), top, top + 5, "grid")
            yield _text(self.x(ns), top + 20, round_text(ns), "t s m")

    def legend(self):
        """The colours that are there."""
        n = self.about["servers"]
        yield '<ul class="legend">'
        for who in sorted(self.partners - {strips.SEVERAL})[: strips.N_COLOURS]:
            same = f", {who + strips.N_COLOURS}, ..." if who + strips.N_COLOURS < n else ""
            yield self._entry(strips.colour_class(who), f"server {who}{same}")
        if strips.SEVERAL in self.partners:
            yield self._entry(strips.colour_class(strips.SEVERAL), "several servers")
        yield "</ul>\n"

    def legend_alone(self, y):
        """The same inside of the drawing, in one line."""
        shown = sorted(self.partners, key=lambda who: (who == strips.SEVERAL, who))
        step = min(130, (WIDTH - LEFT) / max(1, len(shown)))
        for k, who in enumerate(shown):
            x = LEFT + k * step
            yield _rect(x, y, 12, 12, strips.colour_class(who), ' rx="2"')
            yield _text(x + 18, y + 10, "several servers" if who == strips.SEVERAL else f"server {who}", "t s")

    def panels(self, top):
        """All of them, the bound and the axis."""
        step = self.height() + 14
        for k, (way, name, ns) in enumerate(self.ways):
            yield from self.panel(way, name, ns, top + k * step)
        end = top + step * len(self.ways)
        yield _text(self.x(float(self.about["lower_bound_us"]) * 1e3) + 5, end - 2, "lower bound", "bound s")
        yield from self.axis(end + 4)

    def total(self):
        """Height of the panels and the axis."""
        return (self.height() + 14) * len(self.ways) + 40

    def _entry(self, kind, text):
        return f'<li><svg viewBox="0 0 12 12"><rect width="12" height="12" rx="2" class="{kind}"/></svg>{text}</li>'


def timeline(about, loads):
    """The busiest servers in each way that was told."""
    drawn = _Timeline(about, loads)
    yield _svg(WIDTH, drawn.total(), "Load of the busiest servers' NICs over time")
    yield from drawn.panels(0)
    yield "</svg>\n"
    yield from drawn.legend()


def timeline_alone(about, loads, style):
    """The same as a file: with a background, its style and a title."""
    drawn = _Timeline(about, loads)
    height = drawn.total() + 84
    yield _svg(WIDTH + 40, height, "Load of the busiest servers' NICs over time", f' font-family="{FONTS}"')
    yield f"<style>{style}</style>\n"
    yield f'<rect width="{WIDTH + 40}" height="{height}" rx="12" fill="var(--card)"/>\n<g transform="translate(20 14)">'
    yield _text(LEFT, 16, f'{about["traffic"]} on {about["servers"]} servers, {about["ranks"]} ranks', "t")
    yield from drawn.panels(34)
    yield from drawn.legend_alone(drawn.total() + 38)
    yield "</g>\n</svg>\n"
