# SPDX-License-Identifier: BSD-3-Clause
"""Traces as an archive of the Open Trace Format 2, for otf2-print, Vampir and other tools that read it.

    node             a server
    location group   a process
    location         a rank of a communicator: calls and their phases are regions, messages are MPI_Isend and
                     MPI_Irecv with their completions
    more locations   what goes on beside that: what the rank's NIC sends, what it receives, a region for each
                     message between servers, by its step; and its copies

The module otf2 comes with OTF2. Nothing else of the command needs it.
"""
import os
import sys

from ..failure import failed, shown
from . import nic, steps
from .model import COPIES, COPY, PACKS, RECV, SEND

MOST_TAG = 0xFFFFFFFF
CHUNK = 1 << 18  # bytes, the least that OTF2 allows: each location has one


def load():
    """The module otf2, and the errors that it raises."""
    try:
        import _otf2  # which is below it
        import otf2
    except (ImportError, OSError) as error:  # or the library that it opens is not there
        raise failed(
            f"fastsched trace --otf2 needs the module otf2 for {sys.executable}: {shown(str(error))} "
            "(Debian: python3-otf2)"
        ) from None
    return otf2, (otf2.error.Error, _otf2.Error)


class Track:
    """A location. Its times must not go back."""

    def __init__(self, archive, name, group):
        definitions = archive.definitions
        # Not location(): that finds the first one of a name.
        self.location = definitions.locations.create(name, group=group)
        self.writer = archive.event_writer_from_location(self.location)
        self.now = 0

    def at(self, time):
        """The time of the next event."""
        self.now = max(self.now, time)
        return self.now

    def span(self, region, begin, end):
        """A region without others in it."""
        self.writer.enter(self.at(begin), region)
        self.writer.leave(self.at(end), region)


class RankTracks:
    """The locations of a rank."""

    def __init__(self, archive, name, group):
        self.archive, self.name, self.group = archive, name, group
        self.main = Track(archive, name, group)
        self.more = {}
        self.busy = {SEND: 0, RECV: 0}  # until when its NIC is
        self.requests = 0

    def beside(self, what, key):
        """One more, made when it is needed first."""
        if key not in self.more:
            self.more[key] = Track(self.archive, f"{self.name} {what}", self.group)
        return self.more[key]


class Converter:
    """Writes one communicator. Times are nanoseconds from the first entry into any call: `later` is how much
    later than that the communicator's own first one is."""

    def __init__(self, otf2, archive, trace, name, later):
        self.archive, self.trace, self.name, self.later = archive, trace, name, later
        self.region_of = archive.definitions.region
        self.mpi = otf2.Paradigm.MPI
        self.collective = otf2.RegionRole.COLL_ALL2ALL
        self.transfer = otf2.RegionRole.DATA_TRANSFER
        self.comm = None  # known when all locations are
        self.tracks = []

    def add_ranks(self, groups):
        """A location for each rank, also of those whose files are missing."""
        for rank in range(self.trace.n_ranks):
            name = f"{self.name} rank {rank}"
            self.tracks.append(RankTracks(self.archive, name, groups.of(self.trace, rank, name)))

    def locations(self):
        """Those that messages name."""
        return tuple(track.main.location for track in self.tracks)

    # ---- calls and their phases ----

    def regions_of(self, part, phases):
        """Yield (time, function, arguments)."""
        writer = self.tracks[part.rank].main.writer
        algorithm = shown(part.algorithm) if part.run else "native"
        call = self.region_of(f"call, {algorithm}", region_role=self.collective, paradigm=self.mpi)
        yield part.begin, writer.enter, (call,)
        for phase in phases:
            region = self.region_of(shown(phase.name), paradigm=self.mpi)
            yield phase.begin, writer.enter, (region,)
            yield phase.end, writer.leave, (region,)
        yield part.end, writer.leave, (call,)

    # ---- messages ----

    def message(self, op):
        """Yield (time, function, arguments) of its two ends. The tag tells the messages of two ranks apart."""
        track = self.tracks[op.rank]
        writer = track.main.writer
        request, tag = track.requests, (op.count << 2 | op.channel) & MOST_TAG
        track.requests += 1
        if op.kind == SEND:
            yield op.post, writer.mpi_isend, (op.peer, self.comm, tag, op.bytes, request)
            yield op.end, writer.mpi_isend_complete, (request,)
        else:
            yield op.post, writer.mpi_irecv_request, (request,)
            yield op.end, writer.mpi_irecv, (op.peer, self.comm, tag, op.bytes, request)

    def put_main(self, part, phases, ops):
        """A call of a rank. Sorting keeps the order of what has the same time."""
        events = list(self.regions_of(part, phases))
        for op in ops:
            if op.kind != COPY:
                events.extend(self.message(op))
        events.sort(key=lambda event: event[0])
        main = self.tracks[part.rank].main
        for time, write, arguments in events:
            write(main.at(time + self.later), *arguments)

    # ---- beside it ----

    def put_nic(self, rank, ops, kind, number_of):
        """What the rank's NIC sends or receives."""
        tracks = self.tracks[rank]
        for op, start, stop in nic.work(ops, kind, tracks.busy[kind]):
            tracks.busy[kind] = max(start, stop)
            name = "message" if op.step is None else f"step {number_of[op.step]}"
            region = self.region_of(name, region_role=self.transfer)
            track = tracks.beside("sends to servers" if kind == SEND else "receives from servers", kind)
            track.span(region, start + self.later, stop + self.later)

    def put_copies(self, rank, ops):
        """Spans of one row do not overlap."""
        names = {COPIES: "copy", PACKS: "pack"}
        for op in sorted((op for op in ops if op.kind == COPY), key=lambda op: op.post):
            track = self.tracks[rank].beside("copies", ("copies", op.row))
            track.span(self.region_of(names[op.channel]), op.post + self.later, op.end + self.later)

    def put_call(self, number):
        """A call of all ranks."""
        ops = self.trace.ops_of(number)
        number_of = {step: k for k, step in enumerate(steps.find(self.trace, number, ops))}
        of_rank = {}
        for op in ops:
            of_rank.setdefault(op.rank, []).append(op)
        phases = self.trace.phases.get(number, ())
        for part in self.trace.parts[number]:
            mine = of_rank.get(part.rank, [])
            self.put_main(part, [phase for phase in phases if phase.rank == part.rank], mine)
            for kind in (SEND, RECV):
                self.put_nic(part.rank, mine, kind, number_of)
            self.put_copies(part.rank, mine)


