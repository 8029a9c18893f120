# SPDX-License-Identifier: BSD-3-Clause
"""All files in one, for Perfetto: each event is copied as it is written, only its times are moved and its
process gets its number here; then arrows from each message's send to its receive."""
import re

from ..failure import Failure, failed
from ..stream import Document
from .directory import open_text, pieces
from .events import nanoseconds
from .model import SEND

# Nothing else in JSON looks like that: in a text, the first quote would have a backslash before it. "dur" is a
# length, not a time.
_moved = re.compile(r'(?<!\\)"(pid|ts|ready|run)"(\s*:\s*)([-+.0-9eE]+)')


def _us(ns):
    return f"{ns // 1000}.{ns % 1000:03}"


class Merger:
    def __init__(self, out, traces):
        self.out = out
        self.base = min(trace.base for trace in traces)  # the earliest time of all communicators
        self.lead = ""
        self.arrow = 0  # number of the last one

    def put(self, text):
        self.out.write(self.lead + text)
        self.lead = ",\n"

    def put_file(self, rank):
        shift = rank.clock.shift - self.base

        def moved(match):
            name, colon, value = match.groups()
            ns = nanoseconds(value)
            if name == "pid":
                value = rank.number
            elif ns is not None:
                value = _us(max(ns + shift, 0))
            return f'"{name}"{colon}{value}'

        with open_text(rank.path) as file:
            document = Document(file, rank.path)
            for name, _ in pieces(document):
                if name == "traceEvents":
                    self.put(_moved.sub(moved, document.text()))

    def put_end(self, trace, op, phase, ns):
        begin = '"bp": "e", ' if phase == "f" else ""
        self.put(
            f'{{"ph": "{phase}", {begin}"cat": "arrow", "name": "message", "id": {self.arrow}, '
            f'"pid": {trace.ranks[op.rank].number}, "tid": {op.row}, "ts": {_us(ns + trace.base - self.base)}}}'
        )

    def put_arrows(self, trace):
        """"s" leaves the span that it is in, "f" enters one; the end of a span is outside of it."""
        for call in sorted(trace.packed):
            for op in trace.ops_of(call):
                if op.kind == SEND and op.mate is not None:
                    self.arrow += 1
                    self.put_end(trace, op, "s", op.post)
                    self.put_end(trace, op.mate, "f", max(op.mate.end - 1, op.mate.post))

    def put_traces(self, traces):
        for trace in traces:
            for _, rank in sorted(trace.ranks.items()):
                try:
                    self.put_file(rank)
                except (OSError, Failure):
                    raise failed(f"{rank.path}: it has changed meanwhile") from None
            self.put_arrows(trace)


def write(path, traces):
    try:
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as out:
            out.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
            Merger(out, traces).put_traces(traces)
            out.write("\n]}\n")
    except OSError as error:
        raise failed(f"{path}: {error.strerror}") from None
