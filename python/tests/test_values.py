"""infini.Tensor's elements as Python's values, and the names of their types."""
import copy
import math
import pickle
import struct

import numpy as np
import pytest

import infini
from infini import DType, Tensor

X = np.arange(6, dtype="f4").reshape(2, 3)


def test_truth_is_that_of_the_only_element():
    assert not Tensor.zeros(1) and Tensor.ones(1) and Tensor.ones(()) and not Tensor.zeros((1, 1), "bf16") and Tensor.ones(1, "c64")
    for many in (Tensor.zeros(2), Tensor.ones((2, 2)), Tensor.zeros(0)):
        with pytest.raises(ValueError, match="the truth of a tensor with"):
            bool(many)


def test_numbers():
    assert float(Tensor.full(1, 2.5)) == 2.5 and int(Tensor.full((), 7, "i32")) == 7 and complex(Tensor.full(1, 1 + 2j, "c64")) == 1 + 2j
    assert type(float(Tensor.full((), 7, "i32"))) is float and int(Tensor.full(1, -2.5)) == -2 and complex(Tensor.ones(1)) == 1
    for convert in (float, int, complex):
        with pytest.raises(ValueError):
            convert(Tensor.from_array(b"12"))  # two elements, no digits
    assert float(Tensor.from_array(b"7")) == 55.0  # one element, the byte 55
    with pytest.raises(TypeError):
        float(Tensor.ones(1, "c64"))


def test_comparisons_are_numpys():
    t = Tensor.from_array(X)
    for other in (2, 2.0, X, X.T.copy().T, t, np.float32(3), X[0], True):
        right = other.numpy() if isinstance(other, Tensor) else other
        for ours, theirs in ((t == other, X == right), (t != other, X != right)):
            assert isinstance(ours, Tensor) and ours.dtype == "bool" and np.array_equal(ours.numpy(), theirs)
    assert (t == None) is False and (t != "a") is True and (t == object()) is False  # noqa: E711
    assert bool(Tensor.ones(()) == 1)
    with pytest.raises(ValueError):
        t == X[:, :2]
    assert len({t, t, Tensor.from_array(X)}) == 2 and {t: 1}[t] == 1  # by identity


def test_in():
    assert 1.0 in Tensor.ones(2) and 2 not in Tensor.ones(2) and 5 in Tensor.from_array(X) and X[0] in Tensor.from_array(X)
    assert None not in Tensor.ones(2) and 1 not in Tensor.zeros(0)
    assert 1 in Tensor.ones(3, "bf16") if has_ml_dtypes() else True


def has_ml_dtypes():
    try:
        import ml_dtypes  # noqa: F401
    except ImportError:
        return False
    return True


def test_iteration():
    assert [row.tolist() for row in Tensor.from_array(X)] == X.tolist() and list(Tensor.zeros(0)) == []
    with pytest.raises(TypeError, match="scalar"):
        iter(Tensor.ones(()))


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64", "int8", "i16", "i32", "i64", "uint8", "u16", "u32", "u64", "bool", "c64", "c128"])
def test_elements_are_numpys(dtype):
    kind = Tensor.empty((), dtype).numpy().dtype
    rng = np.random.default_rng(1)
    x = rng.integers(0, 256, 64 * kind.itemsize, dtype="u1").view(kind).reshape(4, 16)
    if kind.kind == "b":
        x = x.view("u1") % 2 == 1
    t = Tensor.from_array(x)
    for view, array in ((t, x), (t.T, x.T), (t[:, ::-3], x[:, ::-3]), (t[0, 0], x[0, 0]), (t[:0], x[:0])):
        ours, theirs = view.tolist(), array.tolist()
        assert repr(ours) == repr(theirs)  # also NaN, and the types
    assert repr(t[1, 2].item()) == repr(x[1, 2].item())


