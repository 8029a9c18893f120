# SPDX-License-Identifier: BSD-3-Clause
"""A report as text: the calls, then one of them step by step, and its critical path."""
from ..failure import shown
from ..units import bits_text
from .call import Call
from .path import KINDS


def _ms(ns):
    return ns * 1e-6


def _percent(width, part, whole):
    """A share of something, "-" of nothing."""
    return f"{100 * part / whole:{width - 1}.1f}%" if whole > 0 and part > 0 else "-".rjust(width)


# ---- all calls ----


def _warnings(trace):
    missing = trace.n_ranks - len(trace.ranks)
    dropped = sum(rank.dropped for rank in trace.ranks.values())
    if missing:
        yield f"  the files of {missing} ranks are missing: the report is incomplete"
    if dropped:
        yield f"  {dropped} events were dropped: the traces were full"
    if len(trace.clocks) > 1:
        yield f"  {len(trace.clocks)} clocks, aligned by {'messages' if trace.aligned else 'the time of day'}"


def _call_line(report, trace, number):
    call = Call(trace, number)
    decompose = shown(call.decompose) if call.ran else ""
    bound = report.lane_ns(call.bound) if call.ran else 0
    status = "" if call.status == "success" else "  " + shown(call.status)
    return (
        f"{number:6}  {shown(call.algorithm):7} {decompose:12} {call.bytes:13} {_ms(call.slowest_ns):12.3f} "
        f"{_ms(call.last_entry - call.first_entry):9.3f} {_percent(10, bound, call.slowest_ns)}{status}"
    )


def _wrong_rate(report, trace):
    """No call can be faster than its bound: if one is, the rate is that of slower NICs."""
    calls = (Call(trace, number) for number in trace.calls())
    if any(call.ran and report.lane_ns(call.bound) > 1.01 * call.slowest_ns for call in calls):
        yield (
            f"  More than 100% of the bound: the NICs are faster than the rate of {bits_text(report.rate / 8)} "
            "that --rate, or coll_fast_rate of the job, says."
        )


def _comm(report, trace):
    name = shown(trace.comm) or "communicator"
    yield f"{name} ({shown(trace.id)}): {trace.n_ranks} ranks on {trace.n_servers} servers"
    yield from _warnings(trace)
    yield "  call  algorithm                    bytes      time ms   skew ms  of bound"
    for number in trace.calls():
        yield _call_line(report, trace, number)
    yield from _wrong_rate(report, trace)
    yield ""


# ---- one call ----


def _head(report):
    call = report.call
    bound_ns = report.lane_ns(call.bound)
    bound = f", {bound_ns * 1e-6:.3f} ms" if report.rate else ""
    times = f", {call.slowest_ns / bound_ns if bound_ns else float('inf'):.3f} times the bound" if report.rate else ""
    yield f"Call {call.number} of {shown(report.trace.comm)}"
    yield f"algorithm        {', '.join(shown(word) for word in (call.algorithm, call.decompose) if word)}"
    yield f"between servers  {call.bytes} bytes, {call.messages} messages"
    if call.early:
        yield f"sent early       {call.early} bytes, before rank {call.last_in} had entered"
    yield f"lower bound      {call.bound} bytes per lane{bound}"
    yield f"time             {_ms(call.slowest_ns):.3f} ms, slowest rank {call.slowest}{times}"
    if call.unmatched:
        yield f"unmatched        {call.unmatched} messages: the other end is not in the traces"


def _rate_of(step):
    """Bytes per nanosecond of a lane that is busy with a step."""
    return step.sent / step.busy if step.busy else 0


def _step_line(report, k, best):
    step, zero = report.steps[k], _ms(report.call.last_entry)
    numbers = " " + " ".join("-".rjust(width) for width in (10, 10, 10, 8, 8)) + " "
    if step.sent:
        numbers = (
            f" {_ms(step.first) - zero:10.3f} {_ms(step.last) - zero:10.3f} {_ms(step.longest):10.3f} "
            f"{_ms(step.longest_gap):8.3f} {_rate_of(step) * 8e3:8.1f} "
        )
    pairs = step.pairs + ("..." if step.more_pairs else "")
    return f"{k:5} {step.start:13} {step.bytes:13}{numbers}{_percent(7, _rate_of(step), best)}  {pairs}"


def _steps(report):
    """What a lane could at best is the rate that is known, or that of the best step."""
    best = report.rate / 8e9 if report.rate else max(map(_rate_of, report.steps))
    yield ""
    yield "Steps: planned, bytes per lane; first send, last arrival; the lane that took longest,"
    yield (
        "the longest pause of a lane before it; mean rate of busy lanes, "
        f"{'of the full rate' if report.rate else 'of the best'}; ms"
    )
    yield (
        " step          from         bytes      first       last    longest    pause   Mbit/s  effic.  servers"
    )
    for k in range(len(report.steps)):
        yield _step_line(report, k, best)


def _shares(report):
    shares = report.path.share_ns
    total = sum(shares.values())
    yield ""
    yield f"Critical path by activity, {_ms(total):.3f} ms in all"
    for kind, share in shares.items():
        if share:
            yield f"{kind:8} {_ms(share):10.3f} ms {_percent(8, share, total)}  {KINDS[kind]}"


def _wire(report):
    ns = report.path.share_ns["wire"]
    bytes_ = sum(hop.bytes for hop in report.path.hops if hop.what == "wire")
    if ns:
        full = f"; at full rate {report.lane_ns(bytes_) * 1e-6:.3f} ms" if report.rate else ""
        yield f"The wire on this path carried {bytes_} bytes at {bytes_ * 8e3 / ns:.1f} Mbit/s{full}."


def _hop_line(report, hop):
    peer = "" if hop.peer is None else hop.peer
    begin, took = _ms(hop.begin) - _ms(report.call.last_entry), _ms(hop.end - hop.begin)
    return (
        f"{begin:11.3f} {took:10.3f}  {hop.what:8} {hop.rank:5} {peer:>5} {hop.bytes or '':>12} "
        f"{hop.messages:5}  {hop.after}"
    )


def _path(report):
    yield ""
    yield "Critical path; ms from when the last rank had entered"
    yield "    from ms    took ms  what      rank  peer        bytes  msgs  waited for"
    for hop in report.path.hops:
        yield _hop_line(report, hop)


def _lines(report):
    for trace in report.traces:
        yield from _comm(report, trace)
    yield from _head(report)
    if report.steps:
        yield from _steps(report)
    yield from _shares(report)
    yield from _wire(report)
    yield from _path(report)


def write(out, report):
    """Print a report to out."""
    for line in _lines(report):
        print(line, file=out)
