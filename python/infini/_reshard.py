"""Distributions of a tensor over ranks, the change from one to another, and products over ranks."""
from __future__ import annotations

from typing import Any, Sequence

from . import _core
from ._transport import transport_of


class Distribution:
    """Which part of a tensor each rank of a mesh holds.

    dims says for each dim how it is cut: "replicate" (or None), "block", "balanced", "cyclic:BLOCK", "sizes:A/B/C" (or a
    list of sizes). Cut dims take the mesh's axes in order, or name them: "block@1", "cyclic:2@0+2". ranks names the rank
    at each place of the mesh, row-major; by default 0, 1, 2, ..."""

    def __init__(self, shape: Sequence[int], mesh: int | Sequence[int], dims: Sequence[Any],
                 ranks: Sequence[int] | None = None):
        self.shape = tuple(int(n) for n in shape)
        self.mesh = (int(mesh),) if isinstance(mesh, int) else tuple(int(n) for n in mesh)
        self.dims = tuple(_dim_text(dim) for dim in dims)
        self.ranks = None if ranks is None else tuple(int(rank) for rank in ranks)
        if len(self.dims) != len(self.shape):
            raise _core.InvalidValue(f"dims has {len(self.dims)} entries; the shape has {len(self.shape)}")
        # Everything else is checked by planning nothing but this.
        _core.ReshardPlan(f"u8 {_shape_text(self.shape)} {self} -> {self}")

    def __str__(self) -> str:
        ranks = "" if self.ranks is None else " ranks " + ",".join(map(str, self.ranks))
        return f"({'x'.join(map(str, self.mesh))}{ranks}: {','.join(self.dims)})"

    def __repr__(self) -> str:
        return f"Distribution({_shape_text(self.shape)} {self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distribution) and (self.shape, str(self)) == (other.shape, str(other))

    def __hash__(self) -> int:
        return hash((self.shape, str(self)))

    def local_shape(self, rank: int) -> tuple[int, ...]:
        """What a rank holds; zeros where it holds nothing."""
        return _core.ReshardPlan(f"u8 {_shape_text(self.shape)} {self} -> {self}").shapes(rank)[0]

    @classmethod
    def from_dtensor(cls, tensor: Any) -> Distribution:
        """Of a torch.distributed.tensor.DTensor."""
        mesh = tensor.device_mesh.mesh
        axes: list[list[int]] = [[] for _ in tensor.shape]
        for axis, placement in enumerate(tensor.placements):
            if placement.is_shard() and "Strided" not in type(placement).__name__:
                axes[placement.dim % len(axes)].append(axis)
            elif not placement.is_replicate():
                raise _core.InvalidValue(f"placement {placement} of mesh axis {axis} holds no elements of the tensor")
        for dim, cut in enumerate(axes):
            if len(cut) > 1 and tensor.shape[dim] % _product(mesh.shape[axis] for axis in cut):
                raise _core.InvalidValue(f"dim {dim} of {tensor.shape[dim]} is cut unevenly by mesh axes {cut}")
        return cls(tensor.shape, tuple(mesh.shape), [_cut_text(cut) for cut in axes], mesh.flatten().tolist())

    @classmethod
    def from_jax(cls, sharding: Any, shape: Sequence[int]) -> Distribution:
        """Of a jax.sharding.NamedSharding; ranks are the ids of its devices."""
        names = list(sharding.mesh.axis_names)
        spec = list(sharding.spec) + [None] * (len(shape) - len(sharding.spec))
        axes = [[names.index(name) for name in ([] if part is None else [part] if isinstance(part, str) else part)]
                for part in spec]
        devices = sharding.mesh.devices
        return cls(shape, devices.shape, [_cut_text(cut) for cut in axes], [d.id for d in devices.flat])

    @classmethod
    def from_scalapack(cls, shape: Sequence[int], grid: Sequence[int], block: Sequence[int]) -> Distribution:
        """Block-cyclic over a row-major grid of processes, the first block at process (0, 0)."""
        return cls(shape, grid, [f"cyclic:{n}@{axis}" for axis, n in enumerate(block)])


