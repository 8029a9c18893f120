# SPDX-License-Identifier: BSD-3-Clause
"""fastsched trace: what the ranks of a job did, and what the end of a call waited for."""
