# SPDX-License-Identifier: BSD-3-Clause
"""A call as a whole."""


class Call:
    """What all ranks' traces say of a call together."""

    def __init__(self, trace, number):
        parts = trace.parts[number]
        first = parts[0]
        last_in = max(parts, key=lambda part: part.begin)
        last_out = max(parts, key=lambda part: part.end)
        slowest = max(parts, key=lambda part: part.end - part.begin)
        self.number = number
        self.ran = any(part.run > 0 for part in parts)  # by us
        self.algorithm = first.algorithm if self.ran else "native"
        self.decompose, self.status = first.decompose, first.status
        self.bytes, self.bound = first.bytes, first.bound
        self.early = sum(part.early for part in parts)  # bytes that were sent before all had entered
        self.planned, self.stages = first.planned, first.stages
        self.first_entry = min(part.begin for part in parts)
        self.last_entry, self.last_in = last_in.begin, last_in.rank
        self.end, self.last_out = last_out.end, last_out.rank
        self.slowest_ns = slowest.end - slowest.begin  # from a rank's entry to its exit, the longest
        self.slowest = slowest.rank
        self.messages, self.unmatched = trace.messages.get(number, (0, 0))

    def beats(self, other):
        """A call served by fast beats one of the native algorithm; then the slower one."""
        return self.ran > other.ran or (self.ran == other.ran and self.slowest_ns > other.slowest_ns)
