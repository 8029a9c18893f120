# SPDX-License-Identifier: BSD-3-Clause
"""Reads traces and draws charts for the command fastsched. Nothing but the standard library is needed."""
