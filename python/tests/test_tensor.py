"""infini.Tensor: views, conversions, lifetimes."""
import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import infini
from infini import Tensor

DTYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2",
          "u32": "u4", "u64": "u8", "bool": "?", "c64": "c8", "c128": "c16"}


@pytest.mark.parametrize("ours,theirs", DTYPES.items())
def test_there_and_back(ours, theirs):
    x = np.arange(24).reshape(2, 3, 4).astype(theirs)
    t = Tensor.from_array(x)
    assert (t.dtype, t.shape, t.strides, t.device, t.ndim) == (ours, (2, 3, 4), (12, 4, 1), "cpu:0", 3)
    assert t.numel == 24 and t.nbytes == x.nbytes and t.element_size == x.itemsize and t.is_contiguous and len(t) == 2
    assert t.data_ptr == x.ctypes.data  # no copy
    back = t.numpy()
    assert back.dtype == x.dtype and np.array_equal(back, x) and back.ctypes.data == x.ctypes.data
    if ours != "bool" or np.lib.NumpyVersion(np.__version__) >= "1.25.0":  # older ones do not know it
        assert np.array_equal(np.from_dlpack(t), x)
    assert np.array_equal(Tensor.zeros((2, 3), t.dtype).numpy(), np.zeros((2, 3), theirs))
    assert np.array_equal(Tensor.ones((2, 3), x.dtype).numpy(), np.ones((2, 3), theirs))


KEYS = [0, -1, slice(None), slice(None, None, -1), slice(1, 3), slice(3, 1, -1), slice(None, None, 2), slice(5, 2), ..., None,
        (0, 1, 2), (slice(None), 0), (..., 0), (0, ..., slice(None, None, -2)), (None, ..., None), (slice(-2, None), slice(4, 0, -3)),
        (1, None, slice(None, None, -1), ..., 2), ()]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing_is_numpys(key):
    x = np.arange(4 * 5 * 6, dtype="i4").reshape(4, 5, 6)
    t = Tensor.from_array(x)
    assert t[key].shape == x[key].shape and np.array_equal(t[key].numpy(), x[key])
    expected = x.copy()
    expected[key] = 7
    t[key] = np.full(x[key].shape, 7, "i4")
    assert np.array_equal(x, expected)


def test_indices_that_are_not_there():
    t = Tensor.zeros((2, 3))
    for key in (2, -3, (0, 3), (0, 0, 0), (..., ...)):
        with pytest.raises(IndexError):
            t[key]
    for key in ("a", 1.5, [0], (0, None, object())):
        with pytest.raises(TypeError):
            t[key]


def test_views():
    x = np.arange(24, dtype="f4").reshape(2, 3, 4)
    t = Tensor.from_array(x)
    assert np.array_equal(t.permute(2, 0, 1).numpy(), x.transpose(2, 0, 1))
    assert np.array_equal(t.permute((-1, 0, 1)).numpy(), x.transpose(2, 0, 1))
    assert np.array_equal(t.transpose().numpy(), x.swapaxes(1, 2))
    assert np.array_equal(t.T.numpy(), x.T)
    assert np.array_equal(t.view(6, -1).numpy(), x.reshape(6, 4)) and t.view(6, -1).data_ptr == t.data_ptr
    assert np.array_equal(t.T.view((4, 6)).numpy(), x.T.reshape(4, 6))
    assert np.array_equal(t.narrow(1, 1, 2).numpy(), x[:, 1:3])
    assert t.unsqueeze(0).shape == (1, 2, 3, 4) and t.unsqueeze(-1).shape == (2, 3, 4, 1)
    assert t.unsqueeze(1).squeeze(1).shape == (2, 3, 4)
    assert np.array_equal(t.as_strided((3, 3), (4, -1), 3).numpy(), x[0, :, 3:0:-1])
    assert np.array_equal(t.broadcast_to((5, 2, 3, 4)).numpy(), np.broadcast_to(x, (5, 2, 3, 4)))
    assert t.contiguous().data_ptr == t.data_ptr and np.array_equal(t.T.contiguous().numpy(), x.T)
    for wrong in (lambda: t.view(5, -1), lambda: t.view(-1, -1), lambda: t.view(23), lambda: t.narrow(1, 2, 2), lambda: t.narrow(3, 0, 1),
                  lambda: t.squeeze(0), lambda: t.as_strided((25,), (1,)), lambda: t.as_strided((2,), (-1,)), lambda: t.view(-2, -12)):
        with pytest.raises(ValueError):
            wrong()


