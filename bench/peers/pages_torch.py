#!/usr/bin/env python3
"""PyTorch as a peer of `infini bench pages` and `infini bench transfer`: the same copies, on CUDA.

usage: infini bench pages --device nvidia --json results.json --peer torch
       pages_torch.py [pages | transfer]

Pages: index_copy_ (by ids of the destination) and index_select (of the source) over 256 MiB, and a permuted gather; swaps
out by index_select and a copy, in by a copy and index_copy_, which is dense on the host's side.
Transfers: copy_ of the same layouts from and to pinned memory. Each with the bytes copied in GB/s, and as a ratio to a
plain copy of as many bytes in the same run.
"""
import sys

try:
    import torch
except ImportError as error:
    sys.exit(f"no PyTorch here: {error}")

if not torch.cuda.is_available():
    sys.exit("PyTorch finds no CUDA device here")
TOTAL = 256 << 20


def seconds(body, repeats=10, rounds=5):
    """The median of some rounds, by the device's events."""
    body()
    torch.cuda.synchronize()
    samples = []
    for _ in range(rounds):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(repeats):
            body()
        end.record()
        end.synchronize()
        samples.append(start.elapsed_time(end) * 1e-3 / repeats)
    return sorted(samples)[rounds // 2]


def tell(name, size, taken, plain):
    print(f"{name:50} {size / taken * 1e-9:9.1f} GB/s {plain / taken:6.2f}")


def pages():
    a = torch.zeros(TOTAL // 2, dtype=torch.float16, device="cuda")
    b = torch.empty_like(a)
    plain = seconds(lambda: b.copy_(a))
    for size in (128, 512, 2048, 16384, 262144):
        src, dst = a.view(-1, size // 2), b.view(-1, size // 2)
        ids = torch.randperm(len(src), device="cuda")
        tell(f"index_copy_, pieces of {size} bytes", TOTAL, seconds(lambda: dst.index_copy_(0, ids, src)), plain)
        tell(f"index_select, pieces of {size} bytes", TOTAL, seconds(lambda: torch.index_select(src, 0, ids, out=dst)), plain)
    src, dst = a.view(-1, 16, 8, 128), b.view(-1, 8, 128, 16)
    ids = torch.randperm(len(src), device="cuda")
    tell("blocks: token heads dim -> heads dim token", TOTAL, seconds(lambda: dst.copy_(src[ids].permute(0, 2, 3, 1))), plain)
    del a, b, src, dst
    for kib, count in ((1, 16), (1, 1000), (1, 100000), (32, 16), (32, 1000), (512, 16), (512, 500)):
        swaps(kib, count)


def swaps(kib, count):
    size = kib << 10
    far = torch.zeros((count, size // 2), dtype=torch.float16, device="cuda")
    host = torch.zeros((count, size // 2), dtype=torch.float16).pin_memory()
    between, ids = torch.empty_like(far), torch.randperm(count, device="cuda")

    def out():
        torch.index_select(far, 0, ids, out=between)
        host.copy_(between, non_blocking=True)

    def back():
        between.copy_(host, non_blocking=True)
        far.index_copy_(0, ids, between)

    name = f"{count} pages of {kib} KiB"
    tell(f"swap out: {name}", size * count, seconds(out), seconds(lambda: host.copy_(far, non_blocking=True)))
    tell(f"swap in: {name}", size * count, seconds(back), seconds(lambda: far.copy_(host, non_blocking=True)))


def transfers():
    for name, shape, order, dtype in (("transposed weight", (4096, 14336), (1, 0), torch.float16),
                                      ("transposed f32", (8192, 4096), (1, 0), torch.float32),
                                      ("heads before tokens", (2048, 32, 128), (1, 0, 2), torch.float16)):
        host = torch.zeros(shape, dtype=dtype).pin_memory()
        far = torch.empty([shape[i] for i in order], dtype=dtype, device="cuda")
        dense = torch.empty(shape, dtype=dtype, device="cuda")
        size = host.numel() * host.element_size()
        plain = seconds(lambda: dense.copy_(host, non_blocking=True))
        tell(name + " to the device", size, seconds(lambda: far.copy_(host.permute(order), non_blocking=True), 1, 3), plain)


which = sys.argv[1] if len(sys.argv) > 1 else "both"
print("PyTorch, and as a ratio to a plain copy")
if which != "transfer":
    pages()
if which != "pages":
    transfers()
