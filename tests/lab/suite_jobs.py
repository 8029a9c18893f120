# SPDX-License-Identifier: BSD-3-Clause
"""What the suite runs: labs, jobs, the options of the MPIs, and which jobs an
option of the suite asks for.

Imported by suite; runs nothing."""

import dataclasses
import pathlib
import re

import suite_table  # finds the modules of fastsched
import suite_allreduce
import suite_traffic
from fastsched.field.settings import EAGER, FAST, LAUNCHER, PAIRWISE, PROGRAM, TUNED, warmup
from fastsched.field.tables import each_size

LAB = str(pathlib.Path(__file__).resolve().parent / "lab")
SILENT = suite_table.SILENT
KEPT = suite_table.KEPT

# Options of mpirun. The tuner times the native algorithm periodically, which
# would be counted as ours; in small calls that is part of what a user gets.
VARIANTS = {
    "ompi": {
        "stream": EAGER,
        "fast": FAST["ompi"] + ["--mca", "coll_fast_tuner", "0"],
        SILENT: FAST["ompi"] + ["--mca", "coll_fast_tuner", "0",
                                "--mca", "coll_fast_early", "off"],
        KEPT: FAST["ompi"] + ["--mca", "coll_fast_early", "on"],
        TUNED: FAST["ompi"],
        "default": [],
        "default eager": EAGER,
        "pairwise": PAIRWISE,
        "pairwise eager": PAIRWISE + EAGER,
    },
    "mpich": {
        "stream": EAGER,
        "fast": FAST["mpich"] + ["-x", "FASTSCHED_TUNER=0"],
        SILENT: FAST["mpich"] + ["-x", "FASTSCHED_TUNER=0",
                                 "-x", "FASTSCHED_EARLY=off"],
        TUNED: FAST["mpich"],
        "default": [],
        "default eager": EAGER,
    },
}
ALLREDUCE_VARIANTS = {mpi: suite_allreduce.variants(mpi) for mpi in VARIANTS}
NATIVE = {"ompi": ["default", "default eager", "pairwise", "pairwise eager"],
          "mpich": ["default", "default eager"]}

# What a pattern needs on 4x4, over balanced traffic: only for the estimate.
PATTERNS = {
    "balanced": 1.0,
    "random": 1.1,
    "zipf:0.8": 1.5,
    "zipf:1.2": 2.5,
    "hotspot:2": 2.3,
    "intrahost": 1.0,
    "moe": 1.7,
    "pencil": 1.05,
}
FLAT_MOE = {"moe:0.18": 1.1, "moe:0.43": 1.3, "moe:0.7": 1.5}
SMALL_PATTERNS = ["balanced", "random", "zipf:0.8", "moe", "intrahost",
                  "pencil"]
KINDS = ["bulk", "small", "alltoall", "traffic", "late", "siblings", "allreduce", "plan"]
BULK_LAYOUTS = ["4x4", "8x2", "2x8", "4+4+2+1"]
BULK_RATES = ["50mbit", "100mbit"]
BULK_SIZES = {"4x4": [1000000, 100000]}  # elsewhere the first one
TRAFFIC_S = 2  # lower bound of a matrix
PLAN_LANES = [4, 8, 16, 32]
JOB_S = 2.5  # to start and end one
MPI_CALL_S = 0.0015  # at least, of 16 ranks


@dataclasses.dataclass(frozen=True)
class Lab:
    layout: str  # "4x4": 4 servers of 4 ranks; or "4+4+2+1"
    rate: str
    nics: int  # of each server, 0: one per rank
    burst: str = ""  # see "lab up"
    mtu: int = 0  # 0: as the lab has it

    def servers(self):
        """Ranks of each server."""
        if "x" in self.layout:
            n, each = map(int, self.layout.split("x"))
            return [each] * n
        return list(map(int, self.layout.split("+")))

    def bits_per_s(self):
        number, unit = re.fullmatch(r"(\d+)([kmg])bit", self.rate).groups()
        return int(number) * 1000 ** (" kmg".index(unit))

    def balanced_s(self, size):
        """Lower bound of balanced traffic."""
        ranks = self.servers()
        nic_bytes = max(
            n * (sum(ranks) - n) * size / min(n, self.nics or n) for n in ranks
        )
        return nic_bytes * 8 / self.bits_per_s()


