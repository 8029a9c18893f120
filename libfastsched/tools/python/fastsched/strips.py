# SPDX-License-Identifier: BSD-3-Clause
"""The load of NICs over time, as SVG paths: the height is the part of their rate that is used, the colour is
the partner. Partners with less than a third of what there is at a moment are drawn together, in grey.

Heights are whole pixels, and what is equal to its neighbour is drawn with it: a strip stays small whatever
the number of messages.
"""

SEVERAL = -1  # many partners at a time
N_COLOURS = 12  # classes c0 to c11 of the drawing's style; partners beyond have them again

PALETTE = (
    "#4e79a7 #f28e2b #59a14f #b07aa1 #edc948 #76b7b2 #e15759 #9c755f #8cd17d #d37295 #86bcb6 #bab0ac"
).split()


def style():
    """CSS of the colours."""
    return "".join(f".c{k}{{fill:{colour}}}" for k, colour in enumerate(PALETTE)) + ".cx{fill:#8a8f98}"


def colour_class(who):
    """Of a partner."""
    return "cx" if who == SEVERAL else f"c{who % N_COLOURS}"


def _levels(shares, height):
    """Of one bin: {partner: (bottom, top)}, pixels from the foot."""
    total = sum(share for _, share in shares)
    named = [(who, share) for who, share in shares if share * 3 >= total]
    rest = total - sum(share for _, share in named)
    at, levels = 0.0, {}
    for who, share in sorted(named) + ([(SEVERAL, rest)] if rest > 0 else []):
        bottom, at = at, at + share
        low, high = (min(height, round(level * height)) for level in (bottom, at))
        if high > low:
            levels[who] = (low, high)
    return levels


def _runs(bins, height):
    """Yield (partner, first bin, end bin, bottom, top): rectangles."""
    open_ = {}  # by partner: (first bin, levels)
    for k, shares in enumerate([*bins, []]):
        levels = _levels(shares, height)
        for who in [who for who, (_, level) in open_.items() if levels.get(who) != level]:
            first, level = open_.pop(who)
            yield (who, first, k, *level)
        for who, level in levels.items():
            open_.setdefault(who, (k, level))


def paths(bins, place, height):
    """Yield (partner, d of its path). place(k): the x where bin k begins; y is 0 at the top."""
    drawn = {}
    for who, first, end, bottom, top in _runs(bins, height):
        x, width = place(first), place(end) - place(first)
        if width > 0:
            drawn.setdefault(who, []).append(f"M{x:g} {height - top}h{width:g}v{top - bottom}h-{width:g}z")
    for who, parts in sorted(drawn.items()):
        yield who, "".join(parts)