def test_every_narrow_number():
    """Against Python's own half and NumPy's bfloat16 and float8, in both directions."""
    words = np.arange(1 << 16, dtype="u2")
    halves = [struct.unpack("<e", struct.pack("<H", n))[0] for n in range(1 << 16)]
    assert repr(Tensor.from_array(words.view("f2")).tolist()) == repr(halves)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for kind, bits in ((np.float16, words), (ml_dtypes.bfloat16, words), (ml_dtypes.float8_e4m3fn, np.arange(256, dtype="u1"))):
        array = bits.view(kind)
        with np.errstate(all="ignore"):
            exact = array.astype("f8")
        if kind is not ml_dtypes.float8_e4m3fn:
            got = Tensor.from_array(array)
        else:
            got = Tensor._from_bytes(bits.tobytes(), (256,), "float8_e4m3fn", "cpu")
            assert got.dtype == "f8" and got.numpy().dtype == array.dtype and got.numpy().tobytes() == array.tobytes()
        assert np.array_equal(np.array(got.tolist()), exact, equal_nan=True)
        finite = np.unique(exact[np.isfinite(exact)])
        middles = (finite[1:] + finite[:-1]) / 2
        values = np.concatenate([finite[::37], middles[::37], np.nextafter(middles.astype("f4"), np.float32(np.inf))[::41], [np.inf, -np.inf, 1e300, -1e300, 464, 465, 1e-300]])
        with np.errstate(all="ignore"):
            expected = values.astype(kind).astype("f8")
        for value, want in zip(values, expected):
            got = Tensor.full((), value, DType("f8") if kind is ml_dtypes.float8_e4m3fn else kind).item()
            assert got == want or (math.isnan(got) and math.isnan(want)), (kind, value)


def test_types_that_numpy_has_not():
    for name, value in (("complex32", 1.5 - 2j), ("complex16", 1.5 - 2j)):
        t = Tensor.full((2, 2), value, name)
        assert t[0, 1].item() == value and t.tolist() == [[value] * 2] * 2
        for convert in (t.numpy, lambda: np.asarray(t), lambda: np.array(t, "c8"), t[0, 0].numpy):
            with pytest.raises(TypeError, match="NumPy has no dtype for c"):
                convert()
        assert repr(t) and str(t)
    t = Tensor.full(2, 1.5, "float8_e4m3fn")
    assert t.dtype == "f8" and t.tolist() == [1.5, 1.5]
    if has_ml_dtypes():
        assert t.numpy().astype("f4").tolist() == [1.5, 1.5] and np.asarray(t).itemsize == 1


def test_fill():
    t = Tensor.zeros((2, 3))
    assert t.T[1:].fill_(2.5) is not None and t.tolist() == [[0, 2.5, 2.5]] * 2
    t[0] = 7
    t[1, ::2] = -1.5
    assert t.tolist() == [[7, 7, 7], [-1.5, 2.5, -1.5]]
    assert Tensor.full((2, 0), 3).shape == (2, 0) and Tensor.full(2, True, "bool").tolist() == [True, True]
    assert Tensor.full(1, 2**64 - 1, "u64").item() == 2**64 - 1 and Tensor.full(1, -(2**63), "i64").item() == -(2**63)
    assert Tensor.full(1, np.int16(-3), "int8").item() == -3
    for dtype, value in (("int8", 128), ("int8", -129), ("uint8", -1), ("u64", 2**64), ("i64", 2**63)):
        with pytest.raises(ValueError, match="does not fit"):
            Tensor.full(1, value, dtype)
    for dtype, value in (("i32", 2.5), ("f32", "a"), ("f32", None), ("f32", 1j), ("f32", [1])):
        with pytest.raises(TypeError, match="no number of type"):
            Tensor.full(1, value, dtype)
    frozen = X.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        Tensor.from_array(frozen).fill_(0)
    assert np.array_equal(frozen, X)


def test_fill_in_a_graph():
    t = Tensor.ones(3)
    with infini.record() as graph:
        t.fill_(5)
    assert t.tolist() == [1, 1, 1]
    graph.run()
    assert t.tolist() == [5, 5, 5]


def test_reshape():
    t = Tensor.from_array(X)
    assert t.reshape(3, -1).tolist() == X.reshape(3, 2).tolist() and t.T.reshape((6,)).tolist() == X.T.reshape(6).tolist()


AMBIGUOUS = {"i8": ("int8", "int64"), "u8": ("uint8", "uint64"), "f8": ("float8_e4m3fn", "float64"), "c16": ("complex16", "complex128"),
             "byte": ("uint8", "int8")}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_names_that_mean_two_types_are_refused(name):
    ours, theirs = AMBIGUOUS[name]
    with pytest.raises(TypeError, match=f"'{name}' is {ours} to infini and {theirs} to NumPy"):
        Tensor.zeros(2, name)
    assert Tensor.zeros(2, DType(name)).dtype == name
    assert Tensor.zeros(2, ours).element_size == np.dtype("u1").itemsize * (2 if name == "c16" else 1)
    if name != "byte":
        assert Tensor.zeros(2, theirs).numpy().dtype == np.dtype(name) == Tensor.zeros(2, "<" + name).numpy().dtype


