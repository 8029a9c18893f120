# SPDX-License-Identifier: BSD-3-Clause
"""Goals of the speed table, and the table as Markdown, from the suite's lines.

Imported by suite; runs nothing."""

import collections
import dataclasses
import pathlib
import statistics
import sys
import typing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "libfastsched" / "tools" / "python"))
import suite_allreduce  # noqa: E402
from fastsched.field.settings import TUNED  # noqa: E402 # the variant that small calls are compared by
from fastsched.field.tables import Cell, head, median, row, show_size  # noqa: E402

SILENT = "fast, early off"
KEPT = "fast, persistent, early on"
EAGER = "default eager"
OUTLIER = 1.3  # over the lower bound: no run should be
STAGING_BYTES = 64 << 20
REAL_GOAL = 1.015  # over the lower bound: matrices that programs made
# How much faster than the best peer, bulk.
GAIN_GOALS = {"balanced": 1.2, "zipf": 1.8, "hotspot": 1.8, "intrahost": 1.8,
              "moe": 1.8}
FEW_PACKETS = 1.2  # data packets over N * (N - 1)
FEW_BYTES = 64  # up to here a pair of servers needs one packet



@dataclasses.dataclass(frozen=True)
class SpeedGoal:
    """Of fast over the best peer, small calls."""

    layouts: str  # "4x4 8x2"
    limit: float
    most: int = 65536  # bytes per pair, from 8 on
    least: int = 8
    patterns: tuple = ()  # none: all
    nics: typing.Optional[int] = None  # of a server, None: one per rank
    fast_links: bool = False  # 500mbit and more, or less
    collective: str = "alltoallv"
    means: bool = False  # of each pattern, or each size and pattern

    def is_about(self, place, collective):
        layout, rate, nics, _ = place
        fast_links = rate.endswith("gbit") or (
            rate.endswith("mbit") and int(rate[:-4]) >= 500)
        return (layout in self.layouts.split() and nics == self.nics
                and fast_links == self.fast_links
                and collective == self.collective)

    def covers(self, size, pattern):
        return self.least <= size <= self.most and (
            not self.patterns or pattern in self.patterns)


SPEED_GOALS = [
    SpeedGoal("4x4 8x2 2x8 4+4+2+1 2x16", 0.97, means=True),
    SpeedGoal("4x4 8x2 2x8 4+4+2+1 2x16", 0.90),
    SpeedGoal("2x16 4x16", 6, most=64, nics=1),
    SpeedGoal("4x4", 3, most=64),
    SpeedGoal("4x4", 1.7, 8192, 512, ("zipf:0.8", "moe")),
    SpeedGoal("2x4", 0.95, 1 << 20, fast_links=True),
    SpeedGoal("1x4", 0.97, 1 << 20),
    SpeedGoal("4x4", 1, 4096, collective="alltoall"),
    SpeedGoal("2x16 4x16", 1, 4096, collective="alltoall", nics=1),
]
# Over the lower bound, at 50 Mbit/s: from so many bytes per pair on.
BOUND_GOALS = [(1000000, 1.02), (100000, 1.04), (65536, 1.06), (16384, 1.15)]


def bound_goal(size):
    """None: no goal was set."""
    return next((goal for least, goal in BOUND_GOALS if size >= least), None)


def ratio_goal(line):
    """What fast over the lower bound may be, bulk; None: no goal was set."""
    if line["kind"] == "traffic":
        return REAL_GOAL
    if line["nics"]:
        return None
    if line["rate"] == "50mbit":
        return bound_goal(line["avg_bytes_per_pair"])
    if line["layout"] == "4x4":
        return 1.05 if line["avg_bytes_per_pair"] >= 1000000 else 1.15
    return 1.10


def gain_goal(line):
    if line["nics"] or line["kind"] == "traffic":
        return None
    return GAIN_GOALS.get(line["pattern"].partition(":")[0])


def plan_ratio(line):
    """Total over the lower bound; 1 if nothing leaves a server."""
    return line["total"] / line["lower_bound"] if line["lower_bound"] else 1


def ratios(line):
    """Of each timed call of a bulk job, over its own lower bound."""
    return [t / b for t, b in zip(line["times_s"], line["bounds_s"])]


def show_ratios(values):
    """Median and range; what is above the limit stands out."""
    least, most = f"{min(values):.3f}", f"{max(values):.3f}"
    if max(values) > OUTLIER:
        most = f"**{most}**"
    return f"{median(values):.3f} ({least} to {most})"


# ---- bulk ----


