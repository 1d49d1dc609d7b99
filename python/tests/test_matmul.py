"""matmul on NumPy arrays, against NumPy in double precision."""
import numpy as np
import pytest

import infini

RNG = np.random.default_rng(11)
UNIT = {"f2": 2.0**-11, "f4": 2.0**-24, "f8": 2.0**-53}


def random(shape, dtype):
    return RNG.standard_normal(shape).astype(dtype)


def close(got, a, b, dtype, alpha=1.0, beta=0.0, c=0.0):
    """The bound of the library's promise: an f32 accumulator (f64 for f64), then one rounding to the result."""
    a, b = a.astype("f8"), b.astype("f8")
    exact = alpha * (a @ b) + beta * np.asarray(c, "f8")
    unit = UNIT["f8" if dtype == "f8" else "f4"]
    terms = (a.shape[-1] + 4) * unit
    bound = terms / (1 - terms) * abs(alpha) * (np.abs(a) @ np.abs(b)) + 2 * unit * np.abs(beta * np.asarray(c, "f8"))
    return np.all(np.abs(got - exact) <= bound + UNIT[dtype] * np.abs(exact) + 1e-7 * (dtype == "f2"))


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize("m,k,n", [(1, 1, 1), (2, 3, 4), (1, 64, 33), (65, 1, 7), (31, 47, 65), (128, 96, 160)])
def test_matrices(dtype, m, k, n):
    a, b = random((m, k), dtype), random((k, n), dtype)
    assert close(infini.matmul(a, b), a, b, dtype)
    left, right = random((k, m), dtype).T, random((2 * n, 2 * k), dtype)[::-2, ::2].T
    got = infini.matmul(left, right)
    assert got.shape == (m, n) and got.dtype == np.dtype(dtype) and got.flags.c_contiguous
    assert close(got, left, right, dtype)


@pytest.mark.parametrize("left,right", [
    ((3, 4, 5), (3, 5, 6)), ((3, 4, 5), (5, 6)), ((4, 5), (3, 5, 6)), ((2, 1, 4, 5), (3, 5, 6)), ((2, 3, 4, 5), (2, 3, 5, 6)),
    ((0, 4, 5), (0, 5, 6)), ((3, 4, 0), (3, 0, 6)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 3)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3))])
def test_shapes_as_numpy(left, right):
    a, b = random(left, "f4"), random(right, "f4")
    got, expected = infini.matmul(a, b), a.astype("f8") @ b.astype("f8")
    assert got.shape == expected.shape and np.allclose(got, expected, atol=1e-5)


def test_out_alpha_and_beta():
    a, b = random((33, 20), "f4"), random((20, 17), "f4")
    memory = random((17, 66), "f4")
    before = memory.copy()
    out = memory.T[::2]
    assert infini.matmul(a, b, out, alpha=0.5, beta=-2) is out
    assert close(out, a, b, "f4", 0.5, -2, before.T[::2])
    assert np.array_equal(memory.T[1::2], before.T[1::2])
    batched, c = random((4, 33, 20), "f4"), random((4, 33, 17), "f4")
    before = c.copy()
    infini.matmul(batched, b, c, beta=1)
    assert close(c, batched, b, "f4", 1, 1, before)
    nan = np.full((33, 17), np.nan, "f4")
    assert not np.isnan(infini.matmul(a, b, nan)).any()  # beta 0 never reads


def test_small_integers_are_exact():
    a, b = RNG.integers(-8, 9, (70, 80)), RNG.integers(-8, 9, (80, 90))
    for dtype in ("f4", "f8"):
        assert np.array_equal(infini.matmul(a.astype(dtype), b.astype(dtype)), a @ b)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a, b = (RNG.integers(-3, 4, shape).astype(ml_dtypes.bfloat16) for shape in ((5, 6), (6, 7)))
    got = infini.matmul(a, b)
    assert got.dtype == a.dtype and np.array_equal(got.astype("f4"), a.astype("f4") @ b.astype("f4"))


def test_fields_of_records():
    records = np.zeros((6, 5), [("tag", "u1"), ("value", "f4")])
    records["value"] = RNG.integers(-4, 5, (6, 5))
    dense = records["value"].copy()
    assert np.array_equal(infini.matmul(records["value"], dense.T), dense @ dense.T)


