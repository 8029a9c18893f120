# SPDX-License-Identifier: BSD-3-Clause
"""Members of JSON objects become numbers and texts, and events rows of tables.

What is not needed here, names of rows say, is passed over.
"""
from ..stream import Decimal
from .model import COPIES, COPY, GATHER, INTRA, NONE, PACKS, RECV, REDIST, SEND, WIRE
from .model import Grants, Part, Phase, Planned, packed_op

U64 = (1 << 64) - 1
MOST_NS = U64 // 2
MOST_BYTES = U64 // 2

_channels = {"wire": WIRE, "gather": GATHER, "redist": REDIST, "intra": INTRA, "copy": COPIES}


class Wrong(Exception):
    """A member is missing, or is not what it should be; the text is its name."""


def number(members, name, most):
    """A member that must be a whole number from 0 to `most`."""
    value = members.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise Wrong(name)
    return value


def number_or(members, name, other):
    """The same, or `other` where there is none."""
    value = members.get(name)
    return value if type(value) is int and 0 <= value <= U64 else other


def text(members, name):
    """A member that must be a text."""
    value = members.get(name)
    if not isinstance(value, str) or isinstance(value, Decimal):
        raise Wrong(name)
    return value


def text_or(members, name, other):
    """The same, or `other` where there is none."""
    value = members.get(name)
    return value if isinstance(value, str) else other


def nanoseconds(microseconds):
    """Of a number as it is written, with up to three decimals; None: it is not one."""
    whole, _, part = microseconds.partition(".")
    digits = whole + part.ljust(3, "0")
    return int(digits) if len(part) <= 3 and digits.isdigit() and whole else None


def time(members, name):
    """Microseconds become nanoseconds."""
    value = members.get(name)
    if type(value) is Decimal:
        value = nanoseconds(value)
    elif type(value) is int:
        value *= 1000
    else:
        value = None
    if value is None or not 0 <= value <= MOST_NS:
        raise Wrong(name)
    return value


def time_or(members, name, other):
    """The same, or `other` where there is none."""
    return time(members, name) if name in members else other


class Events:
    """The events of one rank's file, on their way into the tables of its trace."""

    def __init__(self, trace, rank):
        self.trace, self.rank = trace, rank
        self.readers = {"call": self._part, "phase": self._phase, "grant": self._grant, "planned": self._planned}

    def add(self, event):
        """Raises Wrong."""
        kind = event.get("cat")
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        if not isinstance(kind, str):
            return
        channel = _channels.get(kind)
        if channel is not None:
            self._op(event, args, channel)
        elif kind in self.readers:
            self.readers[kind](event, args)

    def _op(self, event, args, channel):
        call = number(args, "call", NONE - 1)
        name = text_or(event, "name", "")
        post = time(event, "ts")
        if channel == COPIES:
            kind, peer, count = COPY, NONE, 0
            channel = PACKS if name.startswith(("pack", "unpack")) else COPIES
        else:
            kind = SEND if name.startswith("s") else RECV
            peer = number(args, "peer", self.trace.n_ranks - 1)
            count = number(args, "count", U64)
        row = packed_op.pack(
            time(args, "ready"),
            post,
            post + time_or(event, "dur", 0),
            number(args, "bytes", U64),
            count,
            number(args, "op", NONE - 1),
            min(number_or(args, "by", NONE), NONE),
            peer,
            number(event, "tid", NONE - 1),
            kind,
            channel,
        )
        of_call = self.trace.packed.setdefault(call, {})
        if self.rank in of_call:
            of_call[self.rank] += row
        else:
            of_call[self.rank] = bytearray(row)

    def _part(self, event, args):
        part = Part()
        part.rank = self.rank
        part.begin = time(event, "ts")
        part.end = part.begin + time_or(event, "dur", 0)
        part.run = time_or(args, "run", 0)
        part.bytes = number(args, "bytes", U64)
        part.bound = number(args, "bound", U64)
        part.early = number_or(args, "early", 0)
        part.planned = number_or(args, "planned", 0)
        part.stages = number_or(args, "stages", 0)
        part.algorithm = text(args, "algorithm")
        part.status = text(args, "status")
        part.decompose = text_or(args, "decompose", "")
        self.trace.parts.setdefault(number(args, "call", NONE - 1), []).append(part)

    def _phase(self, event, args):
        begin = time(event, "ts")
        phase = Phase(self.rank, text(event, "name"), begin, begin + time_or(event, "dur", 0))
        self.trace.phases.setdefault(number(args, "call", NONE - 1), []).append(phase)

    def _grant(self, event, args):
        given = text(event, "name").startswith("grant to")
        key = (given, self.rank, number(args, "peer", self.trace.n_ranks - 1))
        grants = self.trace.grants.setdefault(key, Grants())
        grants.add(number(args, "count", U64), time(event, "ts"))

    def _planned(self, event, args):
        planned = Planned(
            self.rank,
            number(args, "server", NONE - 1),
            number(args, "start", MOST_BYTES),
            number(args, "bytes", MOST_BYTES),
            text_or(event, "name", "").startswith("s"),
        )
        self.trace.planned.setdefault(number(args, "call", NONE - 1), []).append(planned)
