# SPDX-License-Identifier: BSD-3-Clause
"""MPICH's own tests, test/mpi of its source package."""

import os
import re
import shutil
import subprocess

from suite_mpis import HERE, LIMIT_S, give_up, sh

FOLDERS = ["coll", "comm", "errors/coll", "errors/comm", "threads/coll", "f77/coll", "f08/coll"]

# Why its configure does not build them for an MPI that is installed it does not say.
F08_IF, F08_IF_NOT_OURS = '"$enable_f08" = "yes"', '"$enable_f08" = "yes" -a "$FROM_MPICH" = "yes"'

# What Open MPI lacks, by another name.
OMPI_NAMES = """#include <mpi.h>
#include <mpi-ext.h>
#define MPI_Type_hvector MPI_Type_create_hvector
#define MPI_Type_hindexed MPI_Type_create_hindexed
#define MPI_Type_struct MPI_Type_create_struct
"""
PERSISTENT = """Allgather Allgatherv Allreduce Alltoall Alltoallv Alltoallw Barrier Bcast Exscan Gather Gatherv
Reduce Reduce_scatter Reduce_scatter_block Scan Scatter Scatterv Neighbor_allgather Neighbor_allgatherv
Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw""".split()


class Test:
    """A line of a testlist: PROGRAM NP [KEY=VALUE...]"""

    limit_s = LIMIT_S

    def __init__(self, built, folder, line):
        words = line.split()
        keys = [word.split("=", 1) for word in words[2:] if "=" in word]
        args = [value for key, value in keys if key == "arg"]
        self.folder, self.program, self.np = folder, words[0], int(words[1])
        self.words = [f"./{self.program}", *args]
        self.env = dict(value.split("=", 1) for key, value in keys if key == "env" and "=" in value)
        self.cwd = built / folder
        self.name = f"{folder}/{self.program}"
        self.key = " ".join([self.name, str(self.np), *args])

    def is_there(self):
        return (self.cwd / self.program).exists()

    @staticmethod
    def is_good(said):
        return "No Errors" in said

    @staticmethod
    def essence(said):
        lines = [line for line in said.splitlines()
                 if line.strip() and "stats:" not in line and "summary:" not in line]
        return " / ".join(lines[:3])


def fetch(work):
    """The directory of the tests."""
    tests = work / "mpich-tests"
    if (tests / "configure").exists():
        return tests
    apt = work / "apt"
    shutil.rmtree(apt, ignore_errors=True)
    for name in ["lists/partial", "archives/partial", "parts"]:
        (apt / name).mkdir(parents=True)
    mirror = subprocess.check_output([HERE.parent / "compat/debian_mirror"], text=True).strip()
    with open("/etc/os-release", encoding="utf-8") as about:
        release = re.search(r"VERSION_CODENAME=(\w+)", about.read()).group(1)
    (apt / "sources.list").write_text(f"deb-src {mirror} {release} main\n")
    get = ["apt-get", "-o", f"Dir::Etc::sourcelist={apt}/sources.list", "-o", f"Dir::Etc::sourceparts={apt}/parts",
           "-o", f"Dir::State::lists={apt}/lists", "-o", f"Dir::Cache={apt}/archives"]
    log = work / "fetch.log"
    if not sh([*get, "update"], log) or not sh([*get, "source", "--download-only", "mpich"], log, cwd=apt):
        give_up(f"no source package of MPICH: {log}")
    package = next(apt.glob("mpich_*.orig.tar.*"))
    tests.mkdir(parents=True, exist_ok=True)
    unpack = ["tar", "-xf", package, "-C", tests, "--strip-components=3", "--wildcards", "*/test/mpi"]
    subprocess.run(unpack, check=True)
    script = (tests / "configure").read_text()
    if F08_IF_NOT_OURS not in script:
        give_up("these tests of MPICH have another configure")
    (tests / "configure").write_text(script.replace(F08_IF_NOT_OURS, F08_IF))
    return tests


def read_list(source, built, folder):
    lists = [built / folder / "testlist", source / folder / "testlist"]
    lines = next(path for path in lists if path.exists()).read_text().splitlines()
    lines = [re.sub(r"@\w+@", "", line).strip() for line in lines]
    return [Test(built, folder, line) for line in lines if not line.startswith("#") and len(line.split()) > 1]


def configure(mpi, source):
    built = mpi.work / "mpich-tests"
    if (built / "Makefile").exists():
        return built
    prefix = built / "prefix/bin"
    prefix.mkdir(parents=True)
    for tool in ["mpicc", "mpif77", "mpif90", "mpifort", "mpiexec", "mpicxx"]:
        path = shutil.which(f"{tool}.{mpi.suffix}")
        if path:
            (prefix / tool).symlink_to(path)
    flags = ["--disable-cxx", "--disable-spawn", "--enable-fortran=all"]
    flags += ["--without-cuda", "--without-hip", "--without-ze"]
    if mpi.name == "ompi":
        names = OMPI_NAMES + "".join(f"#define MPI_{n}_init MPIX_{n}_init\n" for n in PERSISTENT)
        (built / "names.h").write_text(names)
        flags += ["--enable-strictmpi", "FFLAGS=-fallow-argument-mismatch", "FCFLAGS=-fallow-argument-mismatch"]
    if not sh([source / "configure", f"--with-mpi={prefix.parent}", *flags], mpi.log, cwd=built):
        give_up(f"configure of MPICH's tests fails: {mpi.log}")
    return built


def make(mpi, built, tests):
    names = [f"CPPFLAGS=-include {built}/names.h"] if mpi.name == "ompi" else []
    jobs = f"-j{os.cpu_count()}"
    for folder in ["util", "dtpools"]:
        sh(["make", jobs, "-k", "-C", built / folder, *names], mpi.log)
    for folder in sorted({test.folder for test in tests}):
        programs = sorted({test.program for test in tests if test.folder == folder})
        above = (built / folder).parent / "util"
        if above.is_dir():
            sh(["make", "-k", "-C", above], mpi.log)
        flags = names if not folder.startswith("f") else []
        sh(["make", jobs, "-k", "-C", built / folder, *flags, *programs], mpi.log)


def collect(mpi, work, only):
    """The tests of that name, or all, built."""
    source = fetch(work)
    built = configure(mpi, source)
    tests = [test for folder in FOLDERS if (source / folder).is_dir() for test in read_list(source, built, folder)]
    tests = [test for test in tests if not only or test.name in only]
    make(mpi, built, tests)
    return tests
