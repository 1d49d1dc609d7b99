"""concat, stack and pad: one new array, filled by copies."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._convert import _empty_like
from ._core import InvalidType, InvalidValue, copy


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise InvalidValue(f"axis is {axis}; the result has {ndim} dims")
    return axis % ndim


def _alike(arrays: Sequence[Any]) -> list[Any]:
    arrays = list(arrays)
    if not arrays:
        raise InvalidValue("arrays is empty; expected at least one")
    for i, x in enumerate(arrays):
        if not hasattr(x, "shape") or not hasattr(x, "dtype"):
            raise InvalidType(f"arrays[{i}] is a {type(x).__name__}; expected an array")
        if x.dtype != arrays[0].dtype:
            raise InvalidType(f"arrays[{i}] is {x.dtype}, arrays[0] is {arrays[0].dtype}")
    return arrays


def concat(arrays: Sequence[Any], axis: int = 0, *, out: Any = None) -> Any:
    """The arrays one after another along a dim, in a new array of the first one's framework, or in `out`."""
    arrays = _alike(arrays)
    shape = list(arrays[0].shape)
    axis = _axis(axis, len(shape))
    for i, x in enumerate(arrays):
        if len(x.shape) != len(shape) or any(a != b for k, (a, b) in enumerate(zip(x.shape, shape)) if k != axis):
            raise InvalidValue(f"arrays[{i}] has the shape {tuple(x.shape)}, arrays[0] {tuple(arrays[0].shape)}; "
                               f"they may differ along dim {axis} alone")
    shape[axis] = sum(x.shape[axis] for x in arrays)
    out = _destination(out, arrays[0], tuple(shape))
    first = 0
    for x in arrays:
        part = (slice(None),) * axis + (slice(first, first + x.shape[axis]),)
        copy(out[part], x)
        first += x.shape[axis]
    return out


def stack(arrays: Sequence[Any], axis: int = 0, *, out: Any = None) -> Any:
    """The arrays, all of one shape, along a new dim."""
    arrays = _alike(arrays)
    shape = tuple(arrays[0].shape)
    axis = _axis(axis, len(shape) + 1)
    for i, x in enumerate(arrays):
        if tuple(x.shape) != shape:
            raise InvalidValue(f"arrays[{i}] has the shape {tuple(x.shape)}, arrays[0] {shape}; they must be equal")
    out = _destination(out, arrays[0], (*shape[:axis], len(arrays), *shape[axis:]))
    for i, x in enumerate(arrays):
        copy(out[(slice(None),) * axis + (slice(i, i + 1),)], _with_dim(x, axis))
    return out


def pad(x: Any, widths: Sequence[tuple[int, int]], value: Any = 0, *, out: Any = None) -> Any:
    """x with `value` around it: for each dim so many before and behind."""
    widths = [tuple(w) for w in widths]
    if len(widths) != len(x.shape) or any(len(w) != 2 or min(w) < 0 for w in widths):
        raise InvalidValue(f"widths is {widths}; expected {len(x.shape)} pairs of sizes")
    out = _destination(out, x, tuple(n + a + b for n, (a, b) in zip(x.shape, widths)))
    for dim, (before, behind) in enumerate(widths):
        inner = tuple(slice(a, a + n) for n, (a, _) in zip(x.shape[:dim], widths[:dim]))
        extent = out.shape[dim]
        for edge in (slice(0, before), slice(extent - behind, extent)):
            if edge.stop > edge.start:
                out[(*inner, edge)] = value
    copy(out[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths))], x)
    return out


def _with_dim(x: Any, axis: int) -> Any:
    return x[(slice(None),) * axis + (None,)] if hasattr(type(x), "__setitem__") or hasattr(x, "at") else x


def _destination(out: Any, like: Any, shape: tuple[int, ...]) -> Any:
    if out is None:
        return _empty_like(like, shape, like.dtype)
    if tuple(out.shape) != shape:
        raise InvalidValue(f"out has the shape {tuple(out.shape)}; the result has {shape}")
    return out
