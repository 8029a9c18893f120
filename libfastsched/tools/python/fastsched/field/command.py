# SPDX-License-Identifier: BSD-3-Clause
"""fastsched-field: check, measure, report."""
import json
import os
import signal
import sys
import time

from .. import output
from ..failure import FAILED, Failure
from . import checks, report, servers
from .launch import Launcher, choose_mpi
from .measure import Deadline, Measurement, plan, tell
from .options import parse
from .rows import Estimate, wanted


class _Hide:
    """Names of hosts become numbers of servers."""

    def __init__(self, names):
        self.names = sorted(enumerate(names), key=lambda both: -len(both[1]))

    def __call__(self, text):
        for k, name in self.names:
            text = text.replace(name, f"server-{k}")
        return text


def _device(options, described):
    """The kind of GPU that every server has; None: none."""
    kinds = ("cuda", "rocm") if options.device == "auto" else (options.device,)
    return next((kind for kind in kinds if all(server.get(kind) for server in described)), None)


def _checked(launcher, options, deadline):
    """A report that has nothing but what was checked; and how long a job takes to start."""
    tell(f"{launcher.title}, {len(launcher.servers)} servers, {sum(s.ranks for s in launcher.servers)} ranks")
    version, described = checks.probe(launcher, deadline.left_s())
    start_s = checks.try_fast(launcher, deadline.left_s())
    if options.device in ("cuda", "rocm") and not _device(options, described):
        raise Failure(FAILED, f"--device {options.device}: not on every server; allowed here: auto, none")
    done = [f"{version} on every server", "every rank is on the server that was asked for",
            f"fast serves calls of all servers ({start_s:.1f} s for a small job)"]
    for text in done:
        tell(f"checked: {text}")
    return {"format": report.FORMAT, "made": time.strftime("%Y-%m-%d %H:%M"), "version": version,
            "mpi": launcher.title, "minutes": options.minutes, "rounds": options.rounds, "servers": described,
            "checks": done, "streams_mbit": {}, "rate_mbit": options.rate, "rate_given": bool(options.rate),
            "lines": [], "left_out": [], "failed": [], "ended": "complete", "spent_s": 0}, start_s


def _show_plan(rows, estimate, launcher, options, left_s):
    fit, out = plan(rows, estimate, launcher.mpi, options.rounds, left_s)
    for row in fit:
        tell(f"planned: {row.name()}: {estimate.row_s(row, launcher.mpi, options.rounds):.0f} s")
    for row, reason in out:
        tell(f"may not fit: {row.name()}: {reason}")


def _measure(launcher, options, deadline, found, start_s):
    """Into the report; it stays valid if we are interrupted."""
    found["streams_mbit"] = checks.streams(launcher, options.nics, options.rounds, deadline)
    found["rate_mbit"] = options.rate or checks.best_stream(found["streams_mbit"])
    rate = found["rate_mbit"]
    tell(f"streams: {checks.best_stream(found['streams_mbit']):.1f} Mbit/s of a NIC")
    estimate = Estimate([s.ranks for s in launcher.servers], options.nics, rate, start_s)
    rows = wanted(options, _device(options, found["servers"]))
    _show_plan(rows, estimate, launcher, options, deadline.left_s())
    if options.plan:
        return
    names = [server.name for server in launcher.servers]
    measurement = Measurement(launcher, estimate, options, found, _Hide([*names, os.uname().nodename]))
    for row in rows:
        measurement.row(row, deadline)


def _write(found, options):
    prefix = options.output or time.strftime("fastsched-field-%Y%m%d-%H%M%S")
    output.write(f"{prefix}.json", [json.dumps(found, indent=1), "\n"])
    output.write(f"{prefix}.md", [report.markdown(found)])
    tell(f"the report: {prefix}.md and {prefix}.json")


def _interrupt(number, _):
    raise KeyboardInterrupt(signal.Signals(number).name)


def _run(options):
    start, deadline = time.monotonic(), Deadline(60 * options.minutes)
    where = servers.find(options)
    launcher = Launcher(choose_mpi(options.mpi), where, options)
    found, start_s = _checked(launcher, options, deadline)
    if options.check:
        return
    try:
        _measure(launcher, options, deadline, found, start_s)
    except KeyboardInterrupt as error:
        found["ended"] = f"interrupted ({error})"
    if options.plan or not found["rate_mbit"]:
        return
    found["spent_s"] = time.monotonic() - start
    if found["left_out"] and found["ended"] == "complete":
        found["ended"] = "not all rows fit"
    _write(found, options)
    if found["failed"]:
        raise Failure(FAILED, f"{len(found['failed'])} jobs failed; the report says which")
    if found["ended"].startswith("interrupted"):
        raise Failure(FAILED, found["ended"])


def run(argv):
    """The command line without its first word."""
    options = parse(argv)
    if options.report:
        sys.stdout.write(report.from_file(options.report))
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        _run(options)
    except KeyboardInterrupt as error:
        raise Failure(FAILED, f"interrupted ({error}) before anything was measured") from None
