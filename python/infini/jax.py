"""infini's functions inside jax.jit, jax.grad, jax.vmap and jax.jvp, on the CPU and on CUDA GPUs.

    import infini.jax as ij
    y = jax.jit(lambda x: ij.rearrange(x, "b s (h d) -> b h s d", h=8))(x)

They are custom calls: XLA calls infini's kernels on its own buffers and streams. Where that is not possible (another
platform, a JAX whose interface is not known) they are host callbacks."""
from __future__ import annotations

import math
import threading
import warnings
from functools import cache, lru_cache
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from . import _core
from ._convert import convert as _convert_arrays

__all__ = ["contiguous", "convert", "matmul", "permute", "rearrange", "repeat"]

_lock = threading.Lock()
_known: dict[str, bool] = {}


def _register(platform: str) -> bool:
    """Tells XLA of our handlers; whether it takes them."""
    if platform == "cuda" and not any(name.startswith("nvidia") for name in _core.devices()):
        warnings.warn("infini sees no NVIDIA GPU (`infini devices` says why): infini.jax works through the host", stacklevel=2)
        return False
    try:
        jax.devices(platform)  # earlier XLA would put off its answer
        for name, (cpu, cuda) in _core._xla_handlers().items():
            if platform == "cpu":
                jax.ffi.register_ffi_target(name, cpu, platform="cpu")
            else:
                jax.ffi.register_ffi_target(name, cuda, platform="CUDA")
    except Exception as error:  # what it is depends on JAX's version
        warnings.warn(f"infini.jax works through host callbacks, since JAX does not take its operators: {error}", stacklevel=2)
        return False
    return True


def _is_registered(platform: str) -> bool:
    with _lock:
        if platform not in _known:
            _known[platform] = _register(platform)
        return _known[platform]


@cache
def _compiled(primitive: Primitive, params: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
    return jax.jit(lambda *arrays: primitive.bind(*arrays, **dict(params)))


def _operator(name: str, result: Callable, host: Callable, attributes: Callable) -> Primitive:
    """A primitive: `result` says the shape and dtype of what it makes, `attributes` what the handler is told; `host`
    does the same on NumPy's arrays."""
    primitive = Primitive(name)
    primitive.def_impl(lambda *arrays, **params: _compiled(primitive, tuple(sorted(params.items())))(*arrays))
    primitive.def_abstract_eval(lambda *given, **params: ShapedArray(*result(*given, **params)))

    def callback(*arrays: Any, **params: Any) -> Any:
        made = jax.ShapeDtypeStruct(*result(*arrays, **params))
        return jax.pure_callback(lambda *given: host(*map(np.asarray, given), **params), made, *arrays)

    through_host = mlir.lower_fun(callback, multiple_results=False)
    through_xla = jax.ffi.ffi_lowering(name)

    def lower(platform: str) -> Callable[..., Any]:
        def rule(ctx: Any, *operands: Any, **params: Any) -> Any:
            if _is_registered(platform):
                return through_xla(ctx, *operands, **attributes(**params))
            return through_host(ctx, *operands, **params)

        return rule

    mlir.register_lowering(primitive, through_host)
    for platform in ("cpu", "cuda"):
        mlir.register_lowering(primitive, lower(platform), platform=platform)
    return primitive


# --- copies: loops of (extent, step in the result, step in x), both row-major, steps in elements ---


def _host_copy(x: np.ndarray, *, loops: Any, shape: Any) -> np.ndarray:
    made = np.empty(shape, x.dtype)
    if made.size:
        extents = [extent for extent, _, _ in loops]
        walks = [
            np.lib.stride_tricks.as_strided(array, extents, [loop[side] * x.itemsize for loop in loops])
            for array, side in ((made, 1), (np.ascontiguousarray(x), 2))
        ]
        _core.copy(*walks)
    return made


_copy = _operator(
    "infini_copy",
    lambda x, *, loops, shape: (shape, x.dtype),
    _host_copy,
    lambda *, loops, shape: {"loops": np.array(loops, np.int64).reshape(-1)},
)


def _copy_transposed(grad: Any, x: Any, *, loops: Any, shape: Any) -> list[Any]:
    """The inverse copy, and the sum over what was repeated."""
    new = [extent for extent, _, source in loops if source == 0]
    step = repeats = math.prod(new)
    back = []
    for extent, target, source in loops:
        if source:
            back.append((extent, source * repeats, target))
        else:
            step //= extent
            back.append((extent, step, target))
    kept = x.aval.shape
    made = _copy.bind(grad, loops=tuple(back), shape=(*kept, *new))
    return [made.sum(axis=tuple(range(len(kept), made.ndim))) if new else made]


def _copy_batched(arrays: Any, dims: Any, *, loops: Any, shape: Any) -> tuple[Any, int]:
    x = jnp.moveaxis(arrays[0], dims[0], 0)
    count = x.shape[0]
    if count != 1:
        loops = ((count, math.prod(shape), math.prod(x.shape[1:])), *loops)
    return _copy.bind(x, loops=loops, shape=(count, *shape)), 0


ad.deflinear2(_copy, _copy_transposed)
batching.primitive_batchers[_copy] = _copy_batched


# --- products of matrices and batches of them; `transposed` says which lie with their last two dims exchanged ---


def _matmul_shape(a: Any, b: Any, *, transposed: tuple[int, int]) -> tuple[tuple[int, ...], Any]:
    if a.dtype != b.dtype:
        raise TypeError(f"a is {a.dtype}, b is {b.dtype}; expected one dtype")
    if not jnp.issubdtype(a.dtype, jnp.floating) or a.dtype.itemsize < 2:
        raise TypeError(f"a and b are {a.dtype}; expected float16, bfloat16, float32 or float64")
    m, k = a.shape[-2:][:: -1 if transposed[0] else 1]
    other, n = b.shape[-2:][:: -1 if transposed[1] else 1]
    if k != other:
        raise ValueError(f"a has {k} columns, b has {other} rows")
    return (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), m, n), a.dtype


