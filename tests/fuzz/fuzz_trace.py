#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fuzz the trace reader and all that "fastsched trace" makes of traces.

    fuzz_trace.py [SECONDS [SEED]]

Any text is the files of a directory, one behind the other with a form feed between them: those of
corpus/trace, as they are and mutated at random. They are refused with one line that says what is wrong, or
every call of theirs can be told. Without SECONDS: 10000 mutations.
"""
import contextlib
import io
import os
import random
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

from traces import TESTS, read  # only now it is there

from fastsched import stream  # likewise
from fastsched.failure import BAD, Failure  # likewise
from fastsched.trace import as_json, merge, picture, text  # likewise
from fastsched.trace.model import RECV, SEND  # likewise
from fastsched.trace.report import Report  # likewise

CORPUS = os.path.join(TESTS, "fuzz", "corpus", "trace")
MAX_FILES = 4
NUMBER = re.compile(rb"(?<=: )[0-9.]+")
PIECES = (
    b'"', b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\0", b"\f", b"\xff", b"-1", b"0", b"1e3", b"0.0005", b"null",
    b"18446744073709551615", b"18446744073709551616", b"9223372036854775.999", b'"call": 2', b'"rank": 1',
    b'"server": 1', b'"peer": 0', b'"count": 2', b'"cat": "wire"', b'"cat": "copy"', b'"name": "receive"',
)


def write_files(where, data):
    for name in os.listdir(where):
        os.unlink(os.path.join(where, name))
    for k, part in enumerate(data.split(b"\f", MAX_FILES - 1)):
        with open(os.path.join(where, f"fast-x-rank{k}.json"), "wb") as file:
            file.write(part)


def other_number(dice, data):
    """It may stay a trace: one number becomes another one."""
    place = dice.choice(list(NUMBER.finditer(data)) or [None])
    if place is None:
        return data
    near = int(place.group().split(b".")[0]) + dice.choice((-1, 1, 2, 1000))
    number = dice.choice((str(near), str(dice.randrange(4)), str(dice.randrange(1 << 20)), f"{near}.5", "1" * 19))
    return data[: place.start()] + number.encode() + data[place.end() :]


def mutated_once(dice, data):
    """A change of bytes, to something that JSON or traces know, of a piece to another's place."""
    at, end = sorted((dice.randrange(len(data) + 1), dice.randrange(len(data) + 1)))
    end = min(end, at + dice.choice((0, 1, 2, 5, 20, 200, 2000)))
    piece = dice.choice((b"", dice.choice(PIECES), data[at:end], bytes([dice.randrange(256)])))
    to = dice.choice((at, dice.randrange(len(data) + 1)))
    return data[:at] + data[end:] if piece == b"" else data[:to] + piece + data[max(to, end) :]


def other_lines(dice, data):
    """Events are left out, or come again."""
    lines = data.split(b"\n")
    at = dice.randrange(len(lines))
    return b"\n".join(lines[:at] + dice.choice(([], [lines[at]] * 2)) + lines[at + 1 :])


def mutated(dice, data):
    how = dice.choice((other_number, other_number, other_lines, mutated_once))
    for _ in range(dice.choice((1, 1, 2, 3, 8))):
        data = how(dice, data)
    return data


# ---- what must hold ----


def check_ends(trace, ops):
    for op in ops:
        assert op.rank < trace.n_ranks
        if op.other_end is not None:
            assert op.other_end.other_end is op and {op.kind, op.other_end.kind} == {SEND, RECV}
            assert (op.other_end.rank, op.other_end.peer) == (op.peer, op.rank)


def check_path(call, path):
    when = call.first_entry
    for hop in path.hops:
        assert hop.begin == when, "a gap in the path"
        when = hop.end
    assert not path.hops or when == call.end, "the path ends elsewhere"
    assert sum(path.share_ns.values()) == when - call.first_entry, "shares do not add up"


def tell(traces):
    for trace in traces:
        for number in trace.calls():
            report = Report(traces, trace, number, trace.rate)
            check_ends(trace, report.ops)
            check_path(report.call, report.path)
            for told in (text, as_json):
                told.write(io.StringIO(), report)
            picture.write(os.devnull, report)
    merge.write(os.devnull, traces)


def try_one(where, data):
    """True: it was told; else it was refused, in one line."""
    write_files(where, data)
    try:
        traces = read(where)
    except Failure as failure:
        why = str(failure)
        assert failure.code == BAD and why.startswith(f"{where}/fast-x-rank"), why
        assert why.isprintable() and len(why) < 400, why
        return False
    tell(traces)
    return True


def run(where, seconds, seed):
    dice, n_told, n_tried = random.Random(seed), 0, 0
    corpus = []
    for name in sorted(os.listdir(CORPUS)):
        with open(os.path.join(CORPUS, name), "rb") as file:
            corpus.append(file.read())
    end = None if seconds is None else time.monotonic() + seconds
    while n_tried < len(corpus) + 10000 if end is None else time.monotonic() < end:
        is_whole = n_tried < len(corpus)
        data = corpus[n_tried] if is_whole else mutated(dice, dice.choice(corpus))
        stream.BLOCK = 1 << 20 if is_whole else dice.choice((7, 300, 1 << 20))
        try:
            n_told += try_one(where, data)
        except BaseException:
            with open("fuzz_trace.failed", "wb") as file:
                file.write(data)
            print(f"seed {seed}, input {n_tried}: see fuzz_trace.failed", file=sys.stderr)
            raise
        n_tried += 1
    print(f"{n_tried} inputs, {n_told} told, {n_tried - n_told} refused")
    assert n_told > len(corpus) / 2 and n_tried - n_told > len(corpus)


def main(seconds=None, seed=1):
    with tempfile.TemporaryDirectory() as where, contextlib.redirect_stdout(sys.stderr):
        run(where, None if seconds is None else float(seconds), int(seed))


main(*sys.argv[1:])
