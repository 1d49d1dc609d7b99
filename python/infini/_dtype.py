"""Names of element types."""
from __future__ import annotations


class DType(str):
    """The name of an element type as infini writes it, which counts bits: "f32", "bf16", "i8". What Tensor.dtype is.

    It is a string. As a dtype it says what a plain "i8", "u8", "f8", "c16" or "byte" cannot, since those are other types
    to NumPy."""

    __slots__ = ()
