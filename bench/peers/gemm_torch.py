#!/usr/bin/env python3
"""infini's gemm beside torch.matmul, in turns, in one process.

usage: python3 bench/peers/gemm_torch.py [--lib build/dev/lib/libinfini.so] [--filter TEXT] [--cpu THREADS]

On an NVIDIA GPU both sides are captured into CUDA graphs of many calls, so that only the device's
time counts; large weights are rotated through memory beyond the L2 cache. With --cpu both run on the
processor with that many threads (torch brings MKL and oneDNN).
"""
import argparse
import ctypes
import statistics
import time

import torch

DTYPES = {"f16": (12, torch.float16), "bf16": (19, torch.bfloat16), "f32": (13, torch.float32),
          "f64": (14, torch.float64)}
CPU, NVIDIA = 0, 1


def cases():
    for dtype in ("bf16", "f16"):
        for m, n, k in ((1024,) * 3, (2048,) * 3, (4096,) * 3, (8192,) * 3, (1, 4096, 4096),
                        (1, 14336, 4096), (4, 14336, 4096), (16, 4096, 4096), (16, 14336, 4096), (64, 14336, 4096),
                        (512, 4096, 4096), (4097, 4095, 4093)):
            yield dtype, 1, m, n, k, "nn"
        for m in (1, 16):
            yield dtype, 1, m, 14336, 4096, "nt"
        yield dtype, 32, 64, 96, 128, "nn"
        yield dtype, 256, 128, 128, 64, "nn"
    mid = (384, 512, 576, 640, 704, 768, 832, 896, 960, 1152, 1280)
    for dtype in ("bf16", "f16", "f32", "f64"):  # what one launch of our own does
        for n in (8, 64, 128) + ((256,) if dtype != "f64" else ()) + (mid if "16" in dtype else ()):
            yield dtype, 1, n, n, n, "nn"
    for dtype in ("bf16", "f16"):
        yield dtype, 8, 256, 256, 256, "nn"
        yield dtype, 16, 256, 256, 512, "nt"
        yield dtype, 1, 640, 640, 640, "nt"
    for m, n, k in ((1024,) * 3, (4096,) * 3, (1, 14336, 4096), (512, 4096, 4096)):
        yield "f32", 1, m, n, k, "nn"
    yield "f64", 1, 4096, 4096, 4096, "nn"


def cpu_cases():
    for dtype in ("f32", "bf16", "f16"):
        for n in (64, 256, 1024, 2048):
            yield dtype, 1, n, n, n, "nn"
        yield dtype, 32, 64, 96, 128, "nn"
        for m in (1, 4, 16, 128):
            yield dtype, 1, m, 4096, 4096, "nn"
        for m in (1, 16, 128):
            yield dtype, 1, m, 4096, 4096, "nt"
    yield "f64", 1, 1024, 1024, 1024, "nn"


class Infini:
    def __init__(self, path, device):
        self.lib = ctypes.CDLL(path)
        self.lib.infiniGetLastErrorString.restype = ctypes.c_char_p
        self.device = "cpu" if device == CPU else "cuda"
        self.call("infinirtSetDevice", device, 0)
        self.handle = ctypes.c_void_p()
        self.call("infiniopCreateHandle", ctypes.byref(self.handle))

    def call(self, name, *arguments):
        if getattr(self.lib, name)(*arguments) != 0:
            raise RuntimeError(f"{name}: {self.lib.infiniGetLastErrorString().decode()}")

    def tensor(self, t, dtype):
        desc = ctypes.c_void_p()
        rank = t.dim()
        self.call("infiniopCreateTensorDescriptor", ctypes.byref(desc), ctypes.c_size_t(rank),
                  (ctypes.c_size_t * rank)(*t.shape), (ctypes.c_ssize_t * rank)(*t.stride()),
                  DTYPES[dtype][0])
        return desc

    def gemm(self, c, a, b, dtype):
        """A function (c, a, b, stream) that multiplies tensors laid out like these."""
        desc, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.call("infiniopCreateGemmDescriptor", self.handle, ctypes.byref(desc),
                  self.tensor(c, dtype), self.tensor(a, dtype), self.tensor(b, dtype))
        self.call("infiniopGetGemmWorkspaceSize", desc, ctypes.byref(size))
        workspace = torch.empty(size.value + 256, dtype=torch.uint8, device=self.device)
        start = (workspace.data_ptr() + 63) // 64 * 64
        function, one, zero = self.lib.infiniopGemm, ctypes.c_float(1), ctypes.c_float(0)

        def run(c, a, b, stream):
            status = function(desc, ctypes.c_void_p(start), size,
                              ctypes.c_void_p(c.data_ptr()), ctypes.c_void_p(a.data_ptr()),
                              ctypes.c_void_p(b.data_ptr()), one, zero, ctypes.c_void_p(stream))
            if status != 0:
                raise RuntimeError(self.lib.infiniGetLastErrorString().decode())
        run.desc, run.workspace = desc, workspace  # live as long as the function
        return run, size.value


