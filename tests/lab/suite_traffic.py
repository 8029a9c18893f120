# SPDX-License-Identifier: BSD-3-Clause
"""Matrices that programs really made: read, folded onto fewer ranks, scaled.

Imported by suite. A matrix is a list of rows of bytes, [source][destination].

  NAME.txt, NAME.txt.gz   text as osu_alltoallv_skew -p file: takes it
  wrf.dat.gz              calls of WRF's output, as published in wkliao/mpi-io-examples: 32-bit numbers; ranks, calls,
                          the length of each rank's part, then the parts: how many peers in each call, and for each
                          call peers and bytes, of what is sent and then of what is received"""

import array
import gzip
import pathlib


def parse(text):
    rows = []
    for line in text.splitlines():
        words = line.partition("#")[0].replace(",", " ").split()
        if words:
            rows.append([int(word) for word in words])
    return rows


def wrf_calls(path):
    """One call after the other, {(source, destination): bytes}; and the ranks."""
    data = array.array("i", gzip.decompress(path.read_bytes()))
    n_ranks, n_calls = data[0], data[1]
    calls = [{} for _ in range(n_calls)]
    start = 2 + n_ranks
    for rank in range(n_ranks):
        at = start + n_calls
        for call, n_peers in enumerate(data[start:at]):
            peers, amounts = data[at:at + n_peers], data[at + n_peers:at + 2 * n_peers]
            for peer, amount in zip(peers, amounts):
                calls[call][rank, peer] = calls[call].get((rank, peer), 0) + amount
            at += 2 * n_peers
        start += data[2 + rank]
    return calls, n_ranks


def dense(calls, n_ranks):
    matrix = [[0] * n_ranks for _ in range(n_ranks)]
    for call in calls:
        for (source, destination), amount in call.items():
            matrix[source][destination] += amount
    return matrix


def read_wrf(path):
    calls, n_ranks = wrf_calls(path)
    largest = max(calls, key=lambda call: sum(call.values()))
    return {"wrf (all calls)": dense(calls, n_ranks), "wrf (largest call)": dense([largest], n_ranks)}


def read_all(directories):
    """{name: matrix} of what is there, in the order of directories and names."""
    matrices = {}
    for directory in map(pathlib.Path, directories):
        for path in sorted(directory.iterdir()):
            if path.name == "wrf.dat.gz":
                matrices |= read_wrf(path)
            elif path.name.endswith(".txt.gz"):
                matrices[path.name[:-7]] = parse(gzip.decompress(path.read_bytes()).decode())
            elif path.suffix == ".txt":
                matrices[path.stem] = parse(path.read_text(encoding="utf-8"))
    return matrices


def fold(matrix, n_ranks):
    """Neighbours become one rank, as evenly as it goes; what they send each other it sends itself."""
    n = len(matrix)
    folded = [[0] * n_ranks for _ in range(n_ranks)]
    for source, row in enumerate(matrix):
        to = folded[source * n_ranks // n]
        for destination, amount in enumerate(row):
            to[destination * n_ranks // n] += amount
    return folded


def bytes_per_nic(matrix, sizes, nics):
    """Of the busiest server, sent or received. sizes: ranks of each server; nics of each, 0: one per rank."""
    server = [u for u, size in enumerate(sizes) for _ in range(size)]
    sent, received = [0] * len(sizes), [0] * len(sizes)
    for source, row in enumerate(matrix):
        for destination, amount in enumerate(row):
            if server[source] != server[destination]:
                sent[server[source]] += amount
                received[server[destination]] += amount
    return max(max(s, r) / min(size, nics or size) for s, r, size in zip(sent, received, sizes))


def reduce(matrix, sizes, nics, goal_bytes):
    """For a lab: (matrix, what was done, in words). Scaled so that the busiest NIC has goal_bytes."""
    n, n_ranks = len(matrix), sum(sizes)
    done = "as recorded"
    if n < n_ranks:
        raise ValueError(f"a matrix of {n} ranks for {n_ranks}")
    if n > n_ranks:
        matrix, done = fold(matrix, n_ranks), f"{n} ranks folded onto {n_ranks}"
    most = bytes_per_nic(matrix, sizes, nics)
    if most > 0:
        factor = goal_bytes / most
        matrix = [[round(amount * factor) for amount in row] for row in matrix]
        done += f", bytes x {factor:.3g}"
    return matrix, done


def write(matrix, path, comment):
    text = [f"# {comment}", *(" ".join(map(str, row)) for row in matrix), ""]
    path.write_text("\n".join(text), encoding="utf-8")
