#!/usr/bin/env python3
"""mpi4py-fft's own redistribution of pencils beside plan.run, on the same arrays.

usage: mpirun -n 16 pencils_mpi4py_fft.py [512,512,...] [dtype]     (medians of five, of the slowest rank, in ms)
"""
import sys

import numpy as np

try:
    from mpi4py import MPI
    from mpi4py_fft.pencil import Pencil, Subcomm
except ImportError as error:
    sys.exit(f"no mpi4py-fft here: {error}")
import infini
import infini.mpi

comm = MPI.COMM_WORLD


def milliseconds(body, repeats=5):
    times = []
    for _ in range(repeats + 2):
        comm.Barrier()
        start = MPI.Wtime()
        body()
        times.append(comm.allreduce(MPI.Wtime() - start, op=MPI.MAX))
    return sorted(times[2:])[repeats // 2] * 1e3


def distribution(n, mesh, axis):
    """Pencils along `axis`, as mpi4py-fft cuts them that begins along the last one."""
    on_mesh = {2: {0: 0, 1: 1}, 1: {0: 0, 2: 1}, 0: {1: 0, 2: 1}}[axis]
    return infini.Distribution((n, n, n), mesh, [f"balanced@{on_mesh[dim]}" if dim in on_mesh else None for dim in range(3)])


def measure(n, dtype, transport):
    subcomms = Subcomm(comm, [0, 0, 1])
    mesh = subcomms[0].Get_size(), subcomms[1].Get_size()
    first = Pencil(subcomms, (n, n, n), axis=2)
    for along, then, a, b in ((2, 1, first, first.pencil(1)), (1, 0, first.pencil(1), first.pencil(1).pencil(0))):
        transfer = a.transfer(b, dtype)
        src = np.random.default_rng(comm.rank).integers(0, 9, a.subshape).astype(dtype)
        theirs, ours, again = np.zeros(b.subshape, dtype), np.zeros(b.subshape, dtype), np.zeros(a.subshape, dtype)
        there, back = (infini.reshard_plan(distribution(n, mesh, to), distribution(n, mesh, of), dtype=np.dtype(dtype).name)
                       for to, of in ((then, along), (along, then)))
        times = [milliseconds(lambda: transfer.forward(src, theirs)), milliseconds(lambda: there.run(ours, src, transport)),
                 milliseconds(lambda: transfer.backward(theirs, again)), milliseconds(lambda: back.run(again, theirs, transport))]
        assert np.array_equal(theirs, ours) and np.array_equal(again, src)
        if comm.rank == 0:
            print(f"{comm.size} ranks {mesh}, {n}^3 {dtype}, axis {along} to {then}: mpi4py-fft {times[0]:.2f}, infini {times[1]:.2f} "
                  f"({times[0] / times[1]:.2f}x); back {times[2]:.2f}, {times[3]:.2f} ({times[2] / times[3]:.2f}x)", flush=True)
        transfer.destroy()


with infini.mpi.Transport(comm) as between:
    for extent in (sys.argv[1] if len(sys.argv) > 1 else "256,512").split(","):
        measure(int(extent), sys.argv[2] if len(sys.argv) > 2 else "float64", between)
