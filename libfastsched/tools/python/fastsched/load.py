# SPDX-License-Identifier: BSD-3-Clause
"""Bytes over time: what a row of a timeline carries, and with whom.

Time is divided into equal bins. How long a simulation takes is known only at its end: when it outgrows the
bins, neighbours become one. So there are always BINS / 2 to BINS of them, a million messages or ten.
"""

BINS = 480  # an even number


class Load:
    """Of several rows, which share their bins."""

    def __init__(self, expected_ns):
        self.width = max(1, expected_ns * 5 // (4 * BINS))  # nanoseconds
        self.rows = {}  # by name: by partner: bytes of each bin

    def _fold(self):
        self.width *= 2
        for row in self.rows.values():
            for who, bins in row.items():
                row[who] = [bins[k] + bins[k + 1] for k in range(0, BINS, 2)] + [0.0] * (BINS // 2)

    def add(self, row, who, start, end, bytes_):
        """Bytes with a partner, at an even rate; nanoseconds."""
        while end > self.width * BINS:
            self._fold()
        bins = self.rows.setdefault(row, {}).setdefault(who, [0.0] * BINS)
        first, last = start // self.width, min(end // self.width, BINS - 1)
        if first >= last:
            bins[last] += bytes_
            return
        rate = bytes_ / (end - start)
        bins[first] += rate * ((first + 1) * self.width - start)
        for k in range(first + 1, last):
            bins[k] += rate * self.width
        bins[last] += rate * (end - last * self.width)

    def shares(self, row, rate):
        """Of each bin, a list of (partner, share of what fits in), the largest first. rate: bytes per nanosecond."""
        full = rate * self.width
        bins = [[] for _ in range(BINS)]
        for who, row_bins in sorted(self.rows.get(row, {}).items()):
            for k, bytes_ in enumerate(row_bins):
                if bytes_ > 0:
                    bins[k].append((who, bytes_ / full))
        for shares in bins:
            shares.sort(key=lambda share: -share[1])
        return bins
