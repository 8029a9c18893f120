# SPDX-License-Identifier: BSD-3-Clause
"""What the end of a call waited for: a walk backwards in time.

At every point the walk stands at the end of something and asks which of the things it needed came last:

  a message arrives    after it was sent, and after what was before it on the same NIC, at either end: a NIC
                       takes one at a time
  it is sent           when it is ready and granted and its turn has come
  a grant arrives      after it was given: when the receive was posted
  a receive is posted  when a place for it is free and its turn has come
  an operation is      after the last of those it waits for
  ready
  the first ones       after the agreement, the plan, the summary, and these after the last rank has entered

The time between a cause and its effect is called idle: a rank had not progressed its network, or did not have
the processor.
"""
from bisect import bisect_left, bisect_right
from collections import defaultdict

from .model import COPY, PACKS, RECV, SEND, WIRE


class Hop:
    """A section of the path: nothing before it could have ended the call sooner."""

    def __init__(self, what, rank, peer, begin, end, bytes_, after):
        self.what, self.rank, self.peer = what, rank, peer  # peer: or None
        self.begin, self.end = begin, end
        self.bytes, self.messages = bytes_, 1  # consecutive ones, as one
        self.after = after  # what it waited for


class ByEnd:
    """Operations in the order of their ends."""

    def __init__(self, ops):
        self.ops = sorted(ops, key=lambda op: (op.end, op.at))
        self.ends = [op.end for op in self.ops]

    def before(self, end):
        """The last one that ended before that, or None."""
        k = bisect_left(self.ends, end)
        return self.ops[k - 1] if k > 0 else None

    def last(self, time, but=None):
        """The last one that had ended by then, and is not that one; the first by plan of several."""
        high = bisect_right(self.ends, time)
        while high > 0:
            low = bisect_left(self.ends, self.ends[high - 1])
            for op in self.ops[low:high]:
                if op is not but:
                    return op
            high = low
        return None


class Tables:
    """Where things are among the operations of a call."""

    def __init__(self, trace, number, ops):
        self.run = {part.rank: part.run for part in trace.parts[number]}
        self.by_id = {(op.rank, op.op): op for op in reversed(ops)}
        wire = [op for op in ops if op.channel == WIRE]
        recvs = [op for op in wire if op.kind == RECV]
        self.recv = {(op.rank, op.peer, op.count): op for op in reversed(recvs)}
        self.of_rank = self._by_end(wire, lambda op: (op.rank, op.kind))
        self.with_peer = self._by_end(wire, lambda op: (op.rank, op.kind, op.peer))
        self.sent_by = self._by_end(recvs, lambda op: op.peer)
        self._set_before(wire)

    @staticmethod
    def _by_end(ops, key):
        groups = defaultdict(list)
        for op in ops:
            groups[key(op)].append(op)
        return defaultdict(lambda: ByEnd([]), {k: ByEnd(group) for k, group in groups.items()})

    @staticmethod
    def _set_before(wire):
        """The wire operation of the same kind and rank before each, by plan."""
        last = {}
        for op in wire:
            op.before = last.get((op.rank, op.kind))
            last[op.rank, op.kind] = op

    def arrival_before(self, op):
        """The arrival that occupied the same NIC until op could use it: the last one before it at this
        receiver, or from the same sender."""
        both = self.of_rank[op.rank, RECV].before(op.end), self.sent_by[op.peer].before(op.end)
        return max((o for o in both if o is not None), key=lambda o: (o.end, o.at), default=None)


