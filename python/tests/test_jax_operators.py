"""infini.jax: inside jit, vmap and grad, as custom calls and as host callbacks."""
import math
import os
import subprocess
import sys
import threading

import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import infini.jax as ij  # noqa: E402


def sample(*shape, seed=3):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape or (3, 4, 5)), jnp.float32)


FUNCTIONS = [
    lambda x: ij.permute(x, 1, 2, 0),
    lambda x: ij.rearrange(x, "a (b c) d -> (d c) a b", b=2),
    lambda x: ij.rearrange(x, "a b c -> a r b c 2", r=3),
    lambda x: ij.rearrange(x, "... c -> c (...)"),
    lambda x: ij.rearrange(x, "... c -> 1 c ... r", r=2),
    lambda x: ij.matmul(x, x[0].T),
    lambda x: ij.matmul(x[0].T, x),
    lambda x: ij.matmul(x[:, None], x.transpose(0, 2, 1)),
    lambda x: ij.matmul(x, x[0, 0]),
    lambda x: ij.matmul(x[0, 0], x.transpose(0, 2, 1)),
    lambda x: ij.matmul(x[0, 0], x[1, 1]),
    lambda x: ij.convert(x, jnp.float32, scale=-0.5, shift=2.0),
]
VALUES = [
    (FUNCTIONS[0], lambda x: x.transpose(1, 2, 0)),
    (FUNCTIONS[1], lambda x: x.reshape(3, 2, 2, 5).transpose(3, 2, 0, 1).reshape(10, 3, 2)),
    (FUNCTIONS[2], lambda x: np.broadcast_to(x[:, None, :, :, None], (3, 3, 4, 5, 2))),
    (FUNCTIONS[3], lambda x: x.transpose(2, 0, 1).reshape(5, 12)),
    (FUNCTIONS[4], lambda x: np.broadcast_to(x.transpose(2, 0, 1)[None, ..., None], (1, 5, 3, 4, 2))),
    (FUNCTIONS[5], lambda x: x @ x[0].T),
    (FUNCTIONS[6], lambda x: x[0].T @ x),
    (FUNCTIONS[7], lambda x: x[:, None] @ x.transpose(0, 2, 1)),
    (FUNCTIONS[8], lambda x: x @ x[0, 0]),
    (FUNCTIONS[9], lambda x: x[0, 0] @ x.transpose(0, 2, 1)),
    (FUNCTIONS[10], lambda x: x[0, 0] @ x[1, 1]),
    (FUNCTIONS[11], lambda x: x * -0.5 + 2),
]


def test_they_are_custom_calls_of_xla():
    for function, name in ((FUNCTIONS[0], "infini_copy"), (FUNCTIONS[5], "infini_matmul"), (FUNCTIONS[11], "infini_convert")):
        text = jax.jit(function).lower(sample()).as_text()
        assert f"custom_call @{name}" in text and "callback" not in text


