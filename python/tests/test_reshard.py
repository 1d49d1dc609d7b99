"""Reshardings: ranks are threads that exchange through queues. Over mpi4py: mpi_program.py; over gloo: test_gloo.py."""
import os
import pathlib
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest

import infini


class Network:
    """Messages between threads; those of one sender to one receiver arrive in their order."""

    def __init__(self, ranks):
        self.ranks, self.sent, self.asked, self.lock = ranks, {}, {}, threading.Lock()

    def end(self, rank):
        return End(self, rank)


class End:
    def __init__(self, network, rank):
        self.network, self.rank, self.ranks = network, rank, network.ranks

    def post_send(self, peer, tag, buffer):
        with self.network.lock:
            self.network.sent.setdefault((self.rank, peer, tag), []).append(bytes(buffer))
        return "sent", len(buffer)

    def post_receive(self, peer, tag, buffer):
        key = peer, self.rank, tag
        with self.network.lock:
            number = self.network.asked.get(key, 0)
            self.network.asked[key] = number + 1
        return key, number, buffer

    def wait_any(self, requests, seconds):
        end = time.monotonic() + seconds
        while True:
            for i, request in enumerate(requests):
                if request[0] == "sent":
                    return i, request[1]
                key, number, buffer = request
                with self.network.lock:
                    arrived = self.network.sent.get(key, [])[number:]
                if arrived:
                    buffer[: len(arrived[0])] = arrived[0]
                    return i, len(arrived[0])
            if time.monotonic() >= end:
                return None
            time.sleep(0.0005)

    def cancel(self, requests):
        return True


def on_ranks(ranks, body):
    results = [None] * ranks

    def run(rank):
        try:
            results[rank] = body(rank)
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_rows_become_columns_transposed():
    whole = np.arange(60 * 44, dtype=np.float32).reshape(60, 44)
    plan = infini.reshard_plan(infini.Distribution((44, 60), 4, ["block", None]),
                               infini.Distribution((60, 44), 4, ["cyclic:3", None]), "o i -> i o", dtype=whole.dtype)
    network = Network(4)

    def body(rank):
        src = np.concatenate([whole[i : i + 3] for i in range(3 * rank, 60, 12)])
        dst = np.zeros((22, 60), np.float32)[::2]  # with gaps
        assert plan.shapes(rank) == (dst.shape, src.shape)
        plan.run(dst, src, network.end(rank), piece_bytes=100)
        return dst

    for rank, dst in enumerate(on_ranks(4, body)):
        np.testing.assert_array_equal(dst, whole.T[11 * rank : 11 * rank + 11])


def test_memory_that_ranks_share():
    ranks, bytes_each = 3, 1 << 15
    memory = np.zeros(ranks * bytes_each + 63, np.uint8)
    memory = memory[-memory.ctypes.data % 64 :][: ranks * bytes_each].reshape(ranks, bytes_each)
    plan = infini.reshard_plan(infini.Distribution((90, 12), ranks, ["block", None]),
                               infini.Distribution((90, 12), ranks, [None, "block"]), dtype="i32")
    network, whole = Network(ranks), np.arange(90 * 12, dtype=np.int32).reshape(90, 12)

    def body(rank):
        end = network.end(rank)
        end.shared, end.shared_bytes = [memory[i].ctypes.data for i in range(ranks)], bytes_each
        dst = np.zeros((30, 12), np.int32)
        plan.run(dst, whole[:, 4 * rank : 4 * rank + 4], end, timeout=20)
        return dst

    np.testing.assert_array_equal(np.concatenate(on_ranks(ranks, body)), whole)
    assert memory.any()  # it was used
    end = network.end(0)
    end.shared, end.shared_bytes = [None], bytes_each
    with pytest.raises(ValueError, match="1 addresses for 3 ranks"):
        plan.run(np.zeros((30, 12), np.int32), whole[:, :4], end)
    end.shared = [part.ctypes.data + 8 for part in memory]
    with pytest.raises(infini.Error, match="no multiple of 64"):
        plan.run(np.zeros((30, 12), np.int32), whole[:, :4], end, timeout=0.05)


def test_a_rank_without_a_shard_gives_none():
    plan = infini.reshard_plan(infini.Distribution((6,), 1, ["block"], ranks=[1]),
                               infini.Distribution((6,), 1, ["block"]), dtype="i32")
    network, data = Network(2), np.arange(6, dtype=np.int32)

    def body(rank):
        dst = np.zeros(6, np.int32) if rank == 1 else None
        plan.run(dst, data if rank == 0 else None, network.end(rank))
        return dst

    np.testing.assert_array_equal(on_ranks(2, body)[1], data)


