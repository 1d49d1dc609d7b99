"""open: the tensors of a file, read when they are asked for."""
from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Mapping
from typing import Any

from ._core import InvalidValue, Tensor, _File


def _index(item: Any) -> Any:
    """An item of an index; True and arrays pick elements in NumPy, which is not done here."""
    if item is Ellipsis or isinstance(item, slice):
        return item
    try:
        return operator.index(None if isinstance(item, bool) else item)
    except TypeError:
        raise TypeError(f"an index is a whole number, a slice or '...', not {type(item).__name__}") from None


class FileTensor:
    """A tensor in a file. t[2:4, ::2] reads that part and nothing else; t[...] or t.read() all of it."""

    def __init__(self, file: _File, index: int, name: str, dtype: str, e5m2: bool, shape: tuple[int, ...]):
        self._file, self._index = file, index
        self.name, self.shape = name, shape
        self.dtype = "f8_e5m2" if e5m2 else dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def read(self) -> Tensor:
        """All of it. Elements of float8 e5m2 are read as their bits, uint8."""
        return self[...]

    def __getitem__(self, index: Any) -> Tensor:
        items = [_index(item) for item in (index if isinstance(index, tuple) else (index,))]
        if items.count(Ellipsis) > 1:
            raise IndexError("an index has at most one '...'")
        if Ellipsis in items:
            at = items.index(Ellipsis)
            items[at : at + 1] = [slice(None)] * (self.ndim - len(items) + 1)
        if len(items) > self.ndim:
            raise IndexError(f"{self.name!r} has {self.ndim} dims; the index has {len(items)}")
        items += [slice(None)] * (self.ndim - len(items))
        ranges, shape = [], []
        for dim, (item, extent) in enumerate(zip(items, self.shape)):
            if isinstance(item, slice):
                indices = range(*item.indices(extent))
                ranges.append((indices.start if len(indices) else 0, len(indices), indices.step))
                shape.append(len(indices))
                continue
            if not -extent <= item < extent:
                raise IndexError(f"index {item} is not in dim {dim} of {self.name!r}, which has {extent}")
            ranges.append((item % extent, 1, 1))
        read = self._file.read(self._index, ranges)
        return read if tuple(read.shape) == tuple(shape) else read.reshape(*shape) if shape else read.reshape(())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self.read().numpy()
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        return f"<infini.FileTensor {self.name!r} {self.dtype} {'x'.join(map(str, self.shape)) or 'scalar'}>"


class TensorFile(Mapping[str, FileTensor]):
    """The tensors of a file by name."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)
        file = _File(self.path)
        self._tensors = {entry[0]: FileTensor(file, i, *entry) for i, entry in enumerate(file.tensors())}

    def __getitem__(self, name: str) -> FileTensor:
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __enter__(self) -> TensorFile:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __repr__(self) -> str:
        return f"<infini.TensorFile {self.path!r}, {len(self)} tensors>"


def open(path: str | os.PathLike[str]) -> TensorFile:  # noqa: A001
    """The tensors of a .npy, .npz, .safetensors or .safetensors.index.json file, by name; none is read yet."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidValue(f"path is {type(path).__name__}; expected a str or a path")
    return TensorFile(path)
