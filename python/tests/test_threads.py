"""Many threads at once on the same functions; on a free-threaded Python without a GIL."""
import sys
import sysconfig
import threading

import numpy as np
import pytest

import infini


def at_once(work, threads=8):
    """Runs work(i) in threads that start together; raises what one of them raised."""
    barrier, failed = threading.Barrier(threads), []

    def run(i):
        try:
            barrier.wait()
            work(i)
        except BaseException as error:
            failed.append(error)

    running = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    [t.start() for t in running]
    [t.join() for t in running]
    if failed:
        raise failed[0]


def test_importing_infini_does_not_bring_the_gil_back():
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this Python has a GIL")
    assert not sys._is_gil_enabled()


def test_functions_on_shared_inputs():
    rng = np.random.default_rng(5)
    arrays = [rng.standard_normal((n, m, 6)).astype(t) for n, m in ((2, 3), (5, 7), (40, 33)) for t in ("f4", "f8", "f2")]

    def work(i):
        for k in range(60):
            x = arrays[(i + k) % len(arrays)]
            assert np.array_equal(infini.contiguous(x.T), x.T)
            assert np.array_equal(infini.rearrange(x, "a b c -> c (a b)"), x.transpose(2, 0, 1).reshape(6, -1))
            assert np.array_equal(infini.copy(np.empty(x.shape[1:], x.dtype), x[-1, ::-1]), x[-1, ::-1])
            if x.dtype != "f2":
                assert np.allclose(infini.matmul(x, x[0].T), x @ x[0].T, atol=1e-4)
            infini.convert(x, "float32")

    at_once(work)


def test_types_that_nobody_has_seen():
    def work(i):
        for k in range(30):
            kind = type(f"Own{i}_{k}", (np.ndarray,), {})
            x = np.arange(6.0).reshape(2, 3).view(kind)
            assert np.array_equal(infini.permute(x, 1, 0), np.arange(6.0).reshape(2, 3).T)

    at_once(work)


def test_dtypes_that_nobody_has_seen():
    def work(i):
        for k in range(20):
            dtype = np.dtype("f4", metadata={"i": i, "k": k})
            assert infini.contiguous(np.ones((2, 3), dtype).T).tolist() == [[1, 1]] * 3

    at_once(work)


def test_tensors_and_graphs_of_each_thread():
    def work(i):
        x, y = np.full((4, 5), float(i)), np.zeros((5, 4))
        with infini.record() as graph:
            infini.copy(y, x.T)
        for k in range(40):
            x[...] = i + k
            graph.run()
            assert (y == i + k).all()
            t = infini.Tensor.from_array(x)
            assert t.T.contiguous().tolist() == x.T.tolist()

    at_once(work)


def test_results_pass_between_threads():
    made = [None] * 8

    def make(i):
        made[i] = infini.contiguous(np.arange(1 << 20, dtype="f4").reshape(1024, 1024).T)  # of the library's pool

    at_once(make)
    at_once(lambda i: (made[(i + 1) % 8][3, 4] == 4 * 1024 + 3) or pytest.fail("wrong"))
    at_once(lambda i: made.__setitem__(i, None))