def verdict(line, gain):
    """Yes, or which goals are missed."""
    missed = []
    reached, goal = median(ratios(line)), ratio_goal(line)
    if goal and reached > goal:
        missed.append(f"{reached:.4f} > {goal}")
    if gain and gain_goal(line) and gain < gain_goal(line):
        missed.append(f"{gain:.2f}x < {gain_goal(line)}x")
    if (line["peak_staging"] or 0) > STAGING_BYTES:
        missed.append("staging > 64 MiB")
    if line["algorithm"] == "native":
        missed.append("fast left it to the host")
    if missed:
        return "no: " + ", ".join(missed)
    return "yes" if goal else "none is set"


def bulk_row(pattern, variants, ceiling):
    """ceiling: what the lab reaches of the rate, a plain stream; None."""
    fast = variants.get("fast")
    if fast is None or "error" in fast:
        return row([pattern, "failed" if fast else "not run"] + 6 * [""])
    peers = [(median(ratios(x)), name) for name, x in variants.items()
             if name != "fast" and "error" not in x]
    reached = median(ratios(fast))
    gain = min(peers)[0] / reached if peers else None
    staging = fast["peak_staging"]
    return row([
        pattern,
        f"{fast['lower_bound_s']:.3f}",
        show_ratios(ratios(fast)),
        f"{reached * ceiling:.3f}" if ceiling else "",
        f"{min(peers)[0]:.2f} ({min(peers)[1]})" if peers else "",
        f"{gain:.2f}x" if gain else "",
        f"{staging / 2**20:.1f}" if staging else "",
        verdict(fast, gain),
    ])


def outliers(pattern, line):
    """At most one line, that tells which calls took too long."""
    slow = [f"call {k} {ratio:.3f} x LB"
            for k, ratio in enumerate(ratios(line), 1) if ratio > OUTLIER]
    if not slow:
        return []
    return [f"- outliers of {pattern}: {', '.join(slow)}; the switch dropped "
            f"{line['drops']} packets in the whole job"]


def bulk_table(title, patterns, ceiling):
    text = [f"### {title}", ""]
    if ceiling:
        text += [f"Plain streams reach {100 * ceiling:.1f} % of the rate.", ""]
    text += head(["workload", "LB (s)", "fast / LB: median (min to max)",
                  "over plain streams", "best peer / LB", "fast gains",
                  "staging (MiB)", "goals met"])
    text += [bulk_row(p, v, ceiling) for p, v in patterns.items()]
    text.append("")
    for pattern, variants in patterns.items():
        if "times_s" in variants.get("fast", {}):
            text += outliers(pattern, variants["fast"])
    errors = [x for v in patterns.values() for x in v.values() if "error" in x]
    text += [f"- failed: {x['job']}: {x['error']}" for x in errors]
    return text + [""]


# ---- small ----


def servers_of(layout):
    return int(layout.split("x")[0]) if "x" in layout else layout.count(
        "+") + 1


def show_speed(cell, goal):
    if cell is None:
        return ""
    text = f"{cell.speed:.2f}"
    return text if cell.speed >= goal else f"**{text}**"


def goals_for(where, collective):
    return [g for g in SPEED_GOALS if g.is_about(where, collective)]


def speed_goal(goal, cells):
    """A line: is it met, and what is the worst. Below the goal is a goal
    missed only if every round says so: of many cells some are low by
    chance."""
    about = {key: cell for key, cell in cells.items() if goal.covers(*key)}
    if not about:
        return []
    text = f"{show_size(goal.least)} to {show_size(goal.most)}"
    text += f", {', '.join(goal.patterns)}" if goal.patterns else ""
    if goal.means:
        means = {p: statistics.geometric_mean(
            [c.speed for key, c in about.items() if key[1] == p])
            for p in {key[1] for key in about}}
        worst = min(means, key=means.get)
        met = "yes" if means[worst] >= goal.limit else "no"
        return [f"- {text}, geometric mean of each pattern at least "
                f"{goal.limit}: {met}; worst {worst}: {means[worst]:.2f}"]
    missed = [c for c in about.values() if c.speed < goal.limit]
    sure = [c for c in missed if max(c.speeds) < goal.limit]
    size, pattern = min(about, key=lambda key: about[key].speed)
    worst = about[size, pattern]
    met = "no" if sure else "not clear" if missed else "yes"
    return [f"- {text}, each at least {goal.limit}: {met}; below it "
            f"{len(missed)} of {len(about)}, with all of their rounds "
            f"{len(sure)}; worst {pattern}, {show_size(size)}: "
            f"{worst.speed:.2f} "
            f"({min(worst.speeds):.2f} to {max(worst.speeds):.2f})"]


