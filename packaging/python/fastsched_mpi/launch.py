# SPDX-License-Identifier: BSD-3-Clause
"""fastsched-mpirun: the mpiexec of this environment's MPI, with fast in front of that MPI.

And fastsched, the command, which is a program inside this package.
"""

import os
import sys
from pathlib import Path

from fastsched_mpi import COMMAND, LIBRARY, LIBRARY_MPI_ABI

USAGE = """usage: fastsched-mpirun [--mpi-abi] [OPTION OF MPIEXEC...] COMMAND [ARGUMENT...]

  fastsched-mpirun -n 64 ./app
  fastsched-mpirun -n 4 python app.py
  fastsched-mpirun --mpi-abi -n 64 ./app-built-by-mpicc_abi

Starts COMMAND with the mpiexec of the MPI that pip has installed in this Python
environment (mpich or impi-rt), and lets fastsched serve its MPI_Alltoallv,
MPI_Alltoall and MPI_Alltoallw. --mpi-abi, which comes first, is for a COMMAND built for the ABI of the
MPI 5 standard: it needs libmpi_abi.so.1, of mpich 5. Parameters are variables of the environment:
FASTSCHED_VERBOSE=1 prints a line for each call.
"""

NO_MPI_ABI = "the MPI in {prefix} has no libmpi_abi.so.1: pip install 'mpich>=5'"

NO_MPI = "there is no MPI with MPICH's ABI in {prefix}; install one beside fastsched-mpi: pip install mpich"

OPEN_MPI = (
    "the MPI in {prefix} is Open MPI, and pip's Open MPI loads no plugins (it was built"
    " with --disable-dlopen); use pip install mpich, or an Open MPI that loads plugins"
    " with the component from fastsched's sources"
)


def die(text):
    sys.exit("fastsched-mpirun: " + text)


def find_prefix():
    """Where pip has put an MPI with MPICH's ABI (libmpi.so.12, hydra): beside this launcher, which may be in
    the user's own folder, or in the environment."""
    prefixes = [Path(sys.argv[0]).resolve().parent.parent, Path(sys.prefix)]
    for prefix in prefixes:
        if (prefix / "lib" / "libmpi.so.12").exists() and (prefix / "bin" / "mpiexec.hydra").exists():
            return prefix
    open_mpis = [prefix for prefix in prefixes if (prefix / "lib" / "libmpi.so.40").exists()]
    if open_mpis:
        die(OPEN_MPI.format(prefix=open_mpis[0]))
    die(NO_MPI.format(prefix=" or ".join(dict.fromkeys(map(str, prefixes)))))


def in_front_of_mpi(library):
    """The variables that load a library before the MPI's, behind tools that LD_PRELOAD names already:
    they see MPI_, fastsched sees PMPI_. A blank ends an entry of LD_PRELOAD, but not one of LD_LIBRARY_PATH."""
    folder, name = str(library.parent), str(library)
    variables = {}
    if any(letter.isspace() for letter in folder):
        variables["LD_LIBRARY_PATH"] = ":".join(filter(None, [folder, os.environ.get("LD_LIBRARY_PATH")]))
        name = library.name
    variables["LD_PRELOAD"] = ":".join(filter(None, [os.environ.get("LD_PRELOAD"), name]))
    return variables


def command():
    os.execv(COMMAND, ["fastsched", *sys.argv[1:]])


def mpirun():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    prefix = find_prefix()
    mpiexec = str(prefix / "bin" / "mpiexec.hydra")
    library = LIBRARY
    if arguments[0] == "--mpi-abi":
        library = LIBRARY_MPI_ABI
        arguments = arguments[1:]
        if not (prefix / "lib" / "libmpi_abi.so.1").exists():
            die(NO_MPI_ABI.format(prefix=prefix))
    variables = {**in_front_of_mpi(library), "MPICH_ALLTOALLV_INTRA_ALGORITHM": "fast"}
    choice = [word for name, value in variables.items() for word in ("-genv", name, value)]
    os.execv(mpiexec, [mpiexec, *choice, *arguments])
