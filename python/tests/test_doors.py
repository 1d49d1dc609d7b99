"""Arrays of anybody's making: DLPack by hand, NumPy's array interface, scalars, buffers."""
import array
import ctypes
import gc
import mmap

import numpy as np
import pytest

import infini
from infini import Tensor

X = np.arange(24, dtype="f4").reshape(2, 3, 4)


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Old(ctypes.Structure):
    pass


class New(ctypes.Structure):
    pass


OLD_DELETER, NEW_DELETER = (ctypes.CFUNCTYPE(None, ctypes.POINTER(kind)) for kind in (Old, New))
Old._fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", OLD_DELETER)]
New._fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", NEW_DELETER),
                ("flags", ctypes.c_uint64), ("tensor", DLTensor)]
capsule_of = ctypes.pythonapi.PyCapsule_New
capsule_of.restype, capsule_of.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def numbers(values):
    return (ctypes.c_int64 * len(values))(*values) if values is not None else None


class Producer:
    """Hands out a DLPack tensor that says what it is told to say."""

    def __init__(self, shape=(2, 3, 4), strides=None, *, data=None, dtype=(2, 32, 1), ndim=None, place=(1, 0), said=None, offset=0,
                 versioned=False, major=1, flags=0, deleter=True):
        self.memory = np.arange(24, dtype="f4") if data is None else data
        self.place, self.deleted = place, 0
        self.shape, self.strides = numbers(shape), numbers(strides)
        kind, function = (New, NEW_DELETER) if versioned else (Old, OLD_DELETER)
        self.managed = kind()
        self.managed.tensor = DLTensor(self.memory if isinstance(self.memory, int) else self.memory.ctypes.data, *(said or place),
                                       len(shape or ()) if ndim is None else ndim, *dtype, self.shape, self.strides, offset)
        if versioned:
            self.managed.major, self.managed.minor, self.managed.flags = major, 0, flags
        if deleter:
            self.managed.deleter = self.held = function(lambda _: setattr(self, "deleted", self.deleted + 1))
        self.name = b"dltensor_versioned" if versioned else b"dltensor"

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, **_):
        return capsule_of(ctypes.addressof(self.managed), self.name, None)


@pytest.mark.parametrize("versioned", [False, True], ids=["old", "versioned"])
@pytest.mark.parametrize("arguments,expected", [
    ({}, X),
    ({"strides": (12, 4, 1)}, X),
    ({"strides": (1, 2, 6)}, X.reshape(4, 3, 2).transpose(2, 1, 0)),
    ({"shape": (2, 3), "strides": (0, -1), "offset": 8}, np.array([[2, 1, 0]] * 2, "f4")),
    ({"shape": (3,), "offset": 4}, X.reshape(-1)[1:4]),
    ({"shape": (), "ndim": 0}, X[0, 0, 0]),
    ({"shape": None, "ndim": 0}, X[0, 0, 0]),
    ({"shape": (1, 3, 1), "strides": (2**63 - 1, 1, -(2**63))}, X.reshape(-1)[:3].reshape(1, 3, 1)),
    ({"shape": (0, 2**40, 2**40)}, np.zeros((0, 2**40, 1), "f4")[:, :, :1]),
    ({"shape": (0, 3), "data": 0}, np.zeros((0, 3), "f4")),
    ({"deleter": False}, X),
    ({"place": (3, 0)}, X),
])
def test_dlpack_that_can_be_read(versioned, arguments, expected):
    producer = Producer(versioned=versioned, **arguments)
    if 0 in (arguments.get("shape") or ()):
        assert 0 in infini.contiguous(producer).__dlpack_device__() and Tensor.from_array(producer).numel == 0
    else:
        assert np.array_equal(infini.copy(np.zeros(expected.shape, "f4"), producer), expected)
        kept = Tensor.from_array(producer)
        assert np.array_equal(kept.numpy(), expected)
        assert producer.deleted == (1 if producer.managed.deleter else 0)
        del kept
    assert producer.deleted == (2 if producer.managed.deleter else 0)


