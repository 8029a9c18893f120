# SPDX-License-Identifier: BSD-3-Clause
"""MPI_Allreduce with a late rank: which settings are run in which labs, the goals, and
the table.

Imported by suite_jobs and suite_table; runs nothing."""

from fastsched.field.settings import EAGER
from fastsched.field.tables import head, row, show_size

PROGRAM = {"ompi": "osu_allreduce_arrival", "mpich": "osu_allreduce_arrival.mpich"}

# ---- settings ----

LATE_RANK = 3
TUNED = "fast, tuned"  # as users have it: finds out who is late, or leaves calls to the MPI
KNOWN = "fast, rank known"
RING = "fast, ring"
OURS = (TUNED, KNOWN, RING)
# Of Open MPI's tuned, by their numbers; of MPICH 4.0.2, by their names.
TUNED_ALGORITHMS = ["linear", "nonoverlapping", "recursive doubling", "ring", "segmented ring", "Rabenseifner"]
MPICH_ALGORITHMS = ["nb", "smp", "recursive_doubling", "reduce_scatter_allgather"]
HAN = "han"


def fast(mpi, **parameters):
    """Options of the lab with these parameters of fast."""
    parameters = {"allreduce": "all", "stats": "1"} | parameters
    if mpi == "mpich":
        return [x for key, value in parameters.items() for x in ("-x", f"FASTSCHED_{key.upper()}={value}")]
    words = ["--mca", "coll", "fast"]
    for key, value in parameters.items():
        words += ["--mca", f"coll_fast_{key}", value]
    return words


def forced(mpi):
    """{name: options} of the MPI's algorithms, one by one."""
    if mpi == "mpich":
        return {name: ["-x", f"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM={name}"] for name in MPICH_ALGORITHMS}
    rules = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm"]
    by_number = {f"tuned {name}": [*rules, str(k)] for k, name in enumerate(TUNED_ALGORITHMS, 1)}
    return by_number | {HAN: ["--mca", "coll_han_priority", "100"]}


def variants(mpi):
    """{name: options} of ours and of all peers, which have two protocols each."""
    peers = {"default": []} | forced(mpi)
    peers |= {f"{name} eager": options + EAGER for name, options in peers.items()}
    return {
        TUNED: fast(mpi),
        KNOWN: fast(mpi, straggler=str(LATE_RANK)),
        RING: fast(mpi, straggler="none", tuner="0"),
    } | peers


def takes_part(variant, arrival, ranks_of_servers):
    """Without a late rank none is known; han is for servers of several ranks."""
    if variant == KNOWN:
        return arrival != ""
    return not variant.startswith(HAN) or max(ranks_of_servers) > 1


# ---- labs ----

MB = 1 << 20
ENTRIES = ["", f"late:{LATE_RANK}:0.5", f"late:{LATE_RANK}:1"]  # shares of a ring's time
# (layout, rate) and sizes. Where 64 MB are to take seconds and not minutes, rates are such that two cores limit all.
LABS = {
    ("8x1", "200mbit"): [MB, 8 * MB],
    ("8x1", "1gbit"): [64 * MB],
    ("16x1", "100mbit"): [MB, 8 * MB],
    ("16x1", "500mbit"): [64 * MB],
    ("4x4", "100mbit"): [MB, 8 * MB],
    ("4x4", "500mbit"): [64 * MB],
}
CALLS = 5  # timed
# Before them, see fs_late.c: where the MPI is slow a rank that is not very late stands out only in an epoch of a ring,
# after one of the MPI's own and a trial; then StragglAR and the stream are tried.
FINDING_CALLS = 56


def warmup(variant):
    return FINDING_CALLS if variant == TUNED else 2


def ring_s(servers, nics, size, bits_per_s):
    """Of a ring of the servers, each by its NICs; as the benchmark's lower bound."""
    return 2 * (servers - 1) / servers * size * 8 / nics / bits_per_s


# ---- goals ----

TOGETHER = 0.98  # of the best peer's speed, where nobody is late
GAINS = {"8x1": 1.3, "16x1": 1.5, "4x4": 1.5}


def goal(layout, arrival):
    """How much faster than the best peer; None: none is set."""
    return GAINS.get(layout) if arrival else TOGETHER


# ---- table ----


def seconds(lines, variant):
    line = lines.get(variant)
    return line["time_s"] if line and "error" not in line else None


def show(value):
    return "" if value is None else f"{value:.4f}"


def show_gain(best_s, our_s, limit):
    if best_s is None or our_s is None:
        return ""
    text = f"{best_s / our_s:.2f}x"
    return f"**{text}**" if limit and best_s / our_s < limit else text


def peers_of(lines):
    """{variant: seconds} of those that have run; the best of them or None."""
    times = {v: seconds(lines, v) for v in lines if v not in OURS}
    times = {v: s for v, s in times.items() if s is not None}
    return times, min(times, key=times.get, default=None)


def bound_s(lines):
    return next((x["lower_bound_s"] for x in lines.values() if x.get("lower_bound_s")), None)


def entry_row(layout, arrival, lines):
    """lines: {variant: line}"""
    peers, best = peers_of(lines)
    best_s = peers.get(best)
    limit = goal(layout, arrival)
    times = [seconds(lines, v) for v in OURS]
    n_peers = sum(v not in OURS for v in lines)
    return row([
        arrival or "together", show(bound_s(lines)), *map(show, times),
        f"{show(best_s)} ({best})" if best else "", f"{len(peers)} of {n_peers}",
        show_gain(best_s, times[0], limit),
        show_gain(best_s, times[1], limit) if arrival else "",
        "" if limit is None else f"{limit}x",
    ])


def table(title, layout, size, entries):
    """entries: {arrival: {variant: line}}. A gain that misses its goal stands out."""
    text = [f"### {title}, MPI_Allreduce of {show_size(size)}", "",
            "Median time after the last entry, in seconds. Peers: the default and each algorithm of the MPI, each with "
            "the MPI's protocol and with eager messages.", ""]
    text += head(["entries", "ring's bound", *OURS, "best peer", "peers run", f"gain, {TUNED}", f"gain, {KNOWN}",
                  "goal"])
    text += [entry_row(layout, arrival, lines) for arrival, lines in entries.items()]
    text.append("")
    errors = [x for lines in entries.values() for x in lines.values() if "error" in x]
    return text + [f"- failed: {x['job']}: {x['error']}" for x in errors] + [""]


def csv(allreduces):
    """What tests/figures/stragglar_lab.csv is made of; "" if there is nothing. allreduces: {(place, size): entries}"""
    text = ""
    for ((layout, rate, *_), size), entries in allreduces.items():
        for arrival, lines in entries.items():
            peers, best = peers_of(lines)
            if best is not None:
                times = [peers[best], seconds(lines, KNOWN), seconds(lines, TUNED)]
                text += ",".join([lines[best]["impl"], layout, rate, str(size), arrival or "together",
                                  show(bound_s(lines)), best, *map(show, times)]) + "\n"
    return "mpi,layout,rate,bytes,entries,bound_s,best_peer,best_peer_s,known_s,tuned_s\n" + text if text else ""