def test_equal_layouts_of_other_elements_are_other_problems():
    a, b = np.ones((8, 8), "f4"), np.ones((8, 8), "i4")
    for _ in range(2):
        assert np.all(infini.matmul(a, a) == 8)
        for other in (a.astype(">f4"), b, np.zeros((8, 8), "V4")):
            with pytest.raises(TypeError):
                infini.matmul(other, other)
            with pytest.raises(TypeError):
                infini.matmul(a, other)


def test_what_is_refused():
    a = np.ones((2, 3), "f4")
    with pytest.raises(ValueError, match=r"a is \[2, 3\], b is \[2, 3\]"):
        infini.matmul(a, a)
    with pytest.raises(ValueError, match="batch dims do not match"):
        infini.matmul(np.ones((2, 3, 4), "f4"), np.ones((5, 4, 3), "f4"))
    with pytest.raises(ValueError, match=r"c is \[3, 3\]"):
        infini.matmul(a, a.T, np.zeros((3, 3), "f4"))
    with pytest.raises(ValueError, match="there is no out"):
        infini.matmul(a, a.T, beta=1)
    with pytest.raises(ValueError, match="scalar"):
        infini.matmul(np.ones((), "f4"), a)
    with pytest.raises(TypeError, match="a is i64"):
        infini.matmul(a.astype("i8"), a.T.astype("i8"))
    with pytest.raises(TypeError):
        infini.matmul(a, a.T.astype("f8"))
    with pytest.raises(TypeError, match="a is byte-swapped f32"):
        infini.matmul(a.astype(">f4"), a.T)
    read_only = np.zeros((2, 2), "f4")
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        infini.matmul(a, a.T, read_only)


def test_operands_at_odd_addresses():
    a, b = np.arange(6, dtype="f4").reshape(2, 3), np.arange(12, dtype="f4").reshape(3, 4)

    def odd(x):
        y = np.frombuffer(bytearray(x.nbytes + 1), x.dtype, x.size, 1).reshape(x.shape)
        y[...] = x
        return y

    for left, right in ((odd(a), b), (a, odd(b)), (odd(a), odd(b)), (a, b)):
        assert np.array_equal(infini.matmul(left, right), a @ b)
        assert np.array_equal(infini.matmul(left[0], right), a[0] @ b)
        assert np.array_equal(infini.matmul(left, right, np.empty((2, 4), "f4")), a @ b)
    with pytest.raises(ValueError, match="not aligned"):
        infini.matmul(a, b, odd(np.empty((2, 4), "f4")))


def test_scales_are_doubles_for_doubles():
    a = np.full((1, 1), 3.0)
    assert infini.matmul(a, np.ones((1, 1)), alpha=0.1)[0, 0] == 0.1 * 3.0
    c = np.full((1, 1), 5.0)
    infini.matmul(a, np.zeros((1, 1)), c, beta=1 / 3)
    assert c[0, 0] == 5.0 * (1 / 3)
    rng = np.random.default_rng(5)
    for shape in ((1, 7, 5), (3, 4, 300), (40, 50, 60), (200, 150, 333), (1, 3000, 700)):
        m, n, k = shape
        x, y, z = (rng.standard_normal(s) for s in ((m, k), (k, n), (m, n)))
        alpha, beta = 0.1, 1 / 3
        expected = alpha * (x @ y) + beta * z
        graph_out, batched = z.copy(), np.stack([z, z])
        with infini.record() as graph:
            infini.matmul(x, y, graph_out, alpha=alpha, beta=beta)
        graph.run()
        infini.matmul(np.stack([x, x]), y, batched, alpha=alpha, beta=beta)
        for got in (infini.matmul(x, y, z.copy(), alpha=alpha, beta=beta), graph_out, *batched):
            bound = 1e-14 * (np.abs(x) @ np.abs(y) + np.abs(z)) * np.sqrt(k)
            assert (np.abs(got - expected) < bound).all(), shape
    single = infini.matmul(a.astype("f4"), np.ones((1, 1), "f4"), alpha=0.1)
    assert single[0, 0] == np.float32(0.1) * np.float32(3)
