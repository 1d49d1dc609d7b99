"""infini: strided copies and matrix products at the speed of memory and matrix units.

Works on anybody's arrays (NumPy, PyTorch, CuPy, JAX, anything with DLPack or the buffer protocol) where they
lie, and on tensors of its own:

    y = infini.contiguous(x.T)              # of the same framework as x, at copy speed
    infini.copy(dst[:, ::2], src)           # any strides on both sides
    c = infini.matmul(a, b.transpose(0, 2, 1))
"""
from __future__ import annotations

from typing import Any, SupportsIndex, TypeVar, overload

from ._core import (
    Error,
    Graph,
    InvalidType,
    InvalidValue,
    OutOfMemory,
    Recording,
    Tensor,
    __version__,
    contiguous,
    copy,
    devices,
    explain,
    matmul,
    num_threads,
    permute,
    record,
    set_num_threads,
    synchronize,
    transpose,
    trim_memory,
)
from ._core import _walk
from ._dtype import DType
from ._pattern import names as _names
from ._pattern import resolve as _resolve
from ._pattern import whole_sizes as _whole_sizes
from ._plan import Plan, plan


_A = TypeVar("_A")


@overload
def rearrange(x: _A, pattern: str, /, *, out: SupportsIndex | None = None, **sizes: SupportsIndex) -> _A: ...
@overload
def rearrange(x: Any, pattern: str, /, *, out: _A, **sizes: SupportsIndex) -> _A: ...
def rearrange(x: Any, pattern: str, /, *, out: Any = None, **sizes: SupportsIndex) -> Any:
    """A new array of x's elements in another order, in one copy: rearrange(x, "b s (h d) -> b h s d", h=8).

    Dims in parentheses are split on the left and joined on the right; sizes that do not follow from x are given by
    name. "..." stands for all other dims, 1 for a dim of size 1; axes that are new on the right repeat x.
    With `out`, an array of the result's shape and any strides, the elements go there, and it is returned; in a pattern
    with an axis called out, out is the size of that axis."""
    shape = getattr(x, "shape", None)
    if shape is None:  # bytes, array.array
        shape = Tensor.from_array(x).shape
    if out is not None and _names(pattern, "out"):
        sizes["out"], out = out, None
    return _walk(x, *_resolve(pattern, tuple(shape), _whole_sizes(sizes)), out)


__all__ = [
    "DType",
    "Error",
    "Graph",
    "InvalidType",
    "InvalidValue",
    "OutOfMemory",
    "Plan",
    "Recording",
    "Tensor",
    "contiguous",
    "copy",
    "devices",
    "explain",
    "matmul",
    "num_threads",
    "permute",
    "plan",
    "rearrange",
    "record",
    "set_num_threads",
    "synchronize",
    "transpose",
    "trim_memory",
]
