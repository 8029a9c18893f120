# SPDX-License-Identifier: BSD-3-Clause
"""fastsched trace: what fs_cmd_trace.c calls, once it has read and checked the options."""
import sys

from ..failure import bad, shown
from . import as_json, directory, link, merge, otf2_archive, picture, text
from .call import Call
from .report import Report


def _choose(where, traces, number, comm):
    """(trace, number) of the call in detail; number 0: the slowest that fast has served."""
    best = None
    for trace in traces:
        if comm not in ("", trace.comm, shown(trace.comm), trace.id):
            continue
        for k in trace.calls():
            call = Call(trace, k)
            if number in (0, k) and (best is None or call.beats(best[1])):
                best = (trace, call)
    if best is None:
        raise bad(f"{where}: no such call in these traces")
    return best[0], best[1].number


def run(argv):
    """DIRECTORY CALL COMM RATE FORMAT SVG OUTPUT OTF2: 0 or nothing where it was not asked for."""
    where, number, comm, rate, style, svg, output, archive = argv
    otf2 = otf2_archive.load() if archive else None  # before there is any output
    traces = directory.read(where)
    for trace in traces:
        link.link(trace)
    trace, number = _choose(where, traces, int(number), comm)
    rate = int(rate) or next((trace.rate for trace in traces if trace.rate), 0)
    report = Report(traces, trace, number, rate)
    if svg:
        picture.write(svg, report)
    if output:
        merge.write(output, traces)
    if archive:
        otf2_archive.write(otf2, archive, traces)
    if svg != "-":  # else the drawing is all that goes to standard output
        (as_json if style == "json" else text).write(sys.stdout, report)
