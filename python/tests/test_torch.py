"""PyTorch tensors on the CPU; test_cuda.py has those on a GPU."""
import gc
import warnings
import weakref

import numpy as np
import pytest

import infini

torch = pytest.importorskip("torch")

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.uint8, torch.int64, torch.bool, torch.complex64,
          torch.complex128]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_copies(dtype):
    x = torch.arange(120).reshape(2, 3, 4, 5).to(dtype)
    for view in (x.permute(3, 1, 0, 2), x[:, ::2], x[0, 0].T, x.expand(2, 2, 3, 4, 5), x[:, :, 1:3].transpose(1, 2)):
        y = infini.contiguous(view)
        assert type(y) is torch.Tensor and y.dtype == dtype and y.is_contiguous() and torch.equal(y, view)
        z = torch.zeros(view.shape[::-1], dtype=dtype).permute(*reversed(range(view.ndim)))
        assert infini.copy(z, view) is z and torch.equal(z, view)
    assert infini.contiguous(x) is x
    assert torch.equal(infini.permute(x, 3, 0, 2, 1), x.permute(3, 0, 2, 1))
    assert torch.equal(infini.transpose(x), x.transpose(-1, -2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_products(dtype):
    a, b = (torch.randint(-3, 4, shape).to(dtype) for shape in ((4, 5, 6), (6, 7)))
    c = infini.matmul(a, b)
    assert c.dtype == dtype and torch.equal(c, a @ b)
    out = torch.ones(7, 5, 4, dtype=dtype).permute(2, 1, 0)
    infini.matmul(a, b, out, alpha=2, beta=-1)
    assert torch.equal(out, 2 * (a @ b) - 1)


def test_between_frameworks():
    x = np.arange(6, dtype="f4").reshape(2, 3)
    t = torch.zeros(3, 2)
    assert torch.equal(infini.copy(t, x.T), torch.from_numpy(x.T.copy()))
    assert np.array_equal(infini.copy(np.zeros((2, 3), "f4"), t.T), x)
    assert isinstance(infini.matmul(t, x), torch.Tensor) and isinstance(infini.matmul(x, t), np.ndarray)
    own = infini.Tensor.from_array(t.to(torch.bfloat16))
    assert own.dtype == "bf16" and torch.equal(torch.from_dlpack(own.T), t.T.to(torch.bfloat16))


def test_storage_offsets_and_float8():
    x = torch.arange(24.0)[3:].view(3, 7)[:, 1:]
    assert torch.equal(infini.contiguous(x.T), x.T)
    small = torch.arange(12.0).to(torch.float8_e4m3fn).reshape(3, 4)
    assert torch.equal(infini.contiguous(small.T).float(), small.T.float())


def test_gradients():
    x = torch.ones(2, 3, requires_grad=True)
    for call in (lambda: infini.contiguous(x.T), lambda: infini.matmul(x, x.T), lambda: infini.copy(torch.zeros(3, 2), x.T),
                 lambda: infini.Tensor.from_array(x)):
        with pytest.raises(ValueError, match="requires a gradient"):
            call()
        with torch.no_grad():
            call()
    assert torch.equal(infini.contiguous(x.detach().T), torch.ones(3, 2))
    assert torch.equal(infini.contiguous(torch.nn.Parameter(torch.ones(2, 3), requires_grad=False).T), torch.ones(3, 2))


def test_what_does_not_lie_in_memory_as_it_reads():
    z = torch.complex(torch.arange(6.0), torch.arange(6.0) + 1).reshape(2, 3)
    for lazy in (z.conj().T, z.conj().imag.T, torch._neg_view(z).T):
        with pytest.raises(ValueError, match="resolve_conj"):
            infini.contiguous(lazy)
    resolved = z.conj().resolve_conj().T
    assert torch.equal(infini.contiguous(resolved), resolved)
    with pytest.raises(Exception):
        infini.contiguous(torch.eye(3).to_sparse())


def test_lifetimes():
    x = torch.ones(4, 5)
    dead = weakref.ref(x)
    t = infini.Tensor.from_array(x)
    with infini.record() as graph:
        y = infini.contiguous(x.T)
    del x
    gc.collect()
    graph.run()
    assert torch.equal(y, torch.ones(5, 4)) and t.numpy().all()
    back = torch.from_dlpack(infini.Tensor.ones((2, 3)).T)
    gc.collect()
    assert torch.equal(back, torch.ones(3, 2))
    del t, graph
    gc.collect()
    assert dead() is None or dead().numel() == 20  # PyTorch may keep the object for its own views


def refill(count=64):
    """Takes freed memory of these sizes, so that a reader of it would see other elements."""
    return [torch.full((n,), -7.0) for n in (12, 20, 1000) for _ in range(count)]


def test_memory_outlives_what_is_done_to_the_tensor():
    x = torch.arange(20.0)
    t = infini.Tensor.from_array(x)
    x.data = torch.zeros(1)
    used = refill()
    assert np.array_equal(t.numpy(), np.arange(20)) and np.array_equal(infini.contiguous(t[::-1]).numpy(), np.arange(20)[::-1])
    x, y = torch.arange(20.0), torch.zeros(20)
    with infini.record() as graph:
        infini.copy(y, x)
    x.data = torch.zeros(1)
    used += refill()
    graph.run()
    assert torch.equal(y, torch.arange(20.0)) and used


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.bool], ids=str)
def test_a_kept_storage_is_not_resized(dtype):
    for use in (infini.Tensor.from_array, recorded):
        if use is infini.Tensor.from_array and dtype == torch.float8_e4m3fn:
            continue  # no tensor of ours
        x = torch.arange(20).to(torch.float32).to(dtype)
        held = use(x)
        for resize in (lambda: x.resize_(100000), lambda: x.untyped_storage().resize_(0)):
            with pytest.raises(RuntimeError, match="not resizable"):
                resize()
        assert held is not None


