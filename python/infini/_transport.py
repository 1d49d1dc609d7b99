"""Transports: what carries contiguous bytes between ranks. We write none; these speak to mpi4py and torch.distributed.

A transport has `rank`, `ranks`, post_send(peer, tag, buffer) and post_receive(peer, tag, buffer), which give a request,
wait_any(requests, seconds), which gives (index, bytes received) of one that is done or None when none is in that time, and
cancel(requests), which says whether all of them have ended. Where `any_thread` is there and true, a thread of the library's may
call them, too, one at a time. Where `shared` is there, it has the address of every rank's part of memory that ranks of one
machine share, `shared_bytes` of each, all zeros before the first run (None for ranks elsewhere): they exchange through it.

One that carries much at once, or in the order of a GPU's streams, has rounds: begin_round(tag, transfers, on_device, stream),
transfers being (peer, sends, buffer), gives a round, and end_round(round, stream, seconds) says whether it is over: see
infiniTransport_t. Where `takes_device_memory` is true, buffers of the device have __cuda_array_interface__."""
from __future__ import annotations

import atexit
import datetime
import os
import queue
import threading
import time


class MpiTransport:
    """Over an mpi4py communicator."""

    def __init__(self, comm):
        from mpi4py import MPI

        self.comm, self.MPI = comm, MPI
        self.rank, self.ranks = comm.Get_rank(), comm.Get_size()
        self.any_thread = MPI.Query_thread() >= MPI.THREAD_SERIALIZED

    def post_send(self, peer, tag, buffer):
        return _Posted(self.comm.Isend([buffer, self.MPI.BYTE], dest=peer, tag=tag), False)

    def post_receive(self, peer, tag, buffer):
        return _Posted(self.comm.Irecv([buffer, self.MPI.BYTE], source=peer, tag=tag), True)

    def wait_any(self, requests, seconds):
        end = time.monotonic() + seconds
        status = self.MPI.Status()
        asked = [one.request for one in requests]
        while True:
            index, done = self.MPI.Request.Testany(asked, status)
            if done:
                return index, status.Get_count(self.MPI.BYTE)
            if time.monotonic() >= end:
                return None
            os.sched_yield()  # time.sleep(0) may last 50 us, and asking let others have the interpreter

    def cancel(self, requests):
        """Receives can be cancelled; a send that nobody took stays with MPI."""
        return all([one.end() for one in requests])


class _Posted:
    """A request of MPI."""

    def __init__(self, request, receives):
        self.request, self.receives = request, receives

    def end(self):
        done = self.request.Test()
        if done or not self.receives:
            return done
        self.request.Cancel()
        end = time.monotonic() + 0.1  # one whose message is half there does not end if its sender is gone
        while not (done := self.request.Test()) and time.monotonic() < end:
            pass
        return done


class TorchTransport:
    """Over a process group of torch.distributed: what lies on GPUs over nccl, in the order of streams, where the group has that
    for them; what lies in host memory over its backend for that (gloo, mpi).

    gloo takes a message that is shorter than what was asked for as a whole one and does not tell: each comes with its length,
    in itself or in another one. (To one that is longer it answers by ending the process.)"""

    def __init__(self, group=None):
        import torch
        import torch.distributed as dist

        self.torch, self.dist, self.group, self.done = torch, dist, group, queue.SimpleQueue()
        self.rank, self.ranks = dist.get_rank(group), dist.get_world_size(group)
        # "cpu:gloo,cuda:nccl"
        backends = dict(one.split(":") for one in str(dist.get_backend_config(group)).split(","))
        self.takes_device_memory, self.takes_host_memory = backends.get("cuda") == "nccl", "cpu" in backends
        self.on_device = False  # whether nccl was given anything

    def _global(self, peer):
        return peer if self.group is None else self.dist.get_global_rank(self.group, peer)

    def _tensor(self, buffer):
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of memory that may not be written: it is only read
            return self.torch.frombuffer(buffer, dtype=self.torch.uint8)

    def _watched(self, post, peer, tag, buffer, length):
        tensors = [self._tensor(buffer), self._tensor(length)]
        works = [post(tensor, self._global(peer), group=self.group, tag=tag) for tensor in tensors]
        return _Watched(works, tensors, length, self.done)

    def begin_round(self, tag, transfers, on_device, stream):
        if on_device or not self.takes_host_memory:
            self.on_device = True
            return (_StreamRound if on_device else _StagedRound)(self, transfers, stream)
        return _HostRound(self, tag, transfers)

    def end_round(self, round, stream, seconds):
        return round.end(stream, seconds)

    def post_send(self, peer, tag, buffer):
        return self._watched(self.dist.isend, peer, tag, buffer, bytearray(len(buffer).to_bytes(8, "little")))

    def post_receive(self, peer, tag, buffer):
        return self._watched(self.dist.irecv, peer, tag, buffer, bytearray(8))

    def wait_any(self, requests, seconds):
        end = time.monotonic() + seconds
        while True:
            try:
                done = self.done.get(timeout=max(end - time.monotonic(), 0)) if seconds > 0 else self.done.get_nowait()
            except queue.Empty:
                return None
            for index, request in enumerate(requests):
                if request is done:
                    if done.error is not None:
                        raise done.error
                    return index, int.from_bytes(done.length, "little")

    def cancel(self, requests):
        """What nccl has begun goes on until its communicator is aborted; the group is then of no further use."""
        if self.on_device:
            group = self.dist.group.WORLD if self.group is None else self.group
            group._get_backend(self.torch.device("cuda")).abort()
        return False


