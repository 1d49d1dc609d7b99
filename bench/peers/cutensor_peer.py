#!/usr/bin/env python3
"""cuTENSOR and PyTorch beside ours: the same copies of strided tensors on CUDA, all in turns in one process.

usage: cutensor_peer.py [--library libcutensor.so.2] [--json OUT] (results.json | FILE of problems, one a line)...

Wants PyTorch, our Python package, and cuTENSOR (PyPI: cutensor-cu12, cutensor-cu13; found by itself where that is
installed). cuTENSOR permutes f16, f32 and f64, of positive strides; a dim that src repeats is one that src does not
have. What it writes is compared with ours. A line for each problem: microseconds, and by how much ours is faster than
either (below 1: slower); last how often ours is below 0.97 of the better of the two.
"""
import argparse
import ctypes
import glob
import json
import math
import os
import sys

from peers_torch import parse, seconds, storage, torch

try:
    import infini.torch
except ImportError as error:
    sys.exit(f"{error}: this wants our Python package, too")

CUDA_TYPES = {"f16": 2, "f32": 0, "f64": 1}  # cudaDataType_t
COMPUTE = {"f16": "CUTENSOR_COMPUTE_DESC_16F", "f32": "CUTENSOR_COMPUTE_DESC_32F", "f64": "CUTENSOR_COMPUTE_DESC_64F"}
ONES = {"f16": ctypes.c_uint16(0x3C00), "f32": ctypes.c_float(1), "f64": ctypes.c_double(1)}
IDENTITY, ALGO_DEFAULT, NO_JIT = 1, -1, 0


def find_library():
    for folder in sys.path:
        for path in glob.glob(os.path.join(folder, "cutensor", "lib", "libcutensor.so.2")):
            return path
    return "libcutensor.so.2"


class CuTensor:
    def __init__(self, path):
        for folder in sys.path:  # what it is linked with, where PyTorch's packages have it
            for blas in glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libcublasLt.so.*")):
                ctypes.CDLL(blas, ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(path)
        self.handle = ctypes.c_void_p()
        self.call("cutensorCreate", ctypes.byref(self.handle))

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} says {status}")

    def tensor(self, extents, strides, dtype, alignment):
        made = ctypes.c_void_p()
        numbers = ctypes.c_int64 * len(extents)
        self.call("cutensorCreateTensorDescriptor", self.handle, ctypes.byref(made), ctypes.c_uint32(len(extents)),
                  numbers(*extents), numbers(*strides), ctypes.c_int(CUDA_TYPES[dtype]), ctypes.c_uint32(alignment))
        return made

    def permutation(self, shape, dst_strides, src_strides, dtype):
        """A function of two addresses and a stream."""
        kept = [i for i, step in enumerate(src_strides) if step != 0]
        modes = lambda names: (ctypes.c_int32 * len(names))(*names)
        src = self.tensor([shape[i] for i in kept], [src_strides[i] for i in kept], dtype, 128)
        dst = self.tensor(shape, dst_strides, dtype, 128)
        what, wish, plan = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        compute = ctypes.c_void_p.in_dll(self.library, COMPUTE[dtype])
        self.call("cutensorCreatePermutation", self.handle, ctypes.byref(what), src, modes(kept), IDENTITY, dst,
                  modes(range(len(shape))), compute)
        self.call("cutensorCreatePlanPreference", self.handle, ctypes.byref(wish), ALGO_DEFAULT, NO_JIT)
        self.call("cutensorCreatePlan", self.handle, ctypes.byref(plan), what, wish, ctypes.c_uint64(0))
        one = ctypes.byref(ONES[dtype])
        permute, handle = self.library.cutensorPermute, self.handle

        def run(to, of, stream):
            if permute(handle, plan, one, ctypes.c_void_p(of), ctypes.c_void_p(to), ctypes.c_void_p(stream)) != 0:
                raise RuntimeError("cutensorPermute failed")
        return run


def graph(body):
    """Replays the body without what the host needs for a call."""
    body()
    torch.cuda.synchronize()
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        for _ in range(4):
            body()
    return recorded.replay


def beside(problem, cutensor, options):
    shape, dst_strides, src_strides, torch_dtype = parse(problem)
    dst_strides = dst_strides or [math.prod(shape[i + 1:]) for i in range(len(shape))]
    if min(dst_strides + src_strides) < 0:
        return None
    dtype = problem.split()[1]
    src, dst = storage(shape, src_strides, torch_dtype), storage(shape, dst_strides, torch_dtype)
    bodies = {"ours": lambda: infini.torch.copy_(dst, src), "torch": lambda: dst.copy_(src)}
    if dtype in CUDA_TYPES:
        run = cutensor.permutation(shape, dst_strides, src_strides, dtype)
        to, of = dst.data_ptr(), src.data_ptr()
        bodies["cutensor"] = lambda: run(to, of, torch.cuda.current_stream().cuda_stream)
    for name, body in bodies.items():
        dst.fill_(3)
        body()
        if not torch.equal(dst, src):
            print(f"WRONG: {name} {problem}")
    times = seconds(*map(graph, bodies.values()), rounds=options.rounds, sample=options.milliseconds * 1e-3)
    return dict(zip(bodies, (time / 4 for time in times)))


def problems_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.lstrip()[:1] in "[{":
        report = json.loads(text)
        return [row["problem"] for row in (report["rows"] if isinstance(report, dict) else report)]
    return [line for line in text.splitlines() if line.startswith("rearrange")]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("files", nargs="+")
    arguments.add_argument("--library", default="")
    arguments.add_argument("--json", default="")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--milliseconds", type=float, default=1)
    options = arguments.parse_args()
    cutensor = CuTensor(options.library or find_library())
    rows = []
    print(f"{'ours':>8s} {'PyTorch':>8s} {'cuTENSOR':>8s} us   ours is faster by")
    for problem in (problem for path in options.files for problem in problems_of(path)):
        try:
            times = beside(problem, cutensor, options)
        except (RuntimeError, MemoryError) as error:
            print(f"{problem}: {error}")
            continue
        if times is None:
            continue
        rows.append({"problem": problem, **times})
        shown = [times.get(name) for name in ("ours", "torch", "cutensor")]
        print(" ".join(f"{time * 1e6:8.1f}" if time else " " * 8 for time in shown) + "    " +
              " ".join(f"{time / shown[0]:6.2f}" if time else " " * 6 for time in shown[1:]) + f"  {problem}", flush=True)
        torch.cuda.empty_cache()
    for name in ("torch", "cutensor"):
        faster = [row[name] / row["ours"] for row in rows if name in row]
        if faster:
            mean = math.exp(sum(map(math.log, faster)) / len(faster))
            print(f"{name}: of {len(faster)} ours is {mean:.2f} times as fast (geometric mean), at least {min(faster):.2f}, "
                  f"{sum(ratio < 0.97 for ratio in faster)} below 0.97")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file)


if __name__ == "__main__":
    main()
