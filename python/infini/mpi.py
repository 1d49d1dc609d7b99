"""Messages of arrays with any strides over mpi4py, which itself refuses what is not contiguous.

Nothing is converted: both sides give arrays of one shape and one element type."""
from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from . import _core
from ._reshard import ReshardPlan, _shape_text
from ._transport import MpiTransport


class Transport(MpiTransport):
    """A communicator for many reshardings: what run() takes as `comm`, over a duplicate of it, so that tags meet no others.

    Ranks of one machine exchange through memory that they share, `shared_bytes` of each (the least that any of them asks for;
    0: none), instead of by messages. Collective, as is free(); also a context manager, which leaves all as it is where its
    body raised: others may be gone, and freeing would wait for them."""

    def __init__(self, comm: Any, shared_bytes: int = 1 << 20):
        super().__init__(comm.Dup())
        self.shared: list[int | None] | None = None
        self.shared_bytes, self._window = 0, None
        here = self.comm.Split_type(self.MPI.COMM_TYPE_SHARED)
        least = here.allreduce(int(shared_bytes), op=self.MPI.MIN)
        if least > 0 and here.Get_size() > 1:
            self._share(here, least)
        here.Free()

    def _share(self, here: Any, shared_bytes: int) -> None:
        """All ranks of the machine or none of them: where MPI has no such memory they send messages."""
        ranks = range(here.Get_size())
        whole = shared_bytes // 64 * 64 + 512 * len(ranks)  # and what pieces are told by
        try:
            self._window = self.MPI.Win.Allocate_shared(whole + 64, 1, comm=here)
            memory = [self._window.Shared_query(rank)[0] for rank in ranks]
            np.frombuffer(memory[here.Get_rank()], np.uint8)[:] = 0
        except self.MPI.Exception:
            memory = []
        if here.allreduce(len(memory), op=self.MPI.MIN) == 0:  # which also says that everybody's is zeroed
            return
        near, all_ranks = here.Get_group(), self.comm.Get_group()
        self.shared, self.shared_bytes = [None] * self.ranks, whole
        for rank, part in zip(near.Translate_ranks(list(ranks), all_ranks), memory):
            # From a multiple of 64 on, which is one place for all: memory is mapped by whole pages.
            self.shared[rank] = -(-part.address // 64) * 64
        near.Free(), all_ranks.Free()

    def free(self) -> None:
        if self._window is not None:
            self._window.Free()
        self._window = self.shared = None
        self.comm.Free()

    def __enter__(self) -> Transport:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.free()


class _Pair:
    """Two ranks of a communicator as a transport of their own: the sender is 0, the receiver 1."""

    def __init__(self, comm: Any, rank: int, peer: int):
        self._all, self._peer, self.rank, self.ranks = MpiTransport(comm), peer, rank, 2
        self.wait_any, self.cancel = self._all.wait_any, self._all.cancel

    def post_send(self, peer: int, tag: int, buffer: Any) -> Any:
        return self._all.post_send(self._peer, tag, buffer)

    def post_receive(self, peer: int, tag: int, buffer: Any) -> Any:
        return self._all.post_receive(self._peer, tag, buffer)


def _plan(array: Any) -> ReshardPlan:
    name = str(array.dtype).rsplit(".", 1)[-1]
    dims = ",".join(["replicate"] * len(array.shape))
    return ReshardPlan(f"{name} {_shape_text(tuple(array.shape))} (1: {dims}) -> (1 ranks 1: {dims})")


def send(array: Any, comm: Any, dest: int, tag: int = 0, *, timeout: float = 60) -> None:
    """Sends an array to a rank that calls recv. Any strides, anybody's array, on the CPU or a GPU.

    tag and tag + 1 are used."""
    _plan(array).run(None, array, _Pair(comm, 0, dest), timeout=timeout, tag=tag)


def recv(array: Any, comm: Any, source: int, tag: int = 0, *, timeout: float = 60) -> None:
    """Receives what `source` sends into an array of the same shape and type. Raises where they differ."""
    _plan(array).run(array, None, _Pair(comm, 1, source), timeout=timeout, tag=tag)


def alltoallw(destinations: Sequence[Any], sources: Sequence[Any], comm: Any) -> None:
    """sources[i] goes to rank i, destinations[i] gets what rank i gives this one; None: nothing. Collective.

    Arrays of host memory with any strides, each of a type and shape of its own."""
    from mpi4py import MPI

    ranks = comm.Get_size()
    for name, given in (("destinations", destinations), ("sources", sources)):
        if len(given) != ranks:
            raise _core.InvalidValue(f"{name} has {len(given)} entries; the communicator has {ranks} ranks")
    sent, received = _Buffer(sources), _Buffer(destinations)
    for part, array in sent.parts():
        _core.copy(part, array)
    comm.Alltoallv([sent.bytes, sent.counts, sent.places, MPI.BYTE],
                   [received.bytes, received.counts, received.places, MPI.BYTE])
    for part, array in received.parts():
        _core.copy(array, part)


class _Buffer:
    """Arrays one behind the other, each from a multiple of 64 bytes on."""

    def __init__(self, arrays: Sequence[Any]):
        self.arrays = [None if array is None else np.asarray(array) for array in arrays]
        self.counts = [0 if array is None else array.nbytes for array in self.arrays]
        ends = np.cumsum([-(-count // 64) * 64 for count in self.counts])
        self.places = [0, *ends[:-1].tolist()]
        if len(ends) and ends[-1] >= 2**31:
            raise _core.InvalidValue(f"{int(ends[-1])} bytes are too many for one exchange; MPI counts them in ints")
        self.bytes = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)

    def parts(self) -> Any:
        for array, count, place in zip(self.arrays, self.counts, self.places):
            if count:
                yield self.bytes[place : place + count].view(array.dtype).reshape(array.shape), array
