#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An archive of OTF2, as otf2-print shows it, beside the traces of which "fastsched trace --otf2" made it.

    check_otf2.py DIR ARCHIVE

Calls, phases, both ends of each message and copies: as many, with the same times, bytes and peers. Times count
from the first call of each communicator; the traces must have one clock. Of a NIC there is a region for each
message between servers.
"""
import collections
import glob
import json
import re
import subprocess
import sys

problems = []


def otf2_print(archive, *options):
    done = subprocess.run(
        ["otf2-print", "-Werror", *options, archive + "/traces.otf2"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0 or done.stderr:
        problems.append(f"otf2-print {options}: {done.returncode} {done.stderr}")
    return done.stdout


# ---- what the traces say: by location, {(time, what, ...): how often} ----


def ns(us):
    return round(us * 1000)


def events_of(events, base):
    """Yield (suffix of the location's name, event)."""
    for e in events:
        if "ts" not in e or e["cat"] not in ("call", "phase", "copy", "wire", "gather", "redist", "intra"):
            continue
        args, begin = e["args"], ns(e["ts"]) - base
        end = begin + ns(e.get("dur", 0))
        if e["cat"] in ("call", "phase"):
            ours = args["algorithm"] if "run" in args else "native"
            name = f"call, {ours}" if e["cat"] == "call" else e["name"]
            yield "", (begin, "ENTER", name)
            yield "", (end, "LEAVE", name)
        elif e["cat"] == "copy":
            name = "pack" if e["name"] in ("pack", "unpack") else "copy"
            yield " copies", (begin, "ENTER", name)
            yield " copies", (end, "LEAVE", name)
        elif e["name"].startswith("send"):
            yield "", (begin, "MPI_ISEND", args["peer"], args["bytes"])
            yield "", (end, "MPI_ISEND_COMPLETE")
        else:
            yield "", (begin, "MPI_IRECV_REQUEST")
            yield "", (end, "MPI_IRECV", args["peer"], args["bytes"])
        if e["cat"] == "wire":
            yield " sends to servers" if e["name"].startswith("send") else " receives from servers", None


def read_traces(directory):
    comms, ids = collections.defaultdict(list), collections.defaultdict(set)
    clocks = set()
    for name in glob.glob(directory + "/*.json"):
        with open(name, encoding="utf-8") as file:
            trace = json.load(file)
        head = trace["otherData"]
        comms[head["comm"], head["id"]].append((head["rank"], trace["traceEvents"]))
        ids[head["comm"]].add(head["id"])
        clocks.add(head["clock"])
    if len(clocks) != 1:
        problems.append(f"clocks: {clocks}")
    there, on_nics = collections.Counter(), collections.Counter()
    for (comm, id_), files in comms.items():
        name = comm if len(ids[comm]) == 1 else f"{comm} ({id_})"
        base = min(ns(e["ts"]) for _, events in files for e in events if e["cat"] == "call")
        for rank, events in files:
            for suffix, event in events_of(events, base):
                where = f"{name} rank {rank}{suffix}"
                if event is None:
                    on_nics[where] += 1
                else:
                    there[(where, *event)] += 1
    return there, on_nics


# ---- what otf2-print says ----


def locations(archive):
    text = otf2_print(archive, "-G")
    return dict(re.findall(r'^LOCATION +(\d+) +Name: "(.*?)" <', text, re.M))


def read_events(archive):
    """[(location's name, time, what, the rest)]"""
    names = locations(archive)
    events = re.findall(r"^([A-Z_]+) +(\d+) +(\d+)  (.*)$", otf2_print(archive), re.M)
    return [(names[location], int(time), what, more) for what, location, time, more in events]


def check_times(events):
    now = collections.Counter()
    for where, time, what, _ in events:
        if time < now[where]:
            problems.append(f"{where}: time goes back: {time} {what}")
        now[where] = time
    if min(time for _, time, _, _ in events) != 0:
        problems.append("no event is at 0")


def check_tags(messages):
    """Each tells which send belongs to which receive."""
    ends = {"MPI_ISEND": collections.Counter(), "MPI_IRECV": collections.Counter()}
    for what, where, peer, comm, tag in messages:
        here = int(where.rsplit(" ", 1)[1])
        ends[what][comm, tag, *((here, peer) if what == "MPI_ISEND" else (peer, here))] += 1
    if ends["MPI_ISEND"] != ends["MPI_IRECV"]:
        problems.append("tags do not tell which send belongs to which receive")


def read_archive(archive):
    events, messages = read_events(archive), []
    base = {}
    for where, time, _, _ in events:
        comm = where.rsplit(" rank ", 1)[0]
        base[comm] = min(time, base.get(comm, time))
    there, on_nics = collections.Counter(), collections.Counter()
    for where, time, what, more in events:
        event = (time - base[where.rsplit(" rank ", 1)[0]], what)
        if what in ("ENTER", "LEAVE"):
            event += (re.search('Region: "(.*)" <', more)[1],)
        elif what in ("MPI_ISEND", "MPI_IRECV"):
            found = re.search(r'(?:Receiver|Sender): (\d+).*Communicator: "(.*)" <.*Tag: (\d+), Length: (\d+)', more)
            event += (int(found[1]), int(found[4]))
            messages.append((what, where, int(found[1]), found[2], found[3]))
        if where.endswith(" servers"):
            on_nics[where] += what == "ENTER"
        else:
            there[(where, *event)] += 1
    check_times(events)
    check_tags(messages)
    return there, on_nics


def main(directory, archive):
    want, want_nics = read_traces(directory)
    have, have_nics = read_archive(archive)
    for what, events in (("missing", want - have), ("too much", have - want)):
        problems.extend(f"{what}: {event}" for event in sorted(events, key=str))
    if want_nics != have_nics:
        problems.append(f"NICs: {want_nics} in the traces, {have_nics} in the archive")
    for problem in problems[:20]:
        print(problem)
    print(f"{sum(have.values())} events, {sum(have_nics.values())} messages between servers at both ends")
    return len(problems) > 0 or not have


sys.exit(main(*sys.argv[1:]))
