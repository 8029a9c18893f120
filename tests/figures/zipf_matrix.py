#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Zipf sizes drawn for each sender, as CSV.

Usage: zipf_matrix.py RANKS EXPONENT MEAN_BYTES SEED

What a rank sends to others and to itself is k^-EXPONENT, k = 1 to RANKS in a
random order of its own, scaled to the mean: all send the same, but receive
different amounts. (--pattern zipf:S of the command ranks all pairs together, so
that senders differ, too, and the largest pair is far larger.)
"""

import random
import sys


def main():
    ranks, exponent = int(sys.argv[1]), float(sys.argv[2])
    mean, seed = int(sys.argv[3]), int(sys.argv[4])
    draw = random.Random(seed)
    weights = [k ** -exponent for k in range(1, ranks + 1)]
    scale = mean * ranks / sum(weights)
    for _ in range(ranks):
        row = [round(weight * scale) for weight in weights]
        draw.shuffle(row)
        print(",".join(str(size) for size in row))


if __name__ == "__main__":
    main()
