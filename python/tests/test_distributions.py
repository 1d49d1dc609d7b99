"""Distributions read from what others have: each shard of theirs is the part that ours says; where PyTorch or JAX is."""
import os
import subprocess
import sys

import numpy as np
import pytest

import infini


def shards_of(whole, distribution, ranks):
    """Every rank's shard, by a plan from one rank that has all of it."""
    alone = infini.Distribution(whole.shape, 1, [None] * whole.ndim)
    plan = infini.reshard_plan(distribution, alone, dtype=whole.dtype)
    shards = []
    for rank in range(ranks):
        shards.append(np.zeros(plan.shapes(rank)[0], whole.dtype))
        plan.read(shards[-1], [whole], rank)
    return shards


def numroc(n, block, process, processes):
    """ScaLAPACK's: rows or columns of a process, the first block being at process 0."""
    blocks = n // block
    held = blocks // processes * block
    extra = blocks % processes
    return held + (block if process < extra else n % block if process == extra else 0)


@pytest.mark.parametrize("n, m", [(1, 1), (10, 7), (64, 64), (65, 31), (100, 3)])
@pytest.mark.parametrize("grid", [(1, 1), (2, 3), (4, 1), (3, 5)])
@pytest.mark.parametrize("block", [(1, 1), (2, 2), (8, 5), (32, 64)])
def test_scalapack_agrees_with_numroc(n, m, grid, block):
    distribution = infini.Distribution.from_scalapack((n, m), grid, block)
    whole = np.arange(n * m, dtype=np.int32).reshape(n, m)
    shards = shards_of(whole, distribution, grid[0] * grid[1])
    for rank, shard in enumerate(shards):
        at = divmod(rank, grid[1])
        wanted = tuple(numroc(size, block[i], at[i], grid[i]) for i, size in enumerate((n, m)))
        assert distribution.local_shape(rank) == wanted
        rows, columns = ([k for k in range(size) if k // block[i] % grid[i] == at[i]] for i, size in enumerate((n, m)))
        np.testing.assert_array_equal(shard, whole[np.ix_(rows, columns)])


def test_jax_shards():
    pytest.importorskip("jax")
    environment = dict(os.environ, XLA_FLAGS="--xla_force_host_platform_device_count=8", JAX_PLATFORMS="cpu")
    done = subprocess.run([sys.executable, __file__, "jax"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def jax_shards():
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    whole = np.arange(16 * 24 * 8, dtype=np.int32).reshape(16, 24, 8)
    meshes = [Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y")),
              Mesh(np.array(jax.devices())[::-1].reshape(4, 2), ("x", "y"))]
    specs = [P("x", "y"), P(None, ("x", "y")), P(("y", "x"), None, None), P("y"), P(), P(None, "x", "y")]
    for mesh in meshes:
        for spec in specs:
            sharding = NamedSharding(mesh, spec)
            array = jax.device_put(whole, sharding)
            ours = shards_of(whole, infini.Distribution.from_jax(sharding, whole.shape), 8)
            for shard in array.addressable_shards:
                np.testing.assert_array_equal(ours[shard.device.id], np.asarray(shard.data))


def test_dtensor_shards_and_gloo(tmp_path):
    torch = pytest.importorskip("torch")
    dist = pytest.importorskip("torch.distributed")
    pytest.importorskip("torch.distributed.tensor")
    if not dist.is_available() or not dist.is_gloo_available():
        pytest.skip("no gloo")
    torch.multiprocessing.spawn(dtensor_rank, (str(tmp_path / "meeting"),), nprocs=4)


def dtensor_rank(rank, meeting):
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor

    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=4)
    whole = torch.arange(10 * 12, dtype=torch.int32).reshape(10, 12)
    flat, grid = init_device_mesh("cpu", (4,)), init_device_mesh("cpu", (2, 2))
    tensors = [distribute_tensor(whole, mesh, placements) for mesh, placements in [
        (flat, [Shard(0)]), (flat, [Shard(1)]), (flat, [Replicate()]), (grid, [Shard(0), Shard(1)]),
        (grid, [Shard(1), Shard(1)]), (grid, [Replicate(), Shard(0)]), (grid, [Shard(1), Replicate()])]]
    for before in tensors:
        source = infini.Distribution.from_dtensor(before)
        np.testing.assert_array_equal(shards_of(whole.numpy(), source, 4)[rank], before.to_local().numpy())
        for after in tensors:  # what redistribute would do, over gloo
            plan = infini.reshard_plan(infini.Distribution.from_dtensor(after), source, dtype="i32")
            dst = torch.zeros_like(after.to_local())
            plan.run(dst, before.to_local(), "torch", timeout=20)
            assert torch.equal(dst, after.to_local())
    partial = type("Partial", (), {"device_mesh": flat, "shape": whole.shape, "placements": [Partial()]})
    with pytest.raises(infini.InvalidValue, match="holds no elements"):
        infini.Distribution.from_dtensor(partial)
    dist.destroy_process_group()


if __name__ == "__main__":
    {"jax": jax_shards}[sys.argv[1]]()
