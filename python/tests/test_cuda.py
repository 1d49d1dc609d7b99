"""Arrays on an NVIDIA GPU: PyTorch, CuPy, JAX and tensors of our own. Skipped where there is none."""
import gc

import numpy as np
import pytest

import infini

if "nvidia:0" not in infini.devices():
    pytest.skip("no NVIDIA GPU", allow_module_level=True)


def framework(name):
    """The module, or None where it is missing or sees no GPU."""
    try:
        if name == "torch":
            import torch

            return torch if torch.cuda.is_available() else None
        if name == "cupy":
            import cupy

            return cupy if cupy.cuda.runtime.getDeviceCount() > 0 else None
        import jax

        return jax if jax.default_backend() == "gpu" else None
    except Exception:
        return None


torch, cupy, jax = framework("torch"), framework("cupy"), framework("jax")
needs_torch = pytest.mark.skipif(torch is None, reason="no PyTorch with a GPU")
needs_cupy = pytest.mark.skipif(cupy is None, reason="no CuPy with a GPU")
needs_jax = pytest.mark.skipif(jax is None, reason="no JAX with a GPU")
X = np.arange(120, dtype="f4").reshape(2, 3, 4, 5)


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "uint8", "int64", "bool", "complex64", "float8_e4m3fn"])
def test_torch_copies(dtype):
    x = torch.arange(120, device="cuda").reshape(2, 3, 4, 5).to(torch.float32).to(getattr(torch, dtype))
    raw = lambda t: t.view(torch.uint8) if dtype.startswith("float8") else t
    for view in (x.permute(3, 1, 0, 2), x[:, ::2], x.transpose(-1, -2), x.expand(2, 2, 3, 4, 5)):
        y = infini.contiguous(view)
        assert y.device == x.device and y.dtype == x.dtype and y.is_contiguous()
        assert torch.equal(raw(y), raw(view.contiguous()))
        z = torch.zeros(view.shape[::-1], device="cuda").to(x.dtype).permute(*reversed(range(view.ndim)))
        assert infini.copy(z, view) is z and torch.equal(raw(z.contiguous()), raw(view.contiguous()))


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_torch_products(dtype):
    dtype = getattr(torch, dtype)
    a, b = (torch.randint(-3, 4, shape, device="cuda").to(dtype) for shape in ((4, 65, 66), (66, 67)))
    exact = a.double() @ b.double()
    assert torch.equal(infini.matmul(a, b).double(), exact)
    out = torch.ones(67, 65, 4, dtype=dtype, device="cuda").permute(2, 1, 0)
    infini.matmul(a, b, out, alpha=2, beta=-1)
    assert torch.equal(out, (2 * exact - 1).to(dtype))


@needs_torch
def test_torch_streams():
    """The work goes to PyTorch's current stream: behind a slow kernel there, before what follows."""
    stream = torch.cuda.Stream()
    x, y = torch.zeros(4096, 4096, device="cuda"), torch.zeros(4096, 4096, device="cuda")
    torch.cuda.synchronize()
    for expected in range(1, 6):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            x.fill_(expected)
            z = infini.transpose(x)
            infini.copy(y, z)
            w = y + 0
            assert not stream.query()  # nobody has waited
        stream.synchronize()
        assert bool((w == expected).all())


