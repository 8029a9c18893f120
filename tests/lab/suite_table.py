# SPDX-License-Identifier: BSD-3-Clause
"""Goals of the speed table, and the table as Markdown, from the suite's lines.

Imported by suite; runs nothing."""

import collections
import statistics

median = statistics.median

OUTLIER = 1.3  # over the lower bound: no run should be
STAGING_BYTES = 64 << 20
SMALL_GOAL = 0.95  # of the host's speed
# How much faster than the best peer.
GAIN_GOALS = {"balanced": 1.2, "zipf": 1.8, "hotspot": 1.8, "intrahost": 1.8,
              "moe": 1.8}


def ratio_goal(line):
    """What fast over the lower bound may be; None: no goal was set."""
    if line["nics"]:
        return None
    if line["layout"] == "4x4":
        return 1.05 if line["avg_bytes_per_pair"] >= 1000000 else 1.15
    return 1.10


def gain_goal(line):
    if line["nics"]:
        return None
    return GAIN_GOALS.get(line["pattern"].partition(":")[0])


def ratios(line):
    """Of each timed call of a bulk job, over its own lower bound."""
    return [t / b for t, b in zip(line["times_s"], line["bounds_s"])]


def show_size(size):
    units = {"MB": 1000000, "kB": 1000, "MiB": 1 << 20, "KiB": 1 << 10}
    for unit, factor in units.items():
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def head(cells):
    return [row(cells), "|" + "---|" * len(cells)]


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


def speeds(rounds):
    """Of fast over the host, a number for each pair of jobs run in turn."""
    pairs = (v for v in rounds.values() if len(v) == 2)
    return [v["default"] / v["fast, tuned"] for v in pairs]


def show_speed(values):
    if not values:
        return ""
    text = f"{median(values):.2f}"
    return text if median(values) >= SMALL_GOAL else f"**{text}**"


def small_verdict(cells):
    """cells: {(size, pattern): speeds}. Below the goal is a goal missed only
    if every pair says so: of many cells some are low by chance."""
    missed = [c for c in cells if median(cells[c]) < SMALL_GOAL]
    sure = [c for c in missed if max(cells[c]) < SMALL_GOAL]
    size, pattern = min(cells, key=lambda c: median(cells[c]))
    worst = cells[size, pattern]
    return [
        "",
        f"Worst: {pattern}, {show_size(size)}: {median(worst):.2f} "
        f"({min(worst):.2f} to {max(worst):.2f}). Below {SMALL_GOAL}: "
        f"{len(missed)} of {len(cells)}, with all of their pairs {len(sure)}. "
        f"Goal met: {'no' if sure else 'not clear' if missed else 'yes'}.",
    ]


def small_table(title, patterns):
    cells = {(size, pattern): speeds(rounds)
             for pattern, by_size in patterns.items()
             for size, rounds in by_size.items() if speeds(rounds)}
    text = [f"### {title}", "", "Speed of fast over that of the host, median "
            f"of pairs of jobs run in turn; goal: {SMALL_GOAL}", ""]
    text += head(["bytes per pair", *patterns])
    for size in sorted({size for size, _ in cells}):
        text.append(row([show_size(size)] + [
            show_speed(cells.get((size, p), [])) for p in patterns]))
    means = [[v for (_, q), values in cells.items() if q == p for v in values]
             for p in patterns]
    text.append(row(["geometric mean"] + [
        f"{statistics.geometric_mean(v):.2f}" if v else "" for v in means]))
    return text + (small_verdict(cells) if cells else []) + [""]


# ---- all ----


def tree():
    return collections.defaultdict(tree)


def place(line):
    nics = f", {line['nics']} NICs each" if line["nics"] else ""
    return f"{line['layout']}{nics}, {line['rate']}"


def markdown(lines):
    # A job that was run again replaces what it left before.
    last = {(x["job"], x.get("avg_bytes_per_pair")): x for x in lines}
    retried = {x["job"] for x in lines if "error" not in x}
    ceilings, bulk, small, failed = {}, tree(), tree(), []
    for line in last.values():
        if "error" in line and line["job"] in retried:
            continue
        where, pattern = place(line), line["pattern"]
        if line["kind"] == "bulk":
            size = line["avg_bytes_per_pair"]
            bulk[where][size][pattern][line["variant"]] = line
        elif "error" in line:
            failed.append(f"- failed: {line['job']}: {line['error']}")
        elif line["kind"] == "stream":
            ceilings[where] = line["ceiling_mbit"] / line["rate_mbit"]
        else:
            size = line["avg_bytes_per_pair"]
            small[where][pattern][size][line["round"]][line["variant"]] = (
                line["time_s"])
    text = []
    for where, sizes in bulk.items():
        for size, patterns in sizes.items():
            text += bulk_table(f"{where}, {show_size(size)} per pair",
                               patterns, ceilings.get(where))
    for where, patterns in small.items():
        text += small_table(f"{where}, fast beside the host", patterns)
    return "\n".join(text + failed)
