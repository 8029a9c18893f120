#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A simulation becomes rows and bars, and these an SVG that any XML reader takes."""
import io
import json
import os
import unittest
import xml.dom.minidom

from traces import TestCase

from fastsched import spans, svg
from fastsched.chart import Chart
from fastsched.failure import Failure

ABOUT = {"title": "two <servers>", "by_server": False, "servers": [0, 0, 1, 1], "expected_ns": 5000}
RESULT = {"time_ns": 4000, "optimal_ns": 3000}


def draw(told, about=None):
    document = {**ABOUT, **(about or {}), "spans": told, **RESULT}
    return spans.read(io.StringIO(json.dumps(document)))


def bars_of(chart):
    return [(chart.rows[bar.row].name, bar.who, bar.start, bar.end, bar.bytes) for bar in chart.bars]


class Spans(TestCase):
    def test_ports_of_ranks(self):
        """Partners of NICs are servers, of scale-up ports ranks; a copy takes up no port."""
        told = [[1, 2, "wire", 100, 200, 10], [0, 1, "up", 0, 50, 5], [3, 3, "copy", 0, 90, 7]]
        chart = draw(told)
        self.assertEqual(len(chart.rows), 16)
        self.assertEqual(
            bars_of(chart),
            [
                ("rank 1 NIC sends", 1, 100, 200, 10),
                ("NIC receives", 0, 100, 200, 10),
                ("scale-up port sends", 1, 0, 50, 5),
                ("scale-up port receives", 0, 0, 50, 5),
            ],
        )
        self.assertEqual((chart.end, chart.mark), (4000, 3000))

    def test_neighbours_become_one(self):
        """Pauses of a five-hundredth of what was expected do not show, larger ones do."""
        told = [[0, 2, "wire", 0, 100, 1], [0, 3, "wire", 110, 200, 2], [0, 2, "wire", 211, 5000, 4]]
        sends = [bar for bar in bars_of(draw(told)) if bar[0] == "rank 0 NIC sends"]
        self.assertEqual(sends, [("rank 0 NIC sends", 1, 0, 200, 3), ("rank 0 NIC sends", 1, 211, 5000, 4)])
        self.assertEqual(draw(told).end, 5000)

    def test_ports_of_servers(self):
        """One of two NICs is half a strip; scale-up ports are full when they carry most; copies are no messages."""
        told = [[0, 1, "wire", 0, 2000, 2000], [1, 1, "up", 1000, 4000, 9], [0, 0, "copy", 0, 4000, 9]]
        chart = draw(told, {"expected_ns": 3840, "by_server": True, "lanes": [2, 1], "rate": 1000000000})
        names = ["server 0 NICs send", "NICs receive", "scale-up ports"]
        self.assertEqual([row.name for row in chart.rows][:3], names)
        self.assertEqual(
            [(strip.row, strip.who, strip.path) for strip in chart.strips],
            [(0, 1, "M0 7h500v7h-500z"), (4, 0, "M0 0h500v14h-500z"), (5, 1, "M250 0h750v14h-750z")],
        )

    def test_the_busiest_servers(self):
        """More than 32 would be noise."""
        told = [[s, 40 + s, "wire", 0, 4000, 1 + s] for s in range(40)]
        chart = draw(told, {"by_server": True, "lanes": [1] * 80, "rate": 1000000000})
        self.assertEqual(len(chart.rows), 32 * 3)
        self.assertEqual(chart.rows[0].name, "server 24 NICs send")
        self.assertIn("The busiest 32 of 80 servers", chart.note)

    def test_nothing_is_sent(self):
        self.assertEqual(draw([]).bars, [])

    def test_a_simulation_that_breaks_off(self):
        for text in (json.dumps({**ABOUT, "spans": []}), json.dumps({**ABOUT, "spans": [[1]]})[:-3]):
            with self.assertRaises(Failure):
                spans.read(io.StringIO(text))

    def test_the_picture(self):
        path = os.path.join(self.dir, "x.svg")
        svg.write(path, draw([[1, 2, "wire", 100, 200, 10]]))
        picture = xml.dom.minidom.parse(path).documentElement
        texts = [text.firstChild.data for text in picture.getElementsByTagName("text")]
        self.assertEqual(texts[0], "two <servers>")
        self.assertEqual(texts[1:4], ["rank 0 NIC sends", "NIC receives", "scale-up port sends"])
        self.assertEqual(texts[-5:], ["microseconds", "lower bound", "server", "0", "1"])
        self.assertEqual(texts[17:-5], ["0", "0.5", "1", "1.5", "2", "2.5", "3", "3.5", "4"])
        titles = [title.firstChild.data for title in picture.getElementsByTagName("title")]
        self.assertEqual(titles, ["rank 1 NIC sends, to server 1: 10 bytes", "NIC receives, from server 0: 10 bytes"])

    def test_a_legend_for_each_kind_of_partner(self):
        """What is a server in one row may be a rank in another, in the same colour; all of it is in the picture."""
        path = os.path.join(self.dir, "x.svg")
        told = [[0, 2, "wire", 0, 100, 1], *([0, r, "up", 100 * r, 100 * r + 100, 1] for r in range(1, 12))]
        svg.write(path, draw(told, {"servers": [0, 0, 1, *[0] * 9]}))
        picture = xml.dom.minidom.parse(path).documentElement
        texts = [(int(text.getAttribute("y")), text.firstChild.data) for text in picture.getElementsByTagName("text")]
        legends = [text for _, text in texts[[text for _, text in texts].index("lower bound") + 1 :]]
        self.assertEqual(legends, ["rank", *map(str, range(12)), "server", "0", "1"])
        self.assertLess(max(y for y, _ in texts), int(picture.getAttribute("height")))

    def test_less_than_a_pixel(self):
        """Neighbours are drawn together, in the colour of most bytes; what is larger is not."""
        chart = Chart("", "", 1)
        chart.add_row("a", "to")
        chart.end = 1000 * svg.WIDTH
        for who, start, end, bytes_ in ((1, 0, 300, 5), (2, 400, 500, 7), (3, 990, 1500, 1), (2, 5000, 7000, 9)):
            chart.add_bar(0, who, start, end, bytes_)
        path = os.path.join(self.dir, "x.svg")
        svg.write(path, chart)
        picture = xml.dom.minidom.parse(path).documentElement
        titles = [title.firstChild.data for title in picture.getElementsByTagName("title")]
        self.assertEqual(titles, ["a, to 2 and 1 more: 12 bytes", "a, to 3: 1 bytes", "a, to 2: 9 bytes"])

    def test_a_picture_without_time(self):
        chart = Chart("", "", 1)
        chart.add_row("a", "b")
        svg.write(os.path.join(self.dir, "x.svg"), chart)

    def test_a_picture_without_a_place(self):
        with self.assertRaises(Failure) as caught:
            svg.write(os.path.join(self.dir, "no", "x.svg"), Chart("", "", 1))
        self.assertIn("no/x.svg: No such file", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
