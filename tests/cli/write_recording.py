#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a recording as fastsched(1), RECORDINGS, describes it, for tests of what reads them.

    write_recording.py DIR NAME RANKS SERVERS CALL...

RANKS, SERVERS: with commas, of each rank that in MPI_COMM_WORLD, and its server. CALL: FUNCTION:FILE, one a second,
with the index of the function; FILE has the bytes, a line for each sender.
"""
import os
import sys


def number(value):
    """7 bits in a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tokens(row):
    """Each value as the difference from the one before; equal ones as one token."""
    out, before, at = b"", 0, 0
    while at < len(row):
        times = 0
        while at + times < len(row) and row[at + times] == before:
            times += 1
        if times:
            out += number((times - 1) * 2 + 1)
            at += times
            continue
        difference = row[at] - before
        out += number(difference * 4 if difference >= 0 else (-2 * difference - 1) * 2)
        before = row[at]
        at += 1
    return out


def events(calls, rank):
    """The calls of one rank, and the end."""
    out, rows = b"", []
    for function, matrix in calls:
        out += number(int(function) * 4) + number(1000000)
        row = matrix[rank]
        if row in rows:
            out += number(len(rows) - rows.index(row))
        else:
            out += number(0) + tokens(row)
            rows.append(row)
    return out + number(3) + number(0)


def main(path, name, ranks, servers, *calls):
    """One communicator."""
    ranks, servers = (text.split(",") for text in (ranks, servers))
    read = []
    for call in calls:
        function, file = call.split(":")
        with open(file, encoding="ascii") as lines:
            read.append((function, [[int(float(word)) for word in line.split()] for line in lines]))
    where = os.path.join(path, f"{name}-1")
    os.makedirs(where)
    for rank, (world, server) in enumerate(zip(ranks, servers)):
        head = f"rank={rank} ranks={len(ranks)} world_rank={world} server={server} start_us=1 name={name}"
        with open(os.path.join(where, f"rank{rank}.record"), "wb") as file:
            file.write(f"fastsched recording 1 id=1 {head}\n".encode() + events(read, rank))


main(*sys.argv[1:])
