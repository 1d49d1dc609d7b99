"""rearrange by patterns, against reshape and transpose."""
import numpy as np
import pytest

import infini

X = np.arange(2 * 6 * 4 * 5, dtype="i4").reshape(2, 6, 4, 5)


@pytest.mark.parametrize("pattern,sizes,expected", [
    ("b s h d -> b h s d", {}, lambda x: x.transpose(0, 2, 1, 3)),
    ("b s h d -> b s (h d)", {}, lambda x: x.reshape(2, 6, 20)),
    ("b (g s) h d -> b g h s d", {"g": 3}, lambda x: x.reshape(2, 3, 2, 4, 5).transpose(0, 1, 3, 2, 4)),
    ("b (g s) h d -> b g h s d", {"s": 2}, lambda x: x.reshape(2, 3, 2, 4, 5).transpose(0, 1, 3, 2, 4)),
    ("b (g s) h d -> (s b) (d h) g", {"g": 3, "s": 2}, lambda x: x.reshape(2, 3, 2, 4, 5).transpose(2, 0, 4, 3, 1).reshape(4, 20, 3)),
    ("... d -> d ...", {}, lambda x: np.moveaxis(x, -1, 0)),
    ("b ... -> ... b", {}, lambda x: np.moveaxis(x, 0, -1)),
    ("...->...", {}, lambda x: x),
    ("a b c d -> a 1 b c d ()", {}, lambda x: x[:, None, ..., None]),
    ("a b c d -> (a b c d)", {}, lambda x: x.reshape(-1)),
    ("a b c d -> a r b c d", {"r": 3}, lambda x: np.repeat(x[:, None], 3, 1)),
    ("a b c d -> a (b r) c d", {"r": 2}, lambda x: np.repeat(x, 2, 1)),
    ("a b c d -> a (r b) c d", {"r": 2}, lambda x: np.tile(x, (1, 2, 1, 1))),
    ("b_1 (h1 w) c d->d c w h1 b_1", {"h1": 2}, lambda x: x.reshape(2, 2, 3, 4, 5).transpose(4, 3, 2, 1, 0)),
])
def test_patterns(pattern, sizes, expected):
    for x in (X, X[::-1, :, ::-1], np.asfortranarray(X)):
        got = infini.rearrange(x, pattern, **sizes)
        assert got.shape == expected(x).shape and got.flags.c_contiguous and np.array_equal(got, expected(x))
        assert not np.shares_memory(got, x)
    own = infini.rearrange(infini.Tensor.from_array(X), pattern, **sizes)
    assert isinstance(own, infini.Tensor) and np.array_equal(own.numpy(), expected(X))


def test_ones_and_nothing():
    x = np.arange(3.0).reshape(1, 3, 1)
    assert np.array_equal(infini.rearrange(x, "1 a () -> a"), np.arange(3.0))
    assert np.array_equal(infini.rearrange(x, "b a c -> a"), np.arange(3.0))  # dims of size 1 may go
    assert infini.rearrange(np.array(5.0), "->") == 5.0
    assert infini.rearrange(np.array(5.0), " -> a", a=4).tolist() == [5.0] * 4
    assert infini.rearrange(np.zeros((0, 4)), "a (b c) -> c (a b)", b=2).shape == (2, 0)
    records = np.zeros((4, 6), "V5")
    assert infini.rearrange(records, "(a b) c -> b c a", a=2).shape == (2, 6, 2)


@pytest.mark.parametrize("pattern,sizes,message", [
    ("", {}, "expected one ->"),
    ("a b c d", {}, "expected one ->"),
    ("a -> b -> c", {}, "expected one ->"),
    ("a b c d -> (a b c d", {}, "not closed"),
    ("a b c d) -> a b c d", {}, "character 8: closes no parenthesis"),
    ("a ((b c) d) e f -> a", {}, "character 4: parentheses do not nest"),
    ("a a c d -> a c d", {}, "character 3: a stands twice"),
    ("a b c d -> a b c d a", {}, "a stands twice"),
    ("... b ... -> b ...", {}, "stands twice"),
    ("a b c d ... -> a b c d", {}, "on one side only"),
    ("a (b ...) -> a b ...", {}, "outside of parentheses"),
    ("a b c 2d -> a", {}, "character 7: '2' is no axis"),
    ("a b c é -> a", {}, "character 7: 'é' is no axis"),
    ("a 10 c d -> a", {}, "is no axis"),
    ("a 1b c d -> a", {}, "character 3: '1' is no axis"),
    ("a b c -> a b c", {}, "has 3 dims, the array has 4"),
    ("a b c d e -> a b c d e", {}, "has 5 dims, the array has 4"),
    ("a b c d e ... -> a b c d e ...", {}, "the array has 4"),
    ("a (b e) c d -> a b e c d", {}, "b and e in dim 1 of 6 are not given"),
    ("a (b e) c d -> a b e c d", {"b": 4}, "dim 1 has 6 elements, (b e) makes 4 times e"),
    ("a (b e) c d -> a b e c d", {"b": 2, "e": 2}, "dim 1 has 6 elements, (b e) makes 4"),
    ("a b c d -> a b c d", {"b": 5}, "dim 1 has 6 elements"),
    ("a b c d -> a b c", {}, "d (5 elements) is lost"),
    ("a b c d -> a b c d e", {}, "e is new on the right; give its size"),
    ("a b c d -> a b c d", {"e": 2}, "has no axis e"),
    ("a (b e) c d -> a b e c d", {"b": -2}, "b is -2"),
    ("a (b e) c d -> a b e c d", {"b": 0}, "(b e) makes 0 times e"),
    ("a (b e) c d -> a b e c d", {"b": 2.0}, "b is 2.0"),
])
def test_what_is_refused(pattern, sizes, message):
    with pytest.raises(ValueError) as caught:
        infini.rearrange(X, pattern, **sizes)
    assert message in str(caught.value) and isinstance(caught.value, infini.Error)