class Groups:
    """The nodes and location groups of an archive."""

    def __init__(self, definitions):
        self.definitions = definitions
        self.top = definitions.system_tree_node("job", class_name="machine")
        self.known = {}  # by process

    def of(self, trace, rank, name):
        """The group of a rank's process. It is on the server that its first communicator says."""
        there = trace.ranks.get(rank)
        if there is None:
            return self.definitions.location_group(f"{name}, no file", system_tree_parent=self.top)
        if there.number not in self.known:
            node = self.definitions.system_tree_node(
                f"server {there.server}", class_name="node", parent=self.top
            )
            self.known[there.number] = self.definitions.location_group(
                f"process {there.number}", system_tree_parent=node
            )
        return self.known[there.number]


def _add_comms(otf2, definitions, converters):
    """Messages name ranks of communicators, these are groups of what is in the list of all."""
    everything = tuple(location for converter in converters for location in converter.locations())
    definitions.group(
        "locations", group_type=otf2.GroupType.COMM_LOCATIONS, paradigm=otf2.Paradigm.MPI, members=everything
    )
    for converter in converters:
        group = definitions.groups.create(
            converter.name, group_type=otf2.GroupType.COMM_GROUP, paradigm=otf2.Paradigm.MPI,
            members=converter.locations(),
        )
        converter.comm = definitions.comm(converter.name, group=group)


def _name(trace, traces):
    """Of a communicator, its id behind it if others have the same."""
    name = shown(trace.comm) or "communicator"
    return name if sum(other.comm == trace.comm for other in traces) == 1 else f"{name} ({shown(trace.id)})"


def _fill(otf2, archive, traces):
    base = min(trace.base for trace in traces)  # the earliest time of all communicators
    largest_first = sorted(traces, key=lambda trace: (-trace.n_ranks, trace.id))
    groups = Groups(archive.definitions)
    converters = [
        Converter(otf2, archive, trace, _name(trace, traces), trace.base - base) for trace in largest_first
    ]
    for converter in converters:
        converter.add_ranks(groups)
    _add_comms(otf2, archive.definitions, converters)
    for converter in converters:
        for number in converter.trace.calls():
            converter.put_call(number)


def write(loaded, path, traces):
    """Make the directory and fill it. OTF2 tells on stderr what it cannot do, then comes our line."""
    otf2, errors = loaded
    try:
        os.mkdir(path)
    except OSError as error:
        raise failed(f"{path}: {error.strerror}") from None
    try:
        with otf2.writer.open(path, timer_resolution=1000000000, chunk_size_events=CHUNK) as archive:
            archive.creator = "fastsched trace"
            _fill(otf2, archive, traces)
    except errors as error:
        sys.unraisablehook = lambda _: None  # the archive would fail once more when it is forgotten
        raise failed(f"{path}: {shown(str(error))}") from None