@pytest.mark.parametrize("function, expected", VALUES)
def test_values(function, expected):
    x = sample()
    for called in (function, jax.jit(function)):
        made = called(x)
        assert made.dtype == jnp.float32
        np.testing.assert_allclose(np.asarray(made), expected(np.asarray(x)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function, expected", VALUES)
def test_vmap(function, expected):
    x = sample(2, 3, 4, 5)
    wanted = np.stack([expected(np.asarray(one)) for one in x])
    np.testing.assert_allclose(np.asarray(jax.vmap(function)(x)), wanted, rtol=1e-5, atol=1e-5)
    behind = jnp.moveaxis(x, 0, 2)
    np.testing.assert_allclose(np.asarray(jax.jit(jax.vmap(function, in_axes=2))(behind)), wanted, rtol=1e-5, atol=1e-5)


def test_vmap_over_one_side_of_a_product():
    a, b = sample(2, 3, 4), sample(6, 4, 5)
    np.testing.assert_allclose(jax.vmap(ij.matmul, in_axes=(None, 0))(a, b), np.asarray(a) @ np.asarray(b)[:, None], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(jax.vmap(ij.matmul, in_axes=(0, None))(b, b[0].T), np.asarray(b) @ np.asarray(b[0]).T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients(function):
    check_grads(jax.jit(function), (sample(),), order=2, modes=["fwd", "rev"], atol=2e-2, rtol=2e-2)
    check_grads(jax.vmap(function), (sample(2, 3, 4, 5),), order=1, modes=["rev"], atol=2e-2, rtol=2e-2)


def test_the_gradient_of_a_copy_is_a_copy():
    text = jax.jit(jax.grad(lambda x: (FUNCTIONS[1](x) * jnp.arange(60.0).reshape(10, 3, 2)).sum())).lower(sample()).as_text()
    assert "custom_call @infini_copy" in text


def test_jit_fuses_around_them():
    x = sample()
    y = jax.jit(lambda x: ij.rearrange(x * 2, "a (b c) d -> b a (c d)", b=2) + 1)(x)
    expected = (np.asarray(x) * 2).reshape(3, 2, 2, 5).transpose(1, 0, 2, 3).reshape(2, 3, 10) + 1
    np.testing.assert_array_equal(np.asarray(y), expected)


DTYPES = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32", "complex64",
          "float8_e4m3fn", "float8_e5m2"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_take_every_dtype(dtype):
    x = jnp.asarray(np.arange(24).reshape(2, 3, 4) % 3).astype(dtype)
    y = jax.jit(lambda x: ij.rearrange(x, "a b c -> c (b a)"))(x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(y).astype("c8"), np.asarray(x).astype("c8").transpose(2, 1, 0).reshape(4, 6))


def test_eight_byte_elements():
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        for dtype in ("int64", "uint64", "float64", "complex128"):
            x = jnp.arange(6).astype(dtype).reshape(2, 3)
            assert x.dtype == dtype
            np.testing.assert_array_equal(np.asarray(ij.permute(x, 1, 0)), np.asarray(x).T)
        x = jnp.asarray(np.random.default_rng(1).standard_normal((4, 4)))
        np.testing.assert_allclose(np.asarray(ij.matmul(x, x)), np.asarray(x) @ np.asarray(x), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("to", ["int8", "uint8", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "bool", "int32"])
def test_conversions(to):
    x = jnp.asarray([[0.0, 1.5, -3.0], [2.25, 100.0, 7.0]], jnp.float32)
    y = jax.jit(lambda x: ij.convert(x, to))(x)
    assert y.dtype == to
    expected = np.rint(np.asarray(x)).clip(np.iinfo(to).min, np.iinfo(to).max) if to in ("int8", "uint8", "int32") else np.asarray(x.astype(to))
    np.testing.assert_array_equal(np.asarray(y).astype("f4"), np.asarray(expected).astype("f4"))


def test_scalars_and_empty_arrays():
    assert ij.rearrange(jnp.float32(3), "-> r", r=4).tolist() == [3] * 4
    assert jax.jit(lambda x: ij.rearrange(x, "->"))(jnp.int8(7)) == 7
    empty = jnp.zeros((2, 0, 3))
    assert jax.jit(lambda x: ij.permute(x, 2, 0, 1))(empty).shape == (3, 2, 0)
    assert ij.convert(empty, "int8").shape == (2, 0, 3)
    assert jax.jit(ij.matmul)(jnp.zeros((2, 0)), jnp.zeros((0, 3))).tolist() == [[0] * 3] * 2
    assert jax.grad(lambda x: ij.permute(x, 2, 0, 1).sum())(empty).shape == (2, 0, 3)


def test_integers_have_no_gradient_and_do_not_disturb():
    x = sample(3, 4)
    assert jax.grad(lambda x: (x * ij.convert(ij.convert(x, "int32"), "float32")).sum())(x).shape == (3, 4)


def test_two_threads():
    x = sample(64, 48, 32)
    wanted = np.asarray(x).transpose(2, 0, 1)
    step = jax.jit(lambda x: ij.permute(x, 2, 0, 1))
    wrong = []

    def work():
        for _ in range(50):
            if not np.array_equal(np.asarray(step(x)), wanted):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_errors_are_told_when_traced():
    x = sample()
    with pytest.raises(ValueError, match="character"):
        jax.jit(lambda x: ij.rearrange(x, "a b -> b a"))(x)
    with pytest.raises(ValueError, match="5 columns, b has 4 rows"):
        jax.jit(ij.matmul)(x, x)
    with pytest.raises(TypeError, match="one dtype"):
        ij.matmul(x, x[0].T.astype("float16"))
    with pytest.raises(TypeError, match="int32"):
        ij.matmul(jnp.ones((2, 2), "int32"), jnp.ones((2, 2), "int32"))


def test_handlers_are_told_apart_from_strangers_calls():
    call = jax.ffi.ffi_call("infini_copy", jax.ShapeDtypeStruct((2,), "float32"), vmap_method="sequential")
    ij.permute(sample(2, 3), 1, 0)  # registers
    for attributes, message in (({}, "no attribute loops"), ({"loops": np.array([3, 1, 1])}, "leave"),
                                ({"loops": np.array([2, -1, 1])}, "none of infini.jax")):
        with pytest.raises(Exception, match=message):
            jax.jit(lambda x: call(x, **attributes))(jnp.ones(2)).block_until_ready()


CALLBACKS = """
import warnings
import jax, jax.numpy as jnp, numpy as np
from infini import _core
_core._xla_handlers = lambda: {"infini_copy": (1, 2)}
import infini.jax as ij
x = jnp.arange(24.0).reshape(2, 3, 4)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    f = jax.jit(lambda x: ij.matmul(ij.permute(x, 2, 0, 1), ij.convert(x[0], "float32", scale=2.0)))
    assert np.allclose(f(x), np.asarray(x).transpose(2, 0, 1) @ (np.asarray(x[0]) * 2))
assert len(told) == 1 and "host callbacks" in str(told[0].message), told
print(np.asarray(jax.grad(lambda x: f(x).sum())(x)).shape)
"""


def test_without_custom_calls_they_are_callbacks():
    made = subprocess.run([sys.executable, "-c", CALLBACKS], capture_output=True, text=True, env=os.environ | {"JAX_PLATFORMS": "cpu"})
    assert made.returncode == 0 and made.stdout == "(2, 3, 4)\n", made.stderr


def test_calls_outside_of_jit():
    """One compiled program serves any shape and type, arrays and what becomes one; errors are those of traced calls."""
    for shape, dtype in (((2, 3), "float32"), ((3, 2), "float16"), ((2, 3), "int8"), ((4, 5), "float32")):
        x = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
        for given in (x, jnp.asarray(x)):
            np.testing.assert_array_equal(np.asarray(ij.permute(given, 1, 0)), x.T)
            np.testing.assert_array_equal(np.asarray(ij.permute(given, [1, 0])), x.T)
            np.testing.assert_array_equal(np.asarray(ij.rearrange(given, "a b -> b a")), x.T)
            np.testing.assert_array_equal(np.asarray(ij.convert(given, "float32", scale=2)), x.astype("f4") * 2)
    for given in (np.zeros((2, 3), "f4"), jnp.zeros((2, 3))):
        for wrong in ("a b -> b c", "a (b c) -> a"):
            with pytest.raises(ValueError):
                ij.rearrange(given, wrong)
        with pytest.raises(ValueError):
            ij.permute(given, 0, 0)
        with pytest.raises(ValueError):
            ij.matmul(given, given)
        with pytest.raises(ValueError):
            ij.matmul(given, jnp.float32(1))
