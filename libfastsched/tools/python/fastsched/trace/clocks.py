# SPDX-License-Identifier: BSD-3-Clause
"""Servers whose clocks differ are put on one clock.

What is sent arrives later, however two clocks are set. So the least difference between a sending and its
arrival, of messages and grants, bounds the difference of the clocks, from both sides if it is taken in both
directions; the middle is taken, as if the fastest message of either direction had been equally fast. Clocks
start from the time of day, and stay there if nothing was sent both ways.
"""


def _half(value):
    """Towards zero."""
    return value // 2 if value >= 0 else -(-value // 2)


class Delays:
    """The least time from a sending to its arrival, by the two clocks' names."""

    def __init__(self, trace):
        self.trace = trace
        self.least = {}

    def note(self, from_rank, sent, to_rank, arrived):
        """A message or grant took from `sent` of one rank's clock to `arrived` of another's."""
        a, b = self.trace.ranks[from_rank].clock, self.trace.ranks[to_rank].clock
        took = arrived + b.shift - sent - a.shift
        key = (a.name, b.name)
        if took < self.least.get(key, took + 1):
            self.least[key] = took

    def note_grants(self):
        """Those that are known at both ends."""
        for (given, rank, peer), grants in self.trace.grants.items():
            for count, time in zip(grants.counts, grants.times) if not given else ():
                gave = self.trace.grant_of(True, peer, rank, count)
                if gave is not None and gave[0] == count:
                    self.note(peer, gave[1], rank, time)

    def move(self, clock, by):
        """A clock is set back. What was noted before is set right."""
        clock.shift -= by
        for (a, b), took in self.least.items():
            if (a == clock.name) != (b == clock.name):
                self.least[a, b] = took + by if a == clock.name else took - by


def _spread(clocks, delays):
    """From the first clock to those that have talked with it, and so on. Were all reached?"""
    reached, n_before = {clocks[0]}, 0
    while len(reached) > n_before:
        n_before = len(reached)
        for a in clocks:
            for b in clocks if a in reached else ():
                there, back = delays.least.get((a.name, b.name)), delays.least.get((b.name, a.name))
                if b not in reached and there is not None and back is not None:
                    delays.move(b, _half(there) - _half(back))
                    reached.add(b)
    return len(reached) == len(clocks)


def align(trace, delays):
    """Put all times on one clock, those of operations aside, which Trace.ops_of() moves when they are needed."""
    clocks = list(trace.clocks.values())
    if len(clocks) > 1:
        delays.note_grants()
        trace.aligned = _spread(clocks, delays)
    parts = [part for parts in trace.parts.values() for part in parts]
    phases = [phase for phases in trace.phases.values() for phase in phases]
    trace.base = min((part.begin + trace.ranks[part.rank].clock.shift for part in parts), default=0)
    for part in parts:
        part.run = trace.time(part.rank, part.run) if part.run else 0
    for span in parts + phases:
        span.begin, span.end = trace.time(span.rank, span.begin), trace.time(span.rank, span.end)
    for (_, rank, _), grants in trace.grants.items():
        grants.move(lambda time, rank=rank: trace.time(rank, time))
