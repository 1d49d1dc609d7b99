"""infini: strided copies and matrix products at the speed of memory and matrix units.

Works on anybody's arrays (NumPy, PyTorch, CuPy, JAX, anything with DLPack or the buffer protocol) where they
lie, and on tensors of its own:

    y = infini.contiguous(x.T)              # of the same framework as x, at copy speed
    infini.copy(dst[:, ::2], src)           # any strides on both sides
    c = infini.matmul(a, b.transpose(0, 2, 1))
"""
from __future__ import annotations

from ._core import (
    Error,
    Graph,
    InvalidType,
    InvalidValue,
    OutOfMemory,
    Recording,
    Tensor,
    __version__,
    add,
    cast,
    causal_softmax,
    contiguous,
    copy,
    copy_pages,
    devices,
    div,
    einsum,
    explain,
    gelu,
    matmul,
    mul,
    num_threads,
    parse_shape,
    permute,
    random_sample,
    rearrange,
    record,
    relu,
    rms_norm,
    rope,
    set_num_threads,
    sigmoid,
    silu,
    sub,
    swiglu,
    synchronize,
    transpose,
    trim_memory,
)
from ._convert import convert
from ._dtype import DType
from ._file import FileTensor, TensorFile, open
from ._join import concat, pad, stack
from ._pack import pack, unpack
from ._plan import Plan, plan
from ._reshard import Distribution, ProductPlan, ReshardPlan, product_plan, reshard_plan

repeat = rearrange  # as einops calls a pattern with axes that are new on the right

__all__ = [
    "DType",
    "Distribution",
    "Error",
    "FileTensor",
    "Graph",
    "InvalidType",
    "InvalidValue",
    "OutOfMemory",
    "Plan",
    "ProductPlan",
    "Recording",
    "ReshardPlan",
    "Tensor",
    "TensorFile",
    "add",
    "cast",
    "causal_softmax",
    "concat",
    "contiguous",
    "convert",
    "copy",
    "copy_pages",
    "devices",
    "div",
    "einsum",
    "explain",
    "gelu",
    "matmul",
    "mul",
    "num_threads",
    "open",
    "pack",
    "pad",
    "parse_shape",
    "permute",
    "plan",
    "product_plan",
    "random_sample",
    "rearrange",
    "record",
    "relu",
    "repeat",
    "reshard_plan",
    "rms_norm",
    "rope",
    "set_num_threads",
    "sigmoid",
    "silu",
    "stack",
    "sub",
    "swiglu",
    "synchronize",
    "transpose",
    "trim_memory",
    "unpack",
]
