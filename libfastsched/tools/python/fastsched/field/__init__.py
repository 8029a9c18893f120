# SPDX-License-Identifier: BSD-3-Clause
"""Measures a real cluster with and without fast, and writes a report: fastsched-field. tests/lab/suite, which
measures the emulated one, uses settings and tables."""
