#!/usr/bin/env python3
"""DTensor's redistribute over gloo beside plan.run over the same process group: rows by blocks become columns by blocks.

usage: redistribute_torch.py [ranks] [n,n,...]     (n by n f32; medians of seven, of the slowest rank, in ms)

raw: the bytes of this rank's messages, each in one piece and already packed.
"""
import os
import sys
import tempfile
import time

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard
except ImportError as error:
    sys.exit(f"no PyTorch here: {error}")
import infini


def milliseconds(body, repeats=7):
    times = []
    for _ in range(repeats + 1):
        dist.barrier()
        start = time.perf_counter()
        body()
        slowest = torch.tensor([time.perf_counter() - start])
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        times.append(float(slowest))
    return sorted(times[1:])[repeats // 2] * 1e3


def measure(rank, ranks, n):
    mesh = init_device_mesh("cpu", (ranks,))
    part = n // ranks
    whole = torch.arange(n * n, dtype=torch.float32).reshape(n, n)
    rows = whole[part * rank : part * (rank + 1)].clone()
    tensor, dst, last = DTensor.from_local(rows, mesh, [Shard(0)]), torch.zeros(n, part), []
    plan = infini.reshard_plan(infini.Distribution((n, n), ranks, [None, "block"]),
                               infini.Distribution((n, n), ranks, ["block", None]), dtype="f32")
    sent, received = torch.zeros(ranks, part * part), torch.zeros(ranks, part * part)

    def raw():
        others = [peer for peer in range(ranks) if peer != rank]
        works = [dist.irecv(received[peer], peer) for peer in others] + [dist.isend(sent[peer], peer) for peer in others]
        for work in works:
            work.wait()

    theirs = milliseconds(lambda: last.append(tensor.redistribute(mesh, [Shard(1)]).to_local()))
    ours = milliseconds(lambda: plan.run(dst, rows, "torch"))
    assert torch.equal(last[-1], dst)
    least = milliseconds(raw)
    if rank == 0:
        print(f"{ranks} ranks, {n}^2 f32: redistribute {theirs:.1f}, infini {ours:.1f} ({theirs / ours:.1f}x), raw {least:.1f}",
              flush=True)


def main(rank, ranks, sizes, meeting):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
    for n in sizes:
        measure(rank, ranks, n)
    dist.destroy_process_group()


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    extents = [int(n) for n in (sys.argv[2] if len(sys.argv) > 2 else "2048,4096").split(",")]
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(main, (count, extents, os.path.join(folder, "meeting")), nprocs=count)