@needs_torch
def test_torch_and_our_tensors_on_another_stream():
    stream = torch.cuda.Stream()
    own = infini.Tensor.zeros((1024, 1024), "f32", "nvidia:0")
    for expected in range(1, 4):
        source = torch.full((1024, 1024), float(expected), device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(10_000_000)
            source.add_(10)
            own.copy_(source)
        assert bool((torch.from_dlpack(own) == expected + 10).all())  # ordered with the default stream by events
        assert np.all(own.numpy() == expected + 10)


@needs_torch
def test_torch_graphs():
    x = torch.ones(64, 64, device="cuda")
    with infini.record() as graph:
        y = infini.transpose(x)
        z = infini.matmul(x, y)
    stream = torch.cuda.Stream()
    for value in (1.0, 2.0, 3.0):
        with torch.cuda.stream(stream):
            x.fill_(value)
            graph.run()
            result = z.clone()
        stream.synchronize()
        assert bool((result == 64 * value * value).all())


@needs_torch
def test_inside_torchs_own_graph():
    x, y = torch.zeros(128, 256, device="cuda"), torch.zeros(256, 128, device="cuda")
    infini.copy(y, x.T)  # prepared before the capture
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        infini.copy(y, x.T)
    for value in (1.0, 2.0):
        x.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert bool((y == value).all())


@needs_torch
def test_torch_between_devices():
    x = torch.arange(12.0).reshape(3, 4)
    on_gpu = infini.copy(torch.zeros(4, 3, device="cuda"), x.T)
    assert torch.equal(on_gpu.cpu(), x.T)
    assert torch.equal(infini.copy(torch.zeros(3, 4), on_gpu.T), x)
    with pytest.raises(ValueError):
        infini.matmul(x, on_gpu)


@needs_torch
def test_torch_gradients_and_lifetimes():
    with pytest.raises(ValueError, match="requires a gradient"):
        infini.contiguous(torch.ones(2, 3, device="cuda", requires_grad=True).T)
    x = torch.ones(1024, 1024, device="cuda")
    t = infini.Tensor.from_array(x)
    del x
    gc.collect()
    torch.zeros(1024, 1024, device="cuda")
    assert np.all(t.numpy() == 1)
    back = torch.from_dlpack(infini.Tensor.ones((64, 64), "f32", "nvidia:0").T)
    gc.collect()
    assert bool((back == 1).all())


@needs_cupy
def test_cupy():
    x = cupy.asarray(X)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x *= 2
        y = infini.permute(x, 3, 1, 0, 2)
        z = infini.copy(cupy.zeros((2, 3, 4, 5), "f4")[::-1], x)
        c = infini.matmul(x, y.transpose(2, 1, 0, 3).copy())
    stream.synchronize()
    assert isinstance(y, cupy.ndarray) and np.array_equal(y.get(), 2 * X.transpose(3, 1, 0, 2))
    assert np.array_equal(z.get(), 2 * X)
    assert isinstance(c, cupy.ndarray)
    half = cupy.arange(6, dtype="f2").reshape(2, 3)
    assert np.array_equal(infini.contiguous(half.T).get(), half.get().T)


@needs_cupy
def test_cupy_patterns_and_copies():
    x = cupy.asarray(X)
    y = infini.rearrange(x, "a b (c d) e -> d a (e b) c", d=2)
    assert isinstance(y, cupy.ndarray)
    assert np.array_equal(y.get(), X.reshape(2, 3, 2, 2, 5).transpose(3, 0, 4, 1, 2).reshape(2, 2, 15, 2))
    z = cupy.zeros((5, 2, 3, 4), "f4").transpose(1, 2, 3, 0)
    assert infini.copy(z[:, ::-1], x) is not None and np.array_equal(z.get(), X[:, ::-1])
    host = np.zeros(X.shape, "f4")
    infini.copy(host, x)
    assert np.array_equal(host, X)


@needs_cupy
@pytest.mark.parametrize("ids", ["i4", "i8"])
def test_cupy_pages(ids):
    """By ids in CuPy's memory and in the host's, on CuPy's current stream."""
    rng = np.random.default_rng(5)
    pages, order = rng.integers(-1000, 1000, (9, 16, 4, 8)).astype("f2"), np.array([7, 0, 3], ids)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        src, dst = cupy.asarray(pages), cupy.zeros((3, 4, 16, 8), "f2")
        assert infini.copy_pages(dst, None, src, cupy.asarray(order), "token heads dim -> heads token dim") is dst
        back = cupy.zeros_like(src)
        infini.copy_pages(back, order, dst, None, "heads token dim -> token heads dim")
    stream.synchronize()
    assert np.array_equal(dst.get(), pages[order].transpose(0, 2, 1, 3))
    wanted = np.zeros_like(pages)
    wanted[order] = pages[order]
    assert np.array_equal(back.get(), wanted)


@needs_jax
def test_jax():
    x = jax.numpy.asarray(X)
    y = infini.permute(x, 3, 1, 0, 2)
    assert isinstance(y, jax.Array) and np.array_equal(np.asarray(y), X.transpose(3, 1, 0, 2))
    c = infini.matmul(x[0, 0], x[0, 1].T)
    assert np.array_equal(np.asarray(c), X[0, 0] @ X[0, 1].T)
    half = x.astype(jax.numpy.bfloat16)
    assert np.array_equal(np.asarray(infini.transpose(half).astype("float32")), X.swapaxes(-1, -2))


@needs_torch
@needs_cupy
def test_between_frameworks():
    x = torch.arange(12.0, device="cuda").reshape(3, 4)
    y = cupy.zeros((4, 3), "f4")
    infini.copy(y, x.T)
    cupy.cuda.get_current_stream().synchronize()
    assert np.array_equal(y.get(), x.cpu().numpy().T)


def test_our_tensors():
    t = infini.Tensor.from_array(X, "nvidia:0")
    assert t.device == "nvidia:0" and np.array_equal(t.numpy(), X)
    view = t[:, ::-1, 1:3].permute(3, 1, 0, 2)
    assert np.array_equal(view.numpy(), X[:, ::-1, 1:3].transpose(3, 1, 0, 2))
    t[0] = X[1]
    assert np.array_equal(t.to("cpu").numpy(), X[[1, 1]])
    a = infini.Tensor.ones((33, 20), "f16", "nvidia:0")
    assert np.all((a @ a.T).numpy() == 20)
    assert infini.Tensor.from_array(np.ones(3, "f4"), "cuda").device == "nvidia:0"
    infini.synchronize("nvidia")
    with pytest.raises(BufferError):
        memoryview(t)
    with pytest.raises(MemoryError):
        infini.Tensor.empty((1 << 45,), "uint8", "nvidia:0")