def test_a_very_long_pattern():
    for pattern in ("(" * 100000 + "->", "a " * 100000 + "->", "->" * 100000):
        with pytest.raises(ValueError) as caught:
            infini.rearrange(X, pattern)
        assert len(str(caught.value)) < 300


def test_the_walk_stays_inside():
    for axes, shape in ((((0, 3, 1, 0, 1),), (3,)), (((3, 5, 2, 0, 1),), (5,)), (((0, 2, 1, 0, 2), (0, 2, 1, 0, 1)), (4,)),
                        (((0, 2, -1, 0, 1),), (2,)), (((0, 2, 1, 0, 1),), (3,)), (((0, 2, 1, 0, 2),), (2,)), (((0, 2, 1, 0, -1),), (2,)),
                        (((4, 1, 1, 0, 1),), (1,)), (((0, 1, 1, 1, 1),), (1,)), (((0, 2),), (2,))):
        with pytest.raises(ValueError):
            infini._core._walk(X, axes, shape)
    with pytest.raises(TypeError):
        infini.rearrange(3, "a -> a")


def test_sizes_are_whole_numbers_of_any_kind():
    y = infini.rearrange(X, "a b c d -> a b c d e", e=2)
    assert np.array_equal(infini.rearrange(X, "a b c d -> a b c d e", e=np.int64(2)), y)
    for size in (2.0, "2", None, 2**63, 2**70):  # the first is equal to what the line above left in the cache
        with pytest.raises(ValueError, match="expected a size"):
            infini.rearrange(X, "a b c d -> a b c d e", e=size)


def test_axes_may_be_called_anything():
    assert np.array_equal(infini.rearrange(X, "a (x y) c d -> (x a) y c d", x=3), X.reshape(2, 3, 2, 4, 5).transpose(1, 0, 2, 3, 4).reshape(6, 2, 4, 5))
    assert infini.rearrange(X, "a (pattern b) c d -> pattern b (a c d)", pattern=2).shape == (2, 3, 40)
    assert infini.rearrange(X, "a (out in_) c d -> out in_ (a c d)", out=2).shape == (2, 3, 40)
    assert infini.rearrange(X, "a (self b) c d -> self b (a c d)", self=2).shape == (2, 3, 40)
    with pytest.raises(ValueError, match="out is array"):
        infini.rearrange(X, "a (out in_) c d -> out in_ (a c d)", out=np.zeros((2, 3, 40), "i4"))


@pytest.mark.parametrize("pattern,sizes", [("b (g s) h d -> (s b) (d h) g", {"g": 3}), ("... d -> d ...", {}), ("a b c d -> (a b c d)", {}),
                                           ("a b c d -> a (b r) 1 (c d)", {"r": 2}), ("a b c d -> a r b c d", {"r": 3})])
def test_out(pattern, sizes):
    expected = infini.rearrange(X, pattern, **sizes)
    gaps = np.zeros([2 * n + 1 for n in expected.shape], "i4")
    for out in (np.zeros_like(expected), np.asfortranarray(np.zeros_like(expected)), gaps[tuple(slice(n, None, -1)[:0] if n == 0 else slice(2 * n - 1, None, -2) for n in expected.shape)]):
        assert infini.rearrange(X, pattern, out=out, **sizes) is out and np.array_equal(out, expected)
    assert np.count_nonzero(gaps) <= np.count_nonzero(expected)
    own = infini.Tensor.zeros(expected.shape[::-1], "i32").T
    assert infini.rearrange(X, pattern, out=own, **sizes) is own and np.array_equal(own.numpy(), expected)
    for wrong, error in ((np.zeros(expected.shape, "f4"), TypeError), (np.zeros((*expected.shape, 1), "i4"), ValueError), (expected.tolist(), TypeError),
                         (np.broadcast_to(np.int32(0), expected.shape), ValueError)):
        with pytest.raises(error):
            infini.rearrange(X, pattern, out=wrong, **sizes)
