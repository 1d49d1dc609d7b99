"""What the package does over mpi4py, for `mpirun -n 4 python mpi_program.py`: reshardings, products, messages of any view."""
import sys

try:
    from mpi4py import MPI
except (ImportError, RuntimeError) as error:
    print(f"SKIPPED: no mpi4py here: {error}")
    sys.exit(0)

import numpy as np

import infini
import infini.mpi

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()


def reshard(over=comm):
    whole = np.arange(24 * 36, dtype=np.float32).reshape(24, 36)
    before = infini.Distribution((24, 36), ranks, ["balanced", None])
    after = infini.Distribution((36, 24), ranks, ["balanced", None])
    plan = infini.reshard_plan(after, before, "o i -> i o", dtype="f32")
    dst = np.zeros(plan.shapes(rank)[0], np.float32)
    plan.run(dst, np.array_split(whole, ranks)[rank], over, piece_bytes=256, timeout=20)
    np.testing.assert_array_equal(dst, np.array_split(whole.T, ranks)[rank])


def through_shared_memory():
    """Short runs of all ranks become lines of one, again and again."""
    plan = infini.reshard_plan(infini.Distribution((300, 8 * ranks), ranks, ["block", None]),
                               infini.Distribution((300, 8 * ranks), ranks, [None, "block"]), dtype="f64")
    whole = np.arange(300 * 8 * ranks, dtype=np.float64).reshape(300, -1)
    with infini.mpi.Transport(comm) as transport:
        assert ranks == 1 or all(transport.shared)  # mpirun started all on this machine
        messages = []
        transport.post_send = lambda *given: messages.append(given) or infini.mpi.MpiTransport.post_send(transport, *given)
        for _ in range(3):
            dst = np.zeros(plan.shapes(rank)[0])
            plan.run(dst, whole[:, 8 * rank : 8 * rank + 8], transport, timeout=20)
            rows = -(-300 // ranks)
            np.testing.assert_array_equal(dst, whole[rows * rank : rows * rank + rows])
        assert all(len(data) <= 16 for _, _, data in messages)  # that all went well, and no element
        reshard(transport)
    # Sizes that differ or are no whole lines; one rank without any is the end of sharing.
    with infini.mpi.Transport(comm, shared_bytes=100_001 + 1000 * rank) as transport:
        assert ranks == 1 or transport.shared[0] % 64 == 0 and transport.shared_bytes == 100_000 // 64 * 64 + 512 * ranks
        reshard(transport)
    with infini.mpi.Transport(comm, shared_bytes=1 << 20 if rank else 0) as transport:
        assert transport.shared is None
        reshard(transport)


def after_a_failure():
    """Others may be gone: leaving the block waits for nobody. What was asked for at last does not arrive any more."""
    plan = infini.reshard_plan(infini.Distribution((64,), ranks, [None]), infini.Distribution((64,), ranks, ["block"]), dtype="i32")
    for shared_bytes in (0, 1 << 20):
        transport = infini.mpi.Transport(comm, shared_bytes)
        try:
            with transport:
                if rank == 0:
                    raise LookupError("of the client's")
                plan.run(np.zeros(64, np.int32), np.zeros(plan.shapes(rank)[1], np.int32), transport, timeout=0.2)
        except (infini.Error, LookupError) as error:
            assert rank == 0 or "incomplete" in str(error)
        else:
            raise AssertionError("noticed nothing")
        assert transport.comm != transport.MPI.COMM_NULL


def product():
    random = np.random.default_rng(7)
    a, b = random.integers(-3, 4, (30, 50)).astype(np.float64), random.integers(-3, 4, (50, 20)).astype(np.float64)
    rows = infini.Distribution((30, 20), ranks, ["balanced", None])
    plan = infini.product_plan(rows, infini.Distribution((30, 50), ranks, ["balanced", None]),
                               infini.Distribution((50, 20), ranks, ["balanced", None]), dtype="f64", panel=6)
    c = np.ones(plan.shapes(rank)[0])
    transposed = np.asfortranarray(np.array_split(b, ranks)[rank])
    plan.run(c, np.array_split(a, ranks)[rank], transposed, comm, alpha=2, beta=1, timeout=20)
    np.testing.assert_array_equal(c, np.array_split(2 * (a @ b) + 1, ranks)[rank])


def messages():
    view = np.arange(60 * (rank + 1), dtype=np.int16).reshape(rank + 1, 6, 10)[:, ::2, ::-3]
    if rank:
        infini.mpi.send(view.transpose(2, 0, 1), comm, 0, tag=5, timeout=20)
        return
    for source in range(1, ranks):
        got = np.zeros((4, source + 1, 6), np.int16)[:, :, ::2]
        infini.mpi.recv(got, comm, source, tag=5, timeout=20)
        sent = np.arange(60 * (source + 1), dtype=np.int16).reshape(source + 1, 6, 10)[:, ::2, ::-3]
        np.testing.assert_array_equal(got, sent.transpose(2, 0, 1))


def everybody_to_everybody():
    def value(source, target):
        return np.full((target + 1, 3), 10 * source + target, np.float32)

    sources = [value(rank, target).T[::-1] for target in range(ranks)]
    into = np.zeros((ranks, 3, 2 * (rank + 1)), np.float32)
    destinations = [into[source, :, ::2] for source in range(ranks)]
    sources[rank] = destinations[rank] = None
    infini.mpi.alltoallw(destinations, sources, comm)
    for source in range(ranks):
        wanted = 0 if source == rank else 10 * source + rank
        assert (into[source, :, ::2] == wanted).all() and (into[source, :, 1::2] == 0).all()


for check in (reshard, through_shared_memory, product, messages, everybody_to_everybody, *([after_a_failure] if ranks > 1 else [])):
    check()
comm.Barrier()
if rank == 0:
    print(f"{ranks} ranks over {MPI.get_vendor()[0]}: all right")
