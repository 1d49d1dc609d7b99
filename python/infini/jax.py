"""infini's functions inside jax.jit, with gradients, on the CPU.

They are host callbacks: XLA's own call interface (jax.ffi) needs its headers when infini is built, which must not need them."""
from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import _core
from ._axes import inverse, spread
from ._convert import convert as _convert_arrays

__all__ = ["contiguous", "convert", "matmul", "permute", "rearrange"]


def _call(function: Any, shape: tuple[int, ...], dtype: Any, *arrays: Any) -> Any:
    def host(*given: Any) -> np.ndarray:
        return np.asarray(function(*(np.asarray(x) for x in given)))

    result = jax.ShapeDtypeStruct(shape, dtype)
    return jax.pure_callback(host, result, *arrays, vmap_method="sequential")


@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def _rearrange(x: Any, pattern: str, sizes: tuple[tuple[str, int], ...]) -> Any:
    shape = _core._pattern_shape(pattern, tuple(x.shape), dict(sizes))
    return _call(lambda a: np.array(_core.rearrange(a, pattern, **dict(sizes))), shape, x.dtype, x)


def _rearrange_forward(x: Any, pattern: str, sizes: Any) -> Any:
    return _rearrange(x, pattern, sizes), x.shape


def _rearrange_backward(pattern: str, sizes: Any, shape: Any, grad: Any) -> Any:
    text, known, new = inverse(pattern, shape, dict(sizes))
    grad = grad.reshape(_core._pattern_shape(spread(pattern), tuple(shape), dict(sizes)))
    back = _rearrange(grad, text, tuple(known.items()))
    if new:
        back = back.sum(axis=tuple(range(back.ndim - new, back.ndim)))
    return (back.reshape(shape),)


_rearrange.defvjp(_rearrange_forward, _rearrange_backward)


@jax.custom_vjp
def _matmul(a: Any, b: Any) -> Any:
    shape = jax.eval_shape(jnp.matmul, a, b).shape
    return _call(_core.matmul, shape, a.dtype, a, b)


def _matmul_backward(saved: Any, grad: Any) -> Any:
    return jax.vjp(jnp.matmul, *saved)[1](grad)


_matmul.defvjp(lambda a, b: (_matmul(a, b), (a, b)), _matmul_backward)


@partial(jax.custom_vjp, nondiff_argnums=(1, 2, 3, 4))
def _convert(x: Any, dtype: Any, scale: float, shift: float, saturate: bool) -> Any:
    def host(a: np.ndarray) -> np.ndarray:
        return _convert_arrays(a, np.dtype(dtype), scale=scale, shift=shift, saturate=saturate)

    return _call(host, x.shape, dtype, x)


def _convert_backward(dtype: Any, scale: float, shift: float, saturate: bool, like: Any, grad: Any) -> Any:
    return (_convert(grad, like.dtype, scale, 0.0, False),)


_convert.defvjp(lambda x, *rest: (_convert(x, *rest), jnp.zeros((), x.dtype)), _convert_backward)


def rearrange(x: Any, pattern: str, **sizes: int) -> Any:
    """x's elements as the pattern orders them, in one copy."""
    return _rearrange(x, pattern, tuple(sizes.items()))


def permute(x: Any, *dims: Any) -> Any:
    """A copy of x with its dims in this order."""
    order = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    names = [f"d{i}" for i in range(len(order))]
    return rearrange(x, " ".join(names) + " -> " + " ".join(names[d] for d in order))


def contiguous(x: Any) -> Any:
    """x: JAX's arrays have no strides."""
    return x


def matmul(a: Any, b: Any) -> Any:
    """The product of matrices, batches and vectors, as jnp.matmul."""
    return _matmul(a, b)


def convert(x: Any, dtype: Any, *, scale: float = 1.0, shift: float = 0.0, saturate: bool = False) -> Any:
    """round(scale*x + shift) with elements of another type."""
    return _convert(x, dtype, float(scale), float(shift), saturate)
