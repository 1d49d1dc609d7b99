"""infini: strided copies and matrix products at the speed of memory and matrix units.

Works on anybody's arrays (NumPy, PyTorch, CuPy, JAX, anything with DLPack or the buffer protocol) where they
lie, and on tensors of its own:

    y = infini.contiguous(x.T)              # of the same framework as x, at copy speed
    infini.copy(dst[:, ::2], src)           # any strides on both sides
    c = infini.matmul(a, b.transpose(0, 2, 1))
"""
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

__all__ = [
    "Error",
    "Graph",
    "InvalidType",
    "InvalidValue",
    "OutOfMemory",
    "Recording",
    "Tensor",
    "contiguous",
    "copy",
    "devices",
    "explain",
    "matmul",
    "num_threads",
    "permute",
    "record",
    "set_num_threads",
    "synchronize",
    "transpose",
    "trim_memory",
]
