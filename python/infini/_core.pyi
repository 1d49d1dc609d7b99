# The types of the extension. tests/test_types.py holds it against what the extension has.
from collections.abc import Iterator, Sequence
from types import EllipsisType, TracebackType
from typing import Any, Protocol, SupportsComplex, SupportsFloat, SupportsIndex, TypeAlias, TypeVar, overload

import numpy as _numpy
from typing_extensions import Buffer as _Buffer  # type checkers bring it

from ._dtype import DType as _DType

class _DLPack(Protocol):
    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class _Interface(Protocol):
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

# NumPy, PyTorch, CuPy and JAX arrays, infini.Tensor; anything with the buffer protocol (bytes, array.array, mmap, ...);
# and what NumPy takes by its array interface (Pillow's images).
Array: TypeAlias = _DLPack | _Buffer | _Interface
_A = TypeVar("_A", bound=Array)
_Out = TypeVar("_Out", bound=Array)
_Number: TypeAlias = SupportsIndex | SupportsFloat | SupportsComplex
_Key: TypeAlias = SupportsIndex | slice | EllipsisType | None

__version__: str

class Error(RuntimeError):
    """What infini refuses or cannot do; `status` is the C API's."""

    status: int

class InvalidValue(Error, ValueError):
    """A shape, stride, device or number that cannot be."""

class InvalidType(Error, TypeError):
    """No array, or elements of a wrong type."""

class OutOfMemory(Error, MemoryError):
    """The device or the host has no more memory."""

def copy(dst: _A, src: Array) -> _A:
    """Copies src's elements to dst, which may have any strides, and returns dst.

    src is broadcast as NumPy does, and converted where the dtypes differ (as convert does). Where they overlap, src is
    read first; what is converted must not overlap."""

class _File:
    def __init__(self, path: str) -> None: ...
    def tensors(self) -> list[tuple[str, str, bool, tuple[int, ...]]]: ...
    def read(self, tensor: int, ranges: Sequence[tuple[int, int, int]]) -> Tensor: ...

def _pattern_shape(pattern: str, shape: Sequence[int], sizes: dict[str, int]) -> tuple[int, ...]: ...
def _pattern_loops(
    pattern: str, shape: Sequence[int], sizes: dict[str, int]
) -> tuple[tuple[int, ...], tuple[tuple[int, int, int], ...]]: ...
def _xla_handlers() -> dict[str, tuple[Any, Any]]: ...
def _convert_into(out: _A, x: Array, scale: Any, shift: Any, axis: int | None, saturate: bool) -> _A: ...

def copy_pages(
    dst: _A, dst_ids: Array | None, src: Array, src_ids: Array | None = None, pattern: str | None = None
) -> _A:
    """dst[dst_ids[i]] = src[src_ids[i]] for every i, in one call; returns dst.

    Dim 0 of both counts pages. Ids are vectors of int32 or int64 in host memory or on the pages' device; None stands for
    0, 1, 2, …. A pattern says how a page of src becomes one of dst: "token heads dim -> heads token dim". No page of dst
    may be written twice."""

@overload
def contiguous(x: _A, *, out: None = None) -> _A:
    """x itself when it is row-major without gaps, else a copy that is, of the same framework.

    With `out`: always a copy there, whatever its strides, and `out` is returned."""

@overload
def contiguous(x: Array, *, out: _Out) -> _Out: ...
@overload
def permute(x: _A, dims: Sequence[SupportsIndex], /, *, out: None = None) -> _A:
    """A contiguous copy of x with its dims in the order `dims`, of the same framework; or `out`, filled with it."""

@overload
def permute(x: _A, *dims: SupportsIndex, out: None = None) -> _A: ...
@overload
def permute(x: Array, dims: Sequence[SupportsIndex], /, *, out: _Out) -> _Out: ...
@overload
def permute(x: Array, *dims: SupportsIndex, out: _Out) -> _Out: ...
@overload
def transpose(x: _A, dim0: int = -2, dim1: int = -1, *, out: None = None) -> _A:
    """A contiguous copy of x with two dims exchanged, of the same framework; or `out`, filled with it."""

@overload
def transpose(x: Array, dim0: int = -2, dim1: int = -1, *, out: _Out) -> _Out: ...
# --- operators; the elementwise ones are bound from the library's table ---
@overload
def add(a: _A, b: Array, *, out: None = None) -> _A:
    """c = a + b, elementwise; any strides, repeated as NumPy does. The result is of the first argument's framework, or `out`."""

