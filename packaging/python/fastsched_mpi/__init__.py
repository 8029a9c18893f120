# SPDX-License-Identifier: BSD-3-Clause
"""fastsched for the MPIs that pip installs. The command is fastsched-mpirun."""

from pathlib import Path

LIBRARY = Path(__file__).parent / "libmpich_coll_fast.so"
LIBRARY_MPI_ABI = Path(__file__).parent / "libfastsched_mpi_abi.so"
COMMAND = Path(__file__).parent / "command" / "fastsched"
