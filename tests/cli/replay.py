#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Replay the programs of all ranks and prove that every byte arrives.

Knows the JSON of "fastsched program --rank all" and nothing else of fastsched:
no code is shared with what made it. A byte that rank s sends to rank d is known
by (s, d, its offset in the block); buffers hold such bytes, and the network
delivers in an order that a seed decides.

  replay.py FASTSCHED           the cases of "make check"
  replay.py FASTSCHED --more N  N random cases
"""

import json
import random
import subprocess
import sys


class Wrong(Exception):
    pass


# ---- one exchange ----


class Rank:
    """The program of one rank and its three buffers."""

    def __init__(self, program, row, column):
        self.id = program["rank"]
        self.ops = program["ops"]
        size = {b["name"]: b["bytes"] for b in program["buffers"]}
        if size["send"] != sum(row) or size["recv"] != sum(column):
            raise Wrong(f"rank {self.id}: buffers of {size}, but it sends {sum(row)} and receives {sum(column)} bytes")
        # A cell is the name of a byte, or None where nothing was written.
        self.buffers = {name: [None] * size[name] for name in ("recv", "staging")}
        self.buffers["send"] = [(self.id, d, k) for d, n in enumerate(row) for k in range(n)]
        self.expected = [(s, self.id, k) for s, n in enumerate(column) for k in range(n)]
        self.waits = []
        self.next = [[] for _ in self.ops]
        for i, op in enumerate(self.ops):
            if op["id"] != i:
                raise Wrong(f"rank {self.id}: operation {i} has id {op['id']}")
            self.waits.append(len(set(op["after"])))
            for before in set(op["after"]):
                if not 0 <= before < len(self.ops):
                    raise Wrong(f"rank {self.id}: operation {i} waits for {before}")
                self.next[before].append(i)

    def read(self, op):
        data = self.range(op, op["buffer"], op["offset"])
        if None in data:
            raise Wrong(f"rank {self.id}: operation {op['id']} reads bytes that nobody wrote")
        return data

    def range(self, op, buffer, offset):
        end = offset + op["length"]
        if op["length"] < 1 or offset < 0 or end > len(self.buffers[buffer]):
            raise Wrong(f"rank {self.id}: operation {op['id']} is outside the {buffer} buffer")
        return self.buffers[buffer][offset:end]

    def write(self, op, data):
        buffer, offset = op["to_buffer"], op["to_offset"]
        if buffer == "send":
            raise Wrong(f"rank {self.id}: operation {op['id']} writes into the send buffer")
        old = self.range(op, buffer, offset)
        if buffer == "recv" and any(byte is not None for byte in old):
            raise Wrong(f"rank {self.id}: operation {op['id']} overwrites bytes that have arrived")
        self.buffers[buffer][offset : offset + op["length"]] = data


class Exchange:
    """All ranks and the network between them.

    Every operation has two moments: it starts, once all it waits for is done,
    and it ends at some later time. A send or copy that has started may read its
    bytes at any time until it ends, and a receive or copy may write them; so
    what overlaps with a running operation, and is not only read by both, is a
    hazard, whatever the values turn out to be.
    """

    def __init__(self, programs, matrix, seed):
        self.random = random.Random(seed)
        n = len(matrix)
        if [p["rank"] for p in programs] != list(range(n)) or any(p["ranks"] != n for p in programs):
            raise Wrong("the programs are not those of ranks 0 to %d" % (n - 1))
        self.ranks = [Rank(p, matrix[p["rank"]], [row[p["rank"]] for row in matrix]) for p in programs]
        self.running = [{} for _ in self.ranks]  # by rank: id: [(writes, buffer, start, end)]
        self.sends = {}  # (from, to, tag): (rank, id) of a send that has started
        self.recvs = {}  # likewise a receive
        self.used = {"send": set(), "recv": set()}
        self.ready = [(r.id, i) for r in self.ranks for i, n in enumerate(r.waits) if n == 0]
        self.ending = []  # copies and messages under way
        self.left = sum(len(r.ops) for r in self.ranks)

    def places(self, op):
        places = []
        if op["kind"] in ("copy", "send"):
            places.append((False, op["buffer"], op["offset"], op["offset"] + op["length"]))
        if op["kind"] in ("copy", "recv"):
            places.append((True, op["to_buffer"], op["to_offset"], op["to_offset"] + op["length"]))
        return places

    def start(self, rank, i):
        op = self.ranks[rank].ops[i]
        mine = self.places(op)
        for other, places in self.running[rank].items():
            for writes, buffer, begin, end in places:
                for w, b, s, e in mine:
                    if (writes or w) and b == buffer and s < end and begin < e:
                        raise Wrong(f"rank {rank}: operations {other} and {i} use the same bytes of {b} at once")
        self.running[rank][i] = mine
        if op["kind"] == "copy":
            if op["peer"] is not None or op["tag"] is not None:
                raise Wrong(f"rank {rank}: copy {i} has a peer")
            self.ending.append(((rank, i), None))
            return
        self.post(rank, i, op)

    def post(self, rank, i, op):
        peer, tag, kind = op["peer"], op["tag"], op["kind"]
        if peer == rank or not 0 <= peer < len(self.ranks):
            raise Wrong(f"rank {rank}: operation {i} has peer {peer}")
        key = (rank, peer, tag) if kind == "send" else (peer, rank, tag)
        if key in self.used[kind]:
            raise Wrong(f"rank {rank}: a second {kind} with peer {peer} and tag {tag}")
        self.used[kind].add(key)
        (self.sends if kind == "send" else self.recvs)[key] = (rank, i)
        if key in self.sends and key in self.recvs:
            self.ending.append((self.sends.pop(key), self.recvs.pop(key)))

    def end(self, first, second):
        rank, i = first
        op = self.ranks[rank].ops[i]
        data = self.ranks[rank].read(op)
        if second is None:
            self.ranks[rank].write(op, data)
            self.done(rank, i)
            return
        to = self.ranks[second[0]].ops[second[1]]
        if to["length"] != op["length"]:
            raise Wrong(f"rank {rank} sends {op['length']} bytes to rank {second[0]}, which expects {to['length']}")
        self.ranks[second[0]].write(to, data)
        self.done(rank, i)
        self.done(*second)

    def done(self, rank, i):
        del self.running[rank][i]
        self.left -= 1
        for later in self.ranks[rank].next[i]:
            self.ranks[rank].waits[later] -= 1
            if self.ranks[rank].waits[later] == 0:
                self.ready.append((rank, later))

    def take(self, items):
        k = self.random.randrange(len(items))
        items[k], items[-1] = items[-1], items[k]
        return items.pop()

    def run(self):
        """Starts and ends in random order; now and then one kind comes first."""
        eager = self.random.random()
        while self.ready or self.ending:
            if self.ready and (not self.ending or self.random.random() < eager):
                self.start(*self.take(self.ready))
            else:
                self.end(*self.take(self.ending))
        if self.left > 0:
            raise Wrong(f"{self.left} operations wait for ever")
        for rank in self.ranks:
            if rank.buffers["recv"] != rank.expected:
                wrong = next(k for k, b in enumerate(rank.expected) if rank.buffers["recv"][k] != b)
                raise Wrong(
                    f"rank {rank.id}: byte {wrong} of its receive buffer is "
                    f"{rank.buffers['recv'][wrong]}, not {rank.expected[wrong]}"
                )


# ---- cases ----


def draw_matrix(rng, n, most):
    """Small counts of many shapes: zero rows, hot pairs, equal entries."""
    kind = rng.choice(["any", "equal", "sparse", "hot", "row", "column", "none"])
    matrix = [[rng.randrange(most + 1) for _ in range(n)] for _ in range(n)]
    if kind == "equal":
        matrix = [[most] * n for _ in range(n)]
    elif kind == "sparse":
        matrix = [[b if rng.random() < 0.2 else 0 for b in row] for row in matrix]
    elif kind == "hot":
        matrix[rng.randrange(n)][rng.randrange(n)] = 40 * most
    elif kind == "row":
        matrix = [row if r == n - 1 else [0] * n for r, row in enumerate(matrix)]
    elif kind == "column":
        matrix = [[b if d == 0 else 0 for d, b in enumerate(row)] for row in matrix]
    elif kind == "none":
        matrix = [[b if r // 2 == d // 2 else 0 for d, b in enumerate(row)] for r, row in enumerate(matrix)]
    return matrix


SHAPES = ["1", "2", "2x2", "3x2", "4x1", "4x4", "2x8", "5x3", "4+4+2+1", "1+3+2", "7+1", "@0,1,0,1", "@2,0,1,1,0,2,1"]
ALGORITHMS = ["staged", "pipe2d", "direct"]
BALANCES = ["minmove", "equalize", "greedy", "rowcol"]
DECOMPOSES = ["auto", "compact", "openshop", "birkhoff", "best", "hierarchical", "spreadout"]


def n_ranks(shape):
    if shape[0] == "@":
        return len(shape.split(","))
    if "x" in shape:
        servers, ranks = shape.split("x")
        return int(servers) * int(ranks)
    return sum(map(int, shape.split("+")))


def options_of(rng, shape, algorithm):
    chunk = rng.choice([1, 7, 64, 1000, 1 << 20])
    options = ["--servers", shape, "--algorithm", algorithm, "--chunk", str(chunk)]
    options += ["--balance", rng.choice(BALANCES), "--decompose", rng.choice(DECOMPOSES)]
    options += ["--window", str(rng.randrange(1, 5))]
    if rng.random() < 0.5:  # the least staging that is allowed
        options += ["--staging-limit", str(12 * chunk)]
    if rng.random() < 0.3:
        options += ["--lanes", str(rng.randrange(1, 4))]
    return options


def most_bytes(rng, n, chunk):
    """Of a pair of ranks: so that a pair has several messages and a case is quick."""
    return rng.choice([3, min(6 * chunk, 1500 if n < 9 else 300)])


def run_tool(command, text):
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise Wrong(f"exit status {result.returncode}: {result.stderr.strip()}")
    return json.loads(result.stdout)


def run_case(tool, seed, shape, algorithm):
    rng = random.Random(seed)
    options = options_of(rng, shape, algorithm)
    n = n_ranks(shape)
    matrix = draw_matrix(rng, n, most_bytes(rng, n, int(options[5])))
    text = "\n".join(" ".join(map(str, row)) for row in matrix)
    command = [tool, "program", "--rank", "all", "--matrix", "-", *options]
    if rng.random() < 0.5:
        command.append("--verify")
    try:
        programs = run_tool(command, text)
        for order in range(2):
            Exchange(programs, matrix, 1000 * seed + order).run()
    except Wrong as wrong:
        print(f"FAILED seed {seed}: {' '.join(command)}\n{text}\n  {wrong}")
        return False
    return True


# ---- the replay itself: it must notice what is broken ----


def breakages(rng, programs):
    """Each breaks one operation, and says how."""

    def some(test):
        return rng.choice([op for p in programs for op in p["ops"] if test(op)])

    def shift(op):
        op["to_offset"] += 1

    def cut(op):
        op["length"] -= 1

    def retag(op):
        op["tag"] += 1

    def loop(op):
        op["after"].append(op["id"])

    def drop_waits(op):
        op["after"] = []

    yield "a receive lands one byte late", shift, some(lambda op: op["kind"] == "recv")
    yield "a copy is a byte short", cut, some(lambda op: op["kind"] == "copy" and op["length"] > 1)
    yield "a send has another tag", retag, some(lambda op: op["kind"] == "send")
    yield "an operation waits for itself", loop, some(lambda op: True)
    yield "a send from staging waits for nothing", drop_waits, some(
        lambda op: op["kind"] == "send" and op["buffer"] == "staging"
    )


def notices(tool, seed):
    rng = random.Random(seed)
    matrix = draw_matrix(random.Random(1), 9, 50)
    text = "\n".join(" ".join(map(str, row)) for row in matrix)
    command = [tool, "program", "--rank", "all", "--matrix", "-", "--servers", "3x3", "--chunk", "16"]
    command += ["--algorithm", "staged"]
    programs = run_tool(command, text)
    failed = 0
    for k in range(5):
        broken = json.loads(json.dumps(programs))
        how, breaks, op = list(breakages(rng, broken))[k]
        breaks(op)
        noticed = 0
        for order in range(10):
            try:
                Exchange(broken, matrix, order).run()
            except Wrong:
                noticed += 1
        if noticed == 0:
            print(f"NOT NOTICED: {how} (seed {seed})")
            failed += 1
    return failed == 0


def main():
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    tool, failed = sys.argv[1], 0
    if len(sys.argv) == 4:
        rng = random.Random(int(sys.argv[3]))
        cases = [(rng.choice(SHAPES), rng.choice(ALGORITHMS)) for _ in range(int(sys.argv[3]))]
    else:
        cases = [(s, a) for _ in range(2) for s in SHAPES for a in ALGORITHMS]
    if not notices(tool, len(cases)):
        sys.exit(1)
    for seed, case in enumerate(cases):
        failed += not run_case(tool, seed, *case)
    print(f"{len(cases)} cases, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
