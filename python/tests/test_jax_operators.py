"""infini.jax: inside jit, with gradients."""
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import infini.jax as ij  # noqa: E402


def sample():
    return jnp.asarray(np.random.default_rng(3).standard_normal((3, 4, 5)), jnp.float32)


FUNCTIONS = [
    lambda x: ij.permute(x, 1, 2, 0),
    lambda x: ij.rearrange(x, "a (b c) d -> (d c) a b", b=2),
    lambda x: ij.rearrange(x, "a b c -> a r b c", r=3),
    lambda x: ij.matmul(x, x[0].T),
    lambda x: ij.convert(x, jnp.float32, scale=-0.5, shift=2.0),
]


def test_inside_jit():
    x = sample()
    y = jax.jit(lambda x: ij.rearrange(x * 2, "a (b c) d -> b a (c d)", b=2) + 1)(x)
    expected = (np.asarray(x) * 2).reshape(3, 2, 2, 5).transpose(1, 0, 2, 3).reshape(2, 3, 10) + 1
    np.testing.assert_array_equal(np.asarray(y), expected)
    half = jax.jit(lambda x: ij.convert(x, jnp.float16))(x)
    np.testing.assert_array_equal(np.asarray(half), np.asarray(x).astype(np.float16))
    product = jax.jit(ij.matmul)(x, x[0].T)
    np.testing.assert_allclose(np.asarray(product), np.asarray(x) @ np.asarray(x[0]).T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients(function):
    check_grads(jax.jit(function), (sample(),), order=1, modes=["rev"], atol=2e-2, rtol=2e-2)


def test_wrong_patterns_are_named_when_traced():
    with pytest.raises(ValueError, match="character"):
        jax.jit(lambda x: ij.rearrange(x, "a b -> b a"))(sample())