def test_products_and_copies():
    a, b = np.arange(6, dtype="f4").reshape(2, 3), np.arange(12, dtype="f4").reshape(3, 4)
    c = Tensor.from_array(a) @ Tensor.from_array(b)
    assert isinstance(c, Tensor) and np.array_equal(c.numpy(), a @ b)
    assert np.array_equal(infini.matmul(Tensor.from_array(a), b).numpy(), a @ b)
    t = Tensor.empty((2, 3))
    assert t.copy_(a) is t and np.array_equal(t.numpy(), a)
    t[1] = t[0]
    assert np.array_equal(t.numpy(), a[[0, 0]])
    assert t.to("cpu").data_ptr == t.data_ptr
    assert Tensor.ones((1,), "f64").item() == 1.0
    with pytest.raises(ValueError):
        t.item()


def test_text():
    t = Tensor.from_array(np.arange(6, dtype="f4").reshape(2, 3))
    assert repr(t) == "infini.Tensor(f32 [2, 3] on cpu:0)"
    assert str(t.T[:2]) == "infini.Tensor(f32 [2, 2] strides [1, 3] on cpu:0)\n[[0, 3],\n [1, 4]]"


def test_read_only_stays_so():
    x = np.arange(6, dtype="f4").reshape(2, 3)
    x.flags.writeable = False
    t = Tensor.from_array(x)
    for view in (t, t.T, t[0], t.view(6), t.contiguous(), t.to("cpu")):
        assert not view.writable
        with pytest.raises(ValueError, match="read-only"):
            view.copy_(np.zeros(view.shape, "f4"))
        with pytest.raises(ValueError):
            view.numpy()[...] = 0
    assert np.array_equal(x, np.arange(6).reshape(2, 3))
    with pytest.raises(BufferError):
        t.__dlpack__()  # a consumer of the old protocol could not know
    assert not memoryview(t).readonly is False


def test_buffer_protocol():
    t = Tensor.zeros((2, 3), "i32")
    view = memoryview(t)
    view[1, 2] = 5
    assert t.numpy()[1, 2] == 5 and (view.shape, view.strides, view.format) == ((2, 3), (12, 4), "i")
    assert bytes(t.T.contiguous()) == t.numpy().T.tobytes()
    with pytest.raises(BufferError):
        memoryview(Tensor.zeros((2,), "bf16"))


def test_bf16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    t = Tensor.from_array(x)
    assert t.dtype == "bf16" and t.numpy().dtype == x.dtype and np.array_equal(t.T.numpy(), x.T)
    t[0] = Tensor.ones((3,), "bf16")
    assert np.array_equal(x[0].astype("f4"), [1, 1, 1])


class Watched(np.ndarray):
    """An ndarray that can be watched dying."""


def watched(shape=(3, 4), dtype="f4"):
    x = np.arange(12, dtype=dtype).reshape(shape).view(Watched)
    return x, weakref.ref(x)


def test_a_tensor_keeps_its_array_and_lets_go():
    x, dead = watched()
    t = Tensor.from_array(x)
    view = t[1:].T
    del x, t
    gc.collect()
    assert dead() is not None and np.array_equal(view.numpy()[0], [4, 8])
    array = view.numpy()
    del view
    gc.collect()
    assert dead() is not None and array[0, 0] == 4
    del array
    gc.collect()
    assert dead() is None


def test_dlpack_keeps_the_tensor():
    x, dead = watched()
    array = np.from_dlpack(Tensor.from_array(x))
    capsule = Tensor.from_array(x).__dlpack__(max_version=(1, 0))
    del x
    gc.collect()
    assert dead() is not None and array[1, 0] == 4
    del array
    gc.collect()
    assert dead() is not None
    del capsule
    gc.collect()
    assert dead() is None


def test_calls_keep_nothing():
    x, dead = watched()
    y = np.zeros((4, 3), "f4")
    count = sys.getrefcount(y)
    for _ in range(100):
        infini.copy(y, x.T)
        infini.contiguous(x.T)
        infini.matmul(x, y)
        with pytest.raises(ValueError):
            infini.copy(y, x)
    assert sys.getrefcount(y) == count
    del x
    gc.collect()
    assert dead() is None


def test_released_from_any_thread():
    x, dead = watched()
    tensors = [Tensor.from_array(x) for _ in range(8)]
    del x
    threads = [threading.Thread(target=tensors.pop) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert dead() is None


def test_many_threads():
    x = np.arange(400 * 300, dtype="f4").reshape(400, 300)
    expected, product, wrong = x.T.copy(), x.T[:64] @ x[:, :64], []

    def work():
        for _ in range(30):
            if not np.array_equal(infini.contiguous(x.T), expected):
                wrong.append("contiguous")
            if not np.allclose(infini.matmul(x.T[:64], x[:, :64]), product, rtol=1e-4):
                wrong.append("matmul")

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
