"""Run by test_streams.py: a framework on the emulated GPU that works on a stream of its own and hands out arrays by
DLPack, as CuPy does. The emulator tells every race between streams, and what is still alive at the end."""
import ctypes
import gc
import sys
import types

import numpy as np

import infini
from infini import Tensor

METAX = 4  # infiniDevice_t
X = np.arange(24, dtype="f4").reshape(2, 3, 4)
asked = []  # the streams that producers were asked to order their work before


def library():
    return ctypes.CDLL(next(line.split()[-1] for line in open("/proc/self/maps") if "libinfini.so" in line))


class Stream:
    """The framework's current stream is Stream.current."""

    current = None

    def __init__(self):
        made, lib = ctypes.c_void_p(), library()
        assert lib.infinirtSetDevice(METAX, 0) == 0 and lib.infinirtStreamCreate(ctypes.byref(made)) == 0
        self.ptr = made.value

    def synchronize(self):
        assert library().infinirtStreamSynchronize(ctypes.c_void_p(self.ptr)) == 0


class ndarray:
    def __init__(self, tensor):
        infini.synchronize("metax:0")  # the tensor's own work is on another stream
        self.tensor = tensor

    shape = property(lambda self: self.tensor.shape)
    dtype = property(lambda self: self.tensor.dtype)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, *, stream=None, max_version=None):
        asked.append(stream)
        return self.tensor.__dlpack__(stream=-1, max_version=max_version)

    def get(self):
        Stream.current.synchronize()
        return self.tensor.numpy()


class Device:
    def __init__(self, index):
        assert index == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def pretend_to_be_cupy():
    cupy, cuda = types.ModuleType("cupy"), types.ModuleType("cupy.cuda")
    cuda.get_current_stream = lambda device: Stream.current
    cuda.Device = Device
    cupy.cuda, cupy.empty = cuda, lambda shape, dtype: ndarray(Tensor.empty(shape, dtype, "metax:0"))
    sys.modules.update({"cupy": cupy, "cupy.cuda": cuda})
    ndarray.__module__ = "cupy"


def main():
    pretend_to_be_cupy()
    first, second = Stream(), Stream()
    Stream.current = first
    x = ndarray(Tensor.from_array(X, "metax:0"))
    y = infini.permute(x, 2, 0, 1)
    assert type(y) is ndarray and np.array_equal(y.get(), X.transpose(2, 0, 1)) and set(asked) == {first.ptr}
    z = ndarray(Tensor.zeros((4, 2, 3), "f32", "metax:0"))
    assert infini.copy(z, y) is z and np.array_equal(z.get(), y.get())
    product = infini.matmul(x, ndarray(x.tensor.transpose()))
    assert np.array_equal(product.get(), X @ X.swapaxes(1, 2))

    # Our own tensors work on the thread's stream: events order the two, both ways, without a word from here.
    own = Tensor.zeros((2, 3, 4), "f32", "metax:0")
    assert np.array_equal(infini.copy(own, x).numpy(), X)
    own.copy_(X * 2)
    assert np.array_equal(infini.copy(x, own).get(), X * 2)
    host = np.zeros((2, 3, 4), "f4")
    assert np.array_equal(infini.copy(host, x), X * 2)
    infini.copy(x, X)

    # from_array takes the memory over while the framework still works on it, and gives it back.
    infini.copy(x, infini.permute(y, 1, 2, 0))
    view = Tensor.from_array(x)
    view.copy_(own)
    del view
    infini.copy(x, X)

    # A graph replays on the stream that is current then.
    with infini.record() as graph:
        transposed = infini.transpose(x)
        squares = infini.matmul(x, transposed)
    first.synchronize()
    Stream.current = second
    graph.run()
    assert np.array_equal(squares.get(), X @ X.swapaxes(1, 2))

    # A consumer's stream is ordered after ours.
    own.copy_(X * 3)
    Stream.current = first
    capsule = own.__dlpack__(stream=first.ptr, max_version=(1, 0))
    assert np.array_equal(infini.copy(x, ndarray(own)).get(), X * 3)
    del capsule

    other = ndarray(Tensor.from_array(X, "metax:1"))
    assert np.array_equal(infini.copy(x, other).get(), X)
    try:
        infini.matmul(x, other)
    except ValueError as error:
        assert "metax:1" in str(error)
    else:
        raise AssertionError("two devices in one product")


main()
gc.collect()
for device in ("metax:0", "metax:1"):
    infini.synchronize(device)
infini.trim_memory()
