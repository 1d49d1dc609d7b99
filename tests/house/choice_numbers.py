#!/usr/bin/env python3
"""Counts the hand-set numbers by which kernels are chosen: they may get fewer, not more.

Counted are named constants, and fractions without a name, in the files of costs and of the domains in which a candidate
was measured. Facts of a
machine (cpu/machine, gpu/model, ascend/chip_model.h) can be measured or asked for, and do not count.
    choice_numbers.py --list    each of them
"""
import pathlib
import re
import sys

BACKENDS = pathlib.Path(__file__).resolve().parent.parent.parent / "src" / "backends"
# Where costs are, and how many numbers they have at most.
COSTS = {
    "CPU rearrange": (["cpu/rearrange/**/cost*.cpp", "cpu/rearrange/policy.cpp", "cpu/rearrange/pins.cpp"], 6),
    "CPU gemm": (["cpu/gemm/**/cost*.cpp", "cpu/gemm/costs.h"], 40),
    "GPU rearrange": (["gpu/rearrange/**/cost*.cpp", "gpu/rearrange/estimates.cpp"], 50),
    "NVIDIA gemm": (["nvidia/gemm/estimates.cpp", "nvidia/gemm/*/make_schedule.cpp"], 58),
    "Ascend rearrange": (["ascend/rearrange/*cost*.cpp"], 0),
}
STATEMENT = re.compile(r"\bconstexpr\b[^;(]*;", re.S)
FRACTION = re.compile(r"(?<![\w.])[0-9]+\.[0-9]*[1-9][0-9]*(?![\w.])")
NUMBER = re.compile(r"\b([a-z]\w*)\s*=\s*(?:int64_t\{)?(-?[0-9][0-9a-fx'.]*(?:e-?[0-9]+)?)")


def numbers(patterns):
    found = []
    for pattern in patterns:
        paths = sorted(BACKENDS.glob(pattern))
        if not paths:
            sys.exit(f"no file is called {pattern} any more: where are these costs now?")
        for path in paths:
            text = re.sub(r"//[^\n]*", "", path.read_text())
            found += [(path.relative_to(BACKENDS), name, value)
                      for statement in STATEMENT.findall(text) for name, value in NUMBER.findall(statement)]
            found += [(path.relative_to(BACKENDS), "", value) for value in FRACTION.findall(STATEMENT.sub("", text))]
    return found


def main():
    wrong = 0
    total = 0
    for room, (patterns, most) in COSTS.items():
        found = numbers(patterns)
        total += len(found)
        wrong += len(found) > most
        print(f"{room}: {len(found)} numbers" + (f", more than {most}: a fact of a machine?" if len(found) > most else ""))
        if "--list" in sys.argv:
            print("\n".join(f"  {path}: {name} = {value}" for path, name, value in found))
    print(f"together: {total}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
