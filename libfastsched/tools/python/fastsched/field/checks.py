# SPDX-License-Identifier: BSD-3-Clause
"""Checks, before anything is measured, that the measurement would mean something."""
import json
import os
import re

from ..failure import failed
from .launch import run, why
from .settings import EAGER, FAST
from .tables import median

_TRIAL_S = 120  # what a check may take
_MARK = "fastsched-field-probe"
_PROBE = os.path.join(os.path.dirname(__file__), "probe.sh")


def _nics(text):
    """{name: Mbit/s or None}; what has no rate says -1 or nothing."""
    pairs = [word.partition("=") for word in text.split(",") if word]
    return {name: int(mbit) if re.fullmatch(r"[1-9]\d*", mbit) else None for name, _, mbit in pairs}


def parse_probe(text):
    """What each rank said, by rank."""
    ranks = {}
    for line in text.splitlines():
        words = line.partition(_MARK)[2].split("\t")[1:]
        if len(words) == 8 and re.fullmatch(r"\d+", words[0]):
            keys = ("host", "version", "cpus", "kernel", "cuda", "rocm", "nics")
            ranks[int(words[0])] = dict(zip(keys, words[1:]))
    return [ranks[k] for k in sorted(ranks)]


def check_versions(ranks):
    """The version, of all servers. What their libraries say of theirs, try_fast sees."""
    found = {}
    for rank in ranks:
        found.setdefault(rank["version"], rank["host"])
    if len(found) != 1 or not re.fullmatch(r"fastsched \d\S*", rank["version"]):
        told = ", ".join(f"{version} on {host}" for version, host in found.items())
        raise failed(f"the servers do not have the same fastsched: {told}; install the same version on all, in the "
                     "same directory")
    return next(iter(found))


def check_places(ranks, servers):
    """Is every server there, with its ranks, one server after the other? Host files and servers may use different
    names, so only numbers count."""
    asked = [server.ranks for server in servers]
    if len(ranks) != sum(asked):
        raise failed(f"{len(ranks)} of {sum(asked)} ranks answered")
    runs = []
    for rank in ranks:
        if runs and runs[-1][0] == rank["host"]:
            runs[-1][1] += 1
        else:
            runs.append([rank["host"], 1])
    told = ", ".join(f"{n} on {host}" for host, n in runs[:8]) + (", ..." if len(runs) > 8 else "")
    if len({host for host, _ in runs}) < 2:
        raise failed(f"all {len(ranks)} ranks are on {runs[0][0]}; at least two servers are needed")
    if [n for _, n in runs] != asked:
        raise failed(f"ranks are not where they should be: asked for {'+'.join(map(str, asked))}, server by server; "
                     f"got {told}; see --mpi-options for how your MPI maps ranks")


def describe_servers(ranks, servers):
    """For the report, without names."""
    first = 0
    for server in servers:
        told = ranks[first]
        first += server.ranks
        yield {"ranks": server.ranks, "cpus": int(told["cpus"]), "kernel": told["kernel"],
               "cuda": int(told["cuda"]), "rocm": int(told["rocm"]), "nics": _nics(told["nics"])}


def probe(launcher, timeout_s):
    """(version, servers as the report has them)."""
    with open(_PROBE, encoding="utf-8") as file:
        script = ["sh", "-c", file.read(), "probe", launcher.program, launcher.fastsched]
    done = run(launcher.command([], script), min(_TRIAL_S, timeout_s))
    if done.status != 0:
        raise failed(f"{launcher.title} cannot start a job on the servers: {why(done)}")
    ranks = parse_probe(done.out)
    check_places(ranks, launcher.servers)
    return check_versions(ranks), list(describe_servers(ranks, launcher.servers))


def json_lines(done):
    return [json.loads(line) for line in done.out.splitlines() if line[:1] == "{"]


def try_fast(launcher, timeout_s):
    """A small job in which fast must serve; how long it took."""
    forced = {"ompi": ["--mca", "coll_fast_algorithm", "direct"], "mpich": ["-x", "FASTSCHED_ALGORITHM=direct"]}
    setting = FAST[launcher.mpi] + forced[launcher.mpi]
    arguments = ["-m", "1k:1k", "-i", "2", "-x", "1", "-c", "--json"]
    done = run(launcher.benchmark(setting, arguments, fast=True), min(_TRIAL_S, timeout_s))
    lines = json_lines(done)
    if done.status != 0 or not lines:
        raise failed(f"a small job with fast fails: {why(done)}")
    said = [line for line in done.err if "coll fast" in line]
    if lines[0]["algorithm"] != "direct":
        raise failed("a small job works, but fast does not serve it: is it installed where this MPI looks, on every "
                     f"server? {said[0] if said else 'It says nothing.'}")
    if lines[0]["servers"] != len(launcher.servers):
        raise failed(f"the benchmark sees {lines[0]['servers']} servers, asked for {len(launcher.servers)}")
    return done.wall_s


def streams(launcher, nics, rounds, deadline):
    """{setting: [Mbit/s of a NIC]}: plain streams between servers, in turn with messages sent as the MPI likes and
    eager."""
    arguments = ["-m", "8:8", "-i", "1", "-x", "1", "--ceiling", "--json"] + (["--nics", str(nics)] if nics else [])
    found = {"default": [], "eager": []}
    for _ in range(rounds):
        for name, setting in (("default", []), ("eager", EAGER)):
            done = run(launcher.benchmark(setting, arguments), min(_TRIAL_S, deadline.left_s()))
            lines = json_lines(done)
            if done.status != 0 or not lines or not lines[0]["ceiling_mbit"]:
                raise failed(f"plain streams between the servers ({name}): {why(done)}")
            found[name].append(lines[0]["ceiling_mbit"])
    return found


def best_stream(found):
    return max(map(median, found.values()))
