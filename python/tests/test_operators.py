"""Elementwise and row operators on NumPy arrays, against NumPy in double precision."""
import math

import numpy as np
import pytest

import infini
from layouts import random_view

RNG = np.random.default_rng(5)
EPSILON = 2.0**-10  # a number of f32, too
UNIT = {"f2": 2.0**-11, "f4": 2.0**-24, "f8": 2.0**-53}
erf = np.vectorize(math.erf, otypes=["f8"])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "swiglu": lambda a, b: a * b * sigmoid(b),
}
UNARY = {
    "silu": lambda x: x * sigmoid(x), "gelu": lambda x: x / 2 * (1 + erf(x / math.sqrt(2))),
    "relu": lambda x: np.maximum(x, 0), "sigmoid": sigmoid,
}


def random(shape, dtype):
    """Values in memory with gaps, the other order of dims and a negative step."""
    memory = np.asarray(RNG.standard_normal(tuple(2 * n for n in shape[::-1]))).astype(dtype).T
    return memory[tuple(slice(1, None, 2) for _ in shape)][::-1] if shape else np.array(memory)


def close(got, exact, dtype, roundings=64.0):
    own = UNIT["f8" if dtype == "f8" else "f4"]
    bound = UNIT[dtype] * np.abs(exact) + roundings * own * (1 + np.abs(exact)) + (6e-8 if dtype == "f2" else 0)
    return got.dtype == np.dtype(dtype) and got.shape == exact.shape and np.all(np.abs(got - exact) <= bound)


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("left,right", [((), ()), ((3,), (3,)), ((4, 5), (5,)), ((4, 1), (3, 1, 7)), ((2, 3, 900), (3, 1)), ((0, 3), (3,))])
def test_binary(name, dtype, left, right):
    a, b = random(left, dtype), random(right, dtype)
    exact = BINARY[name](a.astype("f8"), b.astype("f8"))
    assert close(getattr(infini, name)(a, b), exact, dtype)
    out = random(exact.shape, dtype)
    assert getattr(infini, name)(a, b, out=out) is out
    assert close(out, exact, dtype)


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    for shape in [(), (7,), (3, 1000)]:
        x = random(shape, dtype)
        assert close(getattr(infini, name)(x), UNARY[name](x.astype("f8")), dtype)
    x = np.array([np.nan, -1.0, 2.0], dtype)
    assert np.isnan(getattr(infini, name)(x)[0])
    assert getattr(infini, name)(x, out=x) is x  # in place


def test_every_operator_of_the_table_is_there():
    import ctypes, pathlib
    library = ctypes.CDLL(next(str(p) for p in pathlib.Path("/proc/self/maps").read_text().split() if "libinfini.so" in p))
    library.infiniopOperatorName.restype = ctypes.c_char_p
    library.infiniopOperatorName.argtypes = [ctypes.c_size_t]
    number = 0
    while (name := library.infiniopOperatorName(number)) is not None:
        assert hasattr(infini, name.decode()), name
        number += 1
    assert number >= 13


def test_elements_at_fractions_of_their_size():
    x = random_view(RNG, (5, 7), "f4")[1]
    x[...] = RNG.standard_normal((5, 7))
    assert close(infini.silu(x), UNARY["silu"](x.astype("f8")), "f4")


def test_integers_wrap_around():
    a, b = np.array([250, 3], "u1"), np.array([10, 5], "u1")
    assert infini.add(a, b).tolist() == [4, 8] and infini.sub(b, a).tolist() == [16, 2]
    assert infini.mul(np.array([2**62], "i8"), np.array([2], "i8")).tolist() == [-(2**63)]


def test_cast():
    x = np.array([0.5, 1.5, 2.5, -1.5, 300, -300, np.nan, np.inf], "f4")
    assert infini.cast(x, "int8").tolist() == [0, 2, 2, -2, 127, -128, 0, 127]
    assert infini.cast(x, np.float64).dtype == np.float64
    assert infini.cast(x[::-1], "float16").tolist()[-1] == 0.5
    out = np.zeros(8, "u1")
    assert infini.cast(x, "uint8", out=out) is out and out.tolist() == [0, 2, 2, 0, 255, 0, 0, 255]
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert infini.cast(x, "bf16").dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("dtype", UNIT)
def test_rms_norm(dtype):
    x, w = random((3, 5, 100), dtype), random((100,), dtype)
    wide, factor = x.astype("f8"), w.astype("f8")
    exact = wide * factor / np.sqrt((wide**2).mean(-1, keepdims=True) + EPSILON)
    assert close(infini.rms_norm(x, w, epsilon=EPSILON), exact, dtype)
    if dtype == "f2":
        assert close(infini.rms_norm(x, w.astype("f4"), epsilon=EPSILON), exact, dtype)
    assert infini.rms_norm(x, w, epsilon=EPSILON, out=x) is x and close(x, exact, dtype)


