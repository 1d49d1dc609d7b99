"""Three processes over gloo: what they exchange, and that each of them is told when one of them fails."""
import os
import time

import numpy as np
import pytest

import infini

RANKS, TIMEOUT = 3, 0.5
FAULTS = ("plan", "count", "short", "short of much", "late", "dead")  # in this order: nobody comes back from the last


def test_three_processes(tmp_path):
    torch = pytest.importorskip("torch")
    dist = pytest.importorskip("torch.distributed")
    if not dist.is_available() or not dist.is_gloo_available():
        pytest.skip("no gloo")
    started = torch.multiprocessing.spawn(_rank, (str(tmp_path),), nprocs=RANKS, join=False)
    end = time.monotonic() + 120
    while not started.join(timeout=1):  # raises what a process raised
        if time.monotonic() > end:
            for process in started.processes:
                process.kill()
            pytest.fail("processes hang")
    told = {path.name: path.read_text() for path in tmp_path.iterdir() if path.name != "meeting"}
    faulty = RANKS - 1
    assert set(told) == {f"{fault} {rank}" for fault in FAULTS for rank in range(RANKS)} - {f"dead {faulty}"}
    for case, words in told.items():
        # What is noticed before anything moves, and what is noticed on the way.
        wanted = "as it was" if case.split()[0] in ("plan", "count", "late") else "incomplete"
        assert wanted in words, f"{case}: {words}"
    # Rank 0 exchanges nothing with the one that fails; rank 1 does.
    for told_of in (told["plan 1"], told["count 1"]):
        assert "another plan" in told_of or "different plans" in told_of
    for case in ("short 1", "short of much 1"):
        assert f"rank {faulty} sent" in told[case] and "were expected" in told[case]


def _rank(rank, folder):
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    _reshard(rank)
    _product(rank)
    for fault in FAULTS:
        group = dist.new_group(list(range(RANKS)))  # messages of a run that failed stay on its group
        start = time.monotonic()
        told = _failing(rank, group, fault)
        assert time.monotonic() - start < 3 * TIMEOUT + 5 + (4 * TIMEOUT if fault == "late" else 0), fault
        with open(f"{folder}/{fault} {rank}", "w") as file:
            file.write(told)


def _parts(sizes):
    return infini.Distribution((sum(sizes),), RANKS, [sizes])


def _failing(rank, group, fault):
    """What the call says: the last rank does not do its part."""
    from infini._transport import TorchTransport, _HostRound

    _HostRound.short = 16 if fault == "short of much" else 4096  # by which both kinds of messages are short
    faulty, sends = rank == RANKS - 1, []

    class Transport(TorchTransport):
        def begin_round(self, tag, transfers, on_device, stream):
            sends.append(transfers)
            if faulty and len(sends) == 3:  # its first pieces; two rounds of agreeing went before
                if fault == "dead":
                    os._exit(0)
                if fault.startswith("short"):
                    transfers = [(peer, sends, buffer[: len(buffer) // 2] if sends else buffer) for peer, sends, buffer in transfers]
            return super().begin_round(tag, transfers, on_device, stream)

    before, after = [200, 400, 600], [400, 400, 400]
    if faulty and fault == "plan":
        after = [400, 300, 500]
    if faulty and fault == "count":
        before, after = [200, 400, 601], [400, 400, 401]
    plan = infini.reshard_plan(_parts(after), _parts(before), dtype="i32")
    if faulty and fault == "late":
        time.sleep(4 * TIMEOUT)
    src, dst = np.arange(before[rank], dtype=np.int32), np.zeros(after[rank], np.int32)
    kept = src.copy()
    try:
        plan.run(dst, src, Transport(group), timeout=TIMEOUT, piece_bytes=160)
    except Exception as error:  # noqa: BLE001 - gloo's own are RuntimeErrors
        np.testing.assert_array_equal(src, kept)
        notes = getattr(error, "__notes__", [])
        # Before Python 3.11 exceptions have no notes.
        return "\n".join([str(error), *notes, *([] if hasattr(error, "add_note") else ["incomplete", "as it was"])])
    return "noticed nothing"


def _reshard(rank):
    import torch

    whole = torch.arange(8 * 6, dtype=torch.float32).reshape(8, 6)
    plan = infini.reshard_plan(infini.Distribution((8, 6), RANKS, [None, "block"]),
                               infini.Distribution((8, 6), RANKS, ["balanced", None]), dtype="f32")
    dst, rows = torch.zeros(8, 2), [0, 3, 6, 8]
    for _ in range(2):
        plan.run(dst.zero_(), whole[rows[rank] : rows[rank + 1]], "torch", timeout=20)
        assert torch.equal(dst, whole[:, 2 * rank : 2 * rank + 2])


def _product(rank):
    """Rows of A and C; of another product everybody's C stays as it was."""
    random = np.random.default_rng(5)
    a, b = random.integers(-3, 4, (9, 12)).astype(np.float64), random.integers(-3, 4, (12, 4)).astype(np.float64)
    rows = ["block", None]
    parts = [infini.Distribution(shape, RANKS, rows) for shape in ((9, 4), (9, 12), (12, 4))]
    plan = infini.product_plan(*parts, dtype="f64", panel=3)
    c = np.zeros((3, 4))
    plan.run(c, a[3 * rank : 3 * rank + 3], b[4 * rank : 4 * rank + 4], "torch", timeout=20)
    np.testing.assert_array_equal(c, (a @ b)[3 * rank : 3 * rank + 3])
    other = infini.product_plan(*parts, dtype="f64", panel=3 if rank < RANKS - 1 else 4)
    with pytest.raises(infini.Error, match="c is as it was"):
        other.run(c, a[3 * rank : 3 * rank + 3], b[4 * rank : 4 * rank + 4], "torch", timeout=20)
    np.testing.assert_array_equal(c, (a @ b)[3 * rank : 3 * rank + 3])
