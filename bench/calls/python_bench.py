"""What the Python package costs and gains: the same work by infini, NumPy and, where it is installed, PyTorch.

    PYTHONPATH=build/dev/python python3 bench/calls/python_bench.py [small | large | gpu]

Each row's contestants take turns; the median of a row's rounds is shown, results of the large ones are compared.
"""
import statistics
import sys
import time

import numpy as np

import infini

try:
    import torch
except ImportError:
    torch = None
try:
    import jax
except ImportError:
    jax = None


def seconds(call, repeat):
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - start) / repeat


def race(calls, repeat, rounds):
    """The median time of each call, in rounds in which all take turns."""
    for call in calls.values():
        call()
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(seconds(call, repeat))
    return {name: statistics.median(all_) for name, all_ in times.items()}


def show(title, times, unit, scale):
    cells = "  ".join(f"{name} {time_ * scale:9.2f}" for name, time_ in times.items())
    print(f"{title:52}{cells}  {unit}", flush=True)


def small():
    x, y = np.arange(6, dtype="f4").reshape(2, 3), np.zeros((2, 3), "f4")
    t = x.T
    b, c, v = np.ones((4, 2, 3), "f4"), np.ones((4, 3, 2), "f4"), np.ones(3, "f4")
    rows = {
        "copy 2x3 f32": {"infini": lambda: infini.copy(y, x), "numpy": lambda: np.copyto(y, x)},
        "contiguous of a transposed 2x3 f32": {"infini": lambda: infini.contiguous(t), "numpy": lambda: np.ascontiguousarray(t)},
        "matmul 2x3 by 3x2 f32": {"infini": lambda: infini.matmul(x, t), "numpy": lambda: np.matmul(x, t)},
        "matmul 4x2x3 by 4x3x2 f32": {"infini": lambda: infini.matmul(b, c), "numpy": lambda: np.matmul(b, c)},
        "matmul 2x3 by 3 f32": {"infini": lambda: infini.matmul(x, v), "numpy": lambda: np.matmul(x, v)},
        'rearrange 2x3 f32 by "a b -> b a"': {"infini": lambda: infini.rearrange(x, "a b -> b a")},
    }
    if torch:
        tx, ty = torch.from_numpy(x), torch.from_numpy(y)
        tt = tx.T
        rows |= {
            "copy 2x3 f32, PyTorch's tensors": {"infini": lambda: infini.copy(ty, tx), "torch ": lambda: ty.copy_(tx)},
            "contiguous of a transposed 2x3, PyTorch's": {"infini": lambda: infini.contiguous(tt), "torch ": lambda: tt.contiguous()},
            "matmul 2x3 by 3x2, PyTorch's": {"infini": lambda: infini.matmul(tx, tt), "torch ": lambda: torch.matmul(tx, tt)},
        }
        import infini.torch as it

        rows |= {"the same by infini.torch": {"infini": lambda: it.contiguous(tt), "direct": lambda: infini.contiguous(tt)}}
    if jax:
        import infini.jax as ij

        jx = jax.numpy.asarray(x)
        compiled = {"infini": jax.jit(lambda x: ij.permute(x, 1, 0)), "xla   ": jax.jit(lambda x: x.T)}
        rows |= {
            "permute 2x3, JAX's arrays": {"infini": lambda: infini.permute(jx, 1, 0), "jax   ": lambda: jax.numpy.transpose(jx, (1, 0))},
            "the same in jax.jit": {name: (lambda call=call: call(jx)) for name, call in compiled.items()},
        }
    for title, calls in rows.items():
        show(title, race(calls, 1000, 15), "us", 1e6)


def large():
    layouts = {
        "transpose 8192x8192 f32": ((8192, 8192), "f4", (1, 0)),
        "RGB to planes, 4096x4096x3 u8": ((4096, 4096, 3), "u1", (2, 0, 1)),
        "planes to RGB, 3x4096x4096 u8": ((3, 4096, 4096), "u1", (1, 2, 0)),
        "heads 4x2048x32x128 f16 (0,2,1,3)": ((4, 2048, 32, 128), "f2", (0, 2, 1, 3)),
        "reverse 512x512x512 f32 (2,1,0)": ((512, 512, 512), "f4", (2, 1, 0)),
    }
    for title, (shape, dtype, order) in layouts.items():
        x = np.random.default_rng(1).integers(0, 100, shape, dtype="u1").astype(dtype)
        view = x.transpose(order)
        into = np.zeros(view.shape, dtype)
        assert np.array_equal(infini.contiguous(view), view)
        fresh = {"infini": lambda: infini.contiguous(view), "numpy": lambda: np.ascontiguousarray(view)}
        kept = {"infini": lambda: infini.copy(into, view), "numpy": lambda: np.copyto(into, view)}
        if torch:
            of_torch, torch_into = torch.from_numpy(x).permute(order), torch.from_numpy(into)
            fresh["torch"] = lambda: of_torch.contiguous()
            kept["torch"] = lambda: torch_into.copy_(of_torch)
        show(f"{title}, new result", race(fresh, 1, 7), "ms", 1e3)
        show(f"{title}, into one", race(kept, 1, 7), "ms", 1e3)


def gpu():
    """On PyTorch's tensors: what a call costs the host, and what large ones take on the device."""
    if not torch or not torch.cuda.is_available() or "nvidia:0" not in infini.devices():
        print("no GPU that both infini and PyTorch see")
        return
    x, y = torch.ones(64, 48, device="cuda"), torch.zeros(48, 64, device="cuda")
    for title, calls in {
        "copy 64x48 transposed, host time of a call": {"infini": lambda: infini.copy(y, x.T), "torch": lambda: y.copy_(x.T)},
        "contiguous of that": {"infini": lambda: infini.contiguous(x.T), "torch": lambda: x.T.contiguous()},
        "matmul 64x48 by 48x64": {"infini": lambda: infini.matmul(x, y), "torch": lambda: torch.matmul(x, y)},
    }.items():
        show(title, race(calls, 500, 15), "us", 1e6)
        torch.cuda.synchronize()
    for title, (shape, dtype, order) in {
        "transpose 8192x8192 f32": ((8192, 8192), torch.float32, (1, 0)),
        "RGB to planes, 64x1080x1920x3 u8": ((64, 1080, 1920, 3), torch.uint8, (0, 3, 1, 2)),
        "heads 32x2048x32x128 bf16 (0,2,1,3)": ((32, 2048, 32, 128), torch.bfloat16, (0, 2, 1, 3)),
    }.items():
        view = torch.ones(shape, device="cuda").to(dtype).permute(order)

        def on_device(call):
            def run():
                call()
                torch.cuda.synchronize()

            return run

        calls = {"infini": on_device(lambda: infini.contiguous(view)), "torch": on_device(lambda: view.contiguous())}
        show(f"{title}, new result, to the end", race(calls, 20, 9), "ms", 1e3)


if __name__ == "__main__":
    for part in sys.argv[1:] or ["small", "large"]:
        {"small": small, "large": large, "gpu": gpu}[part]()
