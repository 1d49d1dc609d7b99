"""What nccl permits on one GPU: rounds to itself, and reshardings of several ranks, threads of one process, whose rounds become
batches of messages from nccl to itself. Over more GPUs nothing has been tried; the fake of nccl_like.py tells the rest."""
import os
import threading

import pytest

import infini
from infini._transport import TorchTransport

torch = pytest.importorskip("torch")
dist = pytest.importorskip("torch.distributed")
if not torch.cuda.is_available() or not dist.is_nccl_available() or "nvidia:0" not in infini.devices():
    pytest.skip("no GPU with nccl here", allow_module_level=True)


@pytest.fixture(scope="module", autouse=True)
def group():
    """The default group, and one of nccl alone."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    torch.cuda.set_device(0)
    dist.init_process_group("cpu:gloo,cuda:nccl", rank=0, world_size=1)
    yield dist.new_group([0], backend="nccl")
    dist.destroy_process_group()


class Bytes:
    def __init__(self, tensor):
        self.__cuda_array_interface__ = tensor.view(torch.uint8).__cuda_array_interface__


def test_a_round_has_its_place_on_a_stream():
    transport, stream = TorchTransport(), torch.cuda.Stream()
    assert transport.takes_device_memory and transport.takes_host_memory
    with torch.cuda.stream(stream):
        a = torch.arange(1 << 20, device="cuda", dtype=torch.int32)
        b = torch.zeros_like(a)
        for transfers in ([], [(0, True, Bytes(a)), (0, False, Bytes(b))]):
            assert transport.end_round(transport.begin_round(0, transfers, True, stream.cuda_stream), stream.cuda_stream, 1)
        c = b + 1
    stream.synchronize()
    assert torch.equal(c, a + 1)


def test_words_go_over_nccl_alone(group):
    transport, out = TorchTransport(group), bytearray(16)
    assert transport.takes_device_memory and not transport.takes_host_memory
    transfers = [(0, True, memoryview(bytes(range(16)))), (0, False, memoryview(out))]
    assert transport.end_round(transport.begin_round(0, transfers, False, 0), 0, 10)
    assert out == bytes(range(16))


@pytest.mark.parametrize("wait", [True, False])
def test_one_rank_with_and_without_a_wait(group, wait):
    plan = infini.reshard_plan(infini.Distribution((48, 64), 1, [None, None]), infini.Distribution((64, 48), 1, [None, None]),
                               "o i -> i o", dtype="f16")
    for comm in ("torch", group):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            x = torch.randn(64, 48, device="cuda", dtype=torch.float16)
            y = torch.zeros(48, 64, device="cuda", dtype=torch.float16)
            plan.run(y, x, comm, wait=wait)
            z = y.clone()
        stream.synchronize()
        assert torch.equal(z, x.T)


class Meeting:
    """Where ranks bring the rounds with one number together: every send beside its receive, in one batch."""

    def __init__(self, ranks):
        self.ranks, self.barrier, self.lock = ranks, threading.Barrier(ranks, timeout=15), threading.Lock()
        self.given, self.stream, self.ready = {}, torch.cuda.Stream(), None

    def carry(self, on_device):
        takes = {(of, to): into for to, (transfers, _) in self.given.items() for of, sends, into in transfers if not sends}
        pairs = [(data, takes[of, to]) for of, (transfers, _) in self.given.items() for to, sends, data in transfers if sends]
        if not on_device:
            for data, into in pairs:
                into[:] = data
            return None
        with torch.cuda.stream(self.stream):
            batch = []
            for _, ready in self.given.values():
                self.stream.wait_event(ready)
            for data, into in pairs:
                batch.append(dist.P2POp(dist.isend, torch.as_tensor(data, device="cuda"), 0))
                batch.append(dist.P2POp(dist.irecv, torch.as_tensor(into, device="cuda"), 0))
            for work in dist.batch_isend_irecv(batch) if batch else []:
                work.wait()
            return self.stream.record_event()


class End:
    takes_device_memory = True
    post_send = post_receive = wait_any = None

    def __init__(self, meeting, rank):
        self.meeting, self.rank, self.ranks = meeting, rank, meeting.ranks

    def begin_round(self, tag, transfers, on_device, stream):
        meeting = self.meeting
        with meeting.lock:
            meeting.given[self.rank] = transfers, torch.cuda.ExternalStream(stream).record_event() if on_device else None
        if meeting.barrier.wait() == 0:
            meeting.ready = meeting.carry(on_device)
        meeting.barrier.wait()
        return [meeting.ready]

    def end_round(self, ready, stream, seconds):
        if ready[0] is not None:
            torch.cuda.ExternalStream(stream).wait_event(ready[0])
        return True

    def cancel(self, requests):
        return False


def part_of(whole, distribution, rank):
    """By a plan from one rank that has all of it."""
    everything = infini.Distribution(whole.shape, 1, [None] * whole.ndim)
    plan = infini.reshard_plan(distribution, everything, dtype=str(whole.dtype).split(".")[1])
    if rank >= plan.ranks:
        return None
    part = torch.zeros(plan.shapes(rank)[0], dtype=whole.dtype, device="cuda")
    plan.read(part, [whole.contiguous()], rank)
    return part


# Ranks meet once for each round: of equal lanes there are several, else one.
@pytest.mark.parametrize("shape, before, after, dims, dtype, piece", [
    ((1024, 512), (4, [None, "block"]), (4, ["block", None]), (0, 1), "float32", 0),
    ((1024, 512), (4, [None, "block"]), (4, ["block", None]), (0, 1), "float32", 4096),
    ((999, 770), (4, ["block", None]), ((2, 2), ["block", "block"]), (1, 0), "float16", 0),
    ((37, 29, 18), (2, ["cyclic:3", None, None]), (3, [None, "block", None]), (2, 0, 1), "bfloat16", 0),
    ((64, 100), (4, ["block", None]), (2, [None, None]), (0, 1), "int8", 0),
])
def test_reshardings_of_several_ranks(shape, before, after, dims, dtype, piece):
    names = "abc"[: len(shape)]
    pattern = " ".join(names) + " -> " + " ".join(names[dim] for dim in dims)
    dtype = getattr(torch, dtype)
    whole = (torch.arange(torch.Size(shape).numel(), device="cuda") % 251).to(dtype).reshape(shape)
    permuted = whole.permute(dims)
    source, destination = infini.Distribution(shape, *before), infini.Distribution(permuted.shape, *after)
    plan = infini.reshard_plan(destination, source, pattern, dtype=str(dtype).split(".")[1])
    sources = [part_of(whole, source, rank) for rank in range(plan.ranks)]
    wanted = [part_of(permuted, destination, rank) for rank in range(plan.ranks)]
    torch.cuda.synchronize()
    meeting, told = Meeting(plan.ranks), [None] * plan.ranks

    def body(rank):
        try:
            torch.cuda.set_device(0)
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                dst = None if wanted[rank] is None else torch.zeros_like(wanted[rank])
                for wait in (True, False):
                    plan.run(dst, sources[rank], End(meeting, rank), piece_bytes=piece, timeout=20, wait=wait)
            stream.synchronize()
            told[rank] = dst is None or torch.equal(dst, wanted[rank])
        except Exception as error:  # noqa: BLE001 - looked at below
            told[rank] = error

    threads = [threading.Thread(target=body, args=(rank,)) for rank in range(plan.ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [True] * plan.ranks, told


def test_what_hangs_is_let_go():
    transport = TorchTransport(dist.new_group([0], backend="nccl"))
    assert transport.end_round(transport.begin_round(0, [], True, 0), 0, 1)
    assert transport.cancel([]) is False
