# SPDX-License-Identifier: BSD-3-Clause
"""A comparison as one page: no scripts, no fonts to fetch, light and dark. What it shows is in report.py."""
from . import output, strips
from .failure import shown
from .output import escaped
from .panels import bars, heat_map, timeline, timeline_alone
from .units import bits_text, bytes_text, rate_text, time_text

STYLE = """
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--text:#1b1f27;--soft:#59616f;--line:#dde1e8;
--track:#edf0f4;--fast:#1a7f4b;--other:#7d8796;--bound:#b3261e;--heat:#2f6fd0;--hot:#b45309}
@media(prefers-color-scheme:dark){:root{--page:#12151a;--card:#1b1f27;--text:#e8ebf0;--soft:#a3acbb;
--line:#313844;--track:#262c36;--fast:#46c286;--other:#8b95a5;--bound:#ff8a80;--heat:#2f6fd0;--hot:#f5a742}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.55 system-ui,-apple-system,"Segoe UI",
Roboto,"Noto Sans","DejaVu Sans",sans-serif}
main{max-width:980px;margin:0 auto;padding:40px 20px 56px}
h1{font-size:2.5rem;line-height:1.15;margin:0 0 .35em;letter-spacing:-.02em}
h1.gain{color:var(--fast)}
h2{font-size:1.15rem;margin:0 0 .3em}
p{margin:0 0 1em;max-width:58em;text-wrap:pretty}
.lead{font-size:1.1rem}
.soft,figcaption{color:var(--soft);font-size:.92rem}
section{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:22px 24px 18px;margin:22px 0}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:14px 28px;margin:26px 0 0}
dt{color:var(--soft);font-size:.85rem}
dd{margin:0;font-weight:600;overflow-wrap:anywhere}
figure{margin:14px 0 4px;overflow-x:auto}
svg{display:block;width:100%;height:auto;min-width:640px}
svg.map{margin:0 auto}
text{font-size:13px;fill:var(--text)}
.t{fill:var(--soft)}.r{text-anchor:end}.m{text-anchor:middle}.b{font-weight:600}.s{font-size:11px}
.track{fill:var(--track)}.fast{fill:var(--fast)}.other{fill:var(--other)}.heat{fill:var(--heat)}
.hot{fill:var(--hot)}.inside{fill:var(--track)}.on{fill:#fff}
.grid{stroke:var(--line)}.bound{stroke:var(--bound);stroke-width:1.6;stroke-dasharray:5 4}
text.bound{fill:var(--bound);stroke:none}.end{stroke:var(--text);stroke-width:1.2}
.legend{display:flex;flex-wrap:wrap;gap:6px 18px;list-style:none;padding:0;margin:12px 0 4px;
color:var(--soft);font-size:.88rem}
.legend svg{display:inline-block;width:12px;min-width:0;height:12px;margin-right:6px;vertical-align:-1px}
"""


def _headline(about):
    """The words, and whether they are good news."""
    about = about.get("recording", about)
    verdict = about["verdict"]
    if verdict == "gain":
        gain = min(float(way["gain"]) for way in about["ways"] if way["simulated"])
        return f"{gain:.1f}× faster with fast", True
    return {"loss": "Slower with fast", "small": "A small call"}.get(verdict, "No gain"), False


def _facts(about):
    lanes = sorted(set(about["lanes"]))
    nics = f"{lanes[0]}" if len(lanes) == 1 else f"{lanes[0]} to {lanes[-1]}"
    if "recording" in about:
        recording = about["recording"]
        yield "Recording", shown(recording["directory"])
        yield "Calls", f'{recording["calls"]}, {bytes_text(recording["total_bytes"])}'
    yield "Traffic", shown(about["traffic"])
    yield "Size", f'{bytes_text(about["total_bytes"])}, {bytes_text(about["wire_bytes"])} between servers'
    yield "Cluster", f'{about["servers"]} servers, {about["ranks"]} ranks'
    yield "NICs", f'{nics} per server, {bits_text(about["scale_out"])} each'
    yield "Inside a server", f'{rate_text(about["scale_up"])} per rank'
    start, inside = (time_text(float(about[name]) * 1e3) for name in ("alpha_us", "alpha_up_us"))
    yield "Start of a message", f"{start}, inside {inside}"


