# SPDX-License-Identifier: BSD-3-Clause
"""A Gantt chart: bars or strips on rows over time, with one moment marked. svg.py draws it."""


class Row:
    """Of a chart."""

    def __init__(self, name, partner):
        self.name = name
        self.partner = partner  # what the partner of a bar is: "to server"
        self.kind = partner.split()[-1]  # "server": rows of a kind share a legend


class Bar:
    """A row is busy with a partner, whose number is `who`, from start to end."""

    __slots__ = ("row", "who", "start", "end", "bytes")

    def __init__(self, row, who, start, end, bytes_):
        self.row, self.who, self.start, self.end, self.bytes = row, who, start, end, bytes_


class Strip:
    """Load of a row with a partner, ready to draw: an SVG path on a row of WIDTH x BAR, see strips.py."""

    def __init__(self, row, who, path):
        self.row, self.who, self.path = row, who, path


class Chart:
    """Times are whole numbers from 0, per_unit of them make one of the unit at the axis."""

    def __init__(self, title, unit, per_unit):
        self.title, self.unit, self.per_unit = title, unit, per_unit
        self.mark = None  # the moment marked, if any
        self.mark_name = ""
        self.end = 0  # of the axis
        self.rows, self.bars, self.strips = [], [], []
        self.note = ""  # what is to be said below

    def add_row(self, name, partner):
        """Returns the number of the row."""
        self.rows.append(Row(name, partner))
        return len(self.rows) - 1

    def add_bar(self, row, who, start, end, bytes_):
        """Returns the bar."""
        self.bars.append(Bar(row, who, start, end, bytes_))
        return self.bars[-1]

    def fit(self):
        """Make the axis as long as the bars need."""
        self.end = max([self.end, *(bar.end for bar in self.bars)])
