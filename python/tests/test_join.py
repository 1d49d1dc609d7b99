"""concat, stack and pad, against NumPy."""
import infini
import numpy as np
import pytest


def arrays(count=3):
    random = np.random.default_rng(4)
    return [random.standard_normal((4, 3, 5)).transpose(1, 0, 2) for _ in range(count)]


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_concat_and_stack(axis):
    parts = arrays()
    np.testing.assert_array_equal(infini.concat(parts, axis), np.concatenate(parts, axis))
    np.testing.assert_array_equal(infini.stack(parts, axis), np.stack(parts, axis))
    expected = np.concatenate(parts, axis)
    out = np.zeros(tuple(2 * n for n in expected.shape))[::2, ::2, ::2]
    assert infini.concat(parts, axis, out=out) is out
    np.testing.assert_array_equal(out, expected)


def test_pad():
    x = arrays(1)[0]
    widths = [(1, 0), (0, 2), (3, 4)]
    np.testing.assert_array_equal(infini.pad(x, widths, 7), np.pad(x, widths, constant_values=7))
    np.testing.assert_array_equal(infini.pad(x[:, ::-1], [(0, 0)] * 3), x[:, ::-1])


def test_tensors_of_our_own():
    x = infini.Tensor.ones((2, 3), "f32")
    assert infini.concat([x, x], 1).shape == (2, 6)
    assert infini.concat([x, x], 1).tolist() == [[1] * 6] * 2


def test_what_is_wrong_is_named():
    x = np.zeros((2, 3))
    with pytest.raises(ValueError, match="empty"):
        infini.concat([])
    with pytest.raises(ValueError, match="axis is 2"):
        infini.concat([x], 2)
    with pytest.raises(TypeError, match=r"arrays\[1\] is float32"):
        infini.concat([x, x.astype(np.float32)])
    with pytest.raises(ValueError, match=r"differ along dim 0 alone"):
        infini.concat([x, np.zeros((2, 4))])
    with pytest.raises(ValueError, match="must be equal"):
        infini.stack([x, x.T])
    with pytest.raises(ValueError, match="pairs"):
        infini.pad(x, [(1, 1)])
    with pytest.raises(ValueError, match="out has the shape"):
        infini.concat([x], out=np.zeros((3, 3)))