def test_a_missing_rank_and_an_exception_are_told():
    plan = infini.reshard_plan(infini.Distribution((8,), 2, [None]), infini.Distribution((8,), 2, ["block"]),
                               dtype="f32")
    network = Network(2)
    with pytest.raises(infini.Error, match="incomplete"):
        plan.run(np.zeros(8, np.float32), np.zeros(4, np.float32), network.end(0), timeout=0.05)
    end = network.end(0)
    end.post_receive = lambda *_: 1 / 0
    with pytest.raises(ZeroDivisionError):
        plan.run(np.zeros(8, np.float32), np.zeros(4, np.float32), end, timeout=0.05)


@pytest.mark.parametrize("any_thread", [False, True])
def test_a_product_over_a_grid(any_thread):
    random = np.random.default_rng(3)
    a = random.integers(-4, 5, (12, 21)).astype(np.float32)
    b = random.integers(-4, 5, (21, 8)).astype(np.float32)
    grid = ["block", "block"]
    plan = infini.product_plan(infini.Distribution((12, 8), (2, 2), grid), infini.Distribution((12, 21), (2, 2), grid),
                               infini.Distribution((21, 8), (2, 2), grid), dtype="f32", panel=4)
    assert plan.steps == 6 and plan.shapes(3) == ((6, 4), (6, 10), (10, 4))
    assert plan.traffic(0)["received_bytes"] == 4 * (6 * 10 + 10 * 4)
    network = Network(4)

    def body(rank):
        i, j = divmod(rank, 2)
        end = network.end(rank)
        end.any_thread = any_thread
        c = np.ones((6, 4), np.float32)
        plan.run(c, a[6 * i : 6 * i + 6, 11 * j : 11 * j + 11], b[11 * i : 11 * i + 11, 4 * j : 4 * j + 4], end,
                 alpha=2, beta=-1, timeout=20)
        return c

    parts = on_ranks(4, body)
    np.testing.assert_array_equal(np.block([parts[:2], parts[2:]]), 2 * (a @ b) - 1)


def test_wrong_products_are_refused():
    one = infini.Distribution((4, 4), 1, [None, None])
    plan = infini.product_plan(one, one, one, dtype="f32")
    good, end = np.zeros((4, 4), np.float32), Network(1).end(0)
    with pytest.raises(infini.Error, match="b has 1 dims"):
        plan.run(good, good.copy(), np.zeros(4, np.float32), end)
    with pytest.raises(infini.Error, match="another type"):
        plan.run(good, good.astype(np.float64), good, end)
    with pytest.raises(infini.Error, match="c"):
        plan.run(good, good, good, end)  # c is a
    with pytest.raises(infini.InvalidValue, match="c cannot be 4x5"):
        infini.product_plan(infini.Distribution((4, 5), 1, [None, None]), one, one, dtype="f32")


@pytest.mark.parametrize("make, words", [
    (lambda: infini.Distribution((8,), 2, ["blokc"]), "blokc"),
    (lambda: infini.Distribution((8, 8), 2, ["block"]), "dims has 1"),
    (lambda: infini.reshard_plan(infini.Distribution((4,), 1, [None]), infini.Distribution((8,), 1, [None]),
                                 dtype="f32"), "the destination is 4"),
    (lambda: infini.reshard_plan(infini.Distribution((8,), 1, [None]), infini.Distribution((8,), 1, [None]), "a -> b",
                                 dtype="f32"), "pattern"),
])
def test_what_is_wrong_is_said(make, words):
    with pytest.raises(infini.InvalidValue, match=words):
        make()


def test_wrong_shards_are_refused():
    one = infini.Distribution((4, 2), 1, ["block", None])
    plan = infini.reshard_plan(one, one, dtype="f32")
    good, end = np.zeros((4, 2), np.float32), Network(1).end(0)
    for dst, src, words in [(np.zeros((4, 3), np.float32), good, "dim 1 of dst"), (good, np.zeros(8, np.float32), "dims"),
                            (good, good.astype(np.float64), "another type")]:
        with pytest.raises(infini.Error, match=words):
            plan.run(dst, src, end)
    good.flags.writeable = False
    with pytest.raises(infini.Error, match="read-only"):
        plan.run(good, np.zeros((4, 2), np.float32), end)
    with pytest.raises(TypeError, match="mpi4py"):
        plan.run(good, good, 3)


