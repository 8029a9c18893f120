# SPDX-License-Identifier: BSD-3-Clause
"""Order in the tables of a trace; which messages have both ends; one clock."""
from . import clocks
from .model import WIRE, SEND, message_ends


def _look_at_messages(trace, call, delays):
    """Count those of a call that has been traced, and note how long they took."""
    ops = trace.raw_ops(call)
    ranks = {part.rank for part in trace.parts.get(call, ())}
    wire = [op for op in ops if op.channel == WIRE and op.rank in ranks]
    matched = 0
    for send, recv in message_ends(ops):
        delays.note(send.rank, send.post, recv.rank, recv.end)
        matched += (send.channel == WIRE) * ((send.rank in ranks) + (recv.rank in ranks))
    trace.messages[call] = (sum(op.kind == SEND for op in wire), len(wire) - matched)


def link(trace):
    """Once all files have been read."""
    for parts in trace.parts.values():
        parts.sort(key=lambda part: part.rank)
    for phases in trace.phases.values():
        phases.sort(key=lambda phase: (phase.rank, phase.begin))
    for planned in trace.planned.values():
        planned.sort(key=lambda p: (p.rank, p.start, p.sends))
    for grants in trace.grants.values():
        grants.sort()
    delays = clocks.Delays(trace)
    for call in trace.packed:
        _look_at_messages(trace, call, delays)
    clocks.align(trace, delays)
