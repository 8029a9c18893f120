#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The matrix of each call of a burst, and of all together, as CSV between ranks.

Usage: burst_matrix.py PLAN CALLS DIRECTORY

PLAN is what `fastsched plan --lanes 1 --decompose openshop --format json` prints. Call k is the same
traffic k servers further on, so that each has another busiest server. Writes
DIRECTORY/1 to DIRECTORY/CALLS, and DIRECTORY/all. A server's bytes are spread evenly
over its LANES (environment) ranks."""

import json
import os
import sys


def write(path, cells, lanes):
    with open(path, "w", encoding="ascii") as out:
        for row in cells:
            line = ",".join(str(cell // lanes**2) for cell in row for _ in range(lanes))
            out.write((line + "\n") * lanes)


def main():
    plan = json.load(open(sys.argv[1], encoding="ascii"))
    calls, lanes, n = int(sys.argv[2]), int(os.environ["LANES"]), plan["servers"]
    one = [[0] * n for _ in range(n)]
    for transfer in plan["transfers"]:
        one[transfer["src"]][transfer["dst"]] += transfer["bytes"]
    together = [[0] * n for _ in range(n)]
    for call in range(calls):
        cells = [[one[i - call][j - call] for j in range(n)] for i in range(n)]
        together = [[a + b for a, b in zip(x, y)] for x, y in zip(together, cells)]
        write(f"{sys.argv[3]}/{call + 1}", cells, lanes)
    write(f"{sys.argv[3]}/all", together, lanes)


if __name__ == "__main__":
    main()
