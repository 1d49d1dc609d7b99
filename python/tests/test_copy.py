"""copy, contiguous, permute, transpose on NumPy arrays: every byte as NumPy has it."""
import numpy as np
import pytest

import infini
from layouts import ITEM_TYPES, bytes_of, fill, random_view

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("dtype", ITEM_TYPES, ids=str)
def test_copy_between_random_layouts(dtype):
    for _ in range(60):
        shape = tuple(RNG.integers(1, 6, RNG.integers(0, 5)))
        dst_memory, dst = random_view(RNG, shape, dtype)
        _, src = random_view(RNG, shape, dtype, broadcast=True)
        fill(RNG, dst_memory)
        expected_memory = dst_memory.copy()
        expected = np.ndarray(dst.shape, dst.dtype, expected_memory, offset_of(dst, dst_memory), dst.strides)
        expected[...] = src
        assert infini.copy(dst, src) is dst
        assert dst_memory.tobytes() == expected_memory.tobytes()  # and nothing beside dst was written


def offset_of(view, memory):
    return view.__array_interface__["data"][0] - memory.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", ITEM_TYPES, ids=str)
def test_permute_is_numpy_transpose(dtype):
    for _ in range(20):
        _, x = random_view(RNG, tuple(RNG.integers(0, 5, RNG.integers(1, 5))), dtype, broadcast=True)
        dims = tuple(int(d) for d in RNG.permutation(x.ndim))
        y = infini.permute(x, dims)
        assert type(y) is np.ndarray and y.dtype == x.dtype and y.flags.c_contiguous
        assert y.shape == x.transpose(dims).shape
        assert bytes_of(y) == bytes_of(x.transpose(dims))


@pytest.mark.parametrize("shape", [(1000, 700), (64, 65, 66), (300, 200, 3), (3, 300, 200), (7, 5, 3, 2, 4, 6)])
@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8", "c16"])
def test_large(shape, dtype):
    x = RNG.integers(0, 100, shape).astype(dtype)
    assert np.array_equal(infini.contiguous(x.T), x.T)
    assert np.array_equal(infini.contiguous(x[::-1, ::2]), x[::-1, ::2])
    assert np.array_equal(infini.transpose(x), np.swapaxes(x, -1, -2))


def test_contiguous_is_the_array_itself_when_it_is():
    for x in (np.ones((3, 4)), np.ones((3, 0))[:, ::-1], np.ones(()), np.ones((1, 5))[:, None][::-1]):
        assert infini.contiguous(x) is x
    assert infini.contiguous(np.ones((3, 4)).T).flags.c_contiguous


def test_broadcast_as_numpy():
    dst = np.zeros((2, 3, 4), "f4")
    for src in (np.arange(4, dtype="f4"), np.arange(3, dtype="f4")[:, None], np.float32(7) * np.ones((), "f4")):
        expected = np.broadcast_to(src, dst.shape)
        assert np.array_equal(infini.copy(dst, src), expected)
    with pytest.raises(ValueError, match=r"\[2\] cannot be broadcast to \[2, 3, 4\]"):
        infini.copy(dst, np.zeros(2, "f4"))


def test_overlap_reads_first():
    for take, give in (((slice(1, None),), (slice(None, -1),)), ((slice(None, None, -1),), (slice(None),))):
        x = np.arange(1000.0)
        expected = x[give].copy()
        assert np.array_equal(infini.copy(x[take], x[give]), expected)
    x = np.arange(16.0).reshape(4, 4)
    expected = x.T.copy()
    assert np.array_equal(infini.copy(x, x.T), expected)


def test_bits_are_kept():
    bits = np.array([0x7FC00001, 0xFFC00000, 0x7F800001, 0x80000000, 1], "u4")
    assert np.array_equal(infini.contiguous(bits.view("f4")[::-1]).view("u4"), bits[::-1])