@pytest.mark.parametrize("dtype", UNIT)
def test_causal_softmax(dtype):
    x = random((2, 3, 7), dtype)
    scores = np.where(np.arange(7) <= np.arange(3)[:, None] + 4, x.astype("f8"), -np.inf)
    exact = np.exp(scores - scores.max(-1, keepdims=True))
    assert close(infini.causal_softmax(x), exact / exact.sum(-1, keepdims=True), dtype)


@pytest.mark.parametrize("neox", [False, True])
@pytest.mark.parametrize("dtype", UNIT)
def test_rope(dtype, neox):
    x, positions = random((5, 3, 8), dtype), np.array([3, 0, 9, 2, 2], "i4")
    angles = np.arange(10)[:, None] / 100 ** (np.arange(4) / 4)
    sin, cos = np.sin(angles).astype(dtype), np.cos(angles).astype(dtype)
    s, c = (t.astype("f8")[positions][:, None] for t in (sin, cos))
    a, b = (x[..., :4], x[..., 4:]) if neox else (x[..., ::2], x[..., 1::2])
    a, b = a.astype("f8"), b.astype("f8")
    exact = np.empty((5, 3, 8))
    exact[(..., slice(4)) if neox else (..., slice(0, 8, 2))] = a * c - b * s
    exact[(..., slice(4, 8)) if neox else (..., slice(1, 8, 2))] = a * s + b * c
    assert close(infini.rope(x, positions, sin, cos, neox=neox), exact, dtype)


def test_random_sample():
    logits = RNG.standard_normal((4, 500)).astype("f4")
    tokens = infini.random_sample(logits)
    assert tokens.dtype == np.int64 and tokens.tolist() == logits.argmax(1).tolist()
    assert infini.random_sample(logits[0]).shape == ()
    order = np.argsort(-logits[0])
    mass = np.exp(logits[0][order].astype("f8") - logits[0].max())
    kept = min(mass[:40].sum(), 0.9 * mass.sum())
    wanted = order[np.searchsorted(np.cumsum(mass), 0.37 * kept)]
    assert infini.random_sample(logits[0], random_val=0.37, topp=0.9, topk=40) == wanted


def test_graphs():
    x, w = RNG.standard_normal((4, 64)).astype("f4"), RNG.standard_normal(64).astype("f4")
    y, z = np.zeros_like(x), np.zeros_like(x)
    with infini.record() as graph:
        infini.rms_norm(x, w, out=y)
        infini.add(y, x, out=z)
    assert not z.any()
    for _ in range(2):
        x[...] = RNG.standard_normal(x.shape)
        graph.run()
        assert np.array_equal(z, infini.add(infini.rms_norm(x, w), x))
    assert "rms_norm" in graph.describe() and len(graph) == 2


def test_own_tensors():
    t = infini.Tensor.from_array(RNG.standard_normal((3, 4)).astype("f4"))
    got = infini.silu(t.T)
    assert isinstance(got, infini.Tensor) and np.allclose(got.numpy(), UNARY["silu"](t.numpy().T), atol=1e-6)
    assert infini.cast(t, "bf16").dtype == "bf16"


def test_what_is_refused():
    x = np.zeros((3, 4), "f4")
    for call in [
        lambda: infini.add(x, np.zeros((2, 4), "f4")),       # shapes
        lambda: infini.add(x, np.zeros((3, 4), "f8")),       # dtypes
        lambda: infini.silu(np.zeros(3, "i4")),
        lambda: infini.silu(x, out=np.zeros((4, 3), "f4")),
        lambda: infini.add(x[:2], x[1:], out=x[1:][::-1]),   # overlaps
        lambda: infini.rms_norm(x, np.zeros(3, "f4")),
        lambda: infini.causal_softmax(np.zeros((4, 3), "f4")),
        lambda: infini.random_sample(np.zeros((2, 0), "f4")),
        lambda: infini.cast(x, "nothing"),
        lambda: infini.add(x, "text"),
    ]:
        with pytest.raises((infini.Error, TypeError, ValueError)):
            call()
    frozen = np.zeros(3, "f4")
    frozen.flags.writeable = False
    with pytest.raises(ValueError):
        infini.silu(x[0, :3], out=frozen)
