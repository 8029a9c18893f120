# SPDX-License-Identifier: BSD-3-Clause
"""The files of a directory, by communicator."""
import fnmatch
import os

from ..failure import bad
from ..stream import Document
from .events import U64, Events, Wrong, number, number_or, text, text_or
from .model import NONE, Clock, Rank, Trace

NAMES = "fast-*-rank*.json"  # as fs_trace.c calls them
FORMAT = "fastsched trace 1"
MAX_RANKS = 1 << 16


def open_text(path):
    """Bytes that are no UTF-8 come out as they went in."""
    return open(path, encoding="utf-8", errors="surrogateescape", newline="")


def members(document):
    """Yield ("otherData", the head) and ("traceEvents", an event): objects."""
    for name, value in document.members("traceEvents"):
        if name in ("otherData", "traceEvents"):
            if not isinstance(value, dict):
                raise document.wrong("not an object")
            yield name, value


def _checked(document, read, *args):
    """read(*args), whose complaints get file and line."""
    try:
        return read(*args)
    except Wrong as wrong:
        why = str(wrong)
        raise document.wrong(why if " " in why else f"wrong or missing: {why}") from None


# ---- the head: whose trace it is ----


def _start_trace(head, id_):
    """The first file of a communicator."""
    comm = text(head, "comm")
    n_ranks = number(head, "ranks", MAX_RANKS)
    n_servers = number(head, "servers", n_ranks)
    if n_servers == 0:
        raise Wrong("ranks")
    return Trace(comm, id_, n_ranks, n_servers)


def _find_clock(trace, head):
    name = text(head, "clock")
    if name not in trace.clocks:
        shift = number(head, "epoch_ns", U64)
        # Modulo 2^64: a clock may be ahead of the time of day.
        trace.clocks[name] = Clock(name, shift - (U64 + 1) if shift >> 63 else shift)
    return trace.clocks[name]


def _read_head(head, path, traces):
    if head.get("format") != FORMAT:
        raise Wrong(f'the format is not "{FORMAT}"')
    id_ = text(head, "id")
    trace = traces.get(id_) or _start_trace(head, id_)
    traces[id_] = trace
    rank = number(head, "rank", trace.n_ranks - 1)
    if rank in trace.ranks:
        raise Wrong("another file has the same rank of this communicator")
    lane = number_or(head, "lane", NONE)
    trace.ranks[rank] = Rank(
        world_rank=number(head, "world_rank", (1 << 31) - 1),
        process=text_or(head, "process", ""),
        server=number(head, "server", trace.n_servers - 1),
        lane=lane if lane < NONE else None,
        clock=_find_clock(trace, head),
        dropped=number(head, "dropped", U64),
        path=path,
    )
    trace.rate = trace.rate or number(head, "rate", U64)
    return trace, rank


# ---- files ----


def _find_head(file, path, traces):
    """It may come behind the events, which have to wait for it."""
    document = Document(file, path)
    for name, value in members(document):
        if name == "otherData":
            return _checked(document, _read_head, value, path, traces)
    raise bad(f"{path}:1: not a trace of coll_fast")


def _read_file(path, traces):
    try:
        with open_text(path) as file:
            trace, rank = _find_head(file, path, traces)
            file.seek(0)
            document = Document(file, path)
            events = Events(trace, rank)
            for name, value in members(document):
                if name == "traceEvents":
                    _checked(document, events.add, value)
            if not document.has_list:
                raise bad(f"{path}:1: not a trace of coll_fast")
    except OSError as error:
        raise bad(f"{path}: {error.strerror}") from None


# ---- processes ----


def _number_processes(traces):
    """World ranks are those numbers as long as they can: not after MPI_Comm_spawn(), and not if two jobs
    have written into the directory."""
    ranks = [rank for trace in traces for rank in trace.ranks.values()]
    processes = sorted({(rank.world_rank, rank.clock.name, rank.process) for rank in ranks})
    others = max(rank.world_rank for rank in ranks) + 1
    numbers, taken = {}, set()
    for process in processes:
        if process[0] in taken:
            numbers[process] = others
            others += 1
        else:
            numbers[process] = process[0]
            taken.add(process[0])
    for rank in ranks:
        rank.number = numbers[rank.world_rank, rank.clock.name, rank.process]


def read(directory):
    """The traces of all communicators of a directory: a list."""
    try:
        names = sorted(fnmatch.filter(os.listdir(directory), NAMES))
    except OSError as error:
        raise bad(f"{directory}: {error.strerror}") from None
    if not names:
        raise bad(f"{directory}: no traces; their names are {NAMES}")
    traces = {}
    for name in names:
        _read_file(f"{directory}/{name}", traces)
    _number_processes(traces.values())
    return list(traces.values())
