"""copy_pages: pages that ids name."""
import numpy as np
import pytest

import infini


def cache(blocks=7, *page, dtype=np.float16):
    rng = np.random.default_rng(blocks)
    return rng.integers(-1000, 1000, (blocks, *page)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.complex128])
@pytest.mark.parametrize("ids", [np.int32, np.int64])
def test_gathers_and_scatters(dtype, ids):
    src, dst = cache(9, 4, 3, dtype=dtype), cache(6, 4, 3, dtype=dtype)
    to, of = np.array([5, 0, 2], ids), np.array([8, 8, 1], ids)
    wanted = dst.copy()
    wanted[to] = src[of]
    assert infini.copy_pages(dst, to, src, of) is dst
    np.testing.assert_array_equal(dst, wanted)


def test_ids_may_be_left_out():
    src, dst = cache(9, 5), np.zeros((4, 5), np.float16)
    infini.copy_pages(dst, None, src, np.array([3, 1, 4, 1]))
    np.testing.assert_array_equal(dst, src[[3, 1, 4, 1]])
    infini.copy_pages(dst, np.array([3, 2, 1, 0]), src)
    np.testing.assert_array_equal(dst, src[:4][::-1])


def test_a_pattern_orders_a_page():
    src, dst = cache(5, 16, 4, 8), np.zeros((3, 4, 16, 8), np.float16)
    infini.copy_pages(dst, None, src, np.array([4, 0, 2]), "token heads dim -> heads token dim")
    np.testing.assert_array_equal(dst, src[[4, 0, 2]].transpose(0, 2, 1, 3))


def test_tokens_go_to_slots_of_any_strides():
    blocks = np.zeros((6, 4, 16, 8), np.float32)  # block heads token dim
    slots = blocks.transpose(0, 2, 1, 3)  # one block at a time: a view of its tokens
    tokens = cache(16, 4, 8, dtype=np.float32)
    infini.copy_pages(slots[3], np.arange(16, dtype=np.int32)[::-1].copy(), tokens)
    np.testing.assert_array_equal(blocks[3].transpose(1, 0, 2), tokens[::-1])


@pytest.mark.parametrize("bad", [-1, 6, 2**31 - 1])
def test_bad_ids_move_nothing(bad):
    src, dst = cache(9, 5), cache(6, 5)
    before = dst.copy()
    with pytest.raises(infini.InvalidValue, match=r"dst_ids\[1\] is"):
        infini.copy_pages(dst, np.array([0, bad]), src, np.array([1, 2]))
    np.testing.assert_array_equal(dst, before)


def test_mistakes_are_named():
    src, dst = cache(9, 5), cache(6, 5)
    with pytest.raises(TypeError, match="i32 or i64"):
        infini.copy_pages(dst, np.array([0.0]), src)
    with pytest.raises(ValueError, match="2 ids"):
        infini.copy_pages(dst, np.array([0, 1]), src, np.array([1]))
    with pytest.raises(ValueError):
        infini.copy_pages(dst, None, cache(9, 4))
    dst.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        infini.copy_pages(dst, None, src)


def test_on_torch():
    torch = pytest.importorskip("torch")
    src, dst = torch.arange(60.0).reshape(6, 10), torch.zeros(4, 10)
    infini.copy_pages(dst, torch.tensor([2, 0]), src, torch.tensor([5, 1]))
    assert torch.equal(dst[[2, 0]], src[[5, 1]])
    assert dst[1].sum() == 0


def test_is_recorded():
    src, dst, ids = cache(9, 5), np.zeros((3, 5), np.float16), np.array([1, 2, 3])
    with infini.record() as graph:
        infini.copy_pages(dst, None, src, ids)
    assert not dst.any()
    graph.run()
    np.testing.assert_array_equal(dst, src[1:4])
    ids[:] = 0
    graph.run()
    np.testing.assert_array_equal(dst, src[[0, 0, 0]])
