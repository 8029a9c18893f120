#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the library is told comes back from the files that it writes, and what does not fit is counted.

unit/trace/test_trace writes the traces: two ranks, each a server, exchange 100 bytes in every call. Each copies,
sends what it has copied, and receives; its only receive and its only send have the call's number.
"""
import os
import subprocess
import unittest

from traces import BUILD, TestCase, read

from fastsched.trace import path, steps
from fastsched.trace.call import Call
from fastsched.trace.model import COPY, PACKS, RECV, SEND, WIRE

WRITER = os.path.join(BUILD, "tests", "unit", "trace", "test_trace")


@unittest.skipUnless(os.access(WRITER, os.X_OK), "unit/trace/test_trace is not built")
class Told(TestCase):
    def told(self, calls, max_events):
        subprocess.run([WRITER, self.dir, str(calls), str(max_events)], check=True, stdout=subprocess.DEVNULL)
        return read(self.dir)

    def check_ops(self, trace, number):
        ops = trace.ops_of(number)
        self.assertEqual([op.rank for op in ops], [0, 0, 0, 1, 1, 1])
        for rank in range(2):
            mine, others = ops[3 * rank : 3 * rank + 3], ops[3 - 3 * rank :]
            copy, send, _ = mine
            self.assertEqual([op.op for op in mine], [0, 1, 2])
            self.assertEqual([op.kind for op in mine], [COPY, SEND, RECV])
            for op in mine:
                self.assertEqual(op.bytes, 100)
                self.assertTrue(op.ready <= op.post <= op.end)
            self.assertEqual([op.channel for op in mine], [PACKS, WIRE, WIRE])
            self.assertNotIn(copy.by, (0, 1, 2))
            self.assertEqual((send.by, send.peer, send.count), (0, 1 - rank, number))
            self.assertIs(send.other_end, others[2])
            self.assertIs(others[2].other_end, send)

    def check_grant(self, trace, number):
        """Rank 1 gave before rank 0 got."""
        given, got = trace.grant_of(True, 1, 0, number), trace.grant_of(False, 0, 1, number)
        self.assertEqual((given[0], got[0]), (number, number))
        self.assertLessEqual(given[1], got[1])
        self.assertIsNone(trace.grant_of(True, 0, 0, number))
        self.assertIsNone(trace.grant_of(True, 1, 0, 3))

    def check_call(self, trace, number):
        call, ops = Call(trace, number), trace.ops_of(number)
        self.assertTrue(call.ran)
        self.assertEqual((call.messages, call.unmatched, call.bytes, call.bound), (2, 0, 200, 100))
        self.assertEqual(call.early, 2 * 77)
        self.assertEqual((call.algorithm, call.decompose, call.status), ("staged", "compact", "success"))
        (step,) = steps.find(trace, number, ops)
        self.assertEqual((step.bytes, step.sent, step.pairs), (100, 200, "0>1 1>0 "))
        hops = path.find(trace, call, ops).hops
        self.assertEqual([hop.begin for hop in hops[1:]], [hop.end for hop in hops[:-1]])
        self.assertEqual(sum(hop.end - hop.begin for hop in hops), call.end - call.first_entry)

    def test_what_is_told_comes_back(self):
        (trace,) = self.told(2, 0)
        self.assertEqual((trace.comm, trace.id), ('a "b"/c', "abc"))
        self.assertEqual((trace.n_ranks, trace.n_servers, trace.rate, len(trace.clocks)), (2, 2, 1000000, 1))
        self.assertEqual(trace.ranks[1].world_rank, 10)
        self.assertEqual([len(parts) for parts in trace.parts.values()], [2, 2])
        self.assertEqual(sum(len(grants.counts) for grants in trace.grants.values()), 8)
        self.assertEqual([len(planned) for planned in trace.planned.values()], [4, 4])
        names = [phase.name for phase in trace.phases[2] if phase.rank == 1]
        self.assertEqual(names, ["early", "summary", "plan", "run"])
        for number in trace.calls():
            self.check_ops(trace, number)
            self.check_grant(trace, number)
            self.check_call(trace, number)

    def test_what_does_not_fit_is_counted(self):
        """Full, and what is there is still a file."""
        (trace,) = self.told(50, 40)
        for rank in trace.ranks.values():
            self.assertGreater(rank.dropped, 100)
        self.assertEqual(sum(len(parts) for parts in trace.parts.values()), 80)
        self.assertLess(sum(len(trace.raw_ops(call)) for call in trace.packed), 80)


if __name__ == "__main__":
    unittest.main()