@pytest.mark.parametrize("versioned", [False, True], ids=["old", "versioned"])
@pytest.mark.parametrize("arguments,error", [
    ({"dtype": (2, 32, 2)}, TypeError),
    ({"dtype": (2, 32, 0)}, TypeError),
    ({"dtype": (6, 1, 1)}, TypeError),
    ({"dtype": (0, 4, 1)}, TypeError),
    ({"dtype": (17, 6, 1)}, TypeError),
    ({"dtype": (2, 0, 1)}, TypeError),
    ({"dtype": (77, 32, 1)}, TypeError),  # a copy to f4: other elements
    ({"dtype": (2, 64, 1), "shape": (3,)}, ValueError),  # converted, were it of this shape
    ({"place": (99, 0)}, TypeError),
    ({"said": (99, 0)}, TypeError),
    ({"said": (2, 0)}, infini.Error),  # somewhere else than __dlpack_device__ says
    ({"place": (2, 77)}, infini.Error),
    ({"ndim": -1}, ValueError),
    ({"ndim": 65}, ValueError),
    ({"ndim": 2**31 - 1}, ValueError),
    ({"shape": None, "ndim": 2}, ValueError),
    ({"shape": (2, -3, 4)}, ValueError),
    ({"data": 0}, ValueError),
    ({"data": 0, "offset": 64}, ValueError),
    ({"shape": (2**62, 2**62), "strides": (0, 0)}, ValueError),
    ({"shape": (2**32, 2**32), "strides": (0, 0)}, ValueError),
    ({"shape": (2**63 - 1, 2), "strides": (0, 0)}, ValueError),
    ({"shape": (3, 2), "strides": (2**62, 1)}, ValueError),
    ({"shape": (3, 2), "strides": (-(2**63), 1)}, ValueError),
    ({"shape": (2**40, 2), "strides": (2**30, 1)}, ValueError),
    ({"shape": (2**33, 2**33, 2**33)}, ValueError),
])
def test_dlpack_that_is_refused(versioned, arguments, error):
    producer = Producer(versioned=versioned, **arguments)
    target = np.zeros((2, 3, 4), "f4")
    for use in (lambda: infini.copy(target, producer), lambda: infini.copy(producer, target)):
        with pytest.raises(error):
            use()
    assert not target.any() and producer.deleted in (0, 2)  # as often as it was handed out
    assert np.array_equal(producer.memory, np.arange(24)) if not isinstance(producer.memory, int) else True


def test_dlpack_versions_and_flags():
    with pytest.raises(TypeError, match="speaks DLPack 2"):
        infini.contiguous(Producer(versioned=True, major=2))
    frozen = Producer(versioned=True, flags=1)
    with pytest.raises(ValueError, match="read-only"):
        infini.copy(frozen, X)
    assert not Tensor.from_array(frozen).writable and np.array_equal(frozen.memory, np.arange(24))
    assert infini.copy(Producer(versioned=True), np.zeros_like(X)).memory.sum() == 0
    opaque = Producer(dtype=(77, 32, 1))
    infini.copy(opaque, Producer(dtype=(77, 32, 1), data=np.ones(24, "f4")))  # bytes are bytes
    assert opaque.memory.all()
    for use in (infini.permute, Tensor.from_array):
        with pytest.raises(TypeError):
            use(opaque, *((0, 2, 1) if use is infini.permute else ()))


def test_numpys_scalars():
    x = np.zeros((2, 3), "f4")
    for _ in range(50):  # their memory is nobody's a moment later
        infini.copy(x, np.float32(7))
        np.full(1, -3, "f4"), bytearray(8)
        assert (x == 7).all()
    t = Tensor.from_array(np.float64(2.5))
    junk = [np.full((), -1.0) for _ in range(100)]
    assert t.item() == 2.5 and not t.writable and junk
    with pytest.raises(ValueError, match="read-only"):
        infini.copy(np.float32(1), np.float32(2))
    record = np.zeros(3, [("a", "i4"), ("b", "f8")])
    record[1] = (5, 2.5)
    infini.copy(record[:1], record[1])
    assert record[0] == record[1]
    with infini.record() as graph:
        infini.copy(x, np.float32(9))
    gc.collect()
    graph.run()
    assert (x == 9).all()


class Interface:
    def __init__(self, **parts):
        self.__array_interface__ = {"version": 3, **parts}


def face(x, **parts):
    return Interface(**{"shape": x.shape, "typestr": x.dtype.str, "data": (x.ctypes.data, False), "strides": x.strides, **parts})