def lab_of_small(layout, rate, nics):
    """With the burst that the lab has otherwise all that a rank sends in a call of
    a few kB may pass at once: whoever leaves more time between messages is then
    faster than the NIC."""
    lab = Lab(layout, rate, nics)
    slow = lab.bits_per_s() <= 100e6
    return dataclasses.replace(lab, burst="frame" if slow else "")


# Calls before the timed ones where they are short: the tuner looks again at what it has
# settled on after 10, 20 and 40 calls. The same for all settings.
SETTLING = 44
# Sizes of a job, its timed calls and those before them (0: as the setting has it).
SMALL_PARTS = [("8:8k", 15, SETTLING), ("16k:64k", 3, 0)]
LONGER_PARTS = [("8:8k", 15, SETTLING), ("16k:1m", 5, SETTLING)]
FEW_PARTS = [("8:64", 15, SETTLING)]
ONE_SERVER_PARTS = [("8:1m", 200, 0)]
ALLTOALL_PARTS = [("8:4k", 15, SETTLING)]
# After so many rounds a setting of the MPI that is nowhere near the best one
# is left out of those that follow.
TRIAL_ROUNDS = 3
NEAR = 1.25

# In which labs, and what there.
SMALL = {
    lab_of_small("4x4", "50mbit", 0): (SMALL_PARTS, SMALL_PATTERNS),
    lab_of_small("8x2", "50mbit", 0): (SMALL_PARTS, SMALL_PATTERNS),
    lab_of_small("2x8", "50mbit", 0): (SMALL_PARTS, SMALL_PATTERNS),
    lab_of_small("4+4+2+1", "50mbit", 0): (SMALL_PARTS, SMALL_PATTERNS),
    lab_of_small("2x16", "50mbit", 0): (SMALL_PARTS, SMALL_PATTERNS),
    lab_of_small("2x16", "100mbit", 1): (FEW_PARTS, ["balanced", "zipf:0.8"]),
    lab_of_small("4x16", "100mbit", 1): (FEW_PARTS, ["balanced", "zipf:0.8"]),
    lab_of_small("2x4", "500mbit", 0): (LONGER_PARTS, ["balanced", "zipf:0.8"]),
    lab_of_small("2x4", "2gbit", 0): (LONGER_PARTS, ["balanced", "zipf:0.8"]),
    lab_of_small("1x4", "50mbit", 0): (ONE_SERVER_PARTS, SMALL_PATTERNS),
}
ALLTOALL = {lab: (ALLTOALL_PARTS, ["balanced"]) for lab in [
    lab_of_small("4x4", "100mbit", 0), lab_of_small("2x16", "100mbit", 1),
    lab_of_small("4x16", "100mbit", 1)]}
TRAFFIC = [Lab("4x4", "50mbit", 0), Lab("8x2", "50mbit", 0)]

# Entries are shares of the lower bound: see --arrival of the benchmark.
LATE = TRAFFIC
LATE_ENTRIES = ["", "uniform:0.1", "uniform:0.3", "uniform:1", "late:5:0.5"]
LATE_PATTERNS = ["balanced", "zipf:0.8"]
LATE_VARIANTS = {"ompi": ["fast", SILENT, KEPT, "default eager"],
                 "mpich": ["fast", SILENT, "default eager"]}
