# SPDX-License-Identifier: BSD-3-Clause
"""A simulated exchange, drawn: what NICs and scale-up ports are busy with.

From stdin comes what fs_tool_drawing.c writes: {"title", "by_server", "servers" (the number of servers, or
the server of each rank), "expected_ns", "spans": [[src, dst, "wire"|"up"|"copy", start_ns, end_ns, bytes],
...], "time_ns", "optimal_ns"}. src and dst are ranks, or servers if it is drawn by server.

Rows are the directions of ports. Of servers as a whole, what moves inside them is one row, and the
simulation tells it as copies. A port's neighbouring messages with the same partner are drawn as one bar,
so that a picture of a million messages stays small.
"""
import sys

from . import svg
from .chart import Chart
from .failure import failed
from .stream import Document

PAUSES = 500  # shorter than this part of the time that is expected: not drawn

_by_server = (("server %d NICs send", "to server"), ("NICs receive", "from server"), ("scale-up ports", "of server"))
_by_rank = (
    ("rank %d NIC sends", "to server"),
    ("NIC receives", "from server"),
    ("scale-up port sends", "to rank"),
    ("scale-up port receives", "from rank"),
)
NIC_SEND, NIC_RECEIVE, UP_SEND, UP_RECEIVE = range(4)


class Picture:
    """Bars, as spans come in the order of their ends."""

    def __init__(self, about):
        self.by_server = about["by_server"]
        self.servers = about["servers"]
        self.kinds = _by_server if self.by_server else _by_rank
        self.gap = about["expected_ns"] // PAUSES
        self.chart = Chart(about["title"], "microseconds", 1000)
        self.last = {}  # by row and partner: the last bar
        for r in range(self.servers if self.by_server else len(self.servers)):
            for name, partner in self.kinds:
                self.chart.add_row(name % r if "%" in name else name, partner)

    def add(self, owner, kind, who, span):
        """Span (start, end, bytes) of a row of a rank or server, together with its neighbour if it can be."""
        row = owner * len(self.kinds) + kind
        start, end, bytes_ = span
        bar = self.last.get((row, who))
        if bar is not None and start <= bar.end + self.gap:
            bar.end = max(bar.end, end)
            bar.bytes += bytes_
        else:
            self.last[row, who] = self.chart.add_bar(row, who, start, end, bytes_)

    def add_of_server(self, src, dst, how, *span):
        """Between servers, or a copy inside one."""
        self.add(src, NIC_SEND if how == "wire" else UP_SEND, dst, span)
        if how == "wire":
            self.add(dst, NIC_RECEIVE, src, span)

    def add_of_rank(self, src, dst, how, *span):
        """Colours of NICs are servers, so that stages show. A copy takes up no port."""
        if how == "wire":
            self.add(src, NIC_SEND, self.servers[dst], span)
            self.add(dst, NIC_RECEIVE, self.servers[src], span)
        elif how == "up":
            self.add(src, UP_SEND, dst, span)
            self.add(dst, UP_RECEIVE, src, span)

    def finish(self, about):
        """The simulation is over: its time and the bound, nanoseconds."""
        self.chart.end = about["time_ns"]
        self.chart.mark = about["optimal_ns"]
        self.chart.mark_name = "lower bound"
        self.chart.fit()


def read(file):
    """The chart of a simulation. What comes before the spans is there when they begin."""
    about, picture = {}, None
    for name, value in Document(file, "standard input").members("spans"):
        if name != "spans":
            about[name] = value
            continue
        if picture is None:
            picture = Picture(about)
            add = picture.add_of_server if picture.by_server else picture.add_of_rank
        add(*value)
    if "optimal_ns" not in about:
        raise failed("the simulation has not ended")
    picture = picture or Picture(about)
    picture.finish(about)
    return picture.chart


def run(argv):
    """FILE: draw what comes from stdin."""
    svg.write(argv[0], read(sys.stdin))
