#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Traces that are written by hand: clocks are aligned, processes told apart, and the critical path is the one
that a hand finds."""
import io
import json
import unittest

from traces import ByHand, TestCase, read

from fastsched.trace import path, steps
from fastsched.trace.call import Call
from fastsched.trace.report import Report
from fastsched.trace.text import write as write_text


def find_path(trace):
    return path.find(trace, Call(trace, 1), trace.ops_of(1))


class Paths(TestCase):
    def write_pair(self, offset, epoch_ns):
        """Rank 0: enters at 100, run at 120, sends at 150 what was ready at 125 and was granted at 148; leaves
        at 210, after the word at 208. Rank 1: enters at 110, run at 122; posts its receive at 140, grants at
        141; receives at 200, says so at 201; leaves at 202."""
        zero, one = ByHand(0), ByHand(1, offset, epoch_ns)
        zero.call(100, 120, 210)
        one.call(110, 122, 202)
        zero.message(True, 0, 125, 150, 160)
        one.message(False, 0, 140, 140, 200)
        one.grant(True, 1, 141)
        zero.grant(False, 1, 148)
        one.grant(True, 2, 201)
        zero.grant(False, 2, 208)
        zero.write(self)
        one.write(self)

    def test_the_path_by_hand(self):
        """Hops of one kind on one rank are told together: idle 18 and 1 are 19."""
        self.write_pair(0, 0)
        found = find_path(read(self.dir)[0])
        by_hand = [
            ("entry", 1, 10), ("summary", 1, 12), ("idle", 1, 19), ("grant", 0, 7), ("idle", 0, 2),
            ("wire", 1, 50), ("idle", 1, 1), ("grant", 0, 7), ("idle", 0, 2),
        ]
        self.assertEqual([(hop.what, hop.rank, (hop.end - hop.begin) / 1000) for hop in found.hops], by_hand)
        self.assertEqual(found.share_ns["wire"], 50000)
        self.assertEqual(found.share_ns["grant"], 14000)

    def test_work_while_waiting(self):
        """Rank 1 is 10 us late; 5 us after it all know that all are here."""
        zero, one = ByHand(0), ByHand(1)
        zero.call(100, 120, 210, (115, 700))
        one.call(110, 122, 202, (115, 40))
        zero.write(self)
        one.write(self)
        trace = read(self.dir)[0]
        shares = find_path(trace).share_ns
        self.assertEqual((shares["entry"], shares["early"], shares["summary"]), (10000, 5000, 7000))
        self.assertEqual(Call(trace, 1).early, 740)
        out = io.StringIO()
        write_text(out, Report([trace], trace, 1, 0))
        self.assertIn("sent early       740 bytes, before rank 1 had entered\n", out.getvalue())

    def test_one_message_at_a_time(self):
        """Three messages: the second is on the NIC when the first has arrived, the third is sent 10 us after
        the second has arrived, when its grant comes."""
        zero, one = ByHand(0), ByHand(1)
        zero.call(100, 110, 300)
        one.call(100, 110, 310)
        one.grant(True, 2, 112)
        zero.grant(False, 2, 113)
        one.grant(True, 3, 232)
        zero.grant(False, 3, 239)
        for op, post in enumerate((120, 122, 240)):
            zero.message(True, op, 110, post, post + 1)
        for op, (post, end) in enumerate(((111, 170), (112, 230), (231, 305))):
            one.message(False, op, 110, post, end)
        zero.write(self)
        one.write(self)
        found = find_path(read(self.dir)[0])
        self.assertEqual(found.share_ns["wire"], (110 + 65) * 1000)
        self.assertEqual(found.share_ns["grant"], (1 + 7) * 1000)
        wire = [(hop.begin, hop.messages, hop.bytes) for hop in found.hops if hop.what == "wire"]
        self.assertEqual(wire, [(20000, 2, 20), (140000, 1, 10)])

    def test_clocks_are_aligned(self):
        """The other server's clock is 5 s ahead, its time of day 3 ms wrong. The fastest message there took 50
        us, the fastest grant back 7: the clocks end up within half of the difference."""
        self.write_pair(5000000, (1 << 64) - 5003000000)
        trace = read(self.dir)[0]
        self.assertEqual(len(trace.clocks), 2)
        self.assertTrue(trace.aligned)
        sent, got = trace.ops_of(1)
        self.assertEqual(got.end - sent.post, 28500)  # (50 + 7) / 2

    def test_nothing_was_sent_back(self):
        """The time of day is believed, and nothing is before 0."""
        zero, one = ByHand(0), ByHand(1, 1000, 5000)
        zero.call(100, 110, 300)
        one.call(100, 110, 300)
        zero.write(self)
        one.write(self)
        trace = read(self.dir)[0]
        self.assertFalse(trace.aligned)
        self.assertEqual([part.begin for part in trace.parts[1]], [0, 1005000])


class Steps(TestCase):
    def test_beyond_the_last_transfer(self):
        """A lane to whom 15 bytes were planned in two steps sends 30: the last step has the rest."""
        zero, one = ByHand(0), ByHand(1)
        for rank, name in ((zero, "send to server 1"), (one, "receive from server 0")):
            rank.call(0, 1, 100)
            for start, size in ((0, 10), (10, 5)):
                rank.span("planned", name, 0, 0, server=1 - rank.rank, start=start, bytes=size)
        for op in range(3):
            zero.message(True, op, 1, 10 * op + 2, 10 * op + 3)
            one.message(False, op, 1, 2, 10 * op + 9)
        zero.write(self)
        one.write(self)
        trace = read(self.dir)[0]
        found = steps.find(trace, 1, trace.ops_of(1))
        self.assertEqual([(step.start, step.bytes, step.sent) for step in found], [(0, 10, 10), (10, 5, 20)])
        self.assertEqual([step.pairs for step in found], ["0>1 ", "0>1 "])
        self.assertEqual([(step.first, step.last) for step in found], [(2000, 9000), (12000, 29000)])
        self.assertEqual([step.longest_gap for step in found], [0, 3000])


class Processes(TestCase):
    def write_head(self, comm, rank, world_rank, clock, process):
        """A file with nothing but whose it is, which comes last."""
        head = {
            "format": "fastsched trace 1", "comm": "x", "id": str(comm), "rank": rank, "world_rank": world_rank,
            "ranks": 4, "server": 0, "servers": 1, "rate": 0, "clock": clock, "process": process, "epoch_ns": 0,
            "dropped": 0,
        }
        self.write(f"fast-x-{comm}-rank{rank}.json", json.dumps({"traceEvents": [], "otherData": head}))

    def test_processes_are_told_apart(self):
        """Two processes spawn two, on two machines; before, each two had a communicator of their own. Two have
        one pid, on different machines."""
        self.write_head(1, 0, 0, "a", "p")
        self.write_head(1, 1, 3, "b", "p")
        self.write_head(2, 0, 2, "a", "q")
        self.write_head(2, 1, 3, "b", "q")
        self.write_head(3, 0, 0, "a", "p")
        self.write_head(3, 1, 3, "b", "p")
        self.write_head(3, 2, 2, "a", "q")
        self.write_head(3, 3, 3, "b", "q")
        numbers = [[rank.number for _, rank in sorted(trace.ranks.items())] for trace in read(self.dir)]
        self.assertEqual(numbers, [[0, 3], [2, 4], [0, 3, 2, 4]])


if __name__ == "__main__":
    unittest.main()