def test_a_sharded_checkpoint_is_read_in_another_sharding(tmp_path):
    whole = np.arange(30 * 22, dtype=np.float16).reshape(30, 22)
    before = infini.Distribution((30, 22), (2, 2), ["block", "cyclic:3"])
    after = infini.Distribution((22, 30), 3, ["block", None])
    columns = [[j for j in range(22) if j // 3 % 2 == part] for part in range(2)]
    for rank in range(4):
        i, j = divmod(rank, 2)
        np.save(tmp_path / f"{rank}.npy", whole[15 * i : 15 * i + 15, columns[j]])
    files = [infini.open(tmp_path / f"{rank}.npy") for rank in range(4)]
    plan = infini.reshard_plan(after, before, "o i -> i o", dtype="f16")
    for rank in range(3):
        dst = np.zeros(plan.shapes(rank)[0], np.float16)
        plan.read(dst, [next(iter(file.values())) for file in files], rank)
        np.testing.assert_array_equal(dst, whole.T[8 * rank : 8 * rank + 8])


def test_scalapack_and_local_shapes():
    grid = infini.Distribution.from_scalapack((10, 7), (2, 3), (2, 2))
    assert str(grid) == "(2x3: cyclic:2@0,cyclic:2@1)"
    assert grid.local_shape(0) == (6, 3)
    assert grid.local_shape(5) == (4, 2)


def test_jax_shardings():
    jax = pytest.importorskip("jax")
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("x", "y"))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(("x", "y")))
    assert infini.Distribution.from_jax(sharding, (8, 4)).dims == ("block@0+1", "replicate")


class GlooLike:
    """torch.distributed as its transport sees it, between threads: requests can only be waited for."""

    def __init__(self, network):
        self.network, self.here = network, threading.local()

    def get_rank(self, group):
        return self.here.rank

    def get_world_size(self, group):
        return self.network.ranks

    def get_backend_config(self, group):
        return "cpu:gloo,cuda:gloo"

    def isend(self, tensor, peer, group, tag):
        return self._work(self.network.end(self.here.rank).post_send(peer, tag, tensor.buffer))

    def irecv(self, tensor, peer, group, tag):
        return self._work(self.network.end(self.here.rank).post_receive(peer, tag, tensor.buffer))

    def _work(self, request):
        end = self.network.end(self.here.rank)

        def wait(timeout=None):
            if end.wait_any([request], 20) is None:
                raise RuntimeError("nobody came")

        return types.SimpleNamespace(wait=wait)


@pytest.fixture
def gloo_like(monkeypatch):
    def of(ranks):
        dist = GlooLike(Network(ranks))
        torch = types.ModuleType("torch")
        torch.uint8, torch.distributed = "uint8", dist
        torch.frombuffer = lambda buffer, dtype: types.SimpleNamespace(buffer=buffer, numel=lambda: len(buffer))
        monkeypatch.setitem(sys.modules, "torch", torch)
        monkeypatch.setitem(sys.modules, "torch.distributed", dist)
        return dist

    return of


@pytest.mark.parametrize("ranks", [2, 4])
def test_over_what_can_only_be_waited_for(gloo_like, ranks):
    dist = gloo_like(ranks)
    whole = np.arange(24 * 36, dtype=np.float32).reshape(24, 36)
    plan = infini.reshard_plan(infini.Distribution((24, 36), ranks, [None, "block"]),
                               infini.Distribution((24, 36), ranks, ["block", None]), dtype="f32")

    def body(rank):
        dist.here.rank = rank
        dst = np.zeros(plan.shapes(rank)[0], np.float32)
        plan.run(dst, np.array_split(whole, ranks)[rank], "torch", piece_bytes=64, timeout=20)
        return dst

    np.testing.assert_array_equal(np.concatenate(on_ranks(ranks, body), axis=1), whole)


def test_what_a_request_raises_is_raised(gloo_like):
    dist = gloo_like(2)
    dist.here.rank = 0
    dist._work = lambda request: types.SimpleNamespace(wait=lambda timeout: 1 / 0)
    plan = infini.reshard_plan(infini.Distribution((8,), 2, [None]), infini.Distribution((8,), 2, ["block"]),
                               dtype="f32")
    with pytest.raises(ZeroDivisionError):
        plan.run(np.zeros(8, np.float32), np.zeros(4, np.float32), "torch", timeout=0.1)


@pytest.mark.skipif("metax:1" not in infini.devices(), reason="the emulated GPU is not built")
@pytest.mark.parametrize("what, strict", [("arrives", "1"), ("fails", "0")])  # what failed is kept
def test_over_nccl(what, strict):
    program = pathlib.Path(__file__).parent / "nccl_like.py"
    ran = subprocess.run([sys.executable, program, what], env={**os.environ, "SIMT_EMU_STRICT": strict},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout
