"""infini's functions as PyTorch operators: inside torch.compile(fullgraph=True), with gradients, on fake tensors.

    import infini.torch as it
    y = it.rearrange(x, "b s (h d) -> b h s d", h=8)

Called on plain tensors that need no gradient they are infini's own functions, at their cost."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch

from . import _core
from ._axes import inverse, spread
from ._convert import convert as _convert_arrays

__all__ = ["contiguous", "convert", "copy_", "copy_pages_", "matmul", "permute", "rearrange", "repeat"]

_op = torch.library.custom_op


def _plain(*tensors: torch.Tensor) -> bool:
    """Whether nobody but us has to know of the call."""
    if torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() != 0:
        return False
    for tensor in tensors:
        if type(tensor) is not torch.Tensor or (tensor.requires_grad and torch.is_grad_enabled()):
            return False
    return torch._C._functorch.peek_interpreter_stack() is None


def _detached(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple(t.detach() for t in tensors)


@_op("infini::permute", mutates_args=())
def _permute(x: torch.Tensor, dims: list[int]) -> torch.Tensor:
    return _core.permute(x.detach(), *dims)


@_permute.register_fake
def _(x, dims):
    return x.new_empty([x.shape[d] for d in dims])


def _permute_setup(ctx, inputs, output):
    ctx.dims = [d % inputs[0].ndim for d in inputs[1]]


def _permute_backward(ctx, grad):
    back = sorted(range(len(ctx.dims)), key=ctx.dims.__getitem__)
    return _permute(grad, back), None


_permute.register_autograd(_permute_backward, setup_context=_permute_setup)


@_op("infini::contiguous", mutates_args=())
def _contiguous(x: torch.Tensor) -> torch.Tensor:
    return _core.permute(x.detach(), *range(x.ndim))


@_contiguous.register_fake
def _(x):
    return x.new_empty(x.shape)


_contiguous.register_autograd(lambda ctx, grad: grad)


@_op("infini::rearrange", mutates_args=())
def _rearrange(x: torch.Tensor, pattern: str, names: str, sizes: list[int]) -> torch.Tensor:
    made = _core.rearrange(x.detach(), pattern, **dict(zip(names.split(), sizes)))
    return made.clone() if made.data_ptr() == x.data_ptr() else made


def _result_shape(pattern: str, shape: list[int], names: str, sizes: list[int]) -> tuple[int, ...]:
    return _core._pattern_shape(pattern, tuple(int(n) for n in shape), dict(zip(names.split(), sizes)))


@_rearrange.register_fake
def _(x, pattern, names, sizes):
    return x.new_empty(_result_shape(pattern, x.shape, names, sizes))


def _rearrange_setup(ctx, inputs, output):
    x, pattern, names, sizes = inputs
    ctx.inverse = inverse(pattern, [int(n) for n in x.shape], dict(zip(names.split(), sizes)))
    ctx.shape = x.shape
    ctx.spread = _result_shape(spread(pattern), x.shape, names, sizes)


def _rearrange_backward(ctx, grad):
    pattern, sizes, new = ctx.inverse
    back = _rearrange(grad.reshape(ctx.spread), pattern, " ".join(sizes), list(sizes.values()))
    if new:
        back = back.sum(dim=list(range(back.ndim - new, back.ndim)))
    return back.reshape(ctx.shape), None, None, None


_rearrange.register_autograd(_rearrange_backward, setup_context=_rearrange_setup)


@_op("infini::matmul", mutates_args=())
def _matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _core.matmul(a.detach(), b.detach())


@_matmul.register_fake
def _(a, b):
    row, column = a.ndim == 1, b.ndim == 1
    m = [] if row else [a.shape[-2]]
    n = [] if column else [b.shape[-1]]
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.new_empty([*batch, *m, *n])


def _matmul_setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _summed(grad, shape):
    """The sum over what was broadcast."""
    grad = grad.sum(dim=list(range(grad.ndim - len(shape)))) if grad.ndim > len(shape) else grad
    repeated = [i for i, n in enumerate(shape) if n == 1 and grad.shape[i] != 1]
    return grad.sum(dim=repeated, keepdim=True) if repeated else grad


def _matmul_backward(ctx, grad):
    a, b = ctx.saved_tensors
    wide_a = a.unsqueeze(0) if a.ndim == 1 else a
    wide_b = b.unsqueeze(1) if b.ndim == 1 else b
    if a.ndim == 1:
        grad = grad.unsqueeze(-1 if b.ndim == 1 else -2)
    if b.ndim == 1:
        grad = grad.unsqueeze(-1)
    to_a = to_b = None
    if ctx.needs_input_grad[0]:
        to_a = _summed(_matmul(grad, wide_b.transpose(-1, -2)), wide_a.shape).reshape(a.shape)
    if ctx.needs_input_grad[1]:
        to_b = _summed(_matmul(wide_a.transpose(-1, -2), grad), wide_b.shape).reshape(b.shape)
    return to_a, to_b


_matmul.register_autograd(_matmul_backward, setup_context=_matmul_setup)


@_op("infini::convert", mutates_args=())
def _convert(x: torch.Tensor, dtype: torch.dtype, scale: float, shift: float, saturate: bool) -> torch.Tensor:
    return _convert_arrays(x.detach(), dtype, scale=scale, shift=shift, saturate=saturate)


@_convert.register_fake
def _(x, dtype, scale, shift, saturate):
    return torch.empty(x.shape, dtype=dtype, device=x.device)


def _convert_setup(ctx, inputs, output):
    ctx.dtype, ctx.scale = inputs[0].dtype, inputs[2]


def _convert_backward(ctx, grad):
    return _convert(grad, ctx.dtype, ctx.scale, 0.0, False), None, None, None, None


_convert.register_autograd(_convert_backward, setup_context=_convert_setup)


@_op("infini::copy_", mutates_args=("dst",))
def _copy_(dst: torch.Tensor, src: torch.Tensor) -> None:
    _core.copy(*_detached(dst, src))


@_copy_.register_fake
def _(dst, src):
    return None


@_op("infini::copy_pages_", mutates_args=("dst",))
def _copy_pages_(dst: torch.Tensor, dst_ids: torch.Tensor, src: torch.Tensor, src_ids: Optional[torch.Tensor], pattern: str) -> None:
    _core.copy_pages(dst.detach(), dst_ids, src.detach(), src_ids, pattern or None)


@_copy_pages_.register_fake
def _(dst, dst_ids, src, src_ids, pattern):
    return None


def permute(x: torch.Tensor, *dims: Any) -> torch.Tensor:
    """A contiguous copy of x with its dims in this order."""
    if _plain(x):
        return _core.permute(x, *dims)
    order = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    return _permute(x, list(order))


def contiguous(x: torch.Tensor) -> torch.Tensor:
    """x itself where it is contiguous, else a contiguous copy."""
    if _plain(x):
        return _core.contiguous(x)
    return x if x.is_contiguous() else _contiguous(x)


def rearrange(x: torch.Tensor | Sequence[torch.Tensor], pattern: str, **sizes: int) -> torch.Tensor:
    """x's elements as the pattern orders them, in one copy. The gradient is the inverse copy, summed over what was repeated.

    A list of tensors is one tensor with a first dim."""
    if isinstance(x, (list, tuple)):
        x = torch.stack(tuple(x))
    if _plain(x):
        return _core.rearrange(x, pattern, **sizes)
    return _rearrange(x, pattern, " ".join(sizes), list(sizes.values()))


repeat = rearrange


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of matrices, batches and vectors, as torch.matmul."""
    return _core.matmul(a, b) if _plain(a, b) else _matmul(a, b)


def convert(x: torch.Tensor, dtype: torch.dtype, *, scale: float = 1.0, shift: float = 0.0, saturate: bool = False) -> torch.Tensor:
    """round(scale*x + shift) with elements of another type."""
    if _plain(x):
        return _convert_arrays(x, dtype, scale=scale, shift=shift, saturate=saturate)
    return _convert(x, dtype, float(scale), float(shift), saturate)


def copy_(dst: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
    """dst[...] = src, converted where the dtypes differ; no gradient flows through dst."""
    _core.copy(dst, src) if _plain(dst, src) else _copy_(dst, src)
    return dst


def copy_pages_(
    dst: torch.Tensor, dst_ids: torch.Tensor, src: torch.Tensor, src_ids: torch.Tensor | None = None, pattern: str | None = None
) -> torch.Tensor:
    """dst[dst_ids[i]] = src[src_ids[i]] for every page, as infini.copy_pages; no gradient flows through dst."""
    if _plain(dst, src):
        _core.copy_pages(dst, dst_ids, src, src_ids, pattern)
    else:
        _copy_pages_(dst, dst_ids, src, src_ids, pattern or "")
    return dst
