# SPDX-License-Identifier: BSD-3-Clause
"""fastsched for the MPIs that pip installs. The command is fastsched-mpirun."""

from pathlib import Path

LIBRARY = Path(__file__).parent / "libmpich_coll_fast.so"
COMMAND = Path(__file__).parent / "command" / "fastsched"
