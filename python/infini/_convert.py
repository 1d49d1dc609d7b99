"""convert: another element type, with y = round(scale*x + shift) on the way."""
from __future__ import annotations

import math
from typing import Any

from ._core import InvalidType, Tensor, _convert_into
from ._dtype import DType

# What infini calls "i8" or "f8" is something else to NumPy.
_COMMON = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "bool": "bool",
    "i16": "int16", "i32": "int32", "i64": "int64", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip
_OWN = {"i8": "int8", "u8": "uint8", "f8": "float8_e4m3fn", "byte": "uint8"}


def _name(dtype: Any) -> str:
    if isinstance(dtype, str):
        name = str(dtype)
        if isinstance(dtype, DType) and name in _OWN:
            return _OWN[name]
        if name in _OWN:
            _refuse(name)
        return _COMMON.get(name, name)
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return str(name).rpartition(".")[2]


def _refuse(name: str) -> None:
    """Raises what every function says to a name that nobody knows, or that means two things."""
    Tensor.empty((0,), name)


def _numpy_dtype(name: str) -> Any:
    import numpy

    try:
        return numpy.dtype(name)
    except TypeError:
        if name != "float8_e5m2":  # of infini's tensors none is of it
            _refuse(name)
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, name))


_POOLED_BYTES = 1 << 20


def _pooled_bytes(shape: tuple[int, ...], itemsize: int) -> Any:
    """Bytes of the library's pool where they are many: fresh pages of the system take longer than what is done with them."""
    size = math.prod(shape) * itemsize
    return Tensor.empty((size,), "uint8") if size >= _POOLED_BYTES else None


def _empty_like(x: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """An uninitialised array of x's framework, beside it."""
    name = _name(dtype)
    module = type(x).__module__.partition(".")[0]
    if isinstance(x, Tensor):
        return Tensor.empty(shape, name, x.device)
    if module == "torch":
        import torch

        if not hasattr(torch, name):
            _refuse(name)
        kind = getattr(torch, name)
        memory = _pooled_bytes(shape, kind.itemsize) if x.device.type == "cpu" else None
        if memory is not None:
            return torch.from_dlpack(memory).view(kind).view(shape)
        return torch.empty(shape, dtype=kind, device=x.device)
    if module == "cupy":
        import cupy

        with cupy.cuda.Device(x.device.id):
            return cupy.empty(shape, _numpy_dtype(name))
    if module in ("jaxlib", "jax"):
        raise InvalidType("JAX arrays cannot be written: use infini.jax.convert, or pass out= an array of another kind")
    import numpy

    kind = _numpy_dtype(name)
    return numpy.ndarray(shape, kind, _pooled_bytes(shape, kind.itemsize))


def convert(
    x: Any,
    dtype: Any = None,
    *,
    scale: Any = None,
    shift: Any = None,
    axis: int | None = None,
    saturate: bool = False,
    out: Any = None,
) -> Any:
    """round(scale*x + shift) with elements of another type, in one pass over memory, whatever x's strides are.

    scale and shift are numbers, or arrays of f32: with `axis` one number for each index of that dim, else broadcast.
    Rounded to nearest even. Integers are saturated (NaN is 0); floats beyond the largest become infinite, or the largest
    with `saturate`. The result is a contiguous array of x's framework, or `out`, whatever its strides."""
    if out is None:
        if dtype is None:
            raise InvalidType("convert needs a dtype or out")
        out = _empty_like(x, tuple(x.shape), dtype)
    elif dtype is not None:
        raise InvalidType("convert takes a dtype or out, not both: out has one")
    return _convert_into(out, x, scale, shift, axis, saturate)
