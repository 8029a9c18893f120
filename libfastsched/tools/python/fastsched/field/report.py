# SPDX-License-Identifier: BSD-3-Clause
"""The report as Markdown, from its JSON."""
import collections
import json

from ..failure import bad, shown
from .settings import TUNED
from .tables import Cell, head, median, row, show_size

FORMAT = "fastsched-field 1"
_LEGEND = (
    "Times are medians of {} rounds, in each of which every setting ran in turn. Fast gains: the time of the MPI's "
    "best setting over that of fast in the same round, median (lowest to highest). The bound is the time in which the "
    "NICs of the busiest server move its bytes. Every byte was checked. Algorithm native: the tuner left the calls to "
    "the MPI. This report has no names of hosts or users."
)


def show_time(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _show_rate(mbit):
    return f"{mbit / 1000:.3g} Gbit/s" if mbit >= 1000 else f"{mbit:.3g} Mbit/s"


def _cells(report):
    """{(kind of table, pattern, arrival, size): Cell}, in the order of the lines."""
    rounds = collections.defaultdict(lambda: collections.defaultdict(dict))
    for line in report["lines"]:
        arrival, memory = line.get("arrival") or "", line["memory"]
        kind = "gpu" if memory != "host" else "apart" if arrival else "together"
        key = kind, line["pattern"], arrival or memory, line["avg_bytes_per_pair"]
        rounds[key][line["round"]][line["variant"]] = line
    cells = {key: Cell(by_round) for key, by_round in rounds.items()}
    return {key: cell for key, cell in cells.items() if TUNED in cell.lines}


def _gain(cell):
    if cell.speed is None:
        return "no time without fast"
    return f"{cell.speed:.2f} ({min(cell.speeds):.2f} to {max(cell.speeds):.2f})"


def _algorithms(cell):
    return ", ".join(sorted({line["algorithm"] for line in cell.lines[TUNED]}))


def _over(cell):
    """Over the bound, with entries apart over the one that knows them."""
    bound = cell.lines[TUNED][0].get("entry_bound_s") or cell.lines[TUNED][0].get("lower_bound_s")
    return f"{cell.time_s(TUNED) / bound:.2f}" if bound else "-"


def _table(cells, kind, title, column):
    chosen = {key: cell for key, cell in cells.items() if key[0] == kind}
    if not chosen:
        return []
    names = ["pattern"] + ([column] if column else [])
    text = ["", f"## {title}", ""]
    text += head([*names, "bytes per pair", "best without fast", "time", "with fast", "fast gains", "over the bound",
                  "algorithm"])
    for (_, pattern, more, size), cell in chosen.items():
        best = cell.best or "-"
        native = show_time(cell.time_s(cell.best)) if cell.best else "-"
        text.append(row([shown(pattern), *([shown(more)] if column else []), show_size(size), best, native,
                         show_time(cell.time_s(TUNED)), _gain(cell), _over(cell), shown(_algorithms(cell))]))
    return text


def _servers(report):
    """Equal ones are one line."""
    kinds = collections.Counter(json.dumps(server, sort_keys=True) for server in report["servers"])
    for text, n in kinds.items():
        server = json.loads(text)
        nics = ", ".join(f"{shown(name)} {_show_rate(mbit) if mbit else 'of unknown rate'}"
                         for name, mbit in server["nics"].items())
        gpus = [f"{server[kind]} GPUs ({kind})" for kind in ("cuda", "rocm") if server[kind]]
        yield (f"- {n} of {server['ranks']} ranks, {server['cpus']} CPUs, Linux {shown(server['kernel'])}; "
               f"NICs: {nics or 'none in sight'}{''.join('; ' + x for x in gpus)}")


def _streams(report):
    if not report["streams_mbit"]:
        return []
    text = ["", "## Plain streams", "", "Rate of a NIC when every NIC sends one stream and receives one.", ""]
    text += head(["messages", "median", "lowest", "highest"])
    for name, rates in report["streams_mbit"].items():
        text.append(row([name, *map(_show_rate, (median(rates), min(rates), max(rates)))]))
    return text


def _summary(report, cells):
    gains = [cell.speed for cell in cells.values() if cell.speed]
    if not gains:
        return "Nothing was measured both with and without fast."
    better, worse = sum(x >= 1.05 for x in gains), sum(x <= 0.95 for x in gains)
    return (f"Of {len(gains)} rows fast is at least 5 % faster in {better}, at least 5 % slower in {worse}; the most "
            f"that it gains is {max(gains):.2f} times, the least {min(gains):.2f}.")


def _list(title, entries):
    return ["", f"## {title}", "", *(f"- {entry}" for entry in entries)] if entries else []


def markdown(report):
    cells = _cells(report)
    n_servers, ranks = len(report["servers"]), sum(server["ranks"] for server in report["servers"])
    whence = "given" if report["rate_given"] else "what streams reach"
    text = ["# fastsched-field", "", _summary(report, cells), "",
            f"{n_servers} servers, {ranks} ranks, {report['mpi']}, {report['version']}; {report['made']}; "
            f"{report['spent_s'] / 60:.1f} of {report['minutes']} minutes; ended: {report['ended']}.", "",
            *_servers(report), f"- rate of a NIC, for the bounds: {_show_rate(report['rate_mbit'])} ({whence})"]
    text += _list("Checked", report["checks"]) + _streams(report)
    text += _table(cells, "together", "MPI_Alltoallv", None)
    text += _table(cells, "apart", "Entries apart", "entries")
    text += _table(cells, "gpu", "Buffers on GPUs", "memory")
    text += _list("Left out", [f"{shown(x['row'])}: {x['why']}" for x in report["left_out"]])
    text += _list("Failed", [f"{shown(x['row'])}, {x['variant']}: {shown(x['why'])}" for x in report["failed"]])
    text += ["", "## How to read it", "", _LEGEND.format(report["rounds"])]
    return "\n".join(text) + "\n"


def read(path):
    """The report in a file."""
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except OSError as error:
        raise bad(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise bad(f"{path}: not JSON: {error}") from None
    if not isinstance(report, dict) or report.get("format") != FORMAT:
        raise bad(f'{path}: not a report of fastsched-field: its "format" must be "{FORMAT}"')
    return report


def from_file(path):
    """Its Markdown."""
    report = read(path)
    try:
        return markdown(report)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise bad(f"{path}: a damaged report: {type(error).__name__} {error}") from None