def test_records_and_fields():
    records = np.zeros(10, [("tag", "u1"), ("value", "<f8"), ("rgb", "u1", 3)])
    records["value"] = np.arange(10)
    records["rgb"] = np.arange(30).reshape(10, 3)
    values = infini.contiguous(records["value"])  # steps of 12 bytes, at odd addresses
    assert values.dtype == "f8" and np.array_equal(values, np.arange(10))
    assert np.array_equal(infini.contiguous(records[::-2]), records[::-2])
    infini.copy(records["value"][::2], np.full(5, -1.0))
    assert np.array_equal(records["value"], [-1, 1, -1, 3, -1, 5, -1, 7, -1, 9])
    assert np.array_equal(records["rgb"], np.arange(30).reshape(10, 3))


def test_buffers_without_a_framework():
    into = bytearray(6)
    infini.copy(into, b"abcdef")
    assert into == b"abcdef"
    infini.copy(memoryview(into)[::-1], b"123456")
    assert into == b"654321"
    reverse = infini.contiguous(memoryview(into)[::-1])
    assert isinstance(reverse, infini.Tensor) and bytes(reverse) == b"123456"
    with pytest.raises(ValueError, match="dst is read-only"):
        infini.copy(b"abcdef", into)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(12).reshape(3, 4).astype(ml_dtypes.bfloat16)
    y = infini.contiguous(x.T)
    assert y.dtype == x.dtype and np.array_equal(y.astype("f4"), x.T.astype("f4"))
    with pytest.raises(TypeError, match="out is f16, src is bf16"):
        infini.contiguous(x, out=np.zeros((3, 4), "f2"))


def test_large_results_lie_in_the_pool():
    x = RNG.integers(0, 100, (600, 700)).astype("f4")
    first, records = infini.contiguous(x.T), infini.contiguous(np.zeros((700, 600), "V7").T)
    assert records.dtype == "V7" and first.flags.writeable and first.flags.c_contiguous
    kept = infini.matmul(first, x)
    del first  # its memory may now be used again, kept's may not
    expected = kept.copy()
    for _ in range(4):
        infini.contiguous(x.T)[...] = -1
    assert np.array_equal(kept, expected)
    del kept, records
    assert infini.trim_memory() >= x.nbytes
    assert infini.trim_memory() == 0


def test_out():
    x = np.arange(24, dtype="f4").reshape(2, 3, 4)
    calls = [(lambda out: infini.contiguous(x, out=out), x), (lambda out: infini.permute(x, 2, 0, 1, out=out), x.transpose(2, 0, 1)),
             (lambda out: infini.permute(x, (1, 2, 0), out=out), x.transpose(1, 2, 0)), (lambda out: infini.transpose(x, 0, out=out), x.swapaxes(0, 2))]
    for call, expected in calls:
        assert np.array_equal(call(None), expected)
        wide = np.zeros([2 * n for n in expected.shape], "f4")[::2, ::2, ::2]
        for out in (np.zeros(expected.shape, "f4"), np.zeros(expected.shape[::-1], "f4").T, wide):
            assert call(out) is out and np.array_equal(out, expected)
        own = infini.Tensor.zeros(expected.shape)
        assert call(own) is own and np.array_equal(own.numpy(), expected)
        with infini.record() as graph:
            assert call(own.fill_(0)) is own
        graph.run()
        assert np.array_equal(own.numpy(), expected)
        for wrong, error, words in ((np.zeros((5, *expected.shape), "f4"), ValueError, "out has the shape"), (np.zeros(expected.shape), TypeError, "out is f64"),
                                    (np.broadcast_to(np.float32(0), expected.shape), ValueError, "out is read-only"), (3, TypeError, "out is a")):
            with pytest.raises(error, match=words):
                call(wrong)
    y = x.copy()
    assert np.array_equal(infini.transpose(y[:, :3, :3], out=y[:, :3, :3]), x[:, :3, :3].swapaxes(1, 2))  # read first
