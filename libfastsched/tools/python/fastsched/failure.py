# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong, in one line for the user."""
import json

FAILED = 1  # it could not be done: memory, a file that cannot be written
BAD = 2  # options or input are wrong


class Failure(Exception):
    """Ends the command with an exit code and a line on stderr."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def bad(text):
    """An error of options or input, for the user."""
    return Failure(BAD, text)


def failed(text):
    """An action that failed, for the user."""
    return Failure(FAILED, text)


def shown(text):
    """Text from a file, so that a terminal can show it: escaped as in JSON."""
    return json.dumps(text)[1:-1].replace("\x7f", "\\u007f")
