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
    ("a b c d -> a b (c d 2) 1", {}, lambda x: np.repeat(x.reshape(2, 6, 20), 2, 2)[..., None]),
    ("a ... -> a (...)", {}, lambda x: x.reshape(2, -1)),
    ("a ... d -> (d ...) a", {}, lambda x: x.transpose(3, 1, 2, 0).reshape(-1, 2)),
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
    with pytest.raises(ValueError, match="character 1: b is lost on the right"):  # also one of size 1
        infini.rearrange(x, "b a c -> a")
    assert infini.rearrange(np.array(5.0), "->") == 5.0
    assert infini.rearrange(np.array(5.0), " -> a", a=4).tolist() == [5.0] * 4
    assert infini.rearrange(np.zeros((0, 4)), "a (b c) -> c (a b)", b=2).shape == (2, 0)
    records = np.zeros((4, 6), "V5")
    assert infini.rearrange(records, "(a b) c -> b c a", a=2).shape == (2, 6, 2)


@pytest.mark.parametrize("pattern,sizes,message", [
    ("", {}, "character 1: expected ->"),
    ("a b c d", {}, "character 8: expected ->"),
    ("a -> b -> c", {}, "character 8: expected one ->"),
    ("a b c d -> (a b c d", {}, "not closed"),
    ("a b c d) -> a b c d", {}, "character 8: closes no parenthesis"),
    ("a ((b c) d) e f -> a", {}, "character 4: parentheses do not nest"),
    ("a a c d -> a c d", {}, "character 3: a stands twice"),
    ("a b c d -> a b c d a", {}, "a stands twice"),
    ("... b ... -> b ...", {}, "stands twice"),
    ("a b c d ... -> a b c d", {}, "on one side only"),
    ("a (b ...) -> a b ...", {}, "character 6: ... stands outside of parentheses"),
    ("a b c 2d -> a", {}, "character 7: a name does not begin with a digit"),
    ("a b c é -> a", {}, "character 7: 'é' is no axis"),
    ("a 10 c d -> a", {}, "character 3: an axis of 10 elements needs a name"),
    ("a 1b c d -> a", {}, "character 3: a name does not begin with a digit"),
    ("a b c -> a b c", {}, "character 5: the left side has 3 dims, the array has 4"),
    ("a b c d e -> a b c d e", {}, "the left side has 5 dims, the array has 4"),
    ("a b c d e ... -> a b c d e ...", {}, "the array has 4"),
    ("a (b e) c d -> a b e c d", {}, "b and e in dim 1 of 6 are not given"),
    ("a (b e) c d -> a b e c d", {"b": 4}, "dim 1 has 6 elements, (b e) makes 4 times e"),
    ("a (b e) c d -> a b e c d", {"b": 2, "e": 2}, "dim 1 has 6 elements, (b e) makes 4"),
    ("a b c d -> a b c d", {"b": 5}, "dim 1 has 6 elements"),
    ("a b c d -> a b c", {}, "character 7: d is lost"),
    ("a b c d -> a b c d e", {}, "e is new on the right; give its size"),
    ("a b c d -> a b c d", {"e": 2}, "there is no axis e"),
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


def test_what_is_no_array_or_pattern():
    with pytest.raises(TypeError):
        infini.rearrange(3, "a -> a")
    with pytest.raises(TypeError, match="pattern is a builtins.bytes; expected a string"):
        infini.rearrange(X, b"a b c d -> d c b a")
    with pytest.raises(ValueError, match="half a character"):
        infini.rearrange(X, "a \ud800 -> a")
    with pytest.raises(TypeError):
        infini.rearrange(X)
    with pytest.raises(TypeError):
        infini.rearrange(X, "a b c d -> d c b a", 3)


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


def test_lists_of_arrays():
    arrays = [X, X[::-1] + 1, np.asfortranarray(X) + 2]
    stacked = np.stack(arrays)
    for pattern, sizes in (("i a b c d -> i a b c d", {}), ("i a b c d -> a b c (i d)", {}), ("i ... -> ... i", {}), ("(i j) a ... -> j (a i) ...", {"j": 3}),
                           ("i a b c d -> (r i) a b (c d)", {"r": 2})):
        expected = infini.rearrange(stacked, pattern, **sizes)
        assert np.array_equal(infini.rearrange(arrays, pattern, **sizes), expected)
        out = np.zeros(expected.shape[::-1], "i4").T
        assert infini.rearrange(tuple(arrays), pattern, out=out, **sizes) is out and np.array_equal(out, expected)
        own = infini.rearrange([infini.Tensor.from_array(x) for x in arrays], pattern, **sizes)
        assert isinstance(own, infini.Tensor) and np.array_equal(own.numpy(), expected)
    for wrong, error in (([], ValueError), ([X, X[0]], ValueError), ([X, X.astype("f4")], TypeError), ([X, 3], TypeError)):
        with pytest.raises(error):
            infini.rearrange(wrong, "i ... -> ... i")


def test_repeat_and_numbers():
    x = np.arange(6).reshape(2, 3)
    assert np.array_equal(infini.repeat(x, "a b -> a (b 2)"), np.repeat(x, 2, 1))
    assert np.array_equal(infini.repeat(x, "a b -> r a b", r=3), np.stack([x] * 3))


def test_parse_shape():
    assert infini.parse_shape(X, "b _ h w") == {"b": 2, "h": 4, "w": 5}
    assert infini.parse_shape(X, "b ... w") == {"b": 2, "w": 5}
    assert infini.parse_shape(X, "_ ... _") == {}
    assert infini.parse_shape(X, "2 c 4 w") == {"c": 6, "w": 5}
    assert infini.parse_shape(type("Fake", (), {"shape": (2, 3)}), "a b") == {"a": 2, "b": 3}
    assert infini.rearrange(X.reshape(2, 6, 20), "b c (h w) -> b c h w", **infini.parse_shape(X, "_ _ h w")).shape == X.shape
    for wrong in ("a b c", "a b (c d)", "a b c d e", "a b -> a b", "3 a b c"):
        with pytest.raises(ValueError):
            infini.parse_shape(X, wrong)


def test_pack_and_unpack():
    rng = np.random.default_rng(3)
    arrays = [rng.integers(0, 99, shape) for shape in ((2, 3, 4, 5), (2, 5), (2, 7, 5), (2, 0, 5))]
    for xs in (arrays, [x[::-1] for x in arrays], [infini.Tensor.from_array(x) for x in arrays]):
        packed, shapes = infini.pack(xs, pattern="b * c")
        assert shapes == [(3, 4), (), (7,), (0,)]
        expected = np.concatenate([np.asarray(x).reshape(2, -1, 5) for x in xs], 1)
        assert np.array_equal(np.asarray(packed), expected) and packed.shape == (2, 20, 5)
        for part, x in zip(infini.unpack(packed, shapes, "b * c"), xs):
            assert np.array_equal(np.asarray(part), np.asarray(x))
    packed, shapes = infini.pack([np.float32(1), np.ones((2, 2), "f4")], "*")
    assert packed.tolist() == [1.0] * 5 and shapes == [(), (2, 2)]
    a, b = infini.unpack(np.arange(10), [(2,), (-1, 2)], "*")
    assert a.tolist() == [0, 1] and b.tolist() == [[2, 3], [4, 5], [6, 7], [8, 9]]
    for call in (lambda: infini.pack(arrays, "b c"), lambda: infini.pack(arrays, "b * *"), lambda: infini.pack(arrays, "b * b"), lambda: infini.pack([], "*"),
                 lambda: infini.pack(arrays, "b x * c"), lambda: infini.pack([arrays[0], arrays[0][:1]], "b *"), lambda: infini.pack(arrays, "b * 2"),
                 lambda: infini.unpack(np.arange(10), [(2,), (3,)], "*"), lambda: infini.unpack(np.arange(10), [(-1,), (-1,)], "*"),
                 lambda: infini.unpack(np.arange(10), [(-1, 3)], "*"), lambda: infini.unpack(np.arange(10), [(2,)], "a *")):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("words,letters,a,b", [
    ("i k, k j -> i j", "ik,kj->ij", (3, 4), (4, 5)),
    ("b i k, b k j -> b j i", "bik,bkj->bji", (2, 3, 4), (2, 4, 5)),
    ("h i k l, l k j -> i h j", "hikl,lkj->ihj", (2, 3, 4, 2), (2, 4, 5)),
    ("time in, in out -> out time", "ti,io->ot", (3, 4), (4, 5)),
    ("i, j -> i j", "i,j->ij", (3,), (4,)),
    ("i, i ->", "i,i->", (3,), (3,)),
])
def test_einsum(words, letters, a, b):
    x, y = np.arange(np.prod(a), dtype="f4").reshape(a), np.arange(np.prod(b), dtype="f4").reshape(b)
    expected = np.einsum(letters, x, y)
    assert np.array_equal(infini.einsum(x, y, words), expected)
    assert np.array_equal(infini.einsum(letters, x, y), expected)
    out = np.zeros(expected.shape[::-1], "f4").T
    assert infini.einsum(x, y, words, out=out) is out and np.array_equal(out, expected)
    own = infini.einsum(infini.Tensor.from_array(x), y, words)
    assert isinstance(own, infini.Tensor) and np.array_equal(own.numpy(), expected)


def test_einsum_refuses():
    x = np.zeros((3, 4), "f4")
    for pattern, message in (("i k, k j -> j", "character 1: i is in one tensor alone"), ("i k, j k", "expected ->"), ("i k, k j -> i j", "k is 4 in a and 3 in b"),
                             ("i k l, k j -> i j l", "3 axes for a")):
        with pytest.raises(ValueError, match=message):
            infini.einsum(x, x, pattern)
    with pytest.raises(TypeError, match="pattern is a builtins.int"):
        infini.einsum(x, x, 3)
    with pytest.raises(ValueError):
        infini.einsum(x, x.T, "i k, k j -> i j", out=np.zeros((2, 2), "f4"))
    with pytest.raises(TypeError):
        infini.einsum(x.astype("i4"), x.astype("i4").T, "i k, k j -> i j")