def speed_table(cells, patterns, goals):
    peers = sorted({name for c in cells.values() for name in c.lines}
                   - {TUNED})
    text = ["Speed of fast over that of the best peer, median of rounds run "
            f"in turn. Peers: {', '.join(peers)}.", ""]
    text += head(["bytes per pair", *patterns])
    for size in sorted({size for size, _ in cells}):
        shown = []
        for pattern in patterns:
            limit = max((g.limit for g in goals
                         if not g.means and g.covers(size, pattern)),
                        default=0)
            shown.append(show_speed(cells.get((size, pattern)), limit))
        text.append(row([show_size(size), *shown]))
    means = [[c.speed for (_, q), c in cells.items() if q == p]
             for p in patterns]
    text.append(row(["geometric mean"] + [
        f"{statistics.geometric_mean(v):.2f}" if v else "" for v in means]))
    return text + [""]


def bound_table(cells, patterns, rate):
    """Where bytes count: of fast, over the lower bound."""
    sizes = [s for s in sorted({size for size, _ in cells}) if s >= 16384]
    if not sizes or all(c.over_bound() is None for c in cells.values()):
        return []
    text = ["Time of fast over the lower bound.", ""]
    text += head(["bytes per pair", *patterns])
    for size in sizes:
        goal = bound_goal(size) if rate == "50mbit" else None
        shown = []
        for pattern in patterns:
            cell = cells.get((size, pattern))
            over = cell.over_bound() if cell else None
            missed = over and goal and over > goal
            shown.append("" if over is None else
                         f"**{over:.3f}**" if missed else f"{over:.3f}")
        text.append(row([show_size(size), *shown]))
    return text + [""]


def packet_table(cells, layout):
    """Of a call over all NICs; the goal is about small calls."""
    n = servers_of(layout)
    few = {key: c for key, c in cells.items() if key[0] <= FEW_BYTES
           and c.packets(TUNED) is not None}
    if not few or n < 2:
        return []
    limit = FEW_PACKETS * n * (n - 1)
    text = [f"Data packets per call, goal: at most {limit:.1f}, that is "
            f"{FEW_PACKETS} x {n} x {n - 1}.", ""]
    text += head(["bytes per pair", "pattern", "fast", "best peer",
                  "bytes on the NICs: fast", "best peer", "goal met"])
    for (size, pattern), cell in sorted(few.items()):
        packets, other = cell.packets(TUNED), cell.packets(cell.best)
        sent = [median(line["sent_bytes"] for line in cell.lines[name])
                for name in (TUNED, cell.best)]
        text.append(row([
            show_size(size), pattern, f"{packets:.1f}",
            "" if other is None else f"{other:.1f}", *(
                f"{b:.0f}" for b in sent),
            "yes" if packets <= limit else "no"]))
    return text + [""]


def small_table(where, collective, patterns):
    """patterns: {pattern: {size: {round: {variant: line}}}}"""
    layout, rate, *_ = where
    cells = {}
    for pattern, by_size in patterns.items():
        for size, rounds in by_size.items():
            cell = Cell(rounds)
            if cell.speeds:
                cells[size, pattern] = cell
    if not cells:
        return []
    goals = goals_for(where, collective)
    text = [f"### {show_place(where)}, MPI_{collective.capitalize()}", ""]
    text += speed_table(cells, patterns, goals)
    text += bound_table(cells, patterns, rate)
    text += packet_table(cells, layout)
    return text + [x for g in goals for x in speed_goal(g, cells)] + [""]


# ---- entries apart ----

# Over the lower bound, from the first entry; of a persistent call.
LATE_GOALS = {"uniform:0.1": 1.10, "uniform:0.3": 1.22, "uniform:1": 1.70,
              "late:5:0.5": 1.22}
KEPT_GOALS = {"late:5:0.5": 1.17}
WORSE_TOGETHER = 0.005  # than without
SIBLINGS_GOAL = 1.05    # together
WORSE_APART = 0.02      # than eager messages


def late_goal(kind, arrival, variant, known):
    """known: {variant: ratio}. None: no goal was set."""
    if kind == "siblings" and variant == "fast":
        return known.get(EAGER, 9) + WORSE_APART if arrival else SIBLINGS_GOAL
    if kind == "late" and variant == "fast":
        return LATE_GOALS.get(arrival, known.get(SILENT, 9) + WORSE_TOGETHER)
    return KEPT_GOALS.get(arrival) if variant == KEPT else None


def late_cell(kind, arrival, variant, line, known):
    if line is None or "error" in line:
        return "failed" if line else ""
    goal = late_goal(kind, arrival, variant, known)
    text = f"{known[variant]:.3f}"
    return f"**{text}**" if goal and known[variant] > goal else text


def entry_bound(lines):
    """Over the lower bound: what no algorithm can beat with these entries."""
    bounds = [x["entry_bound_s"] / x["lower_bound_s"] for x in lines.values()
              if x.get("entry_bound_s")]
    return f"{bounds[0]:.3f}" if bounds else ""


