#!/usr/bin/env python3
"""NumPy and PyTorch on the problems of a bench result, for comparison.

    infini bench rearrange --suite cpu      # runs this by itself where python3 has one of them
    python3 bench/peers/cpu_peers.py cpu.json     # the same on results written by --json

Needs neither of the two: those that are not installed are left out. Each prints GB/s and the ratio to
the copy of the same bytes that was measured by `infini bench`.
"""
import json
import math
import statistics
import sys
import time

def parse(text):
    """'rearrange f32 2x3 perm=1,0' -> (dtype, shape, dst strides, src strides), strides in elements."""
    words = text.split()
    options = dict(word.split("=") for word in words[3:])
    shape = [int(n) for n in words[2].split("x")]

    def dense(extents):
        strides, step = [], 1
        for extent in reversed(extents):
            strides.insert(0, step)
            step *= extent
        return strides

    def numbers(name, default):
        return [int(n) for n in options[name].split(",")] if name in options else default

    src = numbers("src", dense(shape))
    if "perm" in options:
        order = numbers("perm", [])
        src = [dense(shape)[axis] for axis in order]
        shape = [shape[axis] for axis in order]
    return words[1], shape, numbers("dst", dense(shape)), src


def span(shape, strides):
    """Lowest offset and number of elements from there to the highest."""
    reach = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
    low = sum(r for r in reach if r < 0)
    return low, sum(r for r in reach if r > 0) - low + 1


def median_seconds(run, budget=0.3):
    run()
    times, start = [], time.perf_counter()
    while len(times) < 2 or time.perf_counter() - start < budget:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def numpy_side(dtype, shape, dst, src):
    import numpy as np
    kind = np.dtype({"u8": "u1", "f16": "f2", "f32": "f4", "f64": "f8", "c128": "c16"}[dtype])

    def view(strides):
        low, count = span(shape, strides)
        base = np.zeros(count, kind)[-low:]
        return np.lib.stride_tricks.as_strided(base, shape, [s * kind.itemsize for s in strides])

    to, source = view(dst), view(src)
    return lambda: np.copyto(to, source)


def torch_side(dtype, shape, dst, src):
    import torch
    kind = {"u8": torch.uint8, "f16": torch.float16, "f32": torch.float32, "f64": torch.float64,
            "c128": torch.complex128}[dtype]

    def view(strides):
        low, count = span(shape, strides)
        if low < 0:
            raise ValueError("PyTorch has no negative strides")
        return torch.zeros(count, dtype=kind).as_strided(shape, strides)

    to, source = view(dst), view(src)
    return lambda: to.copy_(source)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        report = json.load(file)
    rows = report["rows"]
    peers = {}
    for name, side in (("numpy", numpy_side), ("torch", torch_side)):
        try:
            __import__(name)
            peers[name] = side
        except ImportError:
            print(f"{name} is not installed")
    print(f"{'case':32} {'infini':>8}" + "".join(f" {name + ' GB/s':>12} {'ratio':>6}" for name in peers))
    logs = {name: [] for name in peers}
    for row in rows:
        line = f"{row['name']:32} {row['ratio']:8.2f}"
        for name, side in peers.items():
            try:
                seconds = median_seconds(side(*parse(row["problem"])))
                speed = row["bytes"] / seconds * 1e-9
                ratio = speed / row["limit_gb_per_second"]
                logs[name].append(math.log(ratio))
                row.setdefault("peer_seconds", {})[name] = seconds
                line += f" {speed:12.2f} {ratio:6.2f}"
            except ValueError:
                line += f" {'-':>12} {'-':>6}"
        print(line, flush=True)
    with open(sys.argv[1], "w") as file:
        json.dump(report, file)
    for name, values in logs.items():
        print(f"{name}: geometric mean {math.exp(sum(values) / max(1, len(values))):.2f} of {len(values)} cases")


if __name__ == "__main__":
    main()
