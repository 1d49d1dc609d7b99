"""Whatever is passed: a clear exception or the right answer, and nothing lost."""
import numpy as np
import pytest

import infini

X = np.arange(6, dtype="f4").reshape(2, 3)


@pytest.mark.parametrize("junk", [None, 3, 2.5, "text", [1, 2], {}, object(), X.shape, float, lambda: X])
def test_no_arrays(junk):
    for call in (lambda: infini.copy(X.copy(), junk), lambda: infini.copy(junk, X), lambda: infini.contiguous(junk),
                 lambda: infini.permute(junk, 0), lambda: infini.matmul(X, junk), lambda: infini.Tensor.from_array(junk)):
        with pytest.raises(TypeError):
            call()


def test_exceptions_are_infinis_and_pythons():
    with pytest.raises(infini.Error) as caught:
        infini.copy(np.zeros(2, "f4"), X)
    assert isinstance(caught.value, infini.InvalidValue) and isinstance(caught.value, ValueError)
    assert caught.value.status == 11
    with pytest.raises(infini.InvalidType):
        infini.contiguous(X, out=X.astype("f8"))
    with pytest.raises(MemoryError):
        infini.Tensor.empty((1 << 50,), "uint8")
    with pytest.raises(infini.OutOfMemory):
        infini.Tensor.empty((1 << 50,), "uint8")


def test_destinations():
    with pytest.raises(ValueError, match="share memory"):
        infini.copy(np.lib.stride_tricks.as_strided(X, (2, 2), (4, 4)), np.zeros((2, 2), "f4"))
    with pytest.raises(ValueError, match="dst is read-only"):
        infini.copy(np.broadcast_to(np.float32(0), (2, 3)), X)
    frozen = X.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="dst is read-only"):
        infini.copy(frozen, X)
    assert np.array_equal(frozen, X)


def test_objects_are_never_copied_as_bytes():
    for x in (np.array([object(), None]), np.zeros(3, [("a", "O")]), np.zeros(3, [("a", "f4"), ("b", "O")])):
        with pytest.raises(TypeError, match="no plain bytes"):
            infini.contiguous(x[::-1])


@pytest.mark.parametrize("dims", [(0,), (0, 0), (0, 2), (0, -3), (0, 1, 2), (1.0, 0), "ab", ()])
def test_permutations(dims):
    with pytest.raises((ValueError, TypeError)):
        infini.permute(X, dims)
    with pytest.raises((ValueError, TypeError)):
        infini.Tensor.from_array(X).permute(dims)


def test_zero_dims_and_zero_sizes():
    scalar = np.array(3.0)
    assert infini.contiguous(scalar) is scalar
    assert infini.permute(scalar) == 3.0 and infini.permute(scalar, ()).shape == ()
    assert infini.copy(np.zeros(()), scalar) == 3.0
    for shape in ((0,), (3, 0), (0, 3), (2, 0, 5)):
        assert infini.permute(np.zeros(shape), tuple(range(len(shape)))[::-1]).shape == shape[::-1]
        assert infini.copy(np.zeros(shape), np.zeros(shape)).shape == shape


def test_64_dims():
    x = np.arange(4.0).reshape((1,) * 30 + (2, 2))
    assert np.array_equal(infini.permute(x, tuple(range(32))[::-1]), x.T)


@pytest.mark.parametrize("device", ["", "cpu:x", "cpu:-1", "cpu:", "gpu", "cpu:0:0", "cpu:99999999"])
def test_device_names(device):
    with pytest.raises(ValueError, match="expected a name like"):
        infini.Tensor.empty((2,), device=device)
    with pytest.raises(TypeError):
        infini.Tensor.empty((2,), device=0)


def test_devices_that_are_not_here():
    with pytest.raises(infini.Error):
        infini.Tensor.empty((2,), device="cpu:1")
    with pytest.raises(infini.Error):
        infini.Tensor.empty((2,), device="cambricon")


class Producer:
    """A DLPack producer that misbehaves in one way."""

    def __init__(self, capsule=None, device=(1, 0)):
        self.capsule, self.device = capsule, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **_):
        if isinstance(self.capsule, Exception):
            raise self.capsule
        return self.capsule


def test_dlpack_producers_that_misbehave():
    used = X.__dlpack__()
    np.from_dlpack(Producer(used))
    for producer, error in ((Producer(None), Exception), (Producer(used), Exception), (Producer(BufferError("no")), BufferError),
                            (Producer(device=(99, 0)), TypeError), (Producer(device=None), Exception)):
        with pytest.raises(error):
            infini.contiguous(producer)


def test_dlpack_devices_that_are_not_here():
    for device in ((2, 77), (10, 77)):
        with pytest.raises(infini.Error):
            infini.contiguous(Producer(device=device))


def test_dlpack_door():
    class Wrapped(Producer):
        pass

    assert np.array_equal(infini.copy(np.zeros((2, 3), "f4"), Wrapped(X.__dlpack__())), X)


def test_numbers_that_are_too_large():
    t = infini.Tensor.zeros((1,))
    for use in (lambda: infini.Tensor.empty((2**70,)), lambda: infini.permute(X, 2**64, 0), lambda: t.view(2**63),
                lambda: t.broadcast_to((2**40, 2**40)), lambda: t.broadcast_to((1,) * 65), lambda: t.narrow(0, -1, 1)):
        with pytest.raises(ValueError) as caught:
            use()
        assert isinstance(caught.value, infini.Error)


def test_masks_are_never_lost():
    masked = np.ma.MaskedArray(X, mask=X > 2)

    class Derived(np.ma.MaskedArray):
        pass

    for x in (masked, masked.view(Derived), np.ma.MaskedArray(X)):
        for call in (lambda: infini.contiguous(x.T), lambda: infini.copy(X.copy(), x), lambda: infini.copy(x, X), lambda: infini.matmul(x, X.T),
                     lambda: infini.Tensor.from_array(x), lambda: infini.rearrange(x, "a b -> b a")):
            with pytest.raises(TypeError, match="masked array"):
                call()
    assert np.array_equal(infini.contiguous(masked.filled(0).T), masked.filled(0).T)
