# SPDX-License-Identifier: BSD-3-Clause
"""Numbers for people: three digits and a unit, as fs_tool_units.c writes them."""

_TIMES = ("ns", "us", "ms", "s")
_BYTES = ("kB", "MB", "GB", "TB", "PB")
_BITS = ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s")
_RATES = ("B/s", "kB/s", "MB/s", "GB/s", "TB/s")


def _text(value, units):
    """Units are a thousand of the one before each; the value is in the first."""
    k = 0
    while value >= 999.5 and k + 1 < len(units):
        value /= 1000
        k += 1
    decimals = 0 if value >= 99.95 or value == 0 else 1 if value >= 9.995 else 2
    return f"{value:.{decimals}f} {units[k]}"


def time_text(ns):
    """Of nanoseconds."""
    return _text(ns, _TIMES)


def round_text(ns):
    """Of a round number of nanoseconds: without zeros behind the point."""
    number, unit = time_text(ns).split()
    return f"{float(number):g} {unit}" if ns else "0"


def bytes_text(bytes_):
    """Powers of 1000."""
    return _text(bytes_ / 1000, _BYTES) if bytes_ >= 1000 else f"{bytes_} B"


def bits_text(rate):
    """Of bytes per second, as the rate of a network."""
    return _text(rate * 8, _BITS)


def rate_text(rate):
    """Of bytes per second."""
    return _text(rate, _RATES)


def ticks(end, most=8):
    """Round numbers from 0 to end: 1, 2 or 5 times a power of ten apart, at most that many and 0."""
    step, k = 1, 0
    while end // step > most:
        step = step // 2 * 5 if k % 3 == 1 else step * 2
        k += 1
    return range(0, int(end) + 1, step)
