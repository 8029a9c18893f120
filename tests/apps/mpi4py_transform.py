#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Transforms of mpi4py-fft there and back; rank 0 prints digests of the results."""

import hashlib

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

comm = MPI.COMM_WORLD


def digest(array):
    """Of the parts of all ranks, one after the other."""
    parts = comm.gather(np.ascontiguousarray(array).tobytes())
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16] if parts else None


def transform(shape, dtype, slab):
    """There and back: two digests."""
    fft = PFFT(comm, shape, dtype=dtype, slab=slab, planner_effort="FFTW_ESTIMATE")
    data = newDistArray(fft, False)
    local = np.random.default_rng(comm.rank)
    data[...] = local.random(data.shape)
    there = fft.forward(data.copy())
    back = fft.backward(there.copy())
    assert np.allclose(back, data, atol=1e-4)
    return digest(there), digest(back)


if comm.rank == 0:
    print(MPI.Get_library_version().split("\n")[0], flush=True)
for size, kind, is_slab in (
    ((30, 31, 33), np.complex128, False),
    ((30, 31, 33), np.float64, False),
    ((32, 28, 24), np.float32, True),
    ((12, 13, 14, 15), np.complex128, False),
):
    there_back = transform(size, kind, is_slab)
    if comm.rank == 0:
        print("digest", size, kind.__name__, is_slab, *there_back, flush=True)
