# SPDX-License-Identifier: BSD-3-Clause
"""When a rank's NIC works on which message."""
from .model import RECV, WIRE


def work(ops, kind, busy=0):
    """Yield (op, start, stop) for a rank's messages of a kind between servers, in the order of ops. A NIC works
    on the oldest message: from when that could start, after the one before it, to its end. Stop may be before
    start: the message has ended by then. The NIC is free from `busy` on."""
    for op in ops:
        if op.channel != WIRE or op.kind != kind:
            continue
        start, stop = op.post, op.end
        if op.other_end is not None and kind == RECV:
            start = max(start, op.other_end.post)
        elif op.other_end is not None:
            stop = max(stop, op.other_end.end)
        start = max(start, busy)
        busy = max(busy, stop)
        yield op, start, stop