def late_table(kind, title, entries):
    """entries: {arrival: {pattern: {variant: line}}}. A median that misses its goal
    stands out."""
    variants = [v for v in ("fast", SILENT, KEPT, EAGER) if any(
        v in by for patterns in entries.values() for by in patterns.values())]
    text = [f"### {title}", "",
            "Median time from the first entry over the lower bound.", ""]
    text += head(["entries", "pattern", "bound", *variants])
    for arrival, patterns in entries.items():
        for pattern, lines in patterns.items():
            known = {v: median(ratios(x)) for v, x in lines.items()
                     if "error" not in x}
            text.append(row([arrival or "together", pattern,
                             entry_bound(lines)] + [
                late_cell(kind, arrival, v, lines.get(v), known)
                for v in variants]))
    return text + [""]


# ---- matrices of programs ----


def plan_table(lines):
    text = ["### fastsched plan, matrices at full size", ""]
    text += head(["matrix", "servers x lanes", "total over LB", "goal met"])
    for line in lines:
        if "error" in line:
            text.append(row([line["pattern"], line["layout"], "failed", ""]))
            continue
        over = plan_ratio(line)
        text.append(row([
            line["pattern"], line["layout"], f"{over:.4f}",
            "yes" if over <= REAL_GOAL else f"no: > {REAL_GOAL}"]))
    return text + [""]


def reductions(patterns):
    """What was done to the matrices of a table."""
    known = {}
    for pattern, variants in patterns.items():
        for line in variants.values():
            if line.get("reduced"):
                known[pattern] = line["reduced"]
    return [f"- {pattern}: {done}" for pattern, done in known.items()]


# ---- all ----


def tree():
    return collections.defaultdict(tree)


def place(line):
    return line["layout"], line["rate"], line["nics"], line.get("mtu")


def show_place(where):
    layout, rate, nics, mtu = where
    words = [layout, nics and f"{nics} NIC{'s' * (nics > 1)} each", rate, mtu and f"MTU {mtu}"]
    return ", ".join(filter(None, words))


class Lines:
    """Of a file, by what they are about."""

    def __init__(self, lines):
        # A job that was run again replaces what it left before.
        last = {(x["job"], x.get("avg_bytes_per_pair")): x for x in lines}
        retried = {x["job"] for x in lines if "error" not in x}
        self.ceilings, self.bulk, self.traffic = {}, tree(), tree()
        self.small, self.plans, self.failed = tree(), [], []
        self.late, self.allreduces = tree(), tree()
        for line in last.values():
            if "error" not in line or line["job"] not in retried:
                self.add(line)

    def add(self, line):
        kind, where, pattern = line["kind"], place(line), line["pattern"]
        if kind == "bulk":
            size = line["avg_bytes_per_pair"]
            self.bulk[where][size][pattern][line["variant"]] = line
        elif kind == "traffic":
            self.traffic[where][pattern][line["variant"]] = line
        elif kind in ("late", "siblings"):
            entries = self.late[kind, where, line["avg_bytes_per_pair"]]
            entries[line["arrival"]][pattern][line["variant"]] = line
        elif kind == "allreduce":
            entries = self.allreduces[where, line["avg_bytes_per_pair"]]
            entries[line["arrival"]][line["variant"]] = line
        elif kind == "plan":
            self.plans.append(line)
        elif "error" in line:
            self.failed.append(f"- failed: {line['job']}: {line['error']}")
        elif kind == "stream":
            self.ceilings[where] = line["ceiling_mbit"] / line["rate_mbit"]
        else:
            size = line["avg_bytes_per_pair"]
            rounds = self.small[where, line["collective"]][pattern][size]
            rounds[line["round"]][line["variant"]] = line


def markdown(lines):
    known = Lines(lines)
    text = []
    for where, sizes in known.bulk.items():
        for size, patterns in sizes.items():
            text += bulk_table(
                f"{show_place(where)}, {show_size(size)} per pair", patterns,
                known.ceilings.get(where))
    for (where, collective), patterns in known.small.items():
        text += small_table(where, collective, patterns)
    for where, patterns in known.traffic.items():
        text += bulk_table(f"{show_place(where)}, traffic of programs",
                           patterns, known.ceilings.get(where))
        text += reductions(patterns) + [""]
    for (kind, where, size), entries in known.late.items():
        title = f"{show_place(where)}, {show_size(size)} per pair"
        text += late_table(kind, f"{title}, {kind}", entries)
    for (where, size), entries in known.allreduces.items():
        text += suite_allreduce.table(show_place(where), where[0], size, entries)
    if known.plans:
        text += plan_table(known.plans)
    return "\n".join(text + known.failed)


def allreduce_csv(lines):
    return suite_allreduce.csv(Lines(lines).allreduces)
