# SPDX-License-Identifier: BSD-3-Clause
"""All files in one, for Perfetto: each event is copied as it is written, only its times are moved and its
process gets its number here; then arrows from each message's send to its receive."""
import re

from ..failure import Failure, failed
from ..stream import Document
from .directory import members, open_text
from .events import nanoseconds
from .model import SEND

# Nothing else in JSON looks like that: in a text, the first quote would have a backslash before it. "dur" is a
# length, not a time.
_moved = re.compile(r'(?<!\\)"(pid|ts|ready|run)"(\s*:\s*)([-+.0-9eE]+)')


def _us(ns):
    return f"{ns // 1000}.{ns % 1000:03}"


def _events(path):
    """Yield the events of a file that has been read before, as they are written."""
    try:
        with open_text(path) as file:
            document = Document(file, path)
            for name, _ in members(document):
                if name == "traceEvents":
                    yield document.text()
    except OSError as error:
        raise failed(f"{path}: {error.strerror}") from None
    except Failure:
        raise failed(f"{path}: the file has changed while it was read") from None


class Merger:
    """Writes events to out. Times become microseconds from the first entry into any call."""

    def __init__(self, out, name, traces):
        self.out, self.name = out, name
        self.base = min(trace.base for trace in traces)  # the earliest time of all communicators
        self.lead = ""
        self.arrow = 0  # number of the last one

    def put(self, text):
        """One more event."""
        try:
            self.out.write(self.lead + text)
        except OSError as error:
            raise failed(f"{self.name}: {error.strerror}") from None
        self.lead = ",\n"

    def put_file(self, rank):
        """The events of a rank's file."""
        shift = rank.clock.shift - self.base

        def moved(match):
            """A member, set right: pid and times."""
            name, colon, value = match.groups()
            ns = nanoseconds(value)
            if name == "pid":
                value = rank.number
            elif ns is not None:
                value = _us(max(ns + shift, 0))
            return f'"{name}"{colon}{value}'

        for text in _events(rank.path):
            self.put(_moved.sub(moved, text))

    def put_end(self, trace, op, phase, ns):
        """One end of an arrow, on the row of an operation."""
        begin = '"bp": "e", ' if phase == "f" else ""
        self.put(
            f'{{"ph": "{phase}", {begin}"cat": "arrow", "name": "message", "id": {self.arrow}, '
            f'"pid": {trace.ranks[op.rank].number}, "tid": {op.row}, "ts": {_us(ns + trace.base - self.base)}}}'
        )

    def put_arrows(self, trace):
        """"s" leaves the span that it is in, "f" enters one; the end of a span is outside of it."""
        for call in sorted(trace.packed):
            for op in trace.ops_of(call):
                if op.kind == SEND and op.other_end is not None:
                    self.arrow += 1
                    self.put_end(trace, op, "s", op.post)
                    self.put_end(trace, op.other_end, "f", max(op.other_end.end - 1, op.other_end.post))

    def put_traces(self, traces):
        """All of all communicators."""
        for trace in traces:
            for _, rank in sorted(trace.ranks.items()):
                self.put_file(rank)
            self.put_arrows(trace)


def write(path, traces):
    """Merge traces into a file."""
    try:
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as out:
            out.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
            Merger(out, path, traces).put_traces(traces)
            out.write("\n]}\n")
    except OSError as error:
        raise failed(f"{path}: {error.strerror}") from None
