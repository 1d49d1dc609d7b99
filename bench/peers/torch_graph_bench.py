"""The graphs of tensor_bench.cpp in PyTorch, eager and as a CUDA graph, for comparison."""
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


def chain(n, dtype):
    a = torch.ones(n, n, dtype=dtype, device="cuda")
    b, c = torch.zeros_like(a), torch.zeros_like(a)
    turned = a.t()

    def work():
        for _ in range(50):
            b.copy_(turned)
            torch.addmm(c, b, a, beta=0, alpha=0.5, out=c)
    return work


def flow(n, dtype, keeps):
    x = torch.ones(n, n, dtype=dtype, device="cuda")
    w = torch.ones_like(x)
    results = [torch.zeros_like(x) for _ in range(100 if keeps else 0)]

    def work():
        t = x
        for i in range(0, 100, 2):
            if not keeps:
                t = torch.addmm(w, t.t().contiguous(), w, beta=0, alpha=1 / n)
                continue
            results[i].copy_(t.t())
            torch.addmm(w, results[i], w, beta=0, alpha=1 / n, out=results[i + 1])
            t = results[i + 1]
        work.last = t
    return work


def blocks(n, dtype):
    inputs = [torch.ones(n, n, dtype=dtype, device="cuda").t() for _ in range(25)]
    results = [[torch.zeros_like(x) for _ in range(4)] for x in inputs]

    def work():
        for x, (q, k, scores, y) in zip(inputs, results):
            q.copy_(x)
            k.copy_(x)
            torch.addmm(scores, q, k, beta=0, alpha=0.5, out=scores)
            torch.mm(scores, k, out=y)
    return work


def bench(name, work):
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    eager, replay = median_us(work), median_us(graph.replay)
    print(f"torch {name:36} eager {eager:9.2f} us   replay {replay:9.2f} us   "
          f"ratio {replay / eager:.3f}")


if __name__ == "__main__":
    torch.backends.cuda.matmul.allow_tf32 = False
    for make, name in ((chain, "chain over two buffers"),
                       (lambda n, dtype: flow(n, dtype, True), "chain, all results kept"),
                       (lambda n, dtype: flow(n, dtype, False), "chain, temporaries"),
                       (blocks, "25 blocks of 4")):
        for n, dtype in ((64, torch.float32), (64, torch.float16), (256, torch.float16)):
            bench(f"{name}, {n}x{n} {str(dtype)[6:]}", make(n, dtype))
