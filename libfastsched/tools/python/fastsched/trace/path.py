# SPDX-License-Identifier: BSD-3-Clause
"""The critical path of a call: where the walk begins and ends, and what comes of it."""
from .model import RECV, SEND, WIRE
from .walk import Walk

KINDS = {
    "entry": "for the last rank to enter",
    "check": "comparing counts",
    "early": "until all knew that all were here, and what had been sent before",
    "summary": "summary exchange",
    "plan": "decision and planning",
    "agree": "agreement on the plan",
    "wire": "bytes between servers",
    "inside": "bytes inside a server",
    "copy": "copies",
    "pack": "packing and unpacking by the MPI",
    "grant": "grants on their way",
    "idle": "until a rank noticed, or its turn came",
    "report": "finding the slowest rank",
}


class Path:
    """From the first rank's entry to the last one's exit, without gaps."""

    def __init__(self, hops):
        self.share_ns = dict.fromkeys(KINDS, 0)
        for hop in hops:
            self.share_ns[hop.what] += hop.end - hop.begin
        self.hops = _joined(hops)


def _joined(hops):
    """Messages in a row between the same two ranks become one hop."""
    joined = []
    for hop in hops:
        last = joined[-1] if joined else None
        if last is not None and (last.what, last.rank, last.peer) == (hop.what, hop.rank, hop.peer):
            last.end = hop.end
            last.bytes += hop.bytes
            last.messages += hop.messages
        else:
            joined.append(hop)
    return joined


def _last_phase(walk, name, when):
    """The phase of that name that is last on any rank by when(phase), or None."""
    phases = walk.trace.phases.get(walk.call.number, ())
    return max((phase for phase in phases if phase.name == name), key=when, default=None)


def _walk_together(walk, name):
    """What all ranks do together begins with the last of them."""
    last = _last_phase(walk, name, lambda phase: phase.begin)
    if last is not None:
        walk.hop(name, None, last.begin, 0, "all ranks")
        walk.rank = last.rank


def _walk_entry(walk):
    """Before the run, on the rank where the walk has come to its start."""
    _walk_together(walk, "agree")
    summary = _last_phase(walk, "summary", lambda phase: phase.end)
    if summary is not None:
        walk.hop("plan", None, summary.end, 0, "this rank")
    _walk_together(walk, "summary")
    _walk_together(walk, "early")
    _walk_together(walk, "check")
    walk.idle(walk.call.last_entry, "this rank")
    walk.rank = walk.call.last_in
    walk.hop("entry", None, walk.call.first_entry, 0, "the last rank to enter")


def _last_confirmation(walk, ops):
    """The last confirmation of a receiver: (count, time, peer), or None."""
    last = None
    for op in ops:
        if op.channel == WIRE and op.kind == SEND:
            got = walk.trace.grant_of(False, walk.rank, op.peer, op.count + 1)
            if got is not None and got[1] <= walk.time and (last is None or got[1] > last[1]):
                last = (*got, op.peer)
    return last


def _to_arrival(walk, count, peer):
    """The receive after which that confirmation was sent, or None."""
    given = walk.trace.grant_of(True, peer, walk.rank, count)
    if given is None:
        return None
    to = walk.rank
    walk.hop("grant", peer, given[1], 0, "the receiver")
    walk.rank = peer
    return walk.tables.with_peer[peer, RECV, to].last(given[1])


def _walk_exit(walk, ops):
    """The last thing of the rank's run: an operation, or the confirmation of a receiver."""
    mine = [op for op in ops if op.rank == walk.rank]
    last = max(mine, key=lambda op: op.end, default=None)
    confirmation = _last_confirmation(walk, mine)
    if confirmation is not None and (last is None or confirmation[1] > last.end):
        count, time, peer = confirmation
        walk.idle(time, "the receiver's confirmation")
        last = _to_arrival(walk, count, peer)
    if last is not None:
        walk.idle(last.end, "the last operation")
        walk.stand(last, False)


def find(trace, call, ops):
    """The critical path of a call with these operations."""
    walk = Walk(trace, call, ops)
    run = _last_phase(walk, "run", lambda phase: phase.end)
    if run is not None:
        walk.rank = run.rank
        walk.hop("report", None, run.end, 0, "all ranks")
        _walk_exit(walk, ops)
    # Each operation is met twice at most, at its end and at its post; but where clocks are not aligned, one
    # may seem to be earlier.
    left = 4 * len(ops) + 16
    while walk.op is not None and left > 0:
        walk.back()
        left -= 1
    _walk_entry(walk)
    return Path(walk.hops[::-1])
