# SPDX-License-Identifier: BSD-3-Clause
"""A report on traces: all calls of all communicators, and one call in detail."""
from . import path, steps
from .call import Call


class Report:
    """traces are linked; rate is that of a NIC in bits per second, 0: not known."""

    def __init__(self, traces, trace, number, rate):
        self.traces, self.trace, self.rate = traces, trace, rate
        self.call = Call(trace, number)
        self.ops = trace.ops_of(number)
        self.steps = steps.find(trace, number, self.ops)
        self.path = path.find(trace, self.call, self.ops)

    def lane_ns(self, bytes_):
        """Nanoseconds that a lane needs for so many bytes; 0: the rate is not known."""
        return 8e9 * bytes_ / self.rate if self.rate else 0.0