class ReshardPlan(_core.ReshardPlan):
    """What each rank sends, receives and copies. Immutable, and the same on every rank."""

    def run(self, dst: Any, src: Any, comm: Any, *, timeout: float = 60, piece_bytes: int = 0,
            staging_bytes: int = 0, tag: int = 0, wait: bool = True) -> None:
        """Moves: src and dst are this rank's shards (None where it holds nothing), any strides; collective.

        comm is a communicator of mpi4py, a process group of torch.distributed ("torch": its default one) or a transport
        of your own. Done when it returns; when it raises, dst is incomplete, on every rank.

        wait=False, on GPUs over nccl: returns as soon as all is on the current stream. Nobody then compares plans, and
        what fails is told by nccl alone. The first run over a group must wait."""
        self._run(dst, src, transport_of(comm), timeout, piece_bytes, staging_bytes, tag, wait)

    def read(self, dst: Any, shards: Any, rank: int) -> None:
        """Fills this rank's shard from those of others that can be indexed: tensors of files, memory maps, arrays.

        shards[source] is asked for the parts that the plan names and for nothing else; nobody sends anything."""
        _, _, perm = self.text.partition("perm=")
        order = [int(dim) for dim in perm.split()[0].split(",")] if perm else list(range(self.ndim))
        for source, to, part in self.parts(rank):
            _core.permute(shards[source][(*part, ...)], order, out=dst[(*to, ...)])


class ProductPlan(_core.ProductPlan):
    """Which panels each rank sends, receives and multiplies. Immutable, and the same on every rank."""

    def run(self, c: Any, a: Any, b: Any, comm: Any, *, alpha: float = 1, beta: float = 0, timeout: float = 60,
            tag: int = 0) -> None:
        """c = alpha·a·b + beta·c: this rank's parts (None where it holds nothing), any strides; collective.

        comm as in ReshardPlan.run. Done when it returns; when it raises, the message says whether c is as it was or
        incomplete."""
        self._run(c, a, b, transport_of(comm), alpha, beta, timeout, tag)


def product_plan(c: Distribution, a: Distribution, b: Distribution, *, dtype: Any, panel: int = 0) -> ProductPlan:
    """The plan by which ranks multiply: a's rows are cut as c's, b's columns as c's, the inner dim in any way.

    panel: how many of the inner dim travel at once, at most (0: 512)."""
    if a.shape[:1] + b.shape[-1:] != c.shape:
        raise _core.InvalidValue(f"a is {_shape_text(a.shape)}, b is {_shape_text(b.shape)}; c cannot be "
                                 f"{_shape_text(c.shape)}")
    return ProductPlan(f"{_dtype_name(dtype)} {_shape_text(a.shape)} {a} * {_shape_text(b.shape)} {b} -> {c} "
                       f"panel={int(panel)}")


def reshard_plan(destination: Distribution, source: Distribution, pattern: str | None = None, *,
                 dtype: Any) -> ReshardPlan:
    """The plan by which a tensor changes from `source` to `destination`.

    pattern "o i -> i o" permutes the dims on the way. dtype is a name, or anything whose str() ends with one."""
    order = _order(pattern, len(source.shape))
    perm = "" if order is None else f"perm={','.join(map(str, order))} "
    moved = source.shape if order is None else tuple(source.shape[i] for i in order)
    if moved != destination.shape:
        raise _core.InvalidValue(f"the source becomes {_shape_text(moved)}, the destination is "
                                 f"{_shape_text(destination.shape)}")
    return ReshardPlan(f"{_dtype_name(dtype)} {_shape_text(source.shape)} {source} -> {perm}{destination}")


def _order(pattern: str | None, rank: int) -> list[int] | None:
    if pattern is None:
        return None
    left, arrow, right = pattern.partition("->")
    before, after = left.split(), right.split()
    if not arrow or sorted(before) != sorted(after) or len(set(before)) != len(before) or len(before) != rank:
        raise _core.InvalidValue(f"pattern is \"{pattern}\"; expected {rank} axes in another order, e.g. \"o i -> i o\"")
    return [before.index(axis) for axis in after]


def _dtype_name(dtype: Any) -> str:
    return str(getattr(dtype, "name", dtype)).rsplit(".", 1)[-1]


def _shape_text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def _dim_text(dim: Any) -> str:
    if dim is None:
        return "replicate"
    return dim if isinstance(dim, str) else "sizes:" + "/".join(str(int(n)) for n in dim)


def _cut_text(axes: Sequence[int]) -> str:
    return "block@" + "+".join(map(str, axes)) if axes else "replicate"


def _product(numbers: Any) -> int:
    result = 1
    for n in numbers:
        result *= int(n)
    return result