def test_names():
    for name in ("f4", "f2", "i1", "i2", "i4", "u1", "u2", "u4", "c8", "?", "b1", "<f4", "=i4", "|u1", "<f8", "float64", "bool"):
        assert Tensor.zeros(2, name).numpy().dtype == np.dtype(name), name
        assert Tensor.zeros(2, np.dtype(name)).numpy().dtype == np.dtype(name), name
    for name, size in (("f16", 2), ("bf16", 2), ("i16", 2), ("u32", 4), ("f32", 4), ("i64", 8), ("c64", 8), ("c128", 16)):
        assert Tensor.zeros(2, name).element_size == size
    for name in (">f4", "f3", "V4", "", "<", "float", np.dtype(">f4"), np.dtype([("a", "f4")]), 3, None):
        with pytest.raises(TypeError):
            Tensor.zeros(2, name)


def test_the_dtype_of_a_tensor_is_a_name_that_makes_another():
    for dtype in ("int8", "uint8", "float8_e4m3fn", "f32", "bf16", "bool", "complex16", "complex32", DType("byte")):
        t = Tensor.zeros(2, dtype)
        again = Tensor.zeros(2, t.dtype)
        assert again.dtype == t.dtype and again.element_size == t.element_size and isinstance(t.dtype, str)
        assert pickle.loads(pickle.dumps(t.dtype)) == t.dtype and type(copy.deepcopy(t.dtype)) is DType


def test_copies_and_pickles():
    t = Tensor.from_array(X.T)
    for again in (pickle.loads(pickle.dumps(t)), copy.deepcopy(t), copy.copy(t), pickle.loads(pickle.dumps(t, protocol=0))):
        assert again.tolist() == t.tolist() and again.dtype == t.dtype and again.is_contiguous and again.data_ptr != t.data_ptr
    for dtype in ("bf16", "float8_e4m3fn", "complex32", "bool", "c128"):
        t = Tensor.full((2, 3), 1, dtype)
        again = pickle.loads(pickle.dumps(t))
        assert again.tolist() == t.tolist() and again.dtype == t.dtype
    assert pickle.loads(pickle.dumps(Tensor.zeros((3, 0)))).shape == (3, 0)
    with infini.record() as graph:
        infini.copy(t, t)
    for spoil in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            spoil(graph)
        with pytest.raises(TypeError):
            spoil(infini.record())


@pytest.mark.filterwarnings("ignore:nanobind")
def test_tensors_that_were_never_made():
    ghost = Tensor.__new__(Tensor)
    for use in (lambda: ghost.shape, lambda: infini.contiguous(ghost), lambda: memoryview(ghost), lambda: np.asarray(ghost), lambda: bool(ghost),
                lambda: repr(ghost), lambda: infini.copy(Tensor.zeros(1), ghost), lambda: pickle.dumps(ghost), lambda: ghost == 1, lambda: iter(ghost),
                lambda: ghost.fill_(1), lambda: ghost.numpy(), lambda: ghost @ ghost, lambda: infini.Graph.__new__(infini.Graph).run(), Tensor,
                lambda: infini.Recording.__new__(infini.Recording).__enter__()):
        with pytest.raises((TypeError, BufferError)):
            use()


class Derived(Tensor):
    pass


def test_subclasses():
    with pytest.raises(TypeError):
        Derived()
    assert isinstance(Derived.zeros(2), Tensor) and Derived.zeros(2).tolist() == [0, 0]


def test_arrays_without_copies():
    t = Tensor.ones((2, 3))
    assert np.array(t, copy=True).ctypes.data != t.data_ptr
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        assert np.asarray(t, copy=False).ctypes.data == t.data_ptr
        with pytest.raises(ValueError):
            np.asarray(t, "f8", copy=False)
        if has_ml_dtypes():
            with pytest.raises(ValueError):
                np.asarray(Tensor.ones(2, "bf16"), "f4", copy=False)
