# SPDX-License-Identifier: BSD-3-Clause
"""The settings that are compared: options of Open MPI's mpirun. Of these MPICH knows -x VARIABLE=VALUE, see launch."""

PROGRAM = {"ompi": "osu_alltoallv_skew", "mpich": "osu_alltoallv_skew.mpich"}
EAGER = ["-x", "UCX_RNDV_THRESH=inf"]
PAIRWISE = ["--mca", "coll_tuned_use_dynamic_rules", "1"]
PAIRWISE += ["--mca", "coll_tuned_alltoallv_algorithm", "2"]
PAIRWISE += ["--mca", "coll_tuned_alltoall_algorithm", "2"]
FAST = {"ompi": ["--mca", "coll", "fast", "--mca", "coll_fast_stats", "1"], "mpich": ["-x", "FASTSCHED_STATS=1"]}
LAUNCHER = {"ompi": [], "mpich": ["mpich-fast"]}  # in front of the program, with fast

TUNED = "fast, tuned"  # as users have it: the tuner leaves calls to the MPI where that is faster
# The MPI's own.
NATIVE = {"ompi": {"default": [], "pairwise": PAIRWISE}, "mpich": {"default": []}}
# Calls before the timed ones: the tuner may need six until it has settled, in each class of calls: matrices that are
# drawn anew fall into several.
WARMUP = {(TUNED, False): 8, (TUNED, True): 32}
OTHER_WARMUP = 2


def is_dynamic(pattern):
    """Is the matrix of every call a new one?"""
    return pattern.split(":")[0] == "moe"


def warmup(variant, pattern):
    return WARMUP.get((variant, is_dynamic(pattern)), OTHER_WARMUP)