class Walk:
    """Where it stands: everything after `time` is explained."""

    def __init__(self, trace, call, ops):
        self.trace, self.call = trace, call
        self.tables = Tables(trace, call.number, ops)
        self.hops = []  # the last one first
        self.rank, self.time = call.last_out, call.end
        self.op = None  # None: at the start of a rank's run
        self.posted = False  # only up to where op was posted

    # ---- hops ----

    def hop(self, what, peer, begin, bytes_, after):
        """Go back to begin; nothing if the walk is there already, and not before the call."""
        begin = max(begin, self.call.first_entry)
        if begin < self.time:
            self.hops.append(Hop(what, self.rank, peer, begin, self.time, bytes_, after))
            self.time = begin

    def idle(self, begin, after):
        """The same, and nothing was done meanwhile."""
        self.hop("idle", None, begin, 0, after)

    def stand(self, op, posted):
        """Stand at the end of op, or at its post."""
        self.op, self.posted, self.rank = op, posted, op.rank

    def back(self):
        """From where it stands to what that waited for."""
        if self.posted:
            self._before_post(self.op)
        else:
            self._before_end(self.op)

    # ---- before an operation was posted ----

    def _to_cause_of_ready(self, op):
        by = self.tables.by_id.get((op.rank, op.by))
        if by is None:
            self.idle(self.tables.run.get(op.rank, 0), "the start")
            self.op = None
        else:
            self.idle(by.end, "an operation before it")
            self.stand(by, False)

    def _to_giver(self, send, got):
        """A grant is given when the receive of its last message is posted."""
        count, time = got
        given = self.trace.grant_of(True, send.peer, send.rank, count)
        recv = self.tables.recv.get((send.peer, send.rank, count))
        self.idle(time, "a grant")
        if given is None or recv is None:
            self.op = None
            return
        self.hop("grant", send.peer, given[1], 0, "the receiver")
        self.stand(recv, True)

    def _before_send(self, op):
        """Ready, granted, and the NIC had nearly done with another peer."""
        got = self.trace.grant_of(False, op.rank, op.peer, op.count)
        granted = 0 if got is None or got[1] > op.post else got[1]
        turn = 0 if op.before is None else op.before.post
        served, freed = None, 0
        if op.before is not None and op.before.peer != op.peer:
            served = self.tables.of_rank[op.rank, SEND].last(op.post, op)
            freed = 0 if served is None else served.end
        if freed > granted and freed > op.ready and freed >= turn:
            self.idle(freed, "its turn")
            self.stand(served, False)
        elif turn >= granted and turn >= op.ready and turn > 0:
            self.idle(turn, "its turn")
            self.stand(op.before, True)
        elif granted > op.ready:
            self._to_giver(op, got)
        else:
            self._to_cause_of_ready(op)

    def _before_recv(self, op):
        """Ready, and there are not too many before it."""
        freed_by = self.tables.of_rank[op.rank, RECV].last(op.post, op)
        turn = 0 if op.before is None else op.before.post
        freed = 0 if freed_by is None else freed_by.end
        if freed > turn and freed > op.ready:
            self.idle(freed, "a receive before it")
            self.stand(freed_by, False)
        elif turn > op.ready:
            self.idle(turn, "its turn")
            self.stand(op.before, True)
        else:
            self._to_cause_of_ready(op)

    def _before_post(self, op):
        self.idle(op.post, "its post")
        if op.channel != WIRE:
            self._to_cause_of_ready(op)
        elif op.kind == SEND:
            self._before_send(op)
        else:
            self._before_recv(op)

    # ---- before an operation ended ----

    def _before_arrival(self, op):
        sent, busy = op.other_end, self.tables.arrival_before(op)
        late = sent is None or op.post > sent.post
        begin = op.post if late else sent.post
        if busy is not None and busy.end > begin:
            self.hop("wire", op.peer, busy.end, op.bytes, "the NIC")
            self.stand(busy, False)
        else:
            self.hop("wire", op.peer, begin, op.bytes, "the receiver" if late else "the sender")
            self.stand(op if late else sent, True)

    def _before_sent(self, op):
        busy = self.tables.of_rank[op.rank, SEND].last(op.end, op)
        if busy is not None and op.post < busy.end < op.end:
            self.hop("wire", op.peer, busy.end, op.bytes, "the NIC")
            self.stand(busy, False)
        else:
            self.hop("wire", op.peer, op.post, op.bytes, "the sender")
            self.stand(op, True)

    def _before_end_inside(self, op):
        sent = op.other_end
        if op.kind == RECV and sent is not None and sent.post > op.post:
            self.hop("inside", op.peer, sent.post, op.bytes, "the sender")
            self.stand(sent, True)
        else:
            self.hop("inside", op.peer, op.post, op.bytes, "the receiver")
            self.stand(op, True)

    def _before_end(self, op):
        if op.kind == COPY:
            self.hop("pack" if op.channel == PACKS else "copy", None, op.post, op.bytes, "its data")
            self.stand(op, True)
        elif op.channel == WIRE and op.kind == RECV:
            self._before_arrival(op)
        elif op.channel == WIRE:
            self._before_sent(op)
        else:
            self._before_end_inside(op)
