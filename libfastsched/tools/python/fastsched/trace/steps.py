# SPDX-License-Identifier: BSD-3-Clause
"""A call step by step: transfers that were to start at the same time. A stage, if there are any.

Messages do not say to which transfer they belong. But a lane sends what is for a server in the order of the
transfers to that server; so the bytes before a message, of the same lane to the same server, say it. Lanes
may be a little shorter or longer than the schedule thinks: what is beyond the last transfer belongs to it.
"""
from collections import defaultdict

from .model import RECV, SEND, WIRE

MOST_PAIRS = 256  # characters


class Step:
    """Times are nanoseconds, numbers of bytes are 0 until they are known."""

    def __init__(self, start):
        self.start, self.bytes = start, 0  # planned, per lane
        self.first = self.last = 0  # sent, arrived; of all lanes
        self.sent = 0  # bytes, all lanes; 0: the two above are not set
        self.busy = 0  # time of all receiving lanes together
        self.longest = 0  # of one of them
        self.longest_gap = 0  # of one between the step before and this one
        self.pairs = ""  # servers, "0>1 1>0 "
        self.more_pairs = False  # than these


def _add_pair(step, seen, pair):
    """Once for each pair of servers, as long as there is room."""
    if pair in seen:
        return
    text = "%d>%d " % pair
    if len(step.pairs) + len(text) + 4 > MOST_PAIRS:
        step.more_pairs = True
        return
    seen.add(pair)
    step.pairs += text


def _planned(trace, planned):
    """The steps, and each transfer's step."""
    steps = {start: Step(start) for start in sorted({p.start for p in planned})}
    seen = defaultdict(set)
    for p in planned:
        p.step = steps[p.start]
        p.step.bytes = max(p.step.bytes, p.bytes)
        if p.sends:
            _add_pair(p.step, seen[p.start], (trace.ranks[p.rank].server, p.server))
    return list(steps.values())


class Lane:
    """What a rank sends to a server: which of its transfers it has come to."""

    def __init__(self, transfers):
        self.transfers = transfers
        self.next = 0
        self.end = 0  # of the bytes of the transfer in hand, counted from the first one
        self.sent = 0

    def place(self, op):
        """The next message of the lane to this server."""
        while self.sent >= self.end and self.next < len(self.transfers):
            self.end += self.transfers[self.next].bytes
            self.next += 1
        if self.end > 0:
            op.step = self.transfers[self.next - 1].step
            if op.other_end is not None:
                op.other_end.step = op.step
        self.sent += op.bytes


def _place(trace, planned, ops):
    """Tell messages their steps."""
    transfers = defaultdict(list)
    for p in planned:
        if p.sends:
            transfers[p.rank, p.server].append(p)
    lanes = {}
    for op in ops:
        peer = trace.ranks.get(op.peer)
        if op.channel == WIRE and op.kind == SEND and peer is not None:
            key = (op.rank, peer.server)
            if key not in lanes:
                lanes[key] = Lane(transfers[key])
            lanes[key].place(op)


class Received:
    """What one lane received of a step."""

    def __init__(self):
        self.first = self.last = None  # sent, arrived
        self.bytes = 0

    def add(self, op):
        """A message that the lane received of the step."""
        sent = op.other_end.post
        self.first = sent if self.bytes == 0 else min(self.first, sent)
        self.last = max(self.last or 0, op.end)
        self.bytes += op.bytes


def _add_received(steps, received):
    """A lane is busy with a step from when it has been sent something, and has done with the step before, to
    the last arrival."""
    done = 0
    for step in steps:
        got = received.get(step)
        if got is None or got.bytes == 0:
            continue
        begin = max(got.first, done)
        took = max(got.last - begin, 0)
        if done > 0:
            step.longest_gap = max(step.longest_gap, begin - done)
        step.first = got.first if step.sent == 0 else min(step.first, got.first)
        step.last = max(step.last, got.last)
        step.sent += got.bytes
        step.busy += took
        step.longest = max(step.longest, took)
        done = max(done, got.last)


def find(trace, call, ops):
    """The steps of a call in the order of time; each operation gets its own."""
    planned = trace.planned.get(call, [])
    steps = _planned(trace, planned)
    _place(trace, planned, ops)
    received = defaultdict(lambda: defaultdict(Received))
    for op in ops:
        if op.step is not None and op.kind == RECV:
            received[op.rank][op.step].add(op)
    for rank in sorted(received):
        _add_received(steps, received[rank])
    return steps
