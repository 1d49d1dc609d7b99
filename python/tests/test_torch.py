"""PyTorch tensors on the CPU; test_cuda.py has those on a GPU."""
import gc
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
