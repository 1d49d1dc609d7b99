"""python -m infini.torture: draws strided copies, has a framework make them, and compares every byte and its neighbours.

    python -m infini.torture                      every framework that is installed
    python -m infini.torture torch --cases 5000   one of them
    python -m infini.torture my_module:Target     anything with the methods of Target below

A failure is made as small as it goes and printed as a program of at most ten lines in the framework's own words."""
from __future__ import annotations

import argparse
import importlib
import random
import sys
from dataclasses import dataclass, replace
from typing import Any, Callable

import numpy as np
from numpy.lib.stride_tricks import as_strided

GUARD = 16  # elements on both sides of a buffer
DTYPES = ("uint8", "int16", "float32", "float64", "complex128")


@dataclass(frozen=True)
class Side:
    strides: tuple[int, ...]  # in elements
    start: int  # element of the buffer
    length: int  # elements of the buffer


@dataclass(frozen=True)
class Case:
    dtype: str
    shape: tuple[int, ...]
    dst: Side
    src: Side


class Target:
    """Who is tested. dst and src are flat NumPy arrays; fill dst as the case says and return all of it as NumPy."""

    name = "target"

    def copy(self, case: Case, dst: np.ndarray, src: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def program(self, case: Case) -> str:
        """The copy in at most ten lines, after which `dst` and `expected` are flat NumPy arrays."""
        raise NotImplementedError


def view(flat: np.ndarray, side: Side, shape: tuple[int, ...]) -> np.ndarray:
    size = flat.itemsize
    return as_strided(flat[side.start:], shape, [s * size for s in side.strides])


class Numpy(Target):
    name = "numpy"

    def copy(self, case, dst, src):
        np.copyto(view(dst, case.dst, case.shape), view(src, case.src, case.shape))
        return dst

    def program(self, case):
        size = np.dtype(case.dtype).itemsize
        lines = ["import numpy as np", "from numpy.lib.stride_tricks import as_strided", *buffers(case)]
        for name, side in (("d", case.dst), ("s", case.src)):
            steps = tuple(s * size for s in side.strides)
            flat = "dst" if name == "d" else "src"
            lines.append(f"{name} = as_strided({flat}[{side.start}:], {case.shape}, {steps})")
        return "\n".join([*lines, "np.copyto(d, s)"])


class Infini(Numpy):
    name = "infini"

    def copy(self, case, dst, src):
        import infini

        infini.copy(view(dst, case.dst, case.shape), view(src, case.src, case.shape))
        return dst

    def program(self, case):
        return super().program(case).replace("np.copyto(", "infini.copy(").replace("import numpy", "import infini, numpy", 1)


class Torch(Target):
    name = "torch"
    positive = True  # there are no negative strides

    def copy(self, case, dst, src):
        import torch

        d, s = (torch.from_numpy(flat).as_strided(case.shape, side.strides, side.start)
                for flat, side in ((dst, case.dst), (src, case.src)))
        d.copy_(s)
        return dst

    def program(self, case):
        lines = ["import numpy as np, torch", *buffers(case)]
        for name, flat, side in (("d", "dst", case.dst), ("s", "src", case.src)):
            lines.append(f"{name} = torch.from_numpy({flat}).as_strided({case.shape}, {side.strides}, {side.start})")
        return "\n".join([*lines, "d.copy_(s)"])


class Jax(Target):
    name = "jax"

    def copy(self, case, dst, src):
        import jax

        jax.config.update("jax_enable_x64", True)
        made = jax.device_put(view(src, case.src, case.shape))
        np.copyto(view(dst, case.dst, case.shape), np.asarray(made))
        return dst

    def program(self, case):
        return (Numpy.program(self, case).replace("np.copyto(d, s)", "np.copyto(d, np.asarray(jax.device_put(s)))")
                .replace("import numpy as np", "import jax, numpy as np; jax.config.update('jax_enable_x64', True)", 1))


class Cupy(Target):
    name = "cupy"

    def copy(self, case, dst, src):
        import cupy

        size = dst.itemsize
        on_device = [cupy.asarray(dst), cupy.asarray(src)]
        d, s = (cupy.ndarray(case.shape, dst.dtype, flat.data + side.start * size, [k * size for k in side.strides])
                for flat, side in zip(on_device, (case.dst, case.src)))
        d[...] = s
        return cupy.asnumpy(on_device[0])

    def program(self, case):
        size = np.dtype(case.dtype).itemsize
        lines = ["import numpy as np, cupy", *buffers(case), "dst, src = cupy.asarray(dst), cupy.asarray(src)"]
        for name, flat, side in (("d", "dst", case.dst), ("s", "src", case.src)):
            steps = tuple(k * size for k in side.strides)
            lines.append(f"{name} = cupy.ndarray({case.shape}, dst.dtype, {flat}.data + {side.start * size}, {steps})")
        return "\n".join([*lines, "d[...] = s; dst = cupy.asnumpy(dst)"])


TARGETS: dict[str, Callable[[], Target]] = {t.name: t for t in (Infini, Numpy, Torch, Jax, Cupy)}


def buffers(case: Case) -> list[str]:
    return [f"src = (np.arange({case.src.length}) + 1).astype({case.dtype!r})",
            f"dst = np.zeros({case.dst.length}, {case.dtype!r})"]


def contents(case: Case) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(case.dst.length, case.dtype), (np.arange(case.src.length) + 1).astype(case.dtype)


def expected(case: Case) -> np.ndarray:
    """Element by element, by the definition of strides."""
    dst, src = contents(case)
    index = [np.asarray(side.start) for side in (case.dst, case.src)]
    for dim, extent in enumerate(case.shape):
        for k, side in enumerate((case.dst, case.src)):
            index[k] = np.add.outer(index[k], np.arange(extent) * side.strides[dim])
    dst[index[0].ravel()] = src[index[1].ravel()]
    return dst


def draw_side(rng: random.Random, shape: tuple[int, ...], may_repeat: bool, positive: bool) -> Side:
    strides, step = [0] * len(shape), rng.choice((1, 1, 1, 2, 3))
    low = high = 0
    for dim in rng.sample(range(len(shape)), len(shape)):
        if may_repeat and rng.random() < 0.1:
            continue
        strides[dim] = step if positive or rng.random() < 0.85 else -step
        reach = (shape[dim] - 1) * strides[dim] if shape[dim] else 0
        low, high = low + min(reach, 0), high + max(reach, 0)
        step = step * max(shape[dim], 1) + rng.choice((0, 0, 0, 1, 2, 7))
    return Side(tuple(strides), GUARD - low, high - low + 1 + 2 * GUARD)


def draw(rng: random.Random, positive: bool = False) -> Case:
    while True:
        shape = tuple(rng.choice((0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64, 100) if rng.random() < 0.2 else
                                 (1, 2, 3, 4, 5, 8, 16, 17, 33)) for _ in range(rng.randrange(6)))
        if int(np.prod(shape, dtype=np.int64)) <= 20000:
            break
    return Case(rng.choice(DTYPES), shape, draw_side(rng, shape, False, positive), draw_side(rng, shape, True, positive))


def failure(target: Target, case: Case) -> str | None:
    """What is wrong, in words; None: nothing."""
    dst, src = contents(case)
    before = src.copy()
    try:
        got = np.asarray(target.copy(case, dst, src))
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    wanted = expected(case)
    if got.tobytes() != wanted.tobytes():
        wrong = np.flatnonzero(got != wanted)
        inside = set(np.flatnonzero(wanted).tolist())
        where = "element" if int(wrong[0]) in inside else "a neighbour, element"
        return f"{len(wrong)} wrong, first {where} {wrong[0]}: {got[wrong[0]]}, expected {wanted[wrong[0]]}"
    return None if src.tobytes() == before.tobytes() else "the source was changed"


def retightened(case: Case, shape: tuple[int, ...], dst: tuple[int, ...], src: tuple[int, ...]) -> Case:
    def side(strides: tuple[int, ...]) -> Side:
        reach = [(extent - 1) * stride if extent else 0 for extent, stride in zip(shape, strides)]
        low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
        return Side(strides, GUARD - low, high - low + 1 + 2 * GUARD)

    return Case(case.dtype, shape, side(dst), side(src))


def smaller(case: Case):
    """Simpler cases, the boldest first."""
    for dim in range(len(case.shape)):
        def without(t: tuple[int, ...], dim: int = dim) -> tuple[int, ...]:
            return t[:dim] + t[dim + 1:]

        yield retightened(case, without(case.shape), without(case.dst.strides), without(case.src.strides))
        for extent in sorted({1, case.shape[dim] // 2, case.shape[dim] - 1}):
            if 0 < extent < case.shape[dim]:
                shape = case.shape[:dim] + (extent,) + case.shape[dim + 1:]
                yield retightened(case, shape, case.dst.strides, case.src.strides)
    dense, step = [], 1
    for extent in reversed(case.shape):
        dense.insert(0, step)
        step *= max(extent, 1)
    for dst, src in ((tuple(dense), case.src.strides), (case.dst.strides, tuple(dense))):
        if (dst, src) != (case.dst.strides, case.src.strides):
            yield retightened(case, case.shape, dst, src)
    for dtype in DTYPES[:DTYPES.index(case.dtype)] if case.dtype in DTYPES else ():
        yield replace(case, dtype=dtype)


def shrink(target: Target, case: Case) -> Case:
    budget = 2000
    while budget > 0:
        for candidate in smaller(case):
            budget -= 1
            if failure(target, candidate):
                case = candidate
                break
        else:
            return case
    return case


def torture(target: Target, cases: int, seed: int) -> tuple[Case, str] | None:
    rng = random.Random(seed)
    for _ in range(cases):
        case = draw(rng, getattr(target, "positive", False))
        if failure(target, case):
            case = shrink(target, case)
            return case, failure(target, case) or "it fails only sometimes"
    return None


def report(target: Target, case: Case, why: str) -> str:
    program = target.program(case)
    lines = program.splitlines() + [f"# {target.name}: {why}"]
    assert len(lines) <= 10, "a program of more than ten lines"
    return "\n".join(lines)


def load(name: str) -> Target:
    if name in TARGETS:
        return TARGETS[name]()
    module, _, member = name.partition(":")
    if not member:
        raise SystemExit(f"{name} is no target; expected {', '.join(TARGETS)} or module:Class")
    return getattr(importlib.import_module(module), member)()


def installed(name: str) -> bool:
    try:
        importlib.import_module(name)
    except Exception:  # noqa: BLE001
        return False
    return name != "cupy" or load("cupy") is not None


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m infini.torture", description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", help="infini, numpy, torch, jax, cupy or module:Class")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args(words)
    names = arguments.targets or [name for name in TARGETS if installed(name)]
    status = 0
    for name in names:
        target = load(name)
        found = torture(target, arguments.cases, arguments.seed)
        if found is None:
            print(f"{target.name}: {arguments.cases} copies, every byte and its neighbours as expected")
            continue
        status = 1
        print(report(target, *found))
    return status


if __name__ == "__main__":
    sys.exit(main())
