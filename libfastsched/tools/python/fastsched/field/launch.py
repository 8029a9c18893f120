# SPDX-License-Identifier: BSD-3-Clause
"""Starts MPI jobs, with Open MPI's mpirun or MPICH's mpiexec. Both start their daemons with srun in a Slurm job, and
with ssh elsewhere."""
import collections
import os
import re
import shutil
import signal
import subprocess
import time

from ..failure import bad
from .settings import LAUNCHER, PROGRAM

# What the launcher may be called, and a word of its --version.
_NAMES = {
    "ompi": (("mpirun", "mpirun.openmpi"), "Open MPI"),
    "mpich": (("mpiexec.hydra", "mpiexec", "mpiexec.mpich"), "HYDRA"),
}
END_S = 10  # what a job may take to end when it is told to

Done = collections.namedtuple("Done", "status out err wall_s")  # status None: the time was over


def _version(path):
    """What it says about itself."""
    try:
        return subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, check=False).stdout
    except OSError:
        return ""


def _find_launcher(mpi):
    """(path, name and version); None: there is none."""
    names, mark = _NAMES[mpi]
    for path in filter(None, map(shutil.which, names)):
        text = _version(path)
        if mark in text:
            number = re.search(r"\d+\.\d\S*", text)
            title = "Open MPI" if mpi == "ompi" else "MPICH (hydra)"
            return path, f"{title} {number[0] if number else 'of unknown version'}"
    return None


def _missing(mpi):
    """What --mpi needs and is not in PATH, in words; empty: nothing."""
    names, _ = _NAMES[mpi]
    missing = [] if _find_launcher(mpi) else [f"{names[0]} of {'Open MPI' if mpi == 'ompi' else 'MPICH'}"]
    return ", ".join(missing + [name for name in ("fastsched", *LAUNCHER[mpi], PROGRAM[mpi]) if not shutil.which(name)])


def choose_mpi(asked):
    """Of --mpi, or else the first that is complete."""
    missing = {mpi: _missing(mpi) for mpi in ([asked] if asked else PROGRAM)}
    for mpi, names in missing.items():
        if not names:
            return mpi
    raise bad("; ".join(f"--mpi {mpi}: not in PATH: {names}" for mpi, names in missing.items()))


class Launcher:
    """Of one MPI, on given servers."""

    def __init__(self, mpi, servers, options):
        self.mpi = mpi
        self.servers = servers
        self.path, self.title = _find_launcher(mpi)
        self.options, self.wrapper = options.mpi_options, options.wrapper
        self.program, self.fastsched = shutil.which(PROGRAM[mpi]), shutil.which("fastsched")
        self.front = [shutil.which(name) for name in LAUNCHER[mpi]]

    def _variables(self, setting):
        """For MPICH: -genv for -x."""
        for option, text in zip(setting[::2], setting[1::2]):
            assert option == "-x", setting
            yield from ("-genv", *text.split("=", 1))

    def command(self, setting, program):
        """setting: as in settings. program: with arguments."""
        hosts = ",".join(f"{server.name}:{server.ranks}" for server in self.servers)
        n_ranks = str(sum(server.ranks for server in self.servers))
        start = [self.path, "--host" if self.mpi == "ompi" else "-hosts", hosts, "-n", n_ranks, *self.options]
        start += setting if self.mpi == "ompi" else self._variables(setting)
        return [*start, *self.wrapper, *program]

    def benchmark(self, setting, arguments, fast=False):
        return self.command(setting, [*(self.front if fast else []), self.program, *arguments])


def _end(job):
    """Tell the launcher to end the job, and wait."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(job.pid, number)
            return job.communicate(timeout=END_S)
        except ProcessLookupError:
            return job.communicate()
        except subprocess.TimeoutExpired:
            continue
    return "", ""


def run(command, timeout_s):
    """Done. The job ends when we are interrupted."""
    start = time.monotonic()
    job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           universal_newlines=True, errors="replace", start_new_session=True)
    try:
        out, err = job.communicate(timeout=max(1, timeout_s))
        status = job.returncode
    except subprocess.TimeoutExpired:
        (out, err), status = _end(job), None
    except BaseException:
        _end(job)
        raise
    return Done(status, out, err.splitlines(), time.monotonic() - start)


def why(done):
    """Of a job that failed, in a few words."""
    if done.status is None:
        return "the time was over"
    # What the benchmark or fast says tells more than the launcher's last word.
    ours = [line for line in done.err if re.search(r"osu_|coll fast|fastsched", line)]
    words = (ours or [line for line in done.err if re.search(r"\w", line)] or ["no output"])[-1].strip()
    return f"exit status {done.status}: {words}"
