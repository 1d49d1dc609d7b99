#!/usr/bin/env python3
"""PyTorch as a peer: times torch's copies of a rearrange suite, eager and compiled, or torch.matmul.

usage: infini bench --device nvidia --suite large --json results.json --peer torch-compiled
       infini bench --op gemm --device nvidia gemm-gpu --json results.json --peer torch
       peers_torch.py results.json [--compiled] [--filter text]

results.json is what `infini bench … --json results.json` wrote; the same problems are run by PyTorch
and printed beside ours: copies as ratios to a device-to-device copy of the same bytes that is measured
in turns with them, products in GFLOP/s. A call of torch.matmul costs the host some 10 µs, which is what
a small product on a GPU then shows; bench/peers/gemm_torch.py compares those as CUDA graphs.
"""
import argparse
import json
import math
import sys
import time

try:
    import torch
except ImportError as error:
    sys.exit(f"no PyTorch here: {error}")

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "u8": torch.uint8}


def parse(text):
    """The problem's shape, dst strides (None: dense), src strides and dtype."""
    words = text.split()
    shape = [int(n) for n in words[2].split("x")]
    fields = dict(word.split("=") for word in words[3:])
    numbers = {key: [int(n) for n in value.split(",")] for key, value in fields.items()}
    dense = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    if "perm" in numbers:
        return ([shape[i] for i in numbers["perm"]], None, [dense[i] for i in numbers["perm"]],
                DTYPES[words[1]])
    return shape, numbers.get("dst"), numbers.get("src", dense), DTYPES[words[1]]


def storage(shape, strides, dtype):
    size = 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    base = torch.randint(0, 127, (size,), device="cuda", dtype=torch.uint8).to(dtype)
    return base.as_strided(shape, strides)


def elapsed(body, repeats):
    """Seconds per call, of calls back to back."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(repeats):
        body()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3 / repeats


def seconds(*bodies, rounds=9, sample=2e-3):
    """Medians, the bodies in turns; each sample is long enough for the gaps between calls to vanish."""
    repeats = []
    for body in bodies:
        elapsed(body, 3)
        repeats.append(max(1, round(sample / elapsed(body, 3))))
    samples = [[elapsed(body, n) for body, n in zip(bodies, repeats)] for _ in range(rounds)]
    return [sorted(times)[rounds // 2] for times in zip(*samples)]


def elapsed_on_host(body, repeats):
    start = time.perf_counter()
    for _ in range(repeats):
        body()
    return (time.perf_counter() - start) / repeats


def gemm(row):
    """Seconds of torch.matmul, or None for strides other than a transposition's."""
    words = row["problem"].split()
    fields = dict(word.split("=") for word in words[2:])
    if any(key not in ("m", "n", "k", "batch", "a", "b") for key in fields) or any(
            fields.get(x, "t") != "t" for x in "ab"):
        return None
    m, n, k, batch = (int(fields.get(key, 1)) for key in ("m", "n", "k", "batch"))
    device = "cpu" if row["device"] == "cpu" else "cuda"

    def operand(name, rows, cols):
        shape = [cols, rows] if name in fields else [rows, cols]
        x = torch.rand(shape if batch == 1 else [batch, *shape], device=device).to(DTYPES[words[1]])
        return x.transpose(-1, -2) if name in fields else x
    a, first = operand("a", m, k), operand("b", k, n)
    size = first.numel() * first.element_size()
    copies = max(1, min(16, (300 << 20) // size)) if m <= 64 else 1  # weights come from memory
    bs = [first] + [operand("b", k, n) for _ in range(copies - 1)]
    c = torch.matmul(a, first)

    def body():
        for b in bs:
            torch.matmul(a, b, out=c)
    if device == "cuda":
        return seconds(body)[0] / copies
    repeats = max(1, int(5e-3 / max(elapsed_on_host(body, 1), 1e-9)))
    return sorted(elapsed_on_host(body, repeats) for _ in range(9))[4] / copies


def compare_gemms(rows):
    print(f"{'GFLOP/s':36s} {'ours':>10s} {'PyTorch':>10s} {'ratio':>6s}")
    for row in rows:
        theirs = gemm(row)
        if theirs is not None:
            print(f"{row['name']:36s} {row['gflops']:10.1f} {row['gflops'] * row['seconds'] / theirs:10.1f} "
                  f"{theirs / row['seconds']:6.2f}", flush=True)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("results")
    arguments.add_argument("--compiled", action="store_true")
    arguments.add_argument("--filter", default="")
    options = arguments.parse_args()
    with open(options.results, encoding="utf-8") as file:
        report = json.load(file)
    rows = report["rows"] if isinstance(report, dict) else report
    if rows and rows[0]["problem"].startswith("gemm"):
        return compare_gemms([row for row in rows if options.filter in row["name"]])
    if not torch.cuda.is_available():
        sys.exit("this PyTorch sees no CUDA device")
    names = ["PyTorch"] + (["compiled"] if options.compiled else [])
    print(f"{'ratio to a copy of the same bytes':36s} " + " ".join(f"{n:>8s}" for n in ["ours", *names]))
    means = [0.0] * len(names)
    measured = 0
    for row in rows:
        if options.filter not in row["name"]:
            continue
        shape, dst_strides, src_strides, dtype = parse(row["problem"])
        if min([*src_strides, *(dst_strides or [])], default=0) < 0:
            print(f"{row['name']:36s} {row['ratio']:8.2f}   no negative strides in PyTorch", flush=True)
            continue
        measured += 1
        src = storage(shape, src_strides, dtype)
        dst = storage(shape, dst_strides, dtype) if dst_strides else torch.empty(
            shape, device="cuda", dtype=dtype)
        half = torch.empty(int(row["bytes"]) // 2, device="cuda", dtype=torch.uint8)
        other = torch.empty_like(half)
        bodies = [lambda: other.copy_(half), lambda: dst.copy_(src)]
        if options.compiled:
            torch._dynamo.reset()  # each layout gets a kernel of its own
            copy = torch.compile(lambda to, of: to.copy_(of), dynamic=False)
            bodies.append(lambda: copy(dst, src))
        limit, *peers = seconds(*bodies)
        ratios = [limit / peer for peer in peers]
        means = [mean + math.log(ratio) for mean, ratio in zip(means, ratios)]
        copy_seconds = row["bytes"] / row["limit_gb_per_second"] * 1e-9
        row["peer_seconds"] = {name: copy_seconds / ratio for name, ratio in zip(names, ratios)}
        print(f"{row['name']:36s} " + " ".join(f"{r:8.2f}" for r in [row["ratio"], *ratios]), flush=True)
    with open(options.results, "w", encoding="utf-8") as file:
        json.dump(report, file)
    if measured and not options.filter:
        print(f"{'geometric mean':36s} {'':8s} " + " ".join(f"{math.exp(mean / measured):8.2f}" for mean in means))


if __name__ == "__main__":
    main()
