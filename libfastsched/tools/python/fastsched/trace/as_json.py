# SPDX-License-Identifier: BSD-3-Clause
"""A report as JSON. Times are nanoseconds from the first entry into a call of the communicator."""
import json

from .call import Call

WRAP = 3  # what is nested less deep has a line for each member


def _call(report, call):
    bound_ns = report.lane_ns(call.bound)
    about = {
        "call": call.number,
        "algorithm": call.algorithm,
        "decompose": call.decompose,
        "stages": call.stages,
        "bytes": call.bytes,
        "lower_bound": call.bound,
        "early_bytes": call.early,
        "planned": call.planned,
        "messages": call.messages,
        "unmatched": call.unmatched,
        "first_entry_ns": call.first_entry,
        "last_entry_ns": call.last_entry,
        "end_ns": call.end,
        "slowest_ns": call.slowest_ns,
        "slowest_rank": call.slowest,
    }
    if call.ran and bound_ns > 0 and call.slowest_ns > 0:
        about["efficiency"] = round(bound_ns / call.slowest_ns, 4)
    about["status"] = call.status
    return about


def _comm(report, trace):
    return {
        "comm": trace.comm,
        "id": trace.id,
        "ranks": trace.n_ranks,
        "servers": trace.n_servers,
        "missing_ranks": trace.n_ranks - len(trace.ranks),
        "dropped": sum(rank.dropped for rank in trace.ranks.values()),
        "clocks": len(trace.clocks),
        "aligned": trace.aligned or len(trace.clocks) < 2,
        "calls": [_call(report, Call(trace, number)) for number in trace.calls()],
    }


def _step(step):
    return {
        "start": step.start,
        "bytes": step.bytes,
        "sent": step.sent,
        "first_ns": step.first,
        "last_ns": step.last,
        "busy_ns": step.busy,
        "longest_ns": step.longest,
        "longest_gap_ns": step.longest_gap,
        "pairs": step.pairs,
    }


def _hop(hop):
    about = {"what": hop.what, "rank": hop.rank}
    if hop.peer is not None:
        about["peer"] = hop.peer
    about.update(begin_ns=hop.begin, end_ns=hop.end, bytes=hop.bytes, messages=hop.messages, after=hop.after)
    return about


def _detail(report):
    return {
        "id": report.trace.id,
        **_call(report, report.call),
        "steps": [_step(step) for step in report.steps],
        "share_ns": report.path.share_ns,
        "path": [_hop(hop) for hop in report.path.hops],
    }


def _lay_out(value, depth=1):
    if depth > WRAP or not value or not isinstance(value, (dict, list)):
        return json.dumps(value)
    if isinstance(value, dict):
        members = [f"{json.dumps(name)}: {_lay_out(member, depth + 1)}" for name, member in value.items()]
    else:
        members = [_lay_out(member, depth + 1) for member in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    line = "\n" + "  " * (depth - 1)
    return f"{first}{line}  " + f",{line}  ".join(members) + f"{line}{last}"


def write(out, report):
    """Print a report to out."""
    about = {
        "rate": report.rate,
        "communicators": [_comm(report, trace) for trace in report.traces],
        "detail": _detail(report),
    }
    print(_lay_out(about), file=out)
