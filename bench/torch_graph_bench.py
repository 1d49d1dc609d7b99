"""The chain of tensor_bench.cpp in PyTorch, eager and as a CUDA graph, for comparison."""
import statistics
import time

import torch


def median_us(body, calls=50):
    times = []
    for _ in range(31):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            body()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / calls * 1e6)
    return statistics.median(times)


def bench(n, dtype):
    a = torch.ones(n, n, dtype=dtype, device="cuda")
    b, c = torch.zeros_like(a), torch.zeros_like(a)
    turned = a.t()

    def chain():
        for _ in range(50):
            b.copy_(turned)
            torch.addmm(c, b, a, beta=0, alpha=0.5, out=c)

    chain()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        chain()
    eager, replay = median_us(chain), median_us(graph.replay)
    print(f"torch chain of 100, {n}x{n} {str(dtype)[6:]:8} eager {eager:9.2f} us   "
          f"replay {replay:9.2f} us   ratio {replay / eager:.3f}")


if __name__ == "__main__":
    torch.backends.cuda.matmul.allow_tf32 = False
    bench(64, torch.float32)
    bench(64, torch.float16)
    bench(256, torch.float16)
