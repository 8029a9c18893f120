#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages become load over time, load becomes strips, bytes a map, and numbers get units."""
import unittest

from traces import TestCase

from fastsched import load, panels, strips, units


class Loads(TestCase):
    def test_bytes_are_kept(self):
        """However often bins become one, and wherever a message begins."""
        rows = load.Load(1000)
        messages = [(0, 10, 7), (3, 3, 5), (999, 1000, 11), (5, 123456, 1000), (77777, 200001, 31)]
        for start, end, bytes_ in messages:
            rows.add("row", 1, start, end, bytes_)
        self.assertAlmostEqual(sum(rows.rows["row"][1]), sum(message[2] for message in messages), places=6)
        self.assertGreaterEqual(rows.width * load.BINS, 200001)
        self.assertLess(rows.width * load.BINS, 4 * 200001)

    def test_at_an_even_rate(self):
        rows = load.Load(load.BINS * 8)  # bins of 10
        rows.add("row", 4, 15, 35, 40)
        self.assertEqual(rows.width, 10)
        self.assertEqual(rows.rows["row"][4][:5], [0, 10, 20, 10, 0])

    def test_shares(self):
        """Of what fits in; the largest first."""
        rows = load.Load(load.BINS * 8)
        rows.add("row", 4, 0, 10, 5)
        rows.add("row", 2, 0, 10, 15)
        self.assertEqual(rows.shares("row", 2)[:2], [[(2, 0.75), (4, 0.25)], []])
        self.assertEqual(rows.shares("none", 2)[0], [])


def paths(bins, height=20):
    return dict(strips.paths(bins, lambda k: k * 2, height))


class Strips(TestCase):
    def test_neighbours_become_one(self):
        self.assertEqual(paths([[(3, 1.0)], [(3, 1.0)], [], [(3, 0.5)]]), {3: "M0 0h4v20h-4zM6 10h2v10h-2z"})

    def test_partners_are_stacked(self):
        """The lower number below; what is less than a third is drawn together."""
        drawn = paths([[(5, 0.5), (2, 0.35), (7, 0.1), (8, 0.05)]])
        self.assertEqual(drawn, {2: "M0 13h2v7h-2z", 5: "M0 3h2v10h-2z", strips.SEVERAL: "M0 0h2v3h-2z"})

    def test_no_more_than_all(self):
        self.assertEqual(paths([[(1, 1.2)]]), {1: "M0 0h2v20h-2z"})

    def test_less_than_a_pixel_is_not_drawn(self):
        self.assertEqual(paths([[(1, 0.02)]]), {})


class Map(TestCase):
    def test_numbers(self):
        """Of cells, dark letters but on the strongest; behind bars, of what is sent and received."""
        about = {"matrix": [[9, 80, 60], [100, 9, 7], [0, 5, 9]], "busiest_server": {"server": 1, "direction": "sends"}}
        drawn = "".join(panels.heat_map(about))
        self.assertRegex(drawn, 'class="m s on">100 B<')
        self.assertRegex(drawn, 'class="m s">80 B<')
        for bytes_ in (140, 107, 5):
            self.assertRegex(drawn, f'class="t s">{bytes_} B<')
        for bytes_ in (100, 85, 67):
            self.assertRegex(drawn, f'class="t s m">{bytes_} B<')


class Units(TestCase):
    def test_three_digits(self):
        times = {0: "0 ns", 12: "12.0 ns", 999.6: "1.00 us", 2927109000: "2.93 s", 889838: "890 us", 99960: "100 us"}
        self.assertEqual({ns: units.time_text(ns) for ns in times}, times)
        sizes = {0: "0 B", 999: "999 B", 1000: "1.00 kB", 208000000: "208 MB"}
        self.assertEqual({bytes_: units.bytes_text(bytes_) for bytes_ in sizes}, sizes)
        self.assertEqual((units.bits_text(5e10), units.rate_text(4.5e11)), ("400 Gbit/s", "450 GB/s"))
        self.assertEqual([units.round_text(n) for n in (0, 500000, 10**10)], ["0", "500 us", "10 s"])

    def test_ticks(self):
        self.assertEqual(list(units.ticks(890)), list(range(0, 801, 100)))


if __name__ == "__main__":
    unittest.main()
