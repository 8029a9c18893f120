# SPDX-License-Identifier: BSD-3-Clause
"""A simulated exchange, drawn: what NICs and scale-up ports are busy with.

From stdin comes what fs_tool_drawing.c writes: {"title", "expected_ns", "by_server", then "lanes" (NICs of
each server) and "rate" (of a NIC, bytes per second) or "servers" (of each rank), "spans": [[src, dst,
"wire"|"up"|"copy", start_ns, end_ns, bytes], ...], "time_ns", "optimal_ns"}. src and dst are ranks, or
servers if it is drawn by server.

Rows are the directions of ports. A port's neighbouring messages with the same partner are drawn as one bar;
of servers, their load is drawn: a picture of a million messages stays small.
"""
import sys

from . import strips, svg
from .chart import Chart, Strip
from .failure import failed
from .load import Load
from .stream import Document

PAUSES = 500  # shorter than this part of the time that is expected: not drawn

_of_rank = (
    ("rank %d NIC sends", "to server"),
    ("NIC receives", "from server"),
    ("scale-up port sends", "to rank"),
    ("scale-up port receives", "from rank"),
)
NIC_SEND, NIC_RECEIVE, UP_SEND, UP_RECEIVE = range(4)
_of_server = (("server %d NICs send", "to server"), ("NICs receive", "from server"), ("scale-up ports", "in server"))
INSIDE = 2
MOST_SERVERS = 32


class RankPicture:
    """Bars, as spans come in the order of their ends."""

    def __init__(self, about):
        self.servers = about["servers"]
        self.gap = about["expected_ns"] // PAUSES
        self.chart = Chart(about["title"], "microseconds", 1000)
        self.last = {}  # by row and partner: the last bar
        for r in range(len(self.servers)):
            for name, partner in _of_rank:
                self.chart.add_row(name % r if "%" in name else name, partner)

    def _add(self, owner, kind, who, span):
        """Span (start, end, bytes) of a row of a rank, together with its neighbour if it can be."""
        row = owner * len(_of_rank) + kind
        start, end, bytes_ = span
        bar = self.last.get((row, who))
        if bar is not None and start <= bar.end + self.gap:
            bar.end = max(bar.end, end)
            bar.bytes += bytes_
        else:
            self.last[row, who] = self.chart.add_bar(row, who, start, end, bytes_)

    def add(self, src, dst, how, *span):
        """Colours of NICs are servers, so that stages show. A copy takes up no port."""
        if how == "wire":
            self._add(src, NIC_SEND, self.servers[dst], span)
            self._add(dst, NIC_RECEIVE, self.servers[src], span)
        elif how == "up":
            self._add(src, UP_SEND, dst, span)
            self._add(dst, UP_RECEIVE, src, span)

    def finish(self):
        """All spans have come."""


class ServerPicture:
    """Strips: how much of the servers' NICs is in use, and with whom; and when something moves inside."""

    def __init__(self, about):
        self.lanes, self.rate = about["lanes"], about["rate"]
        self.load = Load(about["expected_ns"])
        self.sums = {}  # by server and kind: bytes
        self.chart = Chart(about["title"], "microseconds", 1000)

    def _add(self, server, kind, who, span):
        self.load.add((server, kind), who, *span)
        self.sums[server, kind] = self.sums.get((server, kind), 0) + span[2]

    def add(self, src, dst, how, *span):
        """Copies of a rank take up no port."""
        if how == "wire":
            self._add(src, NIC_SEND, dst, span)
            self._add(dst, NIC_RECEIVE, src, span)
        elif how == "up":
            self._add(src, INSIDE, src, span)

    def _busiest(self):
        """The servers that are drawn, in order."""
        loads = [
            (-max(self.sums.get((s, kind), 0) for kind in (NIC_SEND, NIC_RECEIVE)) / lanes, s)
            for s, lanes in enumerate(self.lanes)
        ]
        return sorted(s for _, s in sorted(loads)[:MOST_SERVERS])

    def _full(self, server, kind):
        """Bytes per nanosecond of a full strip: of the scale-up ports, the most that they carry."""
        if kind != INSIDE:
            return self.lanes[server] * self.rate / 1e9
        rows = self.load.rows.get((server, kind), {})
        return max((max(bins) for bins in rows.values()), default=0) / self.load.width or 1

    def _draw(self, server, kind):
        name, partner = _of_server[kind]
        row = self.chart.add_row(name % server if "%" in name else name, partner)
        scale = svg.WIDTH / (self.chart.end or 1)
        bins = self.load.shares((server, kind), self._full(server, kind))
        for who, path in strips.paths(
            bins, lambda k: round(min(k * self.load.width * scale, svg.WIDTH)), svg.BAR
        ):
            self.chart.strips.append(Strip(row, who, path))

    def finish(self):
        """All spans have come."""
        drawn = self._busiest()
        for server in drawn:
            for kind in range(len(_of_server)):
                self._draw(server, kind)
        self.chart.note = "A strip is full when all NICs of the server carry their rate."
        if len(drawn) < len(self.lanes):
            self.chart.note += f" The busiest {len(drawn)} of {len(self.lanes)} servers."


def read(file):
    """The chart of a simulation. What comes before the spans is there when they begin."""
    about, picture = {}, None
    for name, value in Document(file, "standard input").members("spans"):
        if name != "spans":
            about[name] = value
            continue
        picture = picture or _start(about)
        picture.add(*value)
    if "optimal_ns" not in about:
        raise failed("the simulation has not ended")
    picture = picture or _start(about)
    chart = picture.chart
    chart.end = about["time_ns"]
    chart.mark, chart.mark_name = about["optimal_ns"], "lower bound"
    chart.fit()
    picture.finish()
    return chart


def _start(about):
    return ServerPicture(about) if about["by_server"] else RankPicture(about)


def run(argv):
    """FILE: draw what comes from stdin."""
    svg.write(argv[0], read(sys.stdin))
