#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A matrix of a given max-to-mean ratio (SABRE §4), as CSV.

Usage: mtm_matrix.py SERVERS LANES BYTES_PER_RANK MTM

A mixture of two: balanced (MTM 1), and the bytes for other servers going to two
ranks only, the first of the first two servers (SABRE §8.1: early in training
nearly all data goes to two GPUs). With 4 servers of 4 that has MTM 8, because
what comes from the other two servers is halved between them.
"""

import sys


def main():
    servers, lanes, per_rank = (int(text) for text in sys.argv[1:4])
    ranks = servers * lanes
    hot = {0, lanes}
    top = lanes + (ranks - 2 * lanes) / 2
    part = (float(sys.argv[4]) - 1) / (top - 1)
    if not 0 <= part <= 1:
        sys.exit(f"mtm_matrix.py: MTM 1 to {top:g} is possible")
    for src in range(ranks):
        hot_here = [r for r in hot if r // lanes != src // lanes]
        inter = per_rank * (ranks - lanes) / ranks
        row = []
        for dst in range(ranks):
            size = per_rank / ranks
            if dst // lanes != src // lanes:
                size *= 1 - part
            if dst in hot_here:
                size += part * inter / len(hot_here)
            row.append(round(size))
        print(",".join(str(size) for size in row))


if __name__ == "__main__":
    main()