LATE_SIZES = [300000, 1000000]
LATE_WARMUP = 3  # fast begins early after calls whose ranks came apart
SIBLINGS = [Lab("4x4", "100mbit", 1)]
SIBLING_ENTRIES = ["", "uniform:0.3"]
SIBLING_PATTERNS = ["balanced", "zipf:0.5", "zipf:0.8", "zipf:1.2"]
SIBLING_SIZES = [300000]
SIBLING_WARMUP = 110  # each column finds out for itself what is faster
ALLREDUCES = [Lab(layout, rate, 0) for layout, rate in suite_allreduce.LABS]


@dataclasses.dataclass(frozen=True)
class Job:
    kind: str
    lab: Lab
    variant: str
    pattern: str = "balanced"  # or the name of a matrix
    sizes: str = "8:8"
    calls: int = 1  # timed
    warmup: int = 1
    round: int = 0
    mpi: str = "ompi"
    matrix: str = ""  # the file; sizes do not count then
    reduced: str = ""  # what it was made of
    arrival: str = ""  # of ranks; none: together

    def name(self):
        """What a later run recognises it by."""
        if self.kind == "plan":
            return f"plan {self.pattern} {self.lab.layout}"
        nics = [f"{self.lab.nics} NICs"] if self.lab.nics else []
        mtu = [f"MTU {self.lab.mtu}"] if self.lab.mtu else []
        words = [self.lab.layout, *nics, self.lab.rate, *mtu, self.pattern]
        if self.is_in_turn():
            words += [self.sizes]
        elif not self.matrix:
            words += [self.sizes.partition(":")[2]]
        words += [self.arrival] if self.arrival else []
        words += [self.variant]
        words += [f"round {self.round + 1}"] if self.is_in_turn() else []
        return " ".join([self.kind] + words)

    def is_in_turn(self):
        return self.kind in ("small", "alltoall")

    def size(self):
        """Of a kind that has one: bytes per pair, or of a vector."""
        return int(self.sizes.partition(":")[2])

    def allreduce_s(self):
        """Of a call, its entries as well; peers take longer than a ring."""
        ring_s = suite_allreduce.ring_s(len(self.lab.servers()), self.lab.servers()[0], self.size(),
                                        self.lab.bits_per_s())
        share = float(self.arrival.rpartition(":")[2] or 0)
        return ring_s * (share + (1.2 if self.variant in suite_allreduce.OURS else 3))

    def expected_s(self):
        if self.kind == "plan":
            return 1.0
        if self.kind == "stream":
            return JOB_S + 1.5
        start_s = JOB_S * max(1, sum(self.lab.servers()) / 16)
        if self.is_in_turn():
            many = len(self.lab.servers()) > 1
            least_s = MPI_CALL_S * max(1, (sum(self.lab.servers()) / 16) ** 2)
            each = [least_s + 2 * many * self.lab.balanced_s(size)
                    for size in each_size(self.sizes)]
            return start_s + (self.calls + self.warmup) * sum(each)
        if self.kind == "allreduce":
            return start_s + (self.calls + self.warmup) * self.allreduce_s()
        bound = TRAFFIC_S if self.matrix else self.lab.balanced_s(self.size())
        over = 1.1 if self.variant == "fast" else 2.2
        weight = (PATTERNS | FLAT_MOE).get(self.pattern, 1)
        if self.kind in ("late", "siblings"):
            over = 1.5
        return start_s + (self.calls + self.warmup) * bound * weight * over

    def options(self):
        """Of the benchmark."""
        options = ["-i", str(self.calls), "-x", str(self.warmup)]
        if self.kind == "allreduce":
            options += ["-m", str(self.size())]
        elif self.matrix:
            options += ["-p", f"file:{self.matrix}"]
        else:
            options += ["-p", self.pattern, "-m", self.sizes]
        options += ["--rate", self.lab.rate, "--json"]
        options += ["--nics", str(self.lab.nics)] if self.lab.nics else []
        options += ["--arrival", self.arrival] if self.arrival else []
        return options + {
            "stream": ["--ceiling"],
            "bulk": ["-c", "--times"],
            "traffic": ["-c", "--times"],
            "late": ["-c", "--times"],
            "siblings": ["-c", "--times", "--siblings"],
            "allreduce": ["-c"],
            "small": ["-c", "--nic-counters=nic*"],
            "alltoall": ["-c", "--nic-counters=nic*", "--collective",
                         "alltoall"],
        }[self.kind]

    def command(self, lab_name, timeout_s):
        run = [LAB, "run", "--name", lab_name, "--mpi", self.mpi]
        reduces = self.kind == "allreduce"
        variants = ALLREDUCE_VARIANTS if reduces else VARIANTS
        run += ["--timeout", str(timeout_s), *variants[self.mpi][self.variant]]
        ours = self.mpi == "mpich" and self.variant.startswith("fast")
        program = (suite_allreduce.PROGRAM if reduces else PROGRAM)[self.mpi]
        program += "_persistent" if self.variant == KEPT else ""
        run += ["--", *(LAUNCHER[self.mpi] if ours else []), program]
        # Should this script be killed, so is the job.
        return ["setpriv", "--pdeathsig", "TERM", *run, *self.options()]


