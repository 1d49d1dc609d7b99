"""JAX arrays on the CPU: they can be read, and results are JAX's."""
import numpy as np
import pytest

import infini

jax = pytest.importorskip("jax")

X = np.arange(24, dtype="f4").reshape(2, 3, 4)


def test_copies():
    x = jax.numpy.asarray(X)
    y = infini.permute(x, 2, 0, 1)
    assert isinstance(y, jax.Array) and y.shape == (4, 2, 3) and np.array_equal(y, X.transpose(2, 0, 1))
    assert np.array_equal(infini.rearrange(x, "a b c -> (c a) b"), X.transpose(2, 0, 1).reshape(8, 3))
    half = x.astype(jax.numpy.bfloat16)
    transposed = infini.transpose(half)
    assert transposed.dtype == jax.numpy.bfloat16 and np.array_equal(transposed.astype("float32"), X.swapaxes(1, 2))
    assert np.array_equal(infini.copy(np.zeros((3, 2, 4), "f4"), infini.permute(x, 1, 0, 2)), X.swapaxes(0, 1))


def test_products():
    x = jax.numpy.asarray(X)
    product = infini.matmul(x, infini.transpose(x))
    assert isinstance(product, jax.Array) and np.array_equal(product, X @ X.swapaxes(1, 2))


def test_they_are_never_written():
    x = jax.numpy.asarray(X)
    for write in (lambda: infini.copy(x, X), lambda: infini.matmul(x[0], x[0].T, jax.numpy.zeros((3, 3)))):
        with pytest.raises((ValueError, BufferError)):
            write()
    t = infini.Tensor.from_array(x)
    assert not t.writable and np.array_equal(t.numpy(), X)
    assert np.array_equal(x, X)


def test_memory_outlives_what_is_done_to_the_array():
    x = jax.numpy.asarray(X)
    t = infini.Tensor.from_array(x)
    x.delete()
    held = jax.numpy.zeros(X.shape) + 9
    assert np.array_equal(t.numpy(), X) and held.shape == X.shape
    with pytest.raises((RuntimeError, TypeError)):  # JAX's own
        infini.contiguous(x)