@overload
def add(a: Array, b: Array, *, out: _Out) -> _Out: ...
@overload
def sub(a: _A, b: Array, *, out: None = None) -> _A:
    """c = a - b, elementwise; any strides, repeated as NumPy does. The result is of the first argument's framework, or `out`."""

@overload
def sub(a: Array, b: Array, *, out: _Out) -> _Out: ...
@overload
def mul(a: _A, b: Array, *, out: None = None) -> _A:
    """c = a * b, elementwise; any strides, repeated as NumPy does. The result is of the first argument's framework, or `out`."""

@overload
def mul(a: Array, b: Array, *, out: _Out) -> _Out: ...
@overload
def div(a: _A, b: Array, *, out: None = None) -> _A:
    """c = a / b, elementwise; any strides, repeated as NumPy does. The result is of the first argument's framework, or `out`."""

@overload
def div(a: Array, b: Array, *, out: _Out) -> _Out: ...
@overload
def swiglu(a: _A, b: Array, *, out: None = None) -> _A:
    """c = a * b * sigmoid(b), elementwise; any strides, repeated as NumPy does. The result is of the first argument's framework, or `out`."""

@overload
def swiglu(a: Array, b: Array, *, out: _Out) -> _Out: ...
@overload
def silu(x: _A, *, out: None = None) -> _A:
    """y = x * sigmoid(x), elementwise; any strides, repeated as NumPy does. The result is of the first argument's framework, or `out`."""

@overload
def silu(x: Array, *, out: _Out) -> _Out: ...
@overload
def gelu(x: _A, *, out: None = None) -> _A:
    """y = x * normal_cdf(x), elementwise; any strides, repeated as NumPy does. The result is of the first argument's framework, or `out`."""

@overload
def gelu(x: Array, *, out: _Out) -> _Out: ...
@overload
def relu(x: _A, *, out: None = None) -> _A:
    """y = max(x, 0), elementwise; any strides, repeated as NumPy does. The result is of the first argument's framework, or `out`."""

@overload
def relu(x: Array, *, out: _Out) -> _Out: ...
@overload
def sigmoid(x: _A, *, out: None = None) -> _A:
    """y = 1 / (1 + exp(-x)), elementwise; any strides, repeated as NumPy does. The result is of the first argument's framework, or `out`."""

@overload
def sigmoid(x: Array, *, out: _Out) -> _Out: ...
def cast(x: Array, dtype: Any, *, out: Any = None) -> Any:
    """x's elements as another type: rounded to nearest even, integers saturate, NaN becomes 0 there."""

@overload
def rms_norm(x: _A, w: Array, *, epsilon: float = 1e-5, out: None = None) -> _A:
    """x·w / sqrt(mean(x²) + epsilon) over the last dim."""

@overload
def rms_norm(x: Array, w: Array, *, epsilon: float = 1e-5, out: _Out) -> _Out: ...
@overload
def causal_softmax(x: _A, *, out: None = None) -> _A:
    """Softmax over the last dim of [..., s, T], of which row i sees the first T - s + i + 1; the others are 0."""

@overload
def causal_softmax(x: Array, *, out: _Out) -> _Out: ...
@overload
def rope(
    x: _A, positions: Array, sin_table: Array, cos_table: Array, *, neox: bool = False, out: None = None
) -> _A:
    """Rotary embedding of [s, h, dh] or [b, s, h, dh]: pairs 2i and 2i + 1, with neox i and i + dh/2. Tables: [rows, dh/2]."""

@overload
def rope(
    x: Array, positions: Array, sin_table: Array, cos_table: Array, *, neox: bool = False, out: _Out
) -> _Out: ...
def random_sample(
    logits: Array, *, random_val: float = 0.0, topp: float = 1.0, topk: int = 0, temperature: float = 1.0, out: Any = None
) -> Any:
    """The token drawn from logits [n], or one for each row of [batch, n]; the first of the largest where random_val is 0."""

@overload
def matmul(a: _A, b: Array, out: None = None, *, alpha: float = 1.0, beta: float = 0.0) -> _A:
    """alpha·a·b (+ beta·out) over any number of broadcast batch dims, for f16, bf16, f32 and f64.

    Any strides; the result is of a's framework, or `out`, which is then returned."""

