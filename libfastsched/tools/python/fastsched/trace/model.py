# SPDX-License-Identifier: BSD-3-Clause
"""The traces of one communicator, all ranks together.

There may be millions of operations, so they are kept packed, a few bytes each, by call and rank; what looks
at a call unpacks those of the call (Trace.ops_of). Times in files are nanoseconds of each machine's clock;
after clocks.align() all are on one clock, from the first entry into a call.
"""
import bisect
import struct
from array import array

NONE = 0xFFFFFFFF

SEND, RECV, COPY = range(3)  # kinds of operations
WIRE, GATHER, REDIST, INTRA, COPIES, PACKS = range(6)  # channels; copies of our own, and by the MPI

packed_op = struct.Struct("<5Q4I2B")  # ready, post, end, bytes, count; op, by, peer, row; kind, channel


class Clock:
    """Of one machine."""

    def __init__(self, name, shift):
        self.name = name
        self.shift = shift  # to be added to its times


class Rank:
    """A rank whose file is there."""

    def __init__(self, world_rank, process, server, lane, clock, dropped, path):
        self.world_rank = world_rank
        self.process = process  # another one for each process that has its clock
        self.number = world_rank  # of the process, among all of the directory
        self.server = server
        self.lane = lane  # or None
        self.clock = clock
        self.dropped = dropped  # events
        self.path = path  # of the file


class Part:
    """A call on one rank."""

    __slots__ = (
        "rank", "begin", "end", "run", "bytes", "bound", "early", "planned", "stages", "algorithm", "decompose",
        "status",
    )


class Phase:
    """A part of a call on one rank."""

    __slots__ = ("rank", "name", "begin", "end")

    def __init__(self, rank, name, begin, end):
        self.rank, self.name, self.begin, self.end = rank, name, begin, end


class Planned:
    """A transfer that a rank's lane was to send or receive; start and bytes are bytes per lane."""

    __slots__ = ("rank", "server", "start", "bytes", "sends", "step")

    def __init__(self, rank, server, start, bytes_, sends):
        self.rank, self.server, self.start, self.bytes, self.sends = rank, server, start, bytes_, sends
        self.step = None  # of the schedule; steps.py


class Op:
    """An operation of a program.

    count is the number of a message among those of its kind; a wire message needs as large a grant. by is the
    operation that made it ready, peer that of a message; NONE: there is none. other_end is the peer's operation,
    step that of the schedule, before the wire operation of its kind and rank before it, by plan; or None.
    """

    __slots__ = (
        "rank", "at", "ready", "post", "end", "bytes", "count", "op", "by", "peer", "row", "kind", "channel",
        "other_end", "step", "before",
    )

    def __init__(self, rank, fields):
        self.rank = rank
        (
            self.ready, self.post, self.end, self.bytes, self.count,
            self.op, self.by, self.peer, self.row, self.kind, self.channel,
        ) = fields
        self.other_end = self.step = self.before = None

    def ends(self):
        """The two ends of a message and its number: equal for the send and the receive."""
        way = (self.peer, self.rank) if self.kind == RECV else (self.rank, self.peer)
        return (*way, self.channel, self.count)


class Grants:
    """What one rank has granted another, or got from it, in the order of counts."""

    def __init__(self):
        self.counts, self.times = array("Q"), array("Q")

    def add(self, count, time):
        """All messages numbered below count are granted, from that time on."""
        self.counts.append(count)
        self.times.append(time)

    def sort(self):
        """In the order of counts, then of time."""
        pairs = sorted(zip(self.counts, self.times))
        self.counts = array("Q", [count for count, _ in pairs])
        self.times = array("Q", [time for _, time in pairs])

    def move(self, moved):
        """moved(time) is what a time becomes."""
        self.times = array("Q", map(moved, self.times))

    def first_of(self, count):
        """(count, time) of the first grant of at least so much, or None."""
        k = bisect.bisect_left(self.counts, count)
        return (self.counts[k], self.times[k]) if k < len(self.counts) else None


class Trace:
    """A communicator."""

    def __init__(self, comm, id_, n_ranks, n_servers):
        self.comm, self.id = comm, id_
        self.n_ranks, self.n_servers = n_ranks, n_servers
        self.rate = 0  # of a lane, bits per second; 0: not known
        self.base = 0  # what was subtracted from all times
        self.clocks = {}  # by name
        self.aligned = False  # by messages, there being several clocks
        self.ranks = {}  # by number, those whose files are there
        self.parts = {}  # by call: [Part]
        self.phases = {}  # by call: [Phase]
        self.planned = {}  # by call: [Planned]
        self.packed = {}  # by call, then rank: bytearray of packed_op
        self.grants = {}  # by given (to, else from), rank, peer: Grants
        self.messages = {}  # by call: (messages on the wire, ends without the other end)

    def calls(self):
        """Their numbers, in order."""
        return sorted(self.parts)

    def time(self, rank, time):
        """A time of a rank on the common clock. Before the first call are grants that come early: 0."""
        return max(time + self.ranks[rank].clock.shift - self.base, 0)

    def grant_of(self, given, rank, peer, count):
        """(count, time) of the first grant of at least count that rank has given to peer, or got from it; or None."""
        grants = self.grants.get((given, rank, peer))
        return None if grants is None else grants.first_of(count)

    def raw_ops(self, call):
        """The operations of a call in no order, times as in the files."""
        packed = self.packed.get(call, {})
        return [Op(rank, fields) for rank in packed for fields in packed_op.iter_unpack(packed[rank])]

    def ops_of(self, call):
        """The same by rank, then by plan, on the common clock; each message with its other end."""
        ops = sorted(self.raw_ops(call), key=lambda op: (op.rank, op.op))
        for at, op in enumerate(ops):
            op.at = at
            op.ready, op.post, op.end = (self.time(op.rank, time) for time in (op.ready, op.post, op.end))
        for send, recv in message_ends(ops):
            send.other_end, recv.other_end = recv, send
        return ops


def message_ends(ops):
    """Yield the two ends of each message of a call that has both."""
    sends = {op.ends(): op for op in ops if op.kind == SEND}
    for op in ops:
        if op.kind == RECV:
            send = sends.pop(op.ends(), None)
            if send is not None:
                yield send, op