def captured(call, count):
    """A graph of `count` calls."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        call(0)
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        for i in range(count):
            call(i)
    return graph


def seconds(graph, count):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e-3 / count


def copy_speed():
    """Bytes read plus written per second by a copy of 1 GiB: the better of the driver's and a kernel's.

    Not as a graph: a captured copy is a node for the copy engines, which are far slower than the memory.
    """
    x = torch.rand(1 << 28, device="cuda")
    y = torch.empty_like(x)

    def once(call):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(5):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3 / 5
    ways = (lambda: y.copy_(x), lambda: torch.mul(x, 1.5, out=y))
    times = [[once(way) for way in ways] for _ in range(20)][1:]
    return [8 * x.numel() / statistics.median(t) for t in zip(*times)]


def measure(infini, dtype, batch, m, n, k, layout):
    torch_type = DTYPES[dtype][1]
    shape = (lambda r, c: (r, c)) if batch == 1 else (lambda r, c: (batch, r, c))
    random = lambda r, c: torch.rand(shape(r, c), dtype=torch_type, device="cuda") - 0.5
    size = torch.empty(0, dtype=torch_type).element_size()
    copies = max(1, min(16, (300 << 20) // (k * n * size * batch))) if m <= 64 else 1
    a, c, d = random(m, k), random(m, n), random(m, n)
    bs = [random(k, n) if layout == "nn" else random(n, k).transpose(-1, -2) for _ in range(copies)]
    run, workspace = infini.gemm(c, a, bs[0], dtype)
    flops, moved = 2.0 * batch * m * n * k, float(size) * batch * (m * k + k * n + m * n)
    count = max(2 * copies, min(50, int(4e-3 / max(flops / 5e14, moved / 4e12, 3e-6))))
    ours = captured(lambda i: run(c, a, bs[i % copies], torch.cuda.current_stream().cuda_stream), count)
    theirs = captured(lambda i: torch.matmul(a, bs[i % copies], out=d), count)
    samples = [(seconds(ours, count), seconds(theirs, count)) for _ in range(15)]
    mine, peer = (statistics.median(x) for x in zip(*samples))
    wide = a.double() @ bs[(count - 1) % copies].double() if flops < 3e11 else None
    error = [float(((x.double() - wide).norm() / wide.norm())) if wide is not None else float("nan")
             for x in (c, d)]
    return mine, peer, flops, moved, workspace, error


def measure_cpu(infini, dtype, batch, m, n, k, layout):
    torch_type = DTYPES[dtype][1]
    shape = (lambda r, c: (r, c)) if batch == 1 else (lambda r, c: (batch, r, c))
    random = lambda r, c: (torch.rand(shape(r, c)) - 0.5).to(torch_type)
    a, c, d = random(m, k), random(m, n), random(m, n)
    copies = 4 if m <= 16 else 1
    bs = [random(k, n) if layout == "nn" else random(n, k).transpose(-1, -2) for _ in range(copies)]
    run, workspace = infini.gemm(c, a, bs[0], dtype)
    flops = 2.0 * batch * m * n * k
    calls = (lambda i: run(c, a, bs[i % copies], None), lambda i: torch.matmul(a, bs[i % copies], out=d))
    samples = []
    start = time.perf_counter()
    while len(samples) < 5 or (time.perf_counter() - start < 0.6 and len(samples) < 200):
        row = []
        for call in calls:
            begin = time.perf_counter()
            for i in range(copies):
                call(i)
            row.append((time.perf_counter() - begin) / copies)
        samples.append(row)
    mine, peer = (statistics.median(x) for x in zip(*samples[1:]))
    wide = a.double() @ bs[-1].double()
    error = [float((x.double() - wide).norm() / wide.norm()) for x in (c, d)]
    return mine, peer, flops, workspace, error


def main_cpu(options):
    torch.set_num_threads(options.cpu)
    infini = Infini(options.lib, CPU)
    infini.call("infiniSetNumThreads", options.cpu)
    print(f"{options.cpu} threads, torch {torch.__version__}")
    print(f"{'case':32} {'us':>10} {'GFLOP/s':>8} {'torch':>8} {'ratio':>6} {'error':>8} {'torch err':>9}")
    for dtype, batch, m, n, k, layout in cpu_cases():
        name = f"{dtype}_{batch}b_{m}x{n}x{k}_{layout}"
        if options.filter not in name:
            continue
        mine, peer, flops, workspace, error = measure_cpu(infini, dtype, batch, m, n, k, layout)
        print(f"{name:32} {mine * 1e6:10.2f} {flops / mine * 1e-9:8.1f} {flops / peer * 1e-9:8.1f} "
              f"{peer / mine:6.2f} {error[0]:8.1e} {error[1]:9.1e}", flush=True)


def host_cost(infini):
    a = torch.rand(8, 8, dtype=torch.bfloat16, device="cuda")
    c, b = torch.empty_like(a), a.clone()
    run, _ = infini.gemm(c, a, b, "bf16")
    def cost(call, n=500):
        best = 1e9
        for _ in range(5):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(n):
                call()
            best = min(best, (time.perf_counter() - start) / n)
        return best * 1e6
    desc, size = run.desc, ctypes.c_size_t()
    base = cost(lambda: infini.lib.infiniopGetGemmWorkspaceSize(desc, ctypes.byref(size)))
    return cost(lambda: run(c, a, b, 0)), base, cost(lambda: torch.matmul(a, b, out=c))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib", default="build/dev/lib/libinfini.so")
    parser.add_argument("--filter", default="")
    parser.add_argument("--cpu", type=int, default=0, help="compare on the CPU with this many threads")
    options = parser.parse_args()
    if options.cpu:
        return main_cpu(options)
    infini = Infini(options.lib, NVIDIA)
    speeds = copy_speed()
    speed = max(speeds)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, copy {speeds[0] * 1e-9:.0f} GB/s, "
          f"x * 1.5 {speeds[1] * 1e-9:.0f} GB/s")
    print(f"{'case':34} {'us':>9} {'TFLOP/s':>8} {'GB/s':>6} {'of copy':>7} {'torch us':>9} {'ratio':>6} "
          f"{'error':>8} {'torch err':>9} {'workspace':>10}")
    for dtype, batch, m, n, k, layout in cases():
        name = f"{dtype}_{batch}b_{m}x{n}x{k}_{layout}"
        if options.filter not in name:
            continue
        mine, peer, flops, moved, workspace, error = measure(infini, dtype, batch, m, n, k, layout)
        print(f"{name:34} {mine * 1e6:9.2f} {flops / mine * 1e-12:8.1f} {moved / mine * 1e-9:6.0f} "
              f"{moved / mine / speed:7.2f} {peer * 1e6:9.2f} {peer / mine:6.2f} {error[0]:8.1e} "
              f"{error[1]:9.1e} {workspace:10d}", flush=True)
    mine, base, torch_cost = host_cost(infini)
    print(f"host cost of a call through ctypes: ours {mine:.2f} us (an empty ctypes call {base:.2f}), "
          f"torch {torch_cost:.2f} us")


if __name__ == "__main__":
    main()
