# SPDX-License-Identifier: BSD-3-Clause
"""For the tests: where the modules of the command are, and traces that are written by hand."""
import json
import os
import sys
import tempfile
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = os.path.join(os.path.dirname(TESTS), "libfastsched", "tools", "python")
BUILD = os.environ.get("FS_BUILDDIR", os.path.join(os.path.dirname(TESTS), "build"))

sys.path.insert(0, SOURCES)

from fastsched.trace import directory, link  # only now it is there


def read(where):
    """The traces of a directory, linked."""
    traces = directory.read(where)
    for trace in traces:
        link.link(trace)
    return traces


class TestCase(unittest.TestCase):
    """Has a directory of its own."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.dir = holder.name

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w", encoding="utf-8") as file:
            file.write(text)


class ByHand:
    """The file of one rank of two, each a server. Times are microseconds; the file has them on a clock that
    is `offset` ahead, and another one unless that is 0."""

    def __init__(self, rank, offset=0, epoch_ns=0):
        self.rank, self.offset = rank, offset
        self.head = {
            "format": "fastsched trace 1", "comm": "x", "id": "1", "rank": rank, "world_rank": rank, "ranks": 2,
            "server": rank, "servers": 2, "rate": 0, "clock": f"c{offset}", "epoch_ns": epoch_ns, "dropped": 0,
        }
        self.events = [{"cat": "name"}]

    def span(self, cat, name, begin, end, **args):
        self.events.append(
            {"ph": "X", "cat": cat, "name": name, "tid": 0, "ts": begin + self.offset, "dur": end - begin,
             "args": {"call": 1, **args}}
        )

    def call(self, begin, run, end, early=None):
        """early: until when it sent early, and bytes."""
        more = {} if early is None else {"early": early[1]}
        here = begin if early is None else early[0]
        self.span(
            "call", "call 1", begin, end,
            algorithm="staged", bytes=1, bound=1, status="success", run=run + self.offset, **more,
        )
        if early is not None:
            self.span("phase", "early", begin, here)
        self.span("phase", "summary", here, run)
        self.span("phase", "run", run, end)

    def message(self, sends, op, ready, post, end):
        self.span(
            "wire", "send to" if sends else "receive from", post, end,
            peer=1 - self.rank, count=op + 1, bytes=10, op=op, ready=ready + self.offset,
        )

    def grant(self, given, count, time):
        self.span("grant", "grant to" if given else "grant from", time, time, peer=1 - self.rank, count=count)

    def text(self):
        return json.dumps({"otherData": self.head, "traceEvents": self.events}, indent=1)

    def write(self, test):
        test.write(f"fast-x-1-rank{self.rank}.json", self.text())
