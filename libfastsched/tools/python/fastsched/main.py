# SPDX-License-Identifier: BSD-3-Clause
"""Runs one of the commands that are written in Python; every failure becomes a line on stderr."""
import os
import signal
import sys

from . import report, spans
from .failure import FAILED, Failure, failed
from .field import command as field
from .trace import command as trace

_commands = {
    "trace": trace.run, "draw": spans.run, "report": report.run, "timeline": report.run_timeline, "field": field.run,
}


def _run(argv):
    try:
        _commands[argv[0]](argv[1:])
        sys.stdout.flush()
    except OSError as error:  # files have failed with a name
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still to be written
        raise failed(f"cannot write to standard output: {error.strerror}") from None


def main(argv):
    """The exit code of: COMMAND ARGUMENT..."""
    name = "fastsched-field" if argv[0] == "field" else "fastsched"
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        _run(argv)
    except Failure as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        return failure.code
    except MemoryError:
        print(f"{name}: out of memory", file=sys.stderr)
        return FAILED
    return 0
