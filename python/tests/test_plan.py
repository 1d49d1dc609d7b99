"""plan and explain: what a copy would do, without doing it."""
import infini
import numpy as np
import pytest


def heads():
    """The worked example of docs/plans.md."""
    return np.empty((2, 4, 64, 32), np.float16), np.zeros((2, 64, 4, 32), np.float16).transpose(0, 2, 1, 3)


def test_data():
    plan = infini.plan(*heads())
    assert plan.loops == ((2, 16384, 16384), (4, 4096, 64), (64, 64, 256))
    assert plan.loops[1].dst_step == 4096 and plan.atom_bytes == 64
    assert (plan.dst_offset, plan.src_offset) == (0, 0)
    assert plan.bytes_written == plan.bytes_read == 2 * 4 * 64 * 32 * 2
    assert plan.candidate and plan.candidate in infini.explain(*heads())


def test_words():
    plan = infini.plan(*heads())
    text = str(plan)
    assert "for 4: dst += 4096, src += 64" in text and "copy 64 bytes" in text
    assert "writes 32768 bytes, reads 32768" in text
    assert f"candidate {plan.candidate} on " in text and plan.schedule in text


def test_broadcast_and_flip():
    plan = infini.plan(np.empty((3, 5), np.float32), np.zeros(5, np.float32)[::-1])
    assert (plan.bytes_written, plan.bytes_read) == (60, 20)
    assert plan.src_offset == 0 and plan.loops == ((3, 20, 0), (5, 4, -4))


def test_nothing_to_move():
    plan = infini.plan(np.empty((0, 3)), np.empty((0, 3)))
    assert (plan.atom_bytes, plan.loops, plan.candidate, plan.schedule) == (0, (), "", "")
    assert "plan" in str(plan)


def test_nothing_is_written():
    dst, src = np.zeros((4, 6), np.int32), np.ones((6, 4), np.int32)
    infini.plan(dst, src.T)
    assert not dst.any()


def test_errors():
    with pytest.raises(TypeError, match="dst is f32, src is i32"):
        infini.plan(np.empty(3, np.float32), np.empty(3, np.int32))
    with pytest.raises(ValueError):
        infini.plan(np.empty((2, 3)), np.empty((2, 4)))
    with pytest.raises(TypeError, match="dst"):
        infini.plan(None, np.empty(3))
