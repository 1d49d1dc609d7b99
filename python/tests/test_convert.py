"""convert and copies between types, against NumPy."""
import infini
import numpy as np
import pytest

NUMBERS = ["uint8", "int8", "uint16", "int16", "int32", "uint32", "float16", "float32", "float64"]


def sample(dtype, shape, seed=3):
    random = np.random.default_rng(seed)
    return random.integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("source", NUMBERS)
@pytest.mark.parametrize("target", NUMBERS)
def test_every_pair_keeps_what_both_can_say(source, target):
    x = sample(source, (5, 7, 3)).transpose(2, 0, 1)
    y = infini.convert(x, target)
    assert y.dtype == target and y.flags.c_contiguous
    np.testing.assert_array_equal(y, x.astype(target))


def test_normalised_image():
    image = sample(np.uint8, (37, 41, 3))
    mean, deviation = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
    scale, shift = (1 / (255 * deviation)).astype(np.float32), (-mean / deviation).astype(np.float32)
    y = infini.convert(image.transpose(2, 0, 1), "f32", scale=scale, shift=shift, axis=0)
    expected = image.transpose(2, 0, 1) * scale[:, None, None].astype(np.float64) + shift[:, None, None]
    np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-6)
    back = infini.convert(y, np.uint8, scale=1 / scale, shift=-shift / scale, axis=0)
    np.testing.assert_array_equal(back, image.transpose(2, 0, 1))


def test_rounds_to_even_and_saturates():
    x = np.float32([0.5, 1.5, 2.5, -7, 300, np.nan])
    np.testing.assert_array_equal(infini.convert(x, "uint8"), [0, 2, 2, 0, 255, 0])
    np.testing.assert_array_equal(infini.convert(np.float32([1e6, -1e6]), "f16"), [np.inf, -np.inf])
    np.testing.assert_array_equal(infini.convert(np.float32([1e6, -1e6]), "f16", saturate=True), [65504, -65504])


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_small_floats(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = getattr(ml_dtypes, name)
    bits = np.arange(256 if "8_" in name else 65536).astype("u1" if "8_" in name else "u2")
    x = bits.view(dtype)
    y = infini.convert(x, "f32")
    np.testing.assert_array_equal(y, x.astype(np.float32))
    back = infini.convert(y, dtype)
    assert back.dtype == dtype
    same = back.view(bits.dtype) == bits
    assert same[~np.isnan(y)].all() and np.isnan(back[np.isnan(y)].astype(np.float32)).all()


def test_copy_converts():
    y = np.zeros((3, 4), np.float32)
    infini.copy(y[:, ::2], np.arange(6, dtype=np.int64).reshape(3, 2))
    np.testing.assert_array_equal(y, [[0, 0, 1, 0], [2, 0, 3, 0], [4, 0, 5, 0]])
    truth = np.zeros(3, bool)
    infini.copy(truth, np.float64([0, 0.5, np.nan]))
    np.testing.assert_array_equal(truth, [False, True, True])
    t = infini.Tensor.zeros((2, 2), "bf16")
    infini.copy(t, np.float32([[1, 2], [3, 4]]))
    assert infini.convert(t, "f32").tolist() == [[1, 2], [3, 4]]


def test_what_is_wrong_is_named():
    x = np.zeros((2, 3), np.uint8)
    with pytest.raises(TypeError, match="dtype or out"):
        infini.convert(x)
    with pytest.raises(ValueError, match="axis is 2"):
        infini.convert(x, "f32", scale=np.ones(3, np.float32), axis=2)
    with pytest.raises(TypeError, match="scale is f64"):
        infini.convert(x, "f32", scale=np.ones(3), axis=1)
    with pytest.raises(ValueError):
        infini.convert(x, "f32", scale=np.ones(4, np.float32), axis=1)
    with pytest.raises(TypeError, match="c128"):
        infini.convert(x, np.complex128)
    with pytest.raises(TypeError, match="cannot convert from"):
        infini.convert(np.zeros(3, "datetime64[s]"), "f32")
    with pytest.raises(ValueError, match="shares memory"):
        infini.copy(np.frombuffer(x.data, np.int8)[1:5], np.frombuffer(x.data, np.uint8)[:4])


@pytest.mark.parametrize("name", ["i8", "u8", "f8", "byte"])
def test_names_of_two_meanings_are_refused_as_everywhere(name):
    x = np.zeros(3, np.float32)
    with pytest.raises(TypeError, match="to infini and .* to NumPy"):
        infini.convert(x, name)
    with pytest.raises(TypeError, match="to infini and .* to NumPy"):
        infini.cast(x, name)
    if name != "f8":  # without ml_dtypes NumPy has none
        assert infini.convert(x, infini.DType(name)).itemsize == 1


@pytest.mark.parametrize("name", ["q4", "e5m2", 5, np.dtype("S3")])
def test_unknown_names_are_refused(name):
    with pytest.raises(infini.InvalidType, match="dtype is .*; expected one of"):
        infini.convert(np.zeros(3, np.float32), name)


def test_over_memory_of_another_type_in_place():
    x = np.float32([1.5, -2.5, 3])
    y = x.view(np.int32)
    infini.convert(x, out=y)
    assert y.tolist() == [2, -2, 3]


@pytest.mark.parametrize("dtype", ["float16", "uint8", "float64"])
def test_large_results(dtype):
    """They lie in the library's pool, and are arrays as any other."""
    x = np.arange(1100 * 1000, dtype=np.int32).reshape(1000, 1100).T % 251
    y = infini.convert(x, dtype)
    assert type(y) is np.ndarray and y.dtype == dtype and y.flags.c_contiguous and y.flags.writeable
    assert (y == x.astype(dtype)).all()
    torch = pytest.importorskip("torch")
    z = infini.convert(torch.from_numpy(x), getattr(torch, dtype))
    assert type(z) is torch.Tensor and z.is_contiguous() and (z.numpy() == y).all()
