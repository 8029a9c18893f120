# SPDX-License-Identifier: BSD-3-Clause
"""What is to be measured, in the order of its worth, and how long that takes."""
import dataclasses

from .settings import NATIVE, TUNED, warmup
from .tables import each_size

# What patterns need over balanced traffic: only for the estimate.
_WEIGHTS = {"balanced": 1.0, "random": 1.1, "zipf": 2.0, "hotspot": 2.3, "moe": 1.7, "pencil": 1.05}
SIZES = ("1m:1m", "512:8k", "64k:64k")
PATTERNS = ("zipf:0.8", "balanced", "moe", "random", "hotspot:2", "intrahost")
ARRIVALS = ("uniform:1", "late:0:1")
TIMED_S = 1.0  # of the calls of a size
FEWEST, MOST = 5, 50  # calls
CALL_S = 20e-6  # at least, for each rank
CHECKED_BYTES_PER_S = 5e8
RANK_BYTES = 1 << 30  # at most, of what a rank sends


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of the report, or one for each size."""

    pattern: str
    sizes: str  # MIN:MAX
    arrival: str = ""
    memory: str = "host"

    def name(self):
        least, _, most = self.sizes.partition(":")
        words = [self.pattern, least if least == most else f"{least} to {most}"]
        words += [f"entries {self.arrival}"] if self.arrival else []
        return " ".join(words + ([f"on {self.memory}"] if self.memory != "host" else []))

    def weight(self):
        return _WEIGHTS.get(self.pattern.split(":")[0], 2.0)


class Estimate:
    """Of times, on a network. ranks: of each server; start_s: to start and end a job."""

    def __init__(self, ranks, nics, rate_mbit, start_s):
        self.ranks, self.nics, self.start_s = ranks, nics, start_s
        self.bytes_per_s = rate_mbit * 1e6 / 8

    def _bound_s(self, row, size):
        n_ranks = sum(self.ranks)
        nic_bytes = max(n * (n_ranks - n) * size / min(n, self.nics or n) for n in self.ranks)
        return row.weight() * nic_bytes / self.bytes_per_s

    def call_s(self, row, size):
        apart = 1 if row.arrival else 0
        return (2 + apart) * self._bound_s(row, size) + CALL_S * sum(self.ranks)

    def calls(self, row):
        """Timed, the same for every size."""
        slowest = max(self.call_s(row, size) for size in each_size(row.sizes))
        return int(min(MOST, max(FEWEST, TIMED_S / slowest)))

    def job_s(self, row, variant):
        check_s = sum(self.ranks) / CHECKED_BYTES_PER_S
        each = sum(self.call_s(row, size) + check_s * size for size in each_size(row.sizes))
        return self.start_s + (self.calls(row) + warmup(variant, row.pattern)) * each

    def row_s(self, row, mpi, rounds):
        return rounds * sum(self.job_s(row, variant) for variant in variants(mpi))

    def too_large(self, row):
        """In words; None: it is not."""
        most = max(each_size(row.sizes)) * sum(self.ranks)
        return f"{most / 1e9:.1f} GB per rank" if most > RANK_BYTES else None


def variants(mpi):
    return [TUNED, *NATIVE[mpi]]


def arguments(row, calls, variant, rate_mbit, nics):
    """Of the benchmark."""
    words = ["-p", row.pattern, "-m", row.sizes, "-i", str(calls), "-c", "--json"]
    words += ["-x", str(warmup(variant, row.pattern)), "--rate", f"{rate_mbit:.1f}mbit"]
    words += ["--nics", str(nics)] if nics else []
    words += ["--arrival", row.arrival] if row.arrival else []
    return words + (["-d", row.memory] if row.memory != "host" else [])


def wanted(options, device):
    """The rows, those that tell most first. device: None or the kind that all servers have."""
    patterns, sizes = options.pattern or PATTERNS, options.size or SIZES
    rows = [Row(pattern, size) for size in sizes for pattern in patterns[:2]]
    rows += [Row(patterns[0], sizes[0], memory=device)] if device else []
    rows += [Row(patterns[0], sizes[-1], arrival) for arrival in ARRIVALS]
    rows += [Row(pattern, size) for pattern in patterns[2:] for size in sizes]
    rows += [Row(pattern, sizes[0], memory=device) for pattern in patterns[1:]] if device else []
    return list(dict.fromkeys(rows))