def _host_matmul(a: np.ndarray, b: np.ndarray, *, transposed: tuple[int, int]) -> np.ndarray:
    return _core.matmul(*(x.swapaxes(-1, -2) if swap else x for x, swap in zip((a, b), transposed)))


_matmul = _operator(
    "infini_matmul",
    _matmul_shape,
    _host_matmul,
    lambda *, transposed: {"transposed": np.array(transposed, np.int64)},
)


def _summed(grad: Any, shape: tuple[int, ...]) -> Any:
    """The sum over what was broadcast."""
    grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
    repeated = tuple(i for i, (have, want) in enumerate(zip(grad.shape, shape)) if have != want)
    return grad.sum(axis=repeated, keepdims=True) if repeated else grad


def _to_a(grad: Any, a: Any, b: Any, *, transposed: tuple[int, int]) -> Any:
    first, second = transposed
    made = (_matmul.bind(b, grad, transposed=(second, 1)) if first else
            _matmul.bind(grad, b, transposed=(0, 1 - second)))
    return _summed(made, a.aval.shape)


def _to_b(grad: Any, a: Any, b: Any, *, transposed: tuple[int, int]) -> Any:
    first, second = transposed
    made = (_matmul.bind(grad, a, transposed=(1, first)) if second else
            _matmul.bind(a, grad, transposed=(1 - first, 0)))
    return _summed(made, b.aval.shape)


def _matmul_batched(arrays: Any, dims: Any, **params: Any) -> tuple[Any, int]:
    """The batch first, and the same number of dims on both sides behind it."""
    rank = max(x.ndim - (dim is not None) for x, dim in zip(arrays, dims))
    sides = []
    for x, dim in zip(arrays, dims):
        if dim is not None:
            x = jnp.moveaxis(x, dim, 0)
            x = x.reshape(x.shape[0], *(1,) * (rank + 1 - x.ndim), *x.shape[1:])
        sides.append(x)
    return _matmul.bind(*sides, **params), 0


