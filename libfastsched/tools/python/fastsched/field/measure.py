# SPDX-License-Identifier: BSD-3-Clause
"""Runs the rows that fit into the time: every round of a row has one job of each variant, one right after the other."""
import sys
import time

from .checks import json_lines
from .launch import run, why
from .rows import arguments, variants
from .settings import NATIVE, FAST, TUNED


def tell(text):
    print(text, file=sys.stderr, flush=True)


class Deadline:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left_s(self):
        return self.end - time.monotonic()


def plan(rows, estimate, mpi, rounds, left_s):
    """(rows that fit, [(row, why not)]), by the estimate alone."""
    fit, out = [], []
    for row in rows:
        needs_s, large = estimate.row_s(row, mpi, rounds), estimate.too_large(row)
        if large or needs_s > left_s:
            out.append((row, large or f"needs {needs_s:.0f} s, {max(0, left_s):.0f} s were left"))
        else:
            left_s -= needs_s
            fit.append(row)
    return fit, out


class Measurement:
    """Fills the report's lines, left_out and failed. hide: makes a text fit to be sent."""

    def __init__(self, launcher, estimate, options, report, hide):
        self.launcher, self.estimate, self.report, self.hide = launcher, estimate, report, hide
        self.rounds, self.nics, self.rate_mbit = options.rounds, options.nics, report["rate_mbit"]
        self.expected_s = self.spent_s = 0.0

    def _job(self, row, variant, left_s):
        """The lines of one job; None: it failed."""
        fast = variant == TUNED
        setting = (FAST if fast else {self.launcher.mpi: NATIVE[self.launcher.mpi].get(variant)})[self.launcher.mpi]
        words = arguments(row, self.estimate.calls(row), variant, self.rate_mbit, self.nics)
        done = run(self.launcher.benchmark(setting, words, fast), left_s)
        self.expected_s += self.estimate.job_s(row, variant)
        self.spent_s += done.wall_s
        lines = json_lines(done)
        if done.status is None:
            return None
        if done.status != 0 or not lines:
            self.report["failed"].append({"row": row.name(), "variant": variant, "why": self.hide(why(done)),
                                          "stderr": [self.hide(line) for line in done.err[-40:]]})
            return None
        told = [self.hide(line) for line in done.err if "coll fast: stats" in line]
        return [dict(line, row=row.name(), variant=variant, told=told[-1:]) for line in lines]

    def _needs_s(self, row):
        """By the estimate, and by how far off it was so far."""
        slower = self.spent_s / self.expected_s if self.expected_s else 1
        return max(slower, 0.1) * self.estimate.row_s(row, self.launcher.mpi, self.rounds)

    def _rounds(self, row, deadline):
        """Lines of all rounds; None: the time was over. Who fails once is not asked again."""
        lines, asked = [], variants(self.launcher.mpi)
        for k in range(self.rounds):
            for variant in asked[::-1 if k % 2 else 1]:  # there and back, so that a drift is nobody's
                more = self._job(row, variant, deadline.left_s())
                if deadline.left_s() <= 0:
                    return None
                if more is None:
                    asked = [name for name in asked if name != variant] if variant != TUNED else []
                lines += [dict(line, round=k) for line in more or []]
        return lines

    def row(self, row, deadline):
        large, needs_s, left_s = self.estimate.too_large(row), self._needs_s(row), deadline.left_s()
        if large or needs_s > left_s:
            reason = large or f"needs {needs_s:.0f} s, {max(0, left_s):.0f} s were left"
        else:
            tell(f"{row.name()}: {needs_s:.0f} s ...")
            lines = self._rounds(row, deadline)
            if lines is not None:
                self.report["lines"] += lines
                return
            reason = "the time was over before its last round"
        self.report["left_out"].append({"row": row.name(), "why": reason})
