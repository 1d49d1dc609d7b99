"""Run by test_reshard.py: nccl as the transport of torch.distributed sees it, between threads that share the emulated GPU. Batches
carry what both sides put into batches with one number, on the stream that was current."""
import contextlib
import ctypes
import gc
import queue
import sys
import threading
import types

import numpy as np

import infini
from infini import Tensor

METAX, D2D = 4, 3  # infiniDevice_t, infinirtMemcpyKind_t
RANKS = 3
here = threading.local()
aborted = []


def library():
    return ctypes.CDLL(next(line.split()[-1] for line in open("/proc/self/maps") if "libinfini.so" in line))


class Memory:
    """What torch.as_tensor makes of an address."""

    def __init__(self, address, count, keeper=None):
        self.address, self.count, self.keeper = address, count, keeper

    def to(self, device):
        tensor = Tensor.from_array(np.frombuffer(self.keeper, np.uint8), "metax:0")
        infini.synchronize("metax:0")
        return Memory(tensor.data_ptr, self.count, tensor)

    def cpu(self):
        return types.SimpleNamespace(numpy=lambda: self.keeper.numpy())


class Dist:
    """torch.distributed with this nccl."""

    def __init__(self, backends):
        self.backends, self.links, self.empty = backends, {}, 0
        backend = types.SimpleNamespace(abort=lambda: aborted.append(here.rank))
        self.group = types.SimpleNamespace(WORLD=types.SimpleNamespace(_get_backend=lambda device: backend))
        self.isend, self.irecv = "isend", "irecv"
        self.lock = threading.Lock()

    def get_rank(self, group):
        return here.rank

    def get_world_size(self, group):
        return RANKS

    def get_backend_config(self, group):
        return self.backends

    def all_reduce(self, tensor, group):
        with self.lock:
            self.empty += 1

    def P2POp(self, op, tensor, peer, group):
        return op, tensor, peer

    def link(self, of, to):
        with self.lock:
            return self.links.setdefault((of, to), (queue.Queue(), queue.Queue()))

    def batch_isend_irecv(self, batch):
        lib, stream, waits = library(), ctypes.c_void_p(here.stream), []
        assert len({(op, peer) for op, _, peer in batch}) == len(batch)
        assert lib.infinirtSetDevice(METAX, 0) == 0 and lib.infinirtStreamSynchronize(stream) == 0
        for op, memory, peer in batch:
            if op == "isend":
                self.link(here.rank, peer)[0].put(memory)

        def take(memory, peer):
            sent, taken = self.link(peer, here.rank)
            theirs = sent.get(timeout=here.patience)
            assert theirs.count == memory.count
            to, of, count = (ctypes.c_void_p(memory.address), ctypes.c_void_p(theirs.address), ctypes.c_size_t(memory.count))
            assert lib.infinirtMemcpyAsync(to, of, count, D2D, stream) == 0 and lib.infinirtStreamSynchronize(stream) == 0
            taken.put(None)

        for op, memory, peer in batch:
            wait = (lambda memory=memory, peer=peer: take(memory, peer)) if op == "irecv" else \
                (lambda peer=peer: self.link(here.rank, peer)[1].get(timeout=here.patience))
            waits.append(types.SimpleNamespace(wait=wait))
        return sorted(waits, key=lambda one: one.wait.__code__.co_argcount, reverse=True)  # receives first


@contextlib.contextmanager
def current(stream):
    before, here.stream = getattr(here, "stream", 0), stream
    yield
    here.stream = before


def pretend_to_be_torch(dist):
    def empty(count, dtype, device):
        tensor = Tensor.zeros((count,), "uint8", "metax:0")
        infini.synchronize("metax:0")
        return Memory(tensor.data_ptr, count, tensor)

    def as_tensor(given, device):
        if isinstance(given, Memory):
            return given
        about = given.__cuda_array_interface__
        assert about["typestr"] == "|u1" and about["strides"] is None
        return Memory(about["data"][0], about["shape"][0])

    torch, cuda = types.ModuleType("torch"), types.ModuleType("torch.cuda")
    torch.uint8, torch.distributed, torch.cuda, torch.device = "uint8", dist, cuda, str
    torch.empty, torch.as_tensor, torch.zeros = empty, as_tensor, lambda count, device: None
    torch.frombuffer = lambda buffer, dtype: Memory(0, len(buffer), buffer)
    cuda.stream, cuda.ExternalStream, cuda.default_stream = current, lambda stream: stream, lambda: 0
    cuda.Event = lambda: types.SimpleNamespace(record=lambda: None, query=lambda: True)
    sys.modules.update({"torch": torch, "torch.cuda": cuda, "torch.distributed": dist})


def on_ranks(body):
    told = [None] * RANKS

    def run(rank):
        here.rank, here.patience = rank, 20
        try:
            told[rank] = body(rank)
        except Exception as error:  # noqa: BLE001 - looked at below
            told[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def plan_and_body():
    whole = np.arange(30 * 12, dtype="f4").reshape(30, 12)
    plan = infini.reshard_plan(infini.Distribution((12, 30), RANKS, ["block", None]),
                               infini.Distribution((30, 12), RANKS, ["block", None]), "o i -> i o", dtype="f32")

    def body(rank):
        src = Tensor.from_array(whole[10 * rank : 10 * rank + 10], "metax:0")
        dst = Tensor.zeros((4, 30), "f32", "metax:0")
        plan.run(dst, src, "torch", piece_bytes=64, timeout=20)
        return np.array_equal(dst.numpy(), whole.T[4 * rank : 4 * rank + 4])

    return plan, body


def arrives(dist):
    plan, body = plan_and_body()
    told = on_ranks(body)
    assert told == [True] * RANKS, told
    assert dist.empty == RANKS and not aborted
    # Without a wait there has to be a GPU in the group.
    here.rank, dist.backends = 0, "cpu:gloo"
    try:
        plan.run(Tensor.zeros((4, 30), "f32", "metax:0"), Tensor.zeros((10, 12), "f32", "metax:0"), "torch", wait=False)
    except infini.InvalidValue as error:
        assert "wait=False" in str(error)
    else:
        raise AssertionError("no wait over gloo")


def fails(dist):
    """Rank 2 does not come: the others are told, and nccl is made to let go."""
    _, body = plan_and_body()

    def lonely(rank):
        here.patience = 0.2
        return None if rank == RANKS - 1 else body(rank)

    told = on_ranks(lonely)
    assert all(isinstance(one, Exception) for one in told[:-1]), told
    assert sorted(set(aborted)) == list(range(RANKS - 1)), aborted


given = Dist("cuda:nccl")
pretend_to_be_torch(given)
{"arrives": arrives, "fails": fails}[sys.argv[1]](given)
gc.collect()
infini.synchronize("metax:0")
infini.trim_memory()