class _HostRound:
    """Messages that are waited for at once: all of them are on their way, whichever is waited for first. Short ones begin with
    their length, long ones are followed by it."""

    short = 4096  # bytes that are copied sooner than another message is sent

    def __init__(self, transport, tag, transfers):
        self.transport, self.tag, self.works, self.tensors, self.received = transport, tag, [], [], []
        for peer, sends, buffer in transfers:
            length = bytearray(len(buffer).to_bytes(8, "little") if sends else 8)
            if len(buffer) <= self.short:
                length += buffer if sends else bytes(len(buffer))
            for part in (length,) if len(buffer) <= self.short else (buffer, length):
                self.post(peer, sends, part)
            if not sends:
                self.received.append((peer, buffer, length))
        _open.add(self)

    def post(self, peer, sends, buffer):
        transport, tensor = self.transport, self.transport._tensor(buffer)
        self.tensors.append(tensor)
        work = (transport.dist.isend if sends else transport.dist.irecv)(tensor, transport._global(peer),
                                                                         group=transport.group, tag=self.tag)
        self.works.append(work)

    def end(self, stream, seconds):
        end = time.monotonic() + seconds
        for work in self.works:
            try:
                work.wait(datetime.timedelta(seconds=max(end - time.monotonic(), 0.001)))
            except RuntimeError:
                if time.monotonic() < end:
                    raise
                return False
        _open.discard(self)
        for peer, buffer, length in self.received:
            if (got := int.from_bytes(length[:8], "little")) != len(buffer):
                raise RuntimeError(f"rank {peer} sent {got} bytes where {len(buffer)} were expected")
            if len(length) > 8:
                buffer[:] = length[8:]
        return True


class _StreamRound:
    """One batch of nccl's, in the order of a stream. Without transfers: all ranks are here, and make their communicator."""

    def __init__(self, transport, transfers, stream):
        torch, dist, group = transport.torch, transport.dist, transport.group
        self.torch, self.works = torch, []
        with self.on(stream):
            if not transfers:
                dist.all_reduce(torch.zeros(1, device="cuda"), group=group)
                return
            batch = [dist.P2POp(dist.isend if sends else dist.irecv, torch.as_tensor(buffer, device="cuda"),
                                transport._global(peer), group) for peer, sends, buffer in transfers]
            self.works = dist.batch_isend_irecv(batch)

    def on(self, stream):
        return self.torch.cuda.stream(self.torch.cuda.ExternalStream(stream) if stream else
                                      self.torch.cuda.default_stream())

    def end(self, stream, seconds):
        with self.on(stream):
            for work in self.works:
                work.wait()  # the stream waits, not the host
        return True


class _StagedRound(_StreamRound):
    """A few words of host memory over a group that has nccl alone."""

    def __init__(self, transport, transfers, stream):
        torch = self.torch = transport.torch
        with self.on(0):
            self.pairs = [(buffer, None if sends else torch.empty(len(buffer), dtype=torch.uint8, device="cuda"))
                          for _, sends, buffer in transfers]
            tensors = [transport._tensor(buffer).to("cuda") if into is None else into for buffer, into in self.pairs]
            super().__init__(transport, [(peer, sends, one) for (peer, sends, _), one in zip(transfers, tensors)], 0)
            super().end(0, 0)
            self.event = torch.cuda.Event()
            self.event.record()

    def end(self, stream, seconds):
        end = time.monotonic() + seconds
        while not self.event.query():
            if time.monotonic() >= end:
                return False
            os.sched_yield()
        for buffer, into in self.pairs:
            if into is not None:
                buffer[:] = into.cpu().numpy()
        return True


_open = set()  # rounds and requests that gloo still has


class _Watched:
    """A request of torch.distributed. Those of gloo cannot be asked, and who waited for one alone would miss what the others
    need him for: a thread waits for each."""

    def __init__(self, works, tensors, length, done):
        self.works, self.tensors, self.length, self.error = works, tensors, length, None
        self.thread = threading.Thread(target=self.watch, args=(done,), daemon=True)
        _open.add(self)
        self.thread.start()

    def watch(self, done):
        try:
            for work in self.works:
                work.wait()
        except Exception as error:  # noqa: BLE001 - raised by who asks
            self.error = error
        _open.discard(self)
        done.put(self)


@atexit.register
def _end_watching():
    """A process that ends in the middle of a wait of gloo's is ended by abort(): what a failed run has left is waited for no
    longer, which closes the connections of its group."""
    for one in list(_open):
        for work in one.works:
            try:
                work.wait(datetime.timedelta(milliseconds=1))
            except Exception:  # noqa: BLE001, S110 - that is what happens
                pass
    for one in list(_open):
        if isinstance(one, _Watched):
            one.thread.join(1)


def transport_of(comm):
    """A communicator of mpi4py, a process group of torch.distributed, "torch" for its default one, or a transport."""
    if hasattr(comm, "post_send"):
        return comm
    if hasattr(comm, "Isend"):
        return MpiTransport(comm)
    if isinstance(comm, str) and comm == "torch":
        return TorchTransport()
    if type(comm).__module__.startswith("torch"):
        return TorchTransport(comm)
    raise TypeError(f"comm is a {type(comm).__name__}; expected a communicator of mpi4py, a process group of "
                    'torch.distributed or "torch" for its default one, or an object with post_send, post_receive, '
                    "wait_any and cancel")
