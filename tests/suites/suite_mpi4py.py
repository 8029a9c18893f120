# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's own tests of collective operations: its source archive has them, its wheel runs them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from suite_mpis import give_up, sh

VERSION = "4.1.2"
NP = 4


class Test:
    """A module of tests."""

    np, env, limit_s = NP, {}, 300

    def __init__(self, tests, python, module):
        self.name = f"mpi4py/{module}"
        self.key = f"{self.name} {NP}"
        self.words = [str(python), "main.py", "-i", rf"^{module}\.py$"]
        self.cwd = tests

    @staticmethod
    def is_there():
        return True

    @staticmethod
    def is_good(said):
        return re.search(r"^Ran [1-9]", said, re.M) is not None

    @staticmethod
    def essence(said):
        bad = re.findall(r"^(?:ERROR|FAIL): .*", said, re.M)
        return " / ".join(bad[:3]) or " / ".join(said.splitlines()[-3:])


def fetch(work):
    """The directory of the tests."""
    tests = work / f"mpi4py-{VERSION}/test"
    if not tests.is_dir():
        log = work / "fetch.log"
        archive = work / f"mpi4py-{VERSION}.tar.gz"
        get = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "mpi4py", f"mpi4py=={VERSION}"]
        if not sh(get, log, cwd=work):
            give_up(f"no source archive of mpi4py: {log}")
        subprocess.run(["tar", "-xf", archive, "-C", work, f"mpi4py-{VERSION}/test"], check=True)
    return tests


def make_environment(mpi):
    """The Python of an environment that has mpi4py, and finds the MPI's library."""
    venv = mpi.work / "venv"
    if not (venv / "ready").exists():
        shutil.rmtree(venv, ignore_errors=True)
        if not sh([sys.executable, "-m", "venv", venv], mpi.log) or not sh(
                [venv / "bin/pip", "install", f"mpi4py=={VERSION}", "numpy"], mpi.log):
            give_up(f"no mpi4py: {mpi.log}")
        (venv / "ready").touch()
    return venv / "bin/python"


def make_path(mpi):
    """A directory with the MPI's library by the name that the wheel asks for."""
    shown = subprocess.check_output([f"mpicc.{mpi.suffix}", "-show"], text=True)
    name, wanted = {"ompi": ("libmpi.so", "libmpi.so.40"), "mpich": ("libmpich.so", "libmpi.so.12")}[mpi.name]
    library = Path(re.search(r"-L(\S+)", shown).group(1)) / name
    path = mpi.work / "lib"
    path.mkdir(exist_ok=True)
    link = path / wanted
    link.unlink(missing_ok=True)
    link.symlink_to(library.resolve(strict=True))
    return path


def collect(mpi, work, only):
    """The tests of that name, or all."""
    tests = fetch(work)
    python = make_environment(mpi)
    path = make_path(mpi)
    Test.env = {"LD_LIBRARY_PATH": f"{path}:{os.environ.get('LD_LIBRARY_PATH', '')}",
                "MPI4PY_LIBMPI": str(next(path.iterdir()))}
    modules = sorted(path.stem for path in tests.glob("test_cco_*.py"))
    found = [Test(tests, python, module) for module in modules]
    return [test for test in found if not only or test.name in only]