@overload
def matmul(a: Array, b: Array, out: _A, *, alpha: float = 1.0, beta: float = 0.0) -> _A: ...
@overload
def rearrange(
    x: _A | Sequence[_A], pattern: str, /, *, out: SupportsIndex | None = None, **sizes: SupportsIndex
) -> _A:
    """A new array of x's elements in another order, in one copy: rearrange(x, "b s (h d) -> b h s d", h=8).

    Parentheses split dims on the left and join axes on the right; sizes that do not follow from x are given by name. "..."
    stands for all other dims, 1 for a dim of size 1; names and numbers that are new on the right repeat x. A list of
    arrays is one array with a first dim. With `out`, an array of the result's shape and any strides, the elements go there, and
    it is returned; in a pattern with an axis called out, out is the size of that axis."""

@overload
def rearrange(x: Array | Sequence[Array], pattern: str, /, *, out: _Out, **sizes: SupportsIndex) -> _Out: ...
def _pack(arrays: Any, before: int, after: int) -> tuple[Any, list[tuple[int, ...]]]:
    """For pack: the packed array and the packed shapes."""

def parse_shape(x: Array, pattern: str) -> dict[str, int]:
    """The sizes of x's dims by name, as a dict: parse_shape(x, "b _ h w"). Dims called _ are left out, "..." is any number of them."""

@overload
def einsum(a: _A, b: Array, pattern: str, *, out: None = None) -> _A:
    """A product of two arrays over named axes: einsum(a, b, "b i k, b k j -> b i j").

    Names are words, or letters without blanks; the pattern may also come first, as in NumPy. Axes of both that the result
    lacks are summed; it must be a product of matrices, so axes of one array alone are kept."""

@overload
def einsum(a: str, b: _A, pattern: Array, *, out: None = None) -> _A: ...
@overload
def einsum(a: Any, b: Any, pattern: Any, *, out: _Out) -> _Out: ...
def explain(dst: Array, src: Array) -> str:
    """How copy(dst, src) would be done, in one line."""

def _plan(dst: Array, src: Array) -> dict[str, Any]:
    """For plan: the fields of infini.Plan, loops as tuples."""

def devices() -> list[str]:
    """The names of all devices that can be used here, e.g. ["cpu:0", "nvidia:0"]."""

def synchronize(device: str) -> None:
    """Waits until the device has done all its work."""

def num_threads() -> int:
    """How many threads one operator may use on the CPU."""

def set_num_threads(count: int) -> None:
    """1 to 1024; 0 goes back to the default. Results do not depend on it."""

def trim_memory() -> int:
    """Gives the idle memory of infini's pools back to the system and the devices; returns the bytes."""

