#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A large JSON object is read value by value: wherever blocks end, the values are those of json, and errors
have their lines."""
import io
import json
import random
import unittest

import traces  # finds the modules

from fastsched import stream
from fastsched.failure import Failure

EXAMPLE = {
    "first": 12.5,
    "second": [1, "a ] } , : \" \\ \u00e9\n", None, True],
    "list": [{"a": 1}, [], {}, {"b": {"c": [{}]}, "d": -1.25e-3}, [7, "x"], {"list": [1]}],
    "empty": {},
    "last": 123456789,
}


def value_of(value):
    """As json reads it: a number is not rounded there."""
    if isinstance(value, stream.Decimal):
        return float(value)
    if isinstance(value, dict):
        return {name: value_of(member) for name, member in value.items()}
    return [value_of(item) for item in value] if isinstance(value, list) else value


class Pieces(unittest.TestCase):
    def setUp(self):
        block = stream.BLOCK
        self.addCleanup(setattr, stream, "BLOCK", block)

    def read(self, text):
        document = stream.Document(io.StringIO(text), "file")
        return [(name, value_of(value), json.loads(document.text())) for name, value in document.members("list")]

    def test_wherever_blocks_end(self):
        wanted = []
        for name, member in EXAMPLE.items():
            wanted += [(name, item, item) for item in member] if name == "list" else [(name, member, member)]
        for text in (json.dumps(EXAMPLE), json.dumps(EXAMPLE, indent=3), json.dumps(EXAMPLE, separators=(",", ":"))):
            for stream.BLOCK in (*range(1, 40), 1 << 20):
                self.assertEqual(self.read(text), wanted)

    def test_whatever_is_random(self):
        """Of the same text, cut anywhere and changed anywhere, the result does not depend on the blocks."""
        dice, text = random.Random(1), json.dumps(EXAMPLE, indent=1)
        for _ in range(300):
            at, other = dice.randrange(len(text)), dice.choice('{}[]",: \n\0x1')
            changed = text[:at] + dice.choice(("", other, other + text[at:], text[at + 1 :]))
            results = []
            for stream.BLOCK in (1 << 20, dice.randrange(1, 60)):
                try:
                    results.append(self.read(changed))
                except Failure as failure:
                    results.append(str(failure).partition(": ")[2])
            self.assertEqual(results[0], results[1], changed)

    def why(self, text):
        with self.assertRaises(Failure) as caught:
            self.read(text)
        return str(caught.exception)

    def test_lines_of_errors(self):
        for text, why in (
            ("", "file:1: the file is empty"),
            ("\n \n", "file:1: the file is empty"),
            ("\n[]", "file:1: not an object"),
            ("{\n'a': 1}", "file:2: the name of a member is missing"),
            ('{\n"a" 1}', 'file:2: no ":" after the name of a member'),
            ('{\n"a": 1\n"b": 2}', 'file:3: no "," or "}" after a member'),
            ('{"a":\n}', "file:1: a value is missing or unknown"),
            ('{"list":\n7}', "file:2: not a list of events"),
            ('{"list": [\n7]}', "file:2: not an object"),
            ('{"list": [\n{}\n{}]}', 'file:3: no "," or "]" after an event'),
            ('{"list": [\n{}\n\n', "file:2: the file ends too early"),
            ('{"a": "x\ny"}', "file:1: a string does not end"),
            ('{"a": "x\0y"}', "file:1: a zero byte"),
            ('{"a": 1}\n\n x', "file:3: something follows the object"),
            ('{"a": ' + "[" * 100000, "file:1: objects are nested too deep"),
            ('{"a": ' + "1" * 5000 + "}", "file:1: a number is too long"),
        ):
            # Older ones know no limit of either kind.
            if "too" not in why or "early" in why:
                self.assertEqual(self.why(text), why)
            else:
                self.assertIn(self.why(text) if "nested" in why else why, (why, "file:1: the file ends too early"))


if __name__ == "__main__":
    unittest.main()