# ---- what is to be done ----


def chosen_labs(kind, options):
    """Of a kind. --layout, --rate and --nics choose among those that it has;
    of bulk, and where none is left, they make labs of their own. With --mtu they
    have such frames."""
    return [dataclasses.replace(lab, mtu=options.mtu or 0) for lab in labs_of(kind, options)]


def labs_of(kind, options):
    known = {"small": list(SMALL), "alltoall": list(ALLTOALL),
             "traffic": TRAFFIC, "late": LATE,
             "siblings": SIBLINGS, "allreduce": ALLREDUCES}.get(kind, [])
    labs = [lab for lab in known
            if lab.layout in (options.layout or [lab.layout])
            and lab.rate in (options.rate or [lab.rate])
            and lab.nics == (lab.nics if options.nics is None
                             else options.nics)]
    if labs:
        return labs
    make = lab_of_small if kind in ("small", "alltoall") else Lab
    return [make(layout, rate, options.nics or 0)
            for rate in options.rate or BULK_RATES[:1 if options.quick else 2]
            for layout in options.layout or BULK_LAYOUTS]


def bulk_jobs(lab, options, variants):
    for size in BULK_SIZES.get(lab.layout, [1000000]):
        for pattern in options.only or PATTERNS:
            for variant in variants:
                yield Job("bulk", lab, variant, pattern, f"{size}:{size}",
                          options.repeat or 5, mpi=options.mpi)


def leaves_servers(matrix, lab):
    ranks = sum(lab.servers())
    return len(matrix) >= ranks and suite_traffic.bytes_per_nic(
        suite_traffic.fold(matrix, ranks), lab.servers(), lab.nics) > 0


def traffic_jobs(lab, options, variants):
    for name, matrix in options.matrices.items():
        for variant in variants if leaves_servers(matrix, lab) else []:
            yield Job("traffic", lab, variant, name, matrix=name,
                      calls=options.repeat or 5, mpi=options.mpi)
    for pattern in FLAT_MOE:
        for variant in variants:
            yield Job("traffic", lab, variant, pattern, "1000000:1000000",
                      options.repeat or 5, mpi=options.mpi)


def entry_jobs(kind, lab, options):
    """Late and siblings: each pattern with each kind of entries."""
    sizes, patterns, entries, variants = {
        "late": (LATE_SIZES, LATE_PATTERNS, LATE_ENTRIES,
                 LATE_VARIANTS[options.mpi]),
        "siblings": (SIBLING_SIZES, SIBLING_PATTERNS, SIBLING_ENTRIES,
                     ["fast", "default eager"])}[kind]
    for size in options.size or sizes:
        for pattern in options.only or patterns:
            for arrival in entries:
                for variant in variants:
                    settles = kind == "siblings" and arrival and variant == "fast"
                    yield Job(kind, lab, variant, pattern, f"{size}:{size}",
                              options.repeat or 9,
                              SIBLING_WARMUP if settles else LATE_WARMUP,
                              mpi=options.mpi, arrival=arrival)


