"""What nobody should do: ends at bad moments, threads in each other's way, arrays that call back."""
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import infini
from infini import Tensor

X = np.arange(6, dtype="f4").reshape(2, 3)


def run(code):
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)


ENDS = {
    "with arrays that outlive everything": """
        import builtins, numpy, infini
        x = numpy.ones((64, 64), "f4")
        t = infini.Tensor.from_array(x)
        with infini.record() as graph:
            infini.contiguous(x.T)
        builtins.kept = t, graph, t.numpy(), t.__dlpack__(), memoryview(t)
        """,
    "in the middle of a recording": """
        import numpy, infini
        recording = infini.record()
        recording.__enter__()
        infini.copy(numpy.zeros(3), numpy.ones(3))
        """,
    "with threads at work": """
        import numpy, infini, threading, time
        x = numpy.ones((2000, 2000), "f4")
        def work():
            while True:
                infini.contiguous(x.T)
                infini.Tensor.from_array(x[:10]).T.contiguous()
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.3)
        """,
    "after threads that ended in the middle of a recording": """
        import numpy, infini, threading
        recordings = []
        def work():
            recordings.append(infini.record())
            recordings[-1].__enter__()
            infini.copy(numpy.zeros(3), numpy.ones(3))
        for _ in range(20):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        try:
            recordings[0].__exit__(None, None, None)
        except ValueError as error:
            assert "another thread" in str(error)
        recordings.clear()
        x = numpy.zeros(3)
        assert infini.copy(x, numpy.ones(3)).all()
        """,
}


@pytest.mark.parametrize("code", ENDS.values(), ids=list(ENDS))
def test_the_process_ends_well(code):
    run(code)


def test_a_graph_is_rebound_while_others_run_it():
    tensors = [Tensor.full((50, 40), n) for n in range(4)]
    out, done = Tensor.zeros((40, 50)), threading.Event()
    with infini.record() as graph:
        infini.copy(out, tensors[0].T)

    def replay():
        while not done.is_set():
            graph.run()
            graph.describe()

    threads = [threading.Thread(target=replay) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(1001):
        graph.rebind(tensors[i % 4], tensors[(i + 1) % 4])
    done.set()
    for thread in threads:
        thread.join()
    graph.run()
    assert (out.numpy() == 1).all()


class Calling:
    """A producer that does something while it is asked for its memory."""

    def __init__(self, act):
        self.act = act

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **_):
        self.act()
        return np.ones((3, 4)).__dlpack__()


def test_producers_that_call_back():
    def record_and_run():
        with infini.record() as graph:
            infini.contiguous(np.ones((3, 4)).T)
        graph.run()

    assert infini.copy(np.zeros((3, 4)), Calling(record_and_run)).all()
    with infini.record():
        with pytest.raises(infini.Error, match="recording already"):
            infini.copy(np.zeros((3, 4)), Calling(record_and_run))
    recording = infini.record()
    recording.__enter__()
    assert infini.copy(np.zeros((3, 4)), Calling(lambda: recording.__exit__(None, None, None))).all()


class Dying(np.ndarray):
    def __del__(self):
        infini.contiguous(np.ones((3, 4)).T)
        Tensor.ones(3).tolist()


def test_arrays_that_work_while_they_die():
    for _ in range(20):
        t = Tensor.from_array(np.ones((20, 30)).view(Dying))
        t = t.T.contiguous()
        with infini.record() as graph:
            infini.contiguous(np.ones((20, 30)).view(Dying).T)
        graph.run()
        del graph


class Index:
    def __index__(self):
        raise KeyError("no")


def test_numbers_that_are_none():
    t = Tensor.from_array(X)
    assert Tensor.empty(np.array([2, 3])).shape == (2, 3) and Tensor.empty(np.array(3)).shape == (3,)
    for key in (True, (0, False), np.True_, [0], 1.5):
        with pytest.raises(TypeError):
            t[key]
    for key in (2**63, -(2**70)):
        with pytest.raises(IndexError):
            t[key]
    with pytest.raises(KeyError):
        t[Index()]
    for shape in ((2**32, 2**32, -1), (3, 6148914691236517206, -1), (-1, 0)):
        with pytest.raises(ValueError):
            t.view(shape)
    for device in ("\ud800", "cpu\0", b"cpu", 0):
        with pytest.raises((TypeError, ValueError)):
            Tensor.empty(1, device=device)
    for place in (None, (), (1,), ("a", "b"), (1.5, 0), (2**40, 0), "ab", 3):
        with pytest.raises((TypeError, IndexError)):
            infini.contiguous(type("Lost", (Calling,), {"__dlpack_device__": lambda self: place})(lambda: None))
    for pattern in (None, 3, b"a b -> b a", ["a"]):
        with pytest.raises(TypeError):
            infini.rearrange(X, pattern)
    assert infini.rearrange(b"abcd", "(a b) -> b a", a=2).tolist() == [[97, 99], [98, 100]]
    assert not (t == np.array(["a", "b", "c"])).numpy().any()


def test_exceptions_travel():
    for wrong in (lambda: Tensor.ones(3).view(7), lambda: infini.contiguous(3)):
        with pytest.raises(infini.Error) as caught:
            wrong()
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is type(caught.value) and again.args == caught.value.args and again.status == caught.value.status
