# SPDX-License-Identifier: BSD-3-Clause
"""The report of "fastsched compare": one page for browsers, see page.py.

From stdin comes what fs_tool_compare_report.c writes: {"expected_ns", "spans": [[way, src, dst,
start_ns, end_ns, bytes], ...], "fast_way" (one of those behind the last of "ways"), "matrix" (bytes between
servers), ...} and all members of the JSON that the command prints, which fastsched(1) explains.
"""
import sys

from . import page
from .failure import failed
from .load import Load
from .stream import Document

SEND, RECEIVE = "sends", "receives"


def read(file):
    """What is known, and the loads of the servers by way."""
    about, loads = {}, {}
    for name, value in Document(file, "standard input").members("spans"):
        if name != "spans":
            about[name] = value
            continue
        way, src, dst, start, end, bytes_ = value
        load = loads.get(way) or loads.setdefault(way, Load(about["expected_ns"]))
        load.add((src, SEND), dst, start, end, bytes_)
        load.add((dst, RECEIVE), src, start, end, bytes_)
    if "advice" not in about:
        raise failed("the comparison has not ended")
    return about, loads


def run(argv):
    """FILE: write the report of what comes from stdin."""
    page.write(argv[0], *read(sys.stdin))


def run_timeline(argv):
    """FILE: draw the timeline of what comes from stdin."""
    about, loads = read(sys.stdin)
    if not loads:
        raise failed(f"--svg: there is nothing to draw. {about['advice']}")
    page.write_timeline(argv[0], about, loads)
