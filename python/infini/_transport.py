"""Transports: what carries contiguous bytes between ranks. We write none; these speak to mpi4py and torch.distributed.

A transport has `rank`, `ranks`, post_send(peer, tag, buffer) and post_receive(peer, tag, buffer), which give a request,
wait_any(requests, seconds), which gives (index, bytes received) of one that is done or None when none is in that time, and
cancel(requests), which says whether all of them have ended. Where `any_thread` is there and true, a thread of the library's may
call them, too, one at a time. Where `shared` is there, it has the address of every rank's part of memory that ranks of one
machine share, `shared_bytes` of each, all zeros before the first run (None for ranks elsewhere): they exchange through it."""
from __future__ import annotations

import atexit
import datetime
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
            time.sleep(0)

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
    """Over a process group of torch.distributed whose backend sends host memory (gloo, mpi).

    gloo takes a message that is shorter than what was asked for as a whole one and does not tell: each is followed by
    another one with its length. (To one that is longer it answers by ending the process.)"""

    def __init__(self, group=None):
        import torch
        import torch.distributed as dist

        self.torch, self.dist, self.group, self.done = torch, dist, group, queue.SimpleQueue()
        self.rank, self.ranks = dist.get_rank(group), dist.get_world_size(group)

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
        return False


class _Watched:
    """A request of torch.distributed. Those of gloo cannot be asked, and who waited for one alone would miss what the others
    need him for: a thread waits for each."""

    all = set()  # that are waited for

    def __init__(self, works, tensors, length, done):
        self.works, self.tensors, self.length, self.error = works, tensors, length, None
        self.thread = threading.Thread(target=self.watch, args=(done,), daemon=True)
        _Watched.all.add(self)
        self.thread.start()

    def watch(self, done):
        try:
            for work in self.works:
                work.wait()
        except Exception as error:  # noqa: BLE001 - raised by who asks
            self.error = error
        _Watched.all.discard(self)
        done.put(self)


@atexit.register
def _end_watching():
    """A process that ends in the middle of a wait of gloo's is ended by abort(): what a failed run has left is waited for no
    longer, which closes the connections of its group."""
    for one in list(_Watched.all):
        try:
            one.works[0].wait(datetime.timedelta(milliseconds=1))
            one.works[1].wait(datetime.timedelta(milliseconds=1))
        except Exception:  # noqa: BLE001, S110 - that is what happens
            pass
    for one in list(_Watched.all):
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
