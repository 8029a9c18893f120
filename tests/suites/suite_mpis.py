# SPDX-License-Identifier: BSD-3-Clause
"""The MPIs: how a program of a suite is run, without fast and with it."""

import os
import re
import shutil
import signal
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

HERE = Path(__file__).resolve().parent
PRELOADS = ["pmi_progress", "yield_idle"]  # of tests/lab
LIMIT_S = 60

REDUCES = {"allreduce": "all", "allreduce_min": "1"}
SETTINGS = {
    "stock": None,
    "fast": {},
    "fast, staged": {"algorithm": "staged", "min_bytes": "0"},
    "fast, thread": {"algorithm": "bundles", "min_bytes": "0", "progress_thread": "on"},
    "fast, stragglar": REDUCES | {"straggler": "1"},
    "fast, ring": REDUCES | {"straggler": "none", "tuner": "0"},
}
# Of these tests alone, by name; other settings are for all.
ONLY = {name: ["*coll/*allred*", "coll/op*", "coll/red*", "coll/nonblocking*"]
        for name in SETTINGS if (SETTINGS[name] or {}).get("allreduce")}


def is_for(setting_name, test_name):
    return any(fnmatch(test_name, pattern) for pattern in ONLY.get(setting_name, ["*"]))


def places(n_ranks, setting):
    """The server of each rank, as parameter servers takes it. An allreduce needs four that have
    as many ranks each: one, or two where there are eight and more."""
    if setting.get("allreduce"):
        servers = n_ranks // 2 if n_ranks >= 8 and n_ranks % 2 == 0 else n_ranks
    else:
        servers = 2 if n_ranks < 4 else 3
    return "@" + ",".join(str(k % servers) for k in range(n_ranks))


def sh(command, log, **more):
    """Run it; its output goes to the file log. False: it failed."""
    with open(log, "ab") as out:
        job = subprocess.run(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, check=False, **more)
    return job.returncode == 0


def give_up(why):
    sys.exit(f"{Path(sys.argv[0]).name}: {why}")


class Mpi:
    """One MPI. work: a directory of its own, which it makes."""

    def __init__(self, name, work):
        self.name, self.work = name, work / name
        self.work.mkdir(parents=True, exist_ok=True)
        self.log = work / f"{name}.log"
        self.suffix = {"ompi": "openmpi", "mpich": "mpich"}[name]
        self.launcher = shutil.which({"ompi": "mpirun.openmpi", "mpich": "mpiexec.mpich"}[name])

    def prepare(self):
        """What MPICH needs with more ranks than cores: over TCP those who wait yield theirs."""
        for name in PRELOADS if self.name == "mpich" else []:
            source = HERE.parent / f"lab/{name}.c"
            sh(["cc", "-O2", "-fPIC", "-shared", "-o", self.work / f"{name}.so", source, "-ldl"], self.log)

    def command(self, test, setting):
        """(words, environment)"""
        fast = None if setting is None else dict(setting, servers=places(test.np, setting), stats="1")
        environment = dict(os.environ, **test.env)
        if self.name == "ompi":
            environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
            options = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
            if fast is not None:
                options += ["--mca", "coll", "fast"]
                for key, value in fast.items():
                    options += ["--mca", f"coll_fast_{key}", value]
            for key in test.env:
                options += ["-x", key]
            return [self.launcher, *options, "-np", str(test.np), *test.words], environment
        # These look for UCX's functions behind them, also where Python opens the MPI.
        preload = ":".join([str(self.work / f"{name}.so") for name in PRELOADS] + ["libucp.so.0"])
        environment.update(UCX_TLS="tcp,self", UCX_NET_DEVICES="lo", LD_PRELOAD=preload)
        if fast is not None:
            environment.update({f"FASTSCHED_{key.upper()}": value for key, value in fast.items()})
        wrapper = ["mpich-fast"] if fast is not None else []
        return [*wrapper, self.launcher, "-n", str(test.np), *test.words], environment

    def run(self, test, setting):
        """(why it failed or None, calls that fast has served)"""
        if not test.is_there():
            return "not built", 0
        command, environment = self.command(test, setting)
        with subprocess.Popen(command, env=environment, cwd=test.cwd, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as job:
            try:
                said = job.communicate(timeout=test.limit_s)[0].decode(errors="replace")
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, signal.SIGKILL)
                job.communicate()
                return f"no end after {test.limit_s} s", 0
        served = sum(int(n) for n in re.findall(r"(\d+) (?:staged|pipe2d|direct|bundles|stragglar|ring)\b", said))
        if job.returncode == 0 and test.is_good(said):
            return None, served
        return f"status {job.returncode}: {test.essence(said)[:300]}", served