def allreduce_jobs(lab, options):
    known = suite_allreduce.LABS.get((lab.layout, lab.rate), [suite_allreduce.MB])
    for size in options.size or known:
        for arrival in suite_allreduce.ENTRIES:
            for variant in ALLREDUCE_VARIANTS[options.mpi]:
                if suite_allreduce.takes_part(variant, arrival, lab.servers()):
                    yield Job("allreduce", lab, variant, "sum", f"{size}:{size}",
                              options.repeat or suite_allreduce.CALLS,
                              suite_allreduce.warmup(variant),
                              mpi=options.mpi, arrival=arrival)


def jobs_in_turn(kind, lab, options):
    usual = (SMALL_PARTS, SMALL_PATTERNS if kind == "small" else ["balanced"])
    parts, patterns = {"small": SMALL, "alltoall": ALLTOALL}[kind].get(
        dataclasses.replace(lab, mtu=0), usual)
    # On one server calls are the MPI's own, with the same settings.
    several = len(lab.servers()) > 1
    variants = [TUNED, *(NATIVE[options.mpi] if several else ["default"])]
    variants += options.peers if kind == "alltoall" else []
    for pattern in (options.only if kind == "small" else None) or patterns:
        if not several and pattern == "intrahost":
            continue  # it has no bytes there
        for sizes, calls, before in parts:
            for k in range(options.repeat or 9):
                # There and back, so that a drift is nobody's.
                for variant in variants[::-1 if k % 2 else 1]:
                    yield Job(kind, lab, variant, pattern, sizes, calls,
                              before or warmup(variant, pattern), k, options.mpi)


def plan_jobs(options):
    """A matrix and lanes; the lab is the layout of servers."""
    for name, matrix in options.matrices.items():
        for lanes in PLAN_LANES:
            servers, rest = divmod(len(matrix), lanes)
            if rest == 0 and servers > 1:
                yield Job("plan", Lab(f"{servers}x{lanes}", "", 0), "fast",
                          name, matrix=name)


def jobs_of(kind, lab, options):
    variants = ["fast"] if options.fast_only else ["fast",
                                                   *NATIVE[options.mpi]]
    if kind in ("small", "alltoall"):
        yield from jobs_in_turn(kind, lab, options)
        return
    if len(lab.servers()) == 1:
        return
    if kind in ("late", "siblings"):
        yield from entry_jobs(kind, lab, options)
        return
    if kind == "allreduce":
        yield from allreduce_jobs(lab, options)
        return
    yield Job("stream", lab, "stream", warmup=0, mpi=options.mpi)
    yield from {"bulk": bulk_jobs, "traffic": traffic_jobs}[kind](
        lab, options, variants)


def all_jobs(options):
    """Each once, those of a lab together."""
    by_lab = {}
    for kind in [k for k in options.kind if k != "plan"]:
        for lab in chosen_labs(kind, options):
            by_lab.setdefault(lab, {}).update(
                {job.name(): job for job in jobs_of(kind, lab, options)})
    for jobs in by_lab.values():
        yield from jobs.values()
    if "plan" in options.kind:
        yield from plan_jobs(options)


def is_quick(job):
    """Less than four minutes in all."""
    peers = ("fast", TUNED, "default eager", "pairwise")
    if job.lab.layout not in ("4x4", "1x4") or job.variant not in (
            *peers, "stream"):
        return False
    if job.kind == "small":
        return job.pattern == "random" and job.round < 2 and (
            job.sizes in ("8:8k", "8:1m"))
    if job.kind == "bulk" and job.sizes.startswith("1000000:"):
        return job.pattern in ("balanced", "zipf:0.8")
    return job.kind == "stream" or (
        job.kind == "bulk" and job.variant == "fast")
