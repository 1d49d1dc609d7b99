"""Frameworks with one defect each, which infini.torture has to find."""
import numpy as np
from infini.torture import Numpy, view


class Planted(Numpy):
    name = "planted"


class WritesOneMore(Planted):
    """A vector store at the end of a row."""

    def copy(self, case, dst, src):
        super().copy(case, dst, src)
        if case.shape and case.shape[-1] % 4 == 3 and case.dst.strides[-1] == 1:
            last = case.dst.start + sum((n - 1) * s for n, s in zip(case.shape, case.dst.strides))
            dst[last + 1] = 1
        return dst


class ForgetsNegative(Planted):
    """Takes strides for unsigned."""

    def copy(self, case, dst, src):
        s = view(src, case.src, case.shape)
        np.copyto(view(dst, case.dst, case.shape), s[::-1] if s.ndim and case.src.strides[0] < 0 else s)
        return dst


class FusesTooMuch(Planted):
    """Joins two dims though there is a gap between them."""

    def copy(self, case, dst, src):
        d, s = view(dst, case.dst, case.shape), view(src, case.src, case.shape)
        if s.ndim >= 2 and s.size and case.src.strides[-1] == 1 and case.src.strides[-2] == case.shape[-1] + 1:
            wrong = list(case.src.strides)
            wrong[-2] -= 1
            s = np.lib.stride_tricks.as_strided(s, s.shape, [k * s.itemsize for k in wrong])
        np.copyto(d, s)
        return dst


class RepeatsNothing(Planted):
    """Reads on where a stride of 0 repeats."""

    def copy(self, case, dst, src):
        s = view(src, case.src, case.shape)
        steps = [k or 1 for k in case.src.strides]
        if s.size and s.ndim and steps[-1] != case.src.strides[-1] and case.shape[-1] > 1:
            s = np.resize(src, s.shape)
        np.copyto(view(dst, case.dst, case.shape), s)
        return dst


class SmallTypesOnly(Planted):
    """Moves 16-byte elements as two words and loses the second."""

    def copy(self, case, dst, src):
        super().copy(case, dst, src)
        if dst.itemsize == 16 and case.shape and case.shape[-1] > 16:
            view(dst, case.dst, case.shape)[..., 16] = 0
        return dst


class ChangesTheSource(Planted):
    def copy(self, case, dst, src):
        super().copy(case, dst, src)
        if len(case.shape) == 3:
            src[0] += 1
        return dst


DEFECTS = (WritesOneMore, ForgetsNegative, FusesTooMuch, RepeatsNothing, SmallTypesOnly, ChangesTheSource)
