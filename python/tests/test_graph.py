"""Recorded graphs."""
import gc

import numpy as np
import pytest

import infini
from infini import Tensor


def test_record_and_replay_on_others_arrays():
    x, y, z = np.arange(6, dtype="f4").reshape(2, 3), np.zeros((3, 2), "f4"), np.zeros((2, 2), "f4")
    with infini.record() as graph:
        infini.copy(y, x.T)
        infini.matmul(x, y, z)
    assert not y.any() and not z.any() and len(graph) == 2
    for factor in (1, 2):
        x *= factor
        graph.run()
        assert np.array_equal(y, x.T) and np.array_equal(z, x @ x.T)
    assert "gemm" in graph.describe()


def test_tensors_and_rebind():
    a, b = Tensor.from_array(np.ones((4, 8), "f4")), Tensor.from_array(np.ones((8, 2), "f4"))
    with infini.record() as graph:
        c = a @ b
    graph.run()
    assert np.array_equal(c.numpy(), np.full((4, 2), 8))
    other = Tensor.from_array(np.full((4, 8), 2, "f4"))
    graph.rebind(a, other)
    graph.run()
    assert np.array_equal(c.numpy(), np.full((4, 2), 16))


def test_a_graph_keeps_its_arrays():
    x = np.ones((64, 64), "f4")
    with infini.record() as graph:
        y = infini.contiguous(x.T[::2])
    del x
    gc.collect()
    np.full((64, 64), 9, "f4")  # would take the memory if it were free
    graph.run()
    assert np.array_equal(y, np.ones((32, 64)))


def test_an_exception_ends_the_recording():
    x = np.zeros(3, "f4")
    with pytest.raises(KeyError):
        with infini.record() as graph:
            infini.copy(x, np.ones(3, "f4"))
            raise KeyError
    with pytest.raises(ValueError):
        graph.run()
    infini.copy(x, np.ones(3, "f4"))  # runs at once again
    assert x.all()


def test_misuse():
    recording = infini.record()
    with recording as graph:
        with pytest.raises(infini.Error):
            graph.run()
        with pytest.raises(infini.Error):
            with infini.record():
                pass
        with pytest.raises(ValueError):
            infini.copy(np.zeros(2), np.zeros(3))
    assert len(graph) == 0
    graph.run()
    with pytest.raises(ValueError):
        recording.__enter__()
    with pytest.raises(ValueError):
        recording.__exit__(None, None, None)


def read_only_arrays(tmp_path):
    x = np.zeros((2, 3), "f4")
    x.flags.writeable = False
    yield x
    np.save(tmp_path / "x.npy", np.zeros((2, 3), "f4"))
    yield np.load(tmp_path / "x.npy", mmap_mode="r")
    yield memoryview(bytes(24)).cast("f", (2, 3))
    yield np.broadcast_to(np.zeros((2, 3), "f4"), (2, 3))
    try:
        import jax
    except ImportError:
        return
    yield jax.numpy.zeros((2, 3), "float32")


def test_rebind_does_not_write_to_what_is_read_only(tmp_path):
    for frozen in read_only_arrays(tmp_path):
        a, b, c = (Tensor.from_array(np.full((2, 3), n, "f4")) for n in range(3))
        with infini.record() as graph:
            infini.copy(b, a)
            infini.copy(c[0], b[1])
        to = Tensor.from_array(frozen)
        for written in (b, c):
            with pytest.raises(ValueError, match="to is read-only"):
                graph.rebind(written, to)
        graph.run()  # nothing has changed
        assert not np.asarray(frozen).any() and not b.numpy().any() and not c.numpy()[0].any() and c.numpy()[1].all()
        b.copy_(np.ones((2, 3), "f4"))
        graph.rebind(a, to)  # reading is fine
        graph.run()
        assert not b.numpy().any()


def test_text():
    with infini.record() as graph:
        assert repr(graph) == "<infini.Graph without a finished recording>" and graph
        infini.copy(np.zeros(2), np.zeros(2))
    assert repr(graph) == "<infini.Graph of 1 operator>" and graph
    graph.run()


def test_a_recording_that_is_thrown_away_ends():
    x = np.zeros(3, "f4")
    recording = infini.record()
    recording.__enter__()
    del recording
    gc.collect()
    infini.copy(x, np.ones(3, "f4"))
    assert x.all()
    with infini.record() as graph:
        infini.copy(x, np.zeros(3, "f4"))
    graph.run()
    assert not x.any()
