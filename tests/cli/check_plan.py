#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check the JSON of "fastsched plan" against the matrix it was made from.

  check_plan.py FASTSCHED
"""

import json
import math
import random
import subprocess
import sys

DECOMPOSES = ["auto", "compact", "openshop", "birkhoff", "best", "hierarchical", "spreadout"]
NUMBERS = ["lower_bound", "total", "efficiency", "plan_us", "mtm", "moved_gather", "moved_redistribute"]


class Wrong(Exception):
    pass


def demand(condition, text):
    if not condition:
        raise Wrong(text)


def div_up(a, b):
    return -(-a // b)


# ---- what is true of the traffic, whatever the plan ----


class Cluster:
    """Servers of consecutive ranks. A port has as many lanes as all servers' lanes are multiples of; where balance
    permutes lanes a server is one port, and a tile has the lanes that both servers have."""

    def __init__(self, sizes, max_lanes, permutes):
        self.n = len(sizes)
        self.lanes = [min(size, max_lanes) for size in sizes]
        width = max(self.lanes) if permutes else math.gcd(*self.lanes)
        self.ports = [max(1, lanes // width) for lanes in self.lanes]
        self.server = [u for u, size in enumerate(sizes) for _ in range(size)]

    def width(self, u, w):
        """Lanes of a transfer."""
        return min(self.lanes[u] // self.ports[u], self.lanes[w] // self.ports[w])

    def shares(self, u, w):
        """Do several pairs of ports share the bytes from u to w?"""
        return max(self.ports[u], self.ports[w]) > 1


def server_matrix(matrix, cluster):
    sums = [[0] * cluster.n for _ in range(cluster.n)]
    for i, row in enumerate(matrix):
        for j, count in enumerate(row):
            sums[cluster.server[i]][cluster.server[j]] += count
    return sums


def lower_bound(servers, lanes):
    n = len(servers)
    sent = [sum(row) - row[u] for u, row in enumerate(servers)]
    received = [sum(servers[u][w] for u in range(n)) - servers[w][w] for w in range(n)]
    return max(div_up(max(sent[u], received[u]), lanes[u]) for u in range(n))


def mtm(matrix, cluster):
    p, at = len(matrix), cluster.server
    inter = [[b if at[i] != at[j] else 0 for j, b in enumerate(row)] for i, row in enumerate(matrix)]
    sums = [sum(row) for row in inter] + [sum(row[j] for row in inter) for j in range(p)]
    total = sum(map(sum, inter))
    return 0 if total == 0 else p * max(sums) * 1000 // total / 1000


# ---- what is true of any schedule ----


def check_pairs(pairs, servers, cluster):
    """Every byte between servers is sent, once. Few bytes may not reach the last of a server's ports."""
    left = [row[:] for row in servers]
    for src, dst, count in pairs:
        possible = count > 0 or cluster.shares(src, dst)
        demand(src != dst and possible, f"a transfer of {count} bytes from {src} to {dst}")
        left[src][dst] -= count
    for u, row in enumerate(left):
        for w, count in enumerate(row):
            demand(u == w or count == 0, f"{count} bytes from {u} to {w} are missing")


def check_stages(plan, servers, cluster):
    pairs = []
    for k, stage in enumerate(plan["stages"]):
        demand(stage["bytes"] > 0 and stage["pairs"], f"stage {k} is empty")
        for side in (0, 1):
            ends = [pair[side] for pair in stage["pairs"]]
            for u in set(ends):
                demand(ends.count(u) <= cluster.ports[u], f"stage {k} has server {u} more often than it has ports")
        for src, dst, count in stage["pairs"]:
            demand(count <= stage["bytes"] * cluster.width(src, dst), f"stage {k} is too short for {src} to {dst}")
        pairs += stage["pairs"]
    check_pairs(pairs, servers, cluster)
    demand(sum(s["bytes"] for s in plan["stages"]) == plan["total"], "the stages do not add up to the total")


def most_at_once(transfers):
    """Transfers, of those given."""
    now = most = 0
    for _, change in sorted([(t["start"], 1) for t in transfers] + [(t["end"], -1) for t in transfers]):
        now += change
        most = max(most, now)
    return most