def _bilinear_jvp(values: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    (a, b), (of_a, of_b) = values, tangents
    parts = [_matmul.bind(*pair, **params) for pair, zero in (((of_a, b), of_a), ((a, of_b), of_b)) if type(zero) is not ad.Zero]
    return _matmul.bind(a, b, **params), sum(parts[1:], parts[0])


def _bilinear_transposed(grad: Any, a: Any, b: Any, **params: Any) -> list[Any]:
    if type(grad) is ad.Zero:
        return [None, None]
    return [_to_a(grad, a, b, **params), None] if ad.is_undefined_primal(a) else [None, _to_b(grad, a, b, **params)]


ad.primitive_jvps[_matmul] = _bilinear_jvp
ad.primitive_transposes[_matmul] = _bilinear_transposed
batching.primitive_batchers[_matmul] = _matmul_batched


# --- conversions ---


def _host_convert(x: np.ndarray, *, dtype: Any, scale: float, shift: float, saturate: bool) -> np.ndarray:
    return _convert_arrays(x, dtype, scale=scale, shift=shift, saturate=saturate)


_convert = _operator(
    "infini_convert",
    lambda x, *, dtype, **_: (x.shape, dtype),
    _host_convert,
    lambda *, dtype, scale, shift, saturate: {"factors": np.array([scale, shift, saturate], np.float64)},
)


def _convert_jvp(values: Any, tangents: Any, *, dtype: Any, scale: float, **rest: Any) -> tuple[Any, Any]:
    change = _convert.bind(*tangents, dtype=dtype, scale=scale, shift=0.0, saturate=False)
    return _convert.bind(*values, dtype=dtype, scale=scale, **rest), change


def _convert_transposed(grad: Any, x: Any, *, scale: float, **_: Any) -> list[Any]:
    if type(grad) is ad.Zero:
        return [None]
    return [_convert.bind(grad, dtype=x.aval.dtype, scale=scale, shift=0.0, saturate=False)]


ad.primitive_jvps[_convert] = _convert_jvp
ad.primitive_transposes[_convert] = _convert_transposed
batching.primitive_batchers[_convert] = lambda arrays, dims, **params: (_convert.bind(*arrays, **params), dims[0])


# --- what is called: traced as it is; on arrays as one compiled program for each way of calling, which JAX starts faster than it
# runs a primitive by itself ---

_array_types: set[type] = set()


def _are_arrays(*given: Any) -> bool:
    """JAX's arrays, with elements: none is traced."""
    for x in given:
        if type(x) not in _array_types:
            if not isinstance(x, jax.Array) or isinstance(x, jax.core.Tracer):
                return False
            _array_types.add(type(x))
    return True


@lru_cache(maxsize=4096)
def _program(function: Callable[..., Any], *settings: Any) -> Callable[..., Any]:
    return jax.jit(lambda *arrays: function(*arrays, *settings))


def _rearranged(x: Any, pattern: str, sizes: tuple[tuple[str, int], ...]) -> Any:
    shape, loops = _core._pattern_loops(pattern, x.shape, dict(sizes))
    return _copy.bind(x, loops=loops, shape=shape)


def _permuted(x: Any, order: tuple[int, ...]) -> Any:
    names = [f"d{i}" for i in range(len(order))]
    return _rearranged(x, " ".join(names) + " -> " + " ".join(names[d] for d in order), ())


def _multiplied(a: Any, b: Any) -> Any:
    if not a.ndim or not b.ndim:
        raise ValueError("matmul needs at least 1 dim on both sides")
    made = _matmul.bind(a if a.ndim > 1 else a[None], b if b.ndim > 1 else b[:, None], transposed=(0, 0))
    if a.ndim == 1:
        made = made.reshape(*made.shape[:-2], made.shape[-1])
    return made if b.ndim > 1 else made.reshape(made.shape[:-1])


def _converted(x: Any, dtype: Any, scale: float, shift: float, saturate: bool) -> Any:
    if not jnp.issubdtype(dtype, jnp.floating):
        x = jax.lax.stop_gradient(x)
    return _convert.bind(x, dtype=dtype, scale=scale, shift=shift, saturate=saturate)


def rearrange(x: Any, pattern: str, **sizes: int) -> Any:
    """x's elements as the pattern orders them, in one copy. The gradient is the inverse copy, summed over what was repeated."""
    named = tuple(sizes.items())
    return _program(_rearranged, pattern, named)(x) if _are_arrays(x) else _rearranged(jnp.asarray(x), pattern, named)


repeat = rearrange


def permute(x: Any, *dims: Any) -> Any:
    """A copy of x with its dims in this order."""
    order = tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    return _program(_permuted, order)(x) if _are_arrays(x) else _permuted(jnp.asarray(x), order)


def contiguous(x: Any) -> Any:
    """x: JAX's arrays have no strides."""
    return x


def matmul(a: Any, b: Any) -> Any:
    """The product of matrices, batches and vectors, as jnp.matmul; f16, bf16, f32 and f64."""
    return _program(_multiplied)(a, b) if _are_arrays(a, b) else _multiplied(jnp.asarray(a), jnp.asarray(b))


def convert(x: Any, dtype: Any, *, scale: float = 1.0, shift: float = 0.0, saturate: bool = False) -> Any:
    """round(scale*x + shift) with elements of another type."""
    dtype = jax.dtypes.canonicalize_dtype(dtype)
    settings = (dtype, float(scale), float(shift), bool(saturate))
    return _program(_converted, *settings)(x) if _are_arrays(x) else _converted(jnp.asarray(x), *settings)
