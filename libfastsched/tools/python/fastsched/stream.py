# SPDX-License-Identifier: BSD-3-Clause
"""A large JSON object, read value by value.

The object's members come one after the other; of one member, a long list, so do the items. So no more of
the file is in memory than one value, whatever the file's blanks and the order of its members.
"""
import json
import re

from .failure import bad

BLOCK = 1 << 20  # characters read at once, at least
NEAR = 100  # an error so near to the end of a block may be only that: its end

_blanks = re.compile(r"[ \t\r\n]*")
_to_next = re.compile(r"[ \t\r\n]*,[ \t\r\n]*(?=[{\[])")


class Decimal(str):
    """A number that is not whole, as it is written: a float would round it."""

    __slots__ = ()


_decode = json.JSONDecoder(parse_float=Decimal, parse_constant=str).raw_decode

_reasons = {
    "Expecting value": "a value is missing or unknown",
    "Expecting property name enclosed in double quotes": "the name of a member is missing",
    "Illegal trailing comma before end of object": "the name of a member is missing",
    "Expecting ':' delimiter": 'no ":" after the name of a member',
    "Expecting ',' delimiter": 'no "," or "}" after a member',
}


class Document:
    """One file, which is borrowed; name is what messages call it."""

    def __init__(self, file, name):
        self.name = name
        self._file = file
        self._text = ""  # what has been read, without what is long past
        self._first_line = 1  # of that
        self._begin = 0  # of the current value
        self._at = 0  # the next character
        self.has_list = False  # the long list has begun

    # ---- interface ----

    def members(self, listed):
        """Yield (name, value) of each member of the object, and (listed, item) of each item of that one."""
        if self._peek() != "{":
            raise self._failure(0, "not an object" if self._peek() else "the file is empty")
        self._at += 1
        more = self._peek() != "}"
        while more:
            name = self._name()
            if name == listed:
                yield from self._items(listed)
            else:
                self._peek()
                yield name, self._value()
            more = self._more_after("}", 'no "," or "}" after a member')
        self._at += 1
        if self._peek():
            raise self._wrong("something follows the object")

    def text(self):
        """The current value, as it is in the file."""
        return self._text[self._begin : self._at]

    def wrong(self, why):
        """A failure that names the line where the current value begins."""
        return self._failure(self._begin, why)

    # ---- errors ----

    def _failure(self, at, why):
        return bad(f"{self.name}:{self._first_line + self._text.count(chr(10), 0, at)}: {why}")

    def _wrong(self, why):
        """A failure at the next character."""
        if self._at < len(self._text):
            return self._failure(self._at, why)
        return self._cut_off()

    def _cut_off(self):
        return self._failure(len(self._text.rstrip(" \t\r\n")), "the file ends too early")

    def _wrong_json(self, error):
        """The line of a failure is that of what comes before: up to there all was right."""
        if isinstance(error, RecursionError):
            return self.wrong("objects are nested too deep")
        if not isinstance(error, json.JSONDecodeError):
            return self.wrong("a number is too long")
        if error.pos >= len(self._text.rstrip(" \t\r\n")) or error.msg.startswith("Unterminated"):
            return self._cut_off()
        why = _reasons.get(error.msg, error.msg)
        if error.msg.startswith("Invalid control character"):
            why = "a zero byte" if self._text[error.pos] == "\0" else "a string does not end"
        return self._failure(len(self._text[: error.pos].rstrip(" \t\r\n")), why)

    # ---- characters ----

    def _read_on(self):
        """Have more text, if there is more."""
        block = self._file.read(max(BLOCK, len(self._text)))
        if block:
            self._first_line += self._text.count("\n", 0, self._begin)
            self._text = self._text[self._begin :] + block
            self._at -= self._begin
            self._begin = 0
        return bool(block)

    def _peek(self):
        """The next character that is not blank; nothing at the end of the file."""
        while True:
            self._at = _blanks.match(self._text, self._at).end()
            if self._at < len(self._text):
                return self._text[self._at]
            self._begin = self._at
            if not self._read_on():
                return ""

    # ---- parts of the object ----

    def _value(self):
        """The value that begins here: the current value."""
        self._begin = self._at
        while True:
            try:
                value, end = _decode(self._text, self._begin)
            except (ValueError, RecursionError) as error:
                if self._is_cut(error) and self._read_on():
                    continue
                raise self._wrong_json(error) from None
            # A number that ends with the block may go on in the next one: 12 of 12.5, even if the point is here.
            if end + 3 < len(self._text) or not self._read_on():
                self._at = end
                return value

    def _is_cut(self, error):
        """May the rest of the value be missing only because it has not been read?"""
        far = getattr(error, "pos", len(self._text)) + NEAR < len(self._text)
        return not far or str(error).startswith("Unterminated")

    def _name(self):
        if self._peek() != '"':
            raise self._wrong("the name of a member is missing")
        name = self._value()
        if self._peek() != ":":
            raise self._wrong('no ":" after the name of a member')
        self._at += 1
        return name

    def _more_after(self, end, why):
        """Behind a member or an item: is there another one?"""
        mark = self._peek()
        if mark == ",":
            self._at += 1
        elif mark != end:
            raise self._wrong(why)
        return mark == ","

    def _items(self, listed):
        if self._peek() != "[":
            raise self._wrong("not a list of events")
        self.has_list = True
        self._at += 1
        more = self._peek() != "]"
        while more:
            if self._peek() not in ("{", "["):
                raise self._wrong("not an object")
            yield listed, self._value()
            ahead = _to_next.match(self._text, self._at)
            while ahead:  # the usual case, at once
                self._at = ahead.end()
                yield listed, self._value()
                ahead = _to_next.match(self._text, self._at)
            more = self._more_after("]", 'no "," or "]" after an event')
        self._at += 1
