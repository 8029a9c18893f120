#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Traces of a job, checked as any JSON reader sees them.

    check_trace.py DIR PROCESSES [MERGED REPORT]

Every file is JSON; every receive has its send and every send its receive, equal in bytes and earlier; no
message between servers before its grant; what crosses servers adds up to what the calls say. MERGED and
REPORT are what "fastsched trace --output" and "--format json" have made of them.
"""
import collections
import glob
import json
import sys

problems = []


def complain(text):
    problems.append(text)


def read(name):
    with open(name, encoding="utf-8") as file:
        trace = json.load(file)
    head = trace["otherData"]
    if head["format"] != "fastsched trace 1" or head["dropped"] != 0:
        complain(f"{name}: {head}")
    return head, trace["traceEvents"]


def check_spans(name, events):
    """Spans of one row do not overlap, unless one lies in the other."""
    rows = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            rows[event["pid"], event["tid"]].append((event["ts"], -event.get("dur", 0)))
    for row, spans in rows.items():
        open_ends = []
        for begin, dur in sorted(spans):
            while open_ends and open_ends[-1] <= begin + 0.0005:
                open_ends.pop()
            if open_ends and begin - dur > open_ends[-1] + 0.0005:
                complain(f"{name}: row {row}: spans overlap at {begin}")
            open_ends.append(begin - dur)


def check_comm(files):
    calls, sends, recvs = {}, {}, {}
    given, granted = {}, {}
    wire = collections.Counter()
    for head, events in files:
        rank = head["rank"]
        for e in events:
            a = e.get("args", {})
            if e["cat"] == "call":
                calls.setdefault(a["call"], []).append(a)
            elif e["cat"] in ("wire", "gather", "redist", "intra"):
                sends_it = e["name"].startswith("send")
                ends = (rank, a["peer"]) if sends_it else (a["peer"], rank)
                key = (a["call"], e["cat"], *ends, a["count"])
                table = sends if sends_it else recvs
                if key in table:
                    complain(f"twice: {key}")
                table[key] = e
                if sends_it and e["cat"] == "wire":
                    wire[a["call"]] += a["bytes"]
                if a["ready"] > e["ts"]:
                    complain(f"posted before it was ready: {key}")
            elif e["cat"] == "grant":
                to = e["name"].startswith("grant to")
                key = (rank, a["peer"]) if to else (a["peer"], rank)
                (given if to else granted).setdefault(key, []).append((a["count"], e["ts"]))
    if sends.keys() != recvs.keys():
        complain(f"messages with one end: {len(sends.keys() ^ recvs.keys())}")
    for key in sends.keys() & recvs.keys():
        s, r = sends[key], recvs[key]
        if s["args"]["bytes"] != r["args"]["bytes"]:
            complain(f"bytes differ: {key}")
        if s["ts"] > r["ts"] + r["dur"]:
            complain(f"received before it was sent: {key}")
        if key[1] == "wire":
            first = [t for c, t in granted.get((key[3], key[2]), []) if c >= key[4]]
            if not first or min(first) > s["ts"]:
                complain(f"sent before it was granted: {key}")
    for pair, list_ in granted.items():
        for count, time in list_:
            if not any(c == count and t <= time for c, t in given.get(pair, [])):
                complain(f"a grant that nobody gave: {pair} {count}")
    for call, each in calls.items():
        if len(each) != files[0][0]["ranks"]:
            complain(f"call {call} is in {len(each)} traces")
        ran = "run" in each[0]
        if wire[call] != (each[0]["bytes"] if ran else 0):
            complain(f"call {call}: {wire[call]} bytes on the wire, {each[0]['bytes']} between servers")
    return len(sends)


def check_report(name, n_comms):
    with open(name, encoding="utf-8") as file:
        report = json.load(file)
    detail = report["detail"]
    if len(report["communicators"]) != n_comms:
        complain(f"{name}: {len(report['communicators'])} communicators instead of {n_comms}")
    if detail["unmatched"] != 0 or any(c["missing_ranks"] for c in report["communicators"]):
        complain(f"{name}: something is missing")
    time = detail["first_entry_ns"]
    for hop in detail["path"]:
        if hop["begin_ns"] != time:
            complain(f"{name}: the path has a gap at {time}")
        time = hop["end_ns"]
    if time != detail["end_ns"] or sum(detail["share_ns"].values()) != time - detail["first_entry_ns"]:
        complain(f"{name}: the path does not end with the call")
    if detail["algorithm"] == "staged" and sum(s["sent"] for s in detail["steps"]) != detail["bytes"]:
        complain(f"{name}: the steps do not add up to the call")


def check_merged(name, n_processes, n_messages):
    with open(name, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    if min(e["ts"] for e in events if "ts" in e) < 0:
        complain(f"{name}: a time before 0")
    if len({e["pid"] for e in events}) != n_processes:
        complain(f"{name}: not {n_processes} processes")
    check_spans(name, events)
    arrows = collections.Counter(e["ph"] for e in events if e["cat"] == "arrow")
    if arrows["s"] != n_messages or arrows["f"] != n_messages:
        complain(f"{name}: {arrows} for {n_messages} messages")


def main(directory, n_processes, merged=None, report=None):
    comms = collections.defaultdict(list)
    names = glob.glob(directory + "/*")
    for name in names:
        head, events = read(name)
        check_spans(name, events)
        comms[head["id"]].append((head, events))
    processes = {(head["clock"], head["process"]) for files in comms.values() for head, _ in files}
    if len(processes) != int(n_processes):
        complain(f"{len(processes)} processes instead of {n_processes}")
    n_messages = sum(check_comm(files) for files in comms.values())
    if n_messages == 0:
        complain("no messages")
    if merged is not None:
        check_merged(merged, len(processes), n_messages)
    if report is not None:
        check_report(report, len(comms))
    for problem in problems[:20]:
        print(problem)
    return len(problems) > 0


sys.exit(main(*sys.argv[1:]))