def test_array_interface():
    x = X.copy()
    assert np.array_equal(infini.copy(np.zeros((4, 3, 2), "f4"), face(x.T)), X.T)
    assert np.array_equal(infini.copy(np.zeros(X.shape, "f4"), face(x, strides=None)), X)
    assert np.array_equal(infini.contiguous(face(x[:, ::-1])).numpy(), X[:, ::-1])
    infini.copy(face(x), np.ones(X.shape, "f4"))
    assert x.all()
    with pytest.raises(ValueError, match="read-only"):
        infini.copy(face(x, data=(x.ctypes.data, True)), X)
    held = Tensor.from_array(face(X, data=X.tobytes(), strides=None))  # a buffer of its own, as Pillow does
    gc.collect()
    assert np.array_equal(held.numpy(), X) and not held.writable
    part = face(X[0, 0], data=bytearray(X.tobytes()), strides=None, offset=16)
    assert np.array_equal(infini.copy(np.zeros(4, "f4"), part), X[0, 1])

    class Buffered(bytearray):
        pass

    own = Buffered(X.tobytes())
    own.__array_interface__ = {"version": 3, "shape": (24,), "typestr": "<f4"}
    assert np.array_equal(infini.copy(np.zeros(24, "f4"), own), X.reshape(-1))
    assert np.array_equal(infini.copy(np.zeros(3, ">f4"), face(np.arange(3, dtype=">f4"))), np.arange(3))


@pytest.mark.parametrize("parts,error", [
    ({"typestr": "<V4"}, TypeError), ({"typestr": "|O8"}, TypeError), ({"typestr": "f4"}, TypeError), ({"typestr": ""}, TypeError), ({"typestr": None}, TypeError),
    ({"typestr": "<f0"}, TypeError), ({"typestr": "<f-4"}, TypeError), ({"typestr": "<f99999"}, TypeError), ({"typestr": "<t4"}, TypeError),
    ({"shape": (2, -1)}, ValueError), ({"shape": None}, TypeError), ({"shape": (2**40, 2**40)}, ValueError), ({"shape": (1,) * 65}, ValueError),
    ({"shape": (2.0,)}, TypeError), ({"strides": (1,)}, ValueError), ({"strides": (2**62, 2**62, 2**62)}, ValueError),
    ({"data": None}, TypeError), ({"data": (1, 2, 3)}, ValueError), ({"data": (0, False)}, ValueError), ({"data": ("a", False)}, Exception), ({"data": 7}, TypeError),
    ({"data": b"1234"}, ValueError), ({"data": bytes(96), "offset": 1}, ValueError), ({"data": bytes(96), "offset": -1}, ValueError),
    ({"data": bytes(96), "offset": 2**62}, ValueError), ({"data": bytes(96), "strides": (-48, 16, 4)}, ValueError), ({"mask": face(X)}, TypeError),
])
def test_array_interfaces_that_are_refused(parts, error):
    with pytest.raises(error):
        infini.copy(np.zeros(X.shape, "f4"), face(X, **parts))


def test_array_interfaces_that_are_no_interfaces():
    thing = Interface()
    for wrong in ({}, None, 3, [], {"shape": (2,)}):
        thing.__array_interface__ = wrong
        with pytest.raises(TypeError):
            infini.contiguous(thing)


def test_buffers():
    a = array.array("f", range(6))
    assert np.array_equal(infini.copy(np.zeros(6, "f4"), a), np.arange(6)) and infini.copy(a, np.ones(6, "f4")) is a and set(a) == {1.0}
    t = Tensor.from_array(a)
    with pytest.raises(BufferError):
        a.append(1.0)  # the tensor holds the memory
    del t
    a.append(1.0)
    with mmap.mmap(-1, 4096) as pages:
        infini.copy(pages, np.full(4096, 7, "u1"))
        assert pages[:4] == b"\x07" * 4
    with pytest.raises(TypeError):
        infini.contiguous(array.array("u", "text"))
    numbers = (ctypes.c_int32 * 4)(1, 2, 3, 4)
    assert infini.contiguous(Tensor.from_array(numbers)[::-1]).tolist() == [4, 3, 2, 1]


def test_many_types_stay_quick():
    for i in range(300):
        kind = type(f"Kind{i}", (np.ndarray,), {})
        assert infini.contiguous(X.view(kind)).shape == X.shape


def test_negative_strides_as_cupy_writes_them():
    """CuPy 13 divides -12 bytes by 4 as an unsigned number."""
    as_cupy = type("ndarray", (Producer,), {"__module__": "cupy"})
    flipped = as_cupy((2, 3), ((2**64 - 12) // 4, 1), offset=12)
    assert np.array_equal(infini.copy(np.zeros((2, 3), "f4"), flipped), X.reshape(-1)[:6].reshape(2, 3)[::-1])
    with pytest.raises(ValueError, match="has a stride of"):
        infini.copy(np.zeros((2, 3), "f4"), Producer((2, 3), ((2**64 - 12) // 4, 1), offset=12))