def _head(about):
    words, good = _headline(about)
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{escaped(words)}: fastsched compare</title>\n<style>{STYLE}{strips.style()}</style>\n</head>\n"
        f'<body>\n<main>\n<h1{" class=gain" if good else ""}>{escaped(words)}</h1>\n'
        f'<p class="lead">{escaped(about.get("recording", about)["advice"])}</p>\n<dl>\n'
    )
    for name, value in _facts(about):
        yield f"<div><dt>{name}</dt><dd>{escaped(value)}</dd></div>\n"
    yield "</dl>\n"


def _section(title, text, drawn):
    yield f"<section>\n<h2>{escaped(title)}</h2>\n<p class=soft>{escaped(text)}</p>\n<figure>\n"
    yield from drawn
    yield "</figure>\n</section>\n"


def _sums(recording):
    """The calls of a recording, as a list."""
    ways = [(way["name"], way["time_us"]) for way in recording["ways"] if way["simulated"]]
    yield (
        "<section>\n<h2>All calls</h2>\n<p class=soft>Sums over "
        f'{recording["simulated_calls"]} calls. What follows is of the {recording["kinds"]} kinds of calls the one '
        f'that takes longest, number {recording["longest"]}.</p>\n<dl>\n'
    )
    for name, time in [*ways, ("fast", recording["fast_us"]), ("lower bound", recording["lower_bound_us"])]:
        yield f"<div><dt>{escaped(name)}</dt><dd>{time_text(float(time) * 1e3)}</dd></div>\n"
    yield "</dl>\n</section>\n"


def _times(about):
    text = (
        "Simulated on the same cluster. No way can beat the lower bound, the bytes of the busiest server over "
        "the rate of its NICs."
    )
    return _section("Time of the exchange", text, bars(about))


def _matrix(about):
    busiest, rank = about["busiest_server"], about["busiest_rank"]
    text = "No bytes go from one server to another."
    if busiest["bytes"]:
        text = (
            f'Server {busiest["server"]} {busiest["direction"]} {bytes_text(busiest["bytes"])}, '
            f'{100 * float(busiest["share"]):.0f} % of all that goes between servers and '
            f'{float(busiest["over_mean"]):.1f} times the mean: it is the bottleneck. The busiest rank is '
            f'{rank["rank"]} with {bytes_text(rank["bytes"])} from or to other servers.'
        )
    return _section("Which server sends to which", text, heat_map(about))


def _timelines(about, loads):
    first = about["ways"][min(loads)]["name"]
    text = (
        f"What the NICs of the busiest servers do, {first} above and fast below, on the same axis. A full strip is "
        "all NICs of the server at their full rate; a gap is time lost. The colour is the server at the other end."
    )
    return _section("The busiest servers over time", text, timeline(about, loads))


def _foot(about):
    yield (
        '<p class="soft">Made by fastsched compare. Times come from a simulation in which messages take a start-up '
        "time and then share the NICs on their way; processors take no time"
        f'{"" if float(about["incast"]) else ", and many senders to one NIC cost nothing (option --incast)"}. '
        "Sizes are powers of 1000.</p>\n</main>\n</body>\n</html>\n"
    )


def _drawn(about, loads):
    yield from _head(about)
    if loads and "recording" in about:
        yield from _sums(about["recording"])
    if loads:
        yield from _times(about)
    yield from _matrix(about)
    if loads:
        yield from _timelines(about, loads)
    yield from _foot(about)


def write_timeline(path, about, loads):
    """Write the last figure into a file of its own, an SVG."""
    output.write(path, timeline_alone(about, loads, STYLE + strips.style()))


def write(path, about, loads):
    """Write the page into a file."""
    output.write(path, _drawn(about, loads))