def recorded(x):
    with infini.record() as graph:
        infini.copy(torch.zeros(x.shape, dtype=x.dtype), x)
    return graph


def test_memory_that_pytorch_moves_is_not_read():
    x = torch.arange(20.0)
    t, graph = infini.Tensor.from_array(x), recorded(x)
    x.share_memory_()  # frees the old memory
    for use in (lambda: t.numpy(), lambda: np.asarray(t), lambda: str(t), lambda: t.item(), lambda: infini.contiguous(t[::2]), lambda: t[:2].to("cpu").numpy(),
                lambda: t[::-1].contiguous(), lambda: t.copy_(np.ones(20, "f4")), lambda: memoryview(t), lambda: t.__dlpack__(), graph.run,
                lambda: t[::-1].view(4, 5), lambda: infini.Tensor.from_array(t).numpy()):
        with pytest.raises((ValueError, BufferError), match="PyTorch has moved|elements"):
            use()
    assert t.shape == (20,) and "f32" in repr(t)  # the description is still there
    other = infini.Tensor.from_array(torch.ones(20))
    graph.rebind(t, other)
    graph.run()


class Derived(torch.Tensor):
    pass


class NoTable(torch.Tensor):
    """As PyTorch was before it had DLPack's table of functions."""

    __dlpack_c_exchange_api__ = None


@pytest.mark.parametrize("kind", [Derived, NoTable])
def test_subclasses_are_tensors(kind):
    x = torch.arange(6.0).reshape(2, 3)
    y = infini.contiguous(x.as_subclass(kind).T)
    assert type(y) is torch.Tensor and torch.equal(y, x.T)
    assert torch.equal(infini.copy(x.as_subclass(kind), x + 1), x)
    z = torch.complex(x, x).as_subclass(kind)
    for lazy in (z.conj().T, torch._neg_view(z).T):
        with pytest.raises((ValueError, BufferError)):
            infini.contiguous(lazy)
    wanted = x.clone().requires_grad_().as_subclass(kind)
    with pytest.raises(ValueError, match="requires a gradient"):
        infini.contiguous(wanted.T)
    with torch.no_grad():
        assert torch.equal(infini.contiguous(wanted.T), x.T)


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError


def test_tensors_without_memory():
    x = torch.arange(6.0).reshape(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        masked = torch.masked.masked_tensor(x, x > 2)
    for empty in (Wrapper(x), masked):
        with pytest.raises(TypeError, match="computes its elements"):
            infini.contiguous(empty)
    with pytest.raises(ValueError, match="no memory"):
        infini.copy(torch.ones(2, 3), torch._efficientzerotensor(2, 3))
    with pytest.raises(Exception):
        infini.contiguous(torch.ones(2, 3, device="meta").T)


def test_a_backward_pass_knows_of_writes():
    writes = {
        "copy": lambda x: infini.copy(x, torch.zeros(2, 2)),
        "matmul": lambda x: infini.matmul(torch.ones(2, 2), torch.ones(2, 2), x),
        "matmul of views": lambda x: infini.matmul(torch.ones(2, 2), torch.ones(2, 2), x.T, alpha=2),
        "copy_": lambda x: infini.Tensor.from_array(x).copy_(torch.zeros(2, 2)),
        "a view's item": lambda x: infini.Tensor.from_array(x).T[0].__setitem__(slice(None), np.zeros(2, "f4")),
        "words": lambda x: infini.copy(infini.Tensor.from_array(x), np.zeros((2, 2), "f4")),
        "a graph": lambda x: run_recorded(x),
        "a graph on a tensor": lambda x: run_recorded(infini.Tensor.from_array(x)),
        "a graph that got it later": lambda x: run_rebound(x),
    }
    for name, write in writes.items():
        x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
        loss = (x * w).sum()
        before = x._version
        write(x)
        assert x._version > before, name
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_versions_where_pytorch_has_no_function_for_them():
    from infini import _versions
    scalar, empty, other = torch.tensor(1.0), torch.zeros(0), torch.ones(2, 3).T
    with torch.inference_mode():
        inference = torch.zeros(2)
    view = other[1:]
    _versions.increment((scalar, empty, view, inference))
    assert scalar._version == empty._version == view._version == other._version == 1
    assert other.sum() == 6 and scalar == 1


def run_recorded(x):
    before = infini.Tensor.from_array(x)  # so that the recording itself is seen to write nothing
    assert before.shape == (2, 2)
    with infini.record() as graph:
        infini.copy(x, np.zeros((2, 2), "f4"))
    graph.run()


def run_rebound(x):
    first = infini.Tensor.zeros((2, 2))
    with infini.record() as graph:
        infini.copy(first, np.ones((2, 2), "f4"))
    graph.rebind(first, infini.Tensor.from_array(x))
    graph.run()
    assert x.sum() == 4


def test_reading_and_recording_raise_no_version():
    x, y = torch.ones(2, 2), torch.zeros(2, 2)
    t = infini.Tensor.from_array(x)
    infini.copy(np.zeros((2, 2), "f4"), t)
    infini.matmul(x, t)
    with infini.record() as graph:
        infini.copy(y, x)
    assert x._version == y._version == 0
    graph.run()
    graph.run()
    assert x._version == 0 and y._version == 2
    with torch.inference_mode():
        inference = torch.zeros(2, 2)
    infini.copy(inference, x)  # has no version
    assert inference.sum() == 4