class Tensor:
    """A tensor of infini's own, on any device. Strides count elements."""

    @staticmethod
    def empty(
        shape: int | Sequence[int], dtype: Any = "f32", device: str = "cpu", pin_memory: bool = False
    ) -> Tensor:
        """Uninitialised."""

    @staticmethod
    def zeros(
        shape: int | Sequence[int], dtype: Any = "f32", device: str = "cpu", pin_memory: bool = False
    ) -> Tensor: ...
    @staticmethod
    def ones(
        shape: int | Sequence[int], dtype: Any = "f32", device: str = "cpu", pin_memory: bool = False
    ) -> Tensor: ...
    @staticmethod
    def full(shape: int | Sequence[int], value: _Number, dtype: Any = "f32", device: str = "cpu") -> Tensor: ...
    @staticmethod
    def _from_bytes(elements: bytes, shape: tuple[int, ...], dtype: _DType, device: str) -> Tensor: ...
    @staticmethod
    def from_array(x: Array, device: str | None = None) -> Tensor:
        """A tensor over x's own memory, which it keeps alive; a copy when `device` is another one."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]:
        """In elements, not bytes."""

    @property
    def dtype(self) -> _DType:
        """"f32", "bf16", ..."""

    @property
    def device(self) -> str:
        """"cpu:0", "nvidia:0", ..."""

    @property
    def ndim(self) -> int: ...
    @property
    def numel(self) -> int:
        """Number of elements."""

    @property
    def nbytes(self) -> int: ...
    @property
    def element_size(self) -> int: ...
    @property
    def is_contiguous(self) -> bool: ...
    @property
    def is_pinned(self) -> bool: ...
    @property
    def writable(self) -> bool: ...
    @property
    def data_ptr(self) -> int: ...
    def __len__(self) -> int: ...
    def item(self) -> Any:
        """The only element, as a Python number."""

    def tolist(self) -> Any:
        """The elements as lists of Python numbers; without dims a number."""

    def fill_(self, value: _Number) -> Tensor:
        """Gives every element this value; returns itself."""

    def __bool__(self) -> bool: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __complex__(self) -> complex: ...
    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        """By elements, as NumPy, which it needs."""

    def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __hash__(self) -> int: ...
    def __contains__(self, value: object) -> bool: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    @overload
    def permute(self, dims: Sequence[SupportsIndex], /) -> Tensor:
        """A view with the dims in another order."""

    @overload
    def permute(self, *dims: SupportsIndex) -> Tensor: ...
    def transpose(self, dim0: int = -2, dim1: int = -1) -> Tensor:
        """A view with two dims exchanged."""

    @property
    def T(self) -> Tensor:
        """A view with the dims in reverse order."""

    @overload
    def view(self, shape: Sequence[SupportsIndex], /) -> Tensor:
        """The same elements under another shape: a view where the strides allow it, else a copy. One dim may be -1."""

    @overload
    def view(self, *shape: SupportsIndex) -> Tensor: ...
    @overload
    def reshape(self, shape: Sequence[SupportsIndex], /) -> Tensor:
        """Another name of view."""

    @overload
    def reshape(self, *shape: SupportsIndex) -> Tensor: ...
    def narrow(self, dim: int, start: int, length: int) -> Tensor:
        """A view of some elements of one dim."""

    def squeeze(self, dim: int) -> Tensor:
        """A view without a dim of size 1."""

    def unsqueeze(self, dim: int) -> Tensor:
        """A view with one more dim of size 1."""

    def broadcast_to(self, shape: int | Sequence[int]) -> Tensor:
        """A view as if it had this shape, as in NumPy."""

    def as_strided(self, shape: int | Sequence[int], strides: int | Sequence[int], offset: int = 0) -> Tensor:
        """A view with any strides, in elements; refused where it would leave the tensor's memory."""

    def __getitem__(self, key: _Key | tuple[_Key, ...]) -> Tensor:
        """A view, by whole numbers, slices with any step, ... and None."""

    def __setitem__(self, key: _Key | tuple[_Key, ...], value: Array | _Number) -> None: ...
    def contiguous(self) -> Tensor:
        """Itself when it is row-major without gaps, else a copy."""

    def to(self, device: str) -> Tensor:
        """Itself when it is there already, else a contiguous copy on that device."""

    def copy_(self, src: Array) -> Tensor:
        """Copies the elements of any array here, from any device; returns itself."""

    def __matmul__(self, other: Array) -> Tensor: ...
    def numpy(self) -> _numpy.ndarray[Any, Any]:
        """A NumPy array: of the same memory on the CPU, else a copy. bf16 and f8 need ml_dtypes."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> _numpy.ndarray[Any, Any]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class Graph:
    """Recorded work: run() repeats it for what its inputs hold then."""

    def run(self) -> None:
        """Repeats the recorded work; on an accelerator it may return before that is done."""

    def describe(self) -> str:
        """What runs how, one operator per line."""

    def rebind(self, from_: Tensor, to: Tensor) -> None:
        """From now on uses the tensor `to` wherever the graph uses `from_` or a view of it."""

    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...

class Recording:
    """What infini.record() returns, for a with statement."""

    def __enter__(self) -> Graph: ...
    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

def record() -> Recording:
    """`with infini.record() as graph:` records this thread's work instead of running it."""

class ProductPlan:
    """Which panels each rank sends, receives and multiplies in a product of matrices that are spread over ranks."""

    text: str
    ranks: int
    steps: int
    def __init__(self, text: str) -> None: ...
    def shapes(self, rank: int) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """The shapes of a rank's parts: (c, a, b). A 0 where it holds nothing."""

    def traffic(self, rank: int) -> dict[str, int]:
        """Messages and bytes of a rank."""

    def _run(self, c: Any, a: Any, b: Any, transport: Any, alpha: float, beta: float, timeout: float, tag: int) -> None: ...

class ReshardPlan:
    """What each rank sends, receives and copies when a tensor changes its distribution over ranks."""

    text: str
    ranks: int
    ndim: int
    def __init__(self, text: str) -> None: ...
    def shapes(self, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shapes of a rank's shards: (after, before). A 0 where it holds nothing."""

    def traffic(self, rank: int) -> dict[str, int]:
        """Messages and bytes of a rank."""

    def parts(self, rank: int) -> list[tuple[int, tuple[slice, ...], tuple[slice, ...]]]:
        """What a rank's shard is made of afterwards: (source rank, slices of it, slices of the source's shard)."""

    def _run(self, dst: Any, src: Any, transport: Any, timeout: float, piece_bytes: int, staging_bytes: int,
             tag: int, wait: bool) -> None: ...