def check_transfers(plan, servers, cluster):
    transfers = plan["transfers"]
    check_pairs([(t["src"], t["dst"], t["bytes"]) for t in transfers], servers, cluster)
    for t in transfers:
        room = (t["end"] - t["start"]) * cluster.width(t["src"], t["dst"])
        demand(t["bytes"] <= room, f"{t} is too short")
    for side in ("src", "dst"):
        for u in range(cluster.n):
            most = most_at_once([t for t in transfers if t[side] == u])
            demand(most <= cluster.ports[u], f"{side} {u} is in {most} transfers at once")
    demand(max((t["end"] for t in transfers), default=0) == plan["total"], "the last end is not the total")


def check(plan, matrix, cluster, decompose):
    servers, lanes = server_matrix(matrix, cluster), cluster.lanes
    bound = lower_bound(servers, lanes)
    ratio = mtm(matrix, cluster)
    demand(plan["servers"] == cluster.n, f"{plan['servers']} servers")
    for key, each in (("lanes", lanes), ("ports", cluster.ports)):
        demand(plan[key] == (each[0] if len(set(each)) == 1 else each), f"{key} {plan[key]}")
    demand(all(isinstance(plan[k], (int, float)) for k in NUMBERS), "a number is missing")
    demand(decompose in ("auto", "best", plan["decompose"]), f"decomposed by {plan['decompose']}")
    demand(plan["lower_bound"] == bound, f"lower bound {plan['lower_bound']}, not {bound}")
    demand(abs(plan["mtm"] - ratio) < 1e-9, f"mtm {plan['mtm']}, not {ratio}")
    demand(plan["total"] >= bound, "faster than the bound")
    expected = bound / plan["total"] if plan["total"] else 1
    demand(abs(plan["efficiency"] - expected) < 1e-5, f"efficiency {plan['efficiency']}, not {expected}")
    demand(("transfers" in plan) == (plan["decompose"] == "openshop"), "stages or transfers")
    demand(("stages" in plan) != ("transfers" in plan), "stages and transfers")
    (check_stages if "stages" in plan else check_transfers)(plan, servers, cluster)


# ---- cases ----


def run_case(tool, rng, sizes, options, decompose):
    size = sum(sizes)
    most = rng.choice([1, 10, 10**6, 10**15])
    matrix = [[rng.randrange(most + 1) if rng.random() < 0.8 else 0 for _ in range(size)] for _ in range(size)]
    separator = rng.choice([" ", ",", "\t", ", "])
    text = "".join(separator.join(map(str, row)) + "\n" for row in matrix)
    command = [tool, "plan", "--format", "json", "--matrix", "-", *options]
    balance = rng.choice(["minmove", "equalize", "greedy", "rowcol"])
    permutes = balance == "rowcol" or decompose == "hierarchical"
    command += ["--decompose", decompose, "--balance", balance]
    max_lanes = int(options[-1]) if options[-2] == "--lanes" else size
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    try:
        demand(result.returncode == 0, f"exit status {result.returncode}: {result.stderr.strip()}")
        check(json.loads(result.stdout), matrix, Cluster(sizes, max_lanes, permutes), decompose)
    except Wrong as wrong:
        print(f"FAILED {' '.join(command)}\n{text}  {wrong}")
        return False
    return True


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rng = random.Random(1)
    sizes = [(n, m) for n in (1, 2, 3, 4, 5, 8, 13) for m in (1, 2, 3, 8)]
    clusters = [([m] * n, ["--servers", str(n), "--lanes", str(m)]) for n, m in sizes]
    for sizes in ([4, 4, 2, 1], [1, 3], [2, 1, 2, 7, 3]):
        shape = ["--servers", "+".join(map(str, sizes))]
        clusters += [(sizes, shape), (sizes, [*shape, "--lanes", "2"])]
    cases = [(*cluster, decompose) for cluster in clusters for decompose in DECOMPOSES]
    failed = sum(not run_case(sys.argv[1], rng, *case) for case in cases)
    print(f"{len(cases)} cases, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
