# SPDX-License-Identifier: BSD-3-Clause
"""One call as a Gantt chart: the critical path, then what each rank's NIC was to do and did."""
from .. import svg
from ..chart import Chart
from ..failure import shown
from . import nic
from .model import RECV, SEND

PAUSES = 500  # shorter than this part of the call: not drawn


class Picture:
    """The chart of a report. Times of bars are nanoseconds from when the last rank had entered."""

    def __init__(self, report):
        call, trace = report.call, report.trace
        title = f"call {call.number} of {shown(trace.comm)}: {call.slowest_ns * 1e-6:.3f} ms"
        self.report = report
        self.origin = call.last_entry
        self.gap = call.slowest_ns // PAUSES
        self.has_planned = report.rate > 0 and bool(report.steps)
        self.chart = Chart(title, "milliseconds", 1000000)
        self.run = {part.rank: part.run for part in trace.parts[call.number]}

    def add(self, row, who, begin, end, bytes_):
        """A bar, unless it is empty or earlier than that."""
        if end > begin >= self.origin:
            self.chart.add_bar(row, who, begin - self.origin, end - self.origin, bytes_)

    def draw_path(self):
        """Two rows: bytes between servers, and all else."""
        wire = self.chart.add_row("critical path: wire", "of rank")
        other = self.chart.add_row("everything else on it", "of rank")
        for hop in self.report.path.hops:
            self.add(wire if hop.what == "wire" else other, hop.rank, hop.begin, hop.end, hop.bytes)

    def draw_messages(self, row, kind, ops):
        """Messages to one server without a pause between them are a bar."""
        begin = end = bytes_ = 0
        who = None
        for op, start, stop in nic.work(ops, kind):
            peer = self.report.trace.ranks.get(op.peer)
            server = 0 if peer is None else peer.server
            if server != who or start > end + self.gap:
                self.add(row, who, begin, end, bytes_)
                begin, bytes_, who = start, 0, server
            end = max(end, stop)
            bytes_ += op.bytes
        self.add(row, who, begin, end, bytes_)

    def draw_planned(self, rows, rank, planned):
        """What the rank's lane was to do, at the rate that is known."""
        for p in planned:
            begin = self.run.get(rank, 0) + int(self.report.lane_ns(p.start))
            end = begin + int(self.report.lane_ns(p.bytes))
            self.add(rows[SEND if p.sends else RECV], p.server, begin, end, p.bytes)

    def draw_rank(self, rank, ops, planned):
        """Its rows: planned where that is known, and done."""
        kinds = (
            (SEND, "to server", f"rank {rank} planned to send", f"rank {rank} sends"),
            (RECV, "from server", "planned to receive", "receives"),
        )
        plan_rows, rows = {}, {}
        for kind, partner, plan, does in kinds:
            if self.has_planned:
                plan_rows[kind] = self.chart.add_row(plan, partner)
            rows[kind] = self.chart.add_row(does, partner)
        for kind, row in rows.items():
            self.draw_messages(row, kind, ops)
        if self.has_planned:
            self.draw_planned(plan_rows, rank, planned)

    def draw(self):
        """All of it."""
        report = self.report
        ops = {rank: [] for rank in report.trace.ranks}
        planned = {rank: [] for rank in report.trace.ranks}
        for op in report.ops:
            ops[op.rank].append(op)
        for p in report.trace.planned.get(report.call.number, ()):
            planned[p.rank].append(p)
        self.draw_path()
        for rank in sorted(report.trace.ranks):
            self.draw_rank(rank, ops[rank], planned[rank])
        self.chart.fit()
        if report.rate > 0:
            self.chart.mark_name, self.chart.mark = "lower bound", int(report.lane_ns(report.call.bound))
            self.chart.end = max(self.chart.end, self.chart.mark)


def write(path, report):
    """Draw a report into a file."""
    picture = Picture(report)
    picture.draw()
    svg.write(path, picture.chart)
