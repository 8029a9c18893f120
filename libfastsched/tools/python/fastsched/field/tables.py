# SPDX-License-Identifier: BSD-3-Clause
"""What tables of measurements are made of."""
import collections
import statistics

from .settings import TUNED

median = statistics.median


def read_size(text):
    suffixes = {"k": 10, "m": 20, "g": 30}
    shift = suffixes.get(text[-1], 0)
    return int(text[:-1] if shift else text) << shift


def each_size(sizes):
    """Of "8:8k" and the like, doubling."""
    least, most = map(read_size, sizes.split(":"))
    while least <= most:
        yield least
        least *= 2


def show_size(size):
    units = {"MB": 1000000, "kB": 1000, "MiB": 1 << 20, "KiB": 1 << 10}
    for unit, factor in units.items():
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def head(names):
    return [row(names), "|" + "---|" * len(names)]


class Cell:
    """A size and a pattern: what the rounds of each variant say.

    speeds: of fast over the best peer, a number for each round;
    best: which setting that is, by its median."""

    def __init__(self, rounds):
        by_variant = collections.defaultdict(list)
        for variants in rounds.values():
            for variant, line in variants.items():
                by_variant[variant].append(line)
        self.lines = {name: lines for name, lines in by_variant.items()}
        native = [name for name in self.lines if name != TUNED]
        self.best = min(native, key=self.time_s, default=None)
        self.speeds = [
            v[self.best]["time_s"] / v[TUNED]["time_s"] for v in rounds.values() if self.best in v and TUNED in v
        ]
        self.speed = median(self.speeds) if self.speeds else None

    def time_s(self, variant):
        return median(line["time_s"] for line in self.lines[variant])

    def over_bound(self):
        """None: nothing leaves a server."""
        bound = self.lines[TUNED][0].get("lower_bound_s")
        return self.time_s(TUNED) / bound if bound else None

    def packets(self, variant):
        counts = [line.get("data_packets") for line in self.lines[variant]]
        return None if None in counts else median(counts)
