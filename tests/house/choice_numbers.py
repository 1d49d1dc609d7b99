#!/usr/bin/env python3
"""Counts the hand-set numbers by which kernels are chosen: they may get fewer, not more.

Rules: named constants, and fractions without a name, in the files of costs and of the domains in which a candidate was
measured. These decide, and nothing but somebody's judgement says that they are right.
Tables: what was fitted to one kind of machine. Each is a field with a name, a comment and the machine; another machine
gets a table of its own. They may get more, so the limit only says that somebody looked.
Not counted are facts that a machine is asked for or that `infini machine --measure` finds (cpu/machine/profiles.cpp,
gpu/model/device_model.h, ascend/chip_model.h).
    choice_numbers.py --list    each of them
"""
import pathlib
import re
import sys

BACKENDS = pathlib.Path(__file__).resolve().parent.parent.parent / "src" / "backends"
# Where costs are, and how many numbers they have at most.
COSTS = {
    "CPU rearrange": (["cpu/rearrange/**/cost*.cpp", "cpu/rearrange/policy.cpp", "cpu/rearrange/pins.cpp"], 5),
    "CPU convert": (["cpu/convert/**/cost*.cpp", "cpu/convert/move.cpp"], 0),
    "CPU gemm": (["cpu/gemm/**/cost*.cpp", "cpu/gemm/costs.h"], 1),
    "GPU rearrange": (["gpu/rearrange/**/cost*.cpp", "gpu/rearrange/estimates.cpp"], 0),
    "NVIDIA gemm": (["nvidia/gemm/estimates.cpp", "nvidia/gemm/*/make_schedule.cpp"], 32),
    "Ascend rearrange": (["ascend/rearrange/*cost*.cpp"], 0),
}
# Where tables are.
TABLES = {
    "CPU gemm, fitted on Zen 4": (["cpu/machine/product_cycles.cpp"], 60),
    "CPU gemm, fitted on Zen 5": (["cpu/machine/product_cycles_zen5.cpp"], 60),
    "NVIDIA gemm, fitted on an H200": (["nvidia/gemm/hopper.cpp"], 30),
    "GPU rearrange, fitted on an H200": (["gpu/model/hopper.cpp"], 130),
}
STATEMENT = re.compile(r"\bconstexpr\b[^;(]*;", re.S)
FRACTION = re.compile(r"(?<![\w.])[0-9]+\.[0-9]*[1-9][0-9]*(?![\w.])")
NUMBER = re.compile(r"\b([a-z]\w*)\s*=\s*(?:int64_t\{)?(-?[0-9][0-9a-fx'.]*(?:e-?[0-9]+)?)")


VALUE = re.compile(r"(?<![\w.])-?[0-9][0-9'.]*(?![\w])")


def texts(patterns):
    for pattern in patterns:
        paths = sorted(BACKENDS.glob(pattern))
        if not paths:
            sys.exit(f"no file is called {pattern} any more: where are these costs now?")
        for path in paths:
            # Without what is said for people: comments, and the problems in pins.
            yield path.relative_to(BACKENDS), re.sub(r'//[^\n]*|"[^"\n]*"', "", path.read_text())


def in_rules(patterns):
    found = []
    for path, text in texts(patterns):
        found += [(path, name, value)
                  for statement in STATEMENT.findall(text) for name, value in NUMBER.findall(statement)]
        found += [(path, "", value) for value in FRACTION.findall(STATEMENT.sub("", text))]
    return found


# The values of `.name = value` and `.name = {values}`.
def in_tables(patterns):
    found = []
    for path, text in texts(patterns):
        parts = re.split(r"\.([a-z]\w*) = ", re.sub(r'"[^"]*"', "", text))
        found += [(path, name, value) for name, values in zip(parts[1::2], parts[2::2])
                  for value in VALUE.findall(values)]
    return found


def count(rooms, numbers):
    wrong = 0
    total = 0
    for room, (patterns, most) in rooms.items():
        found = numbers(patterns)
        total += len(found)
        wrong += len(found) > most
        print(f"{room}: {len(found)} numbers" + (f", more than {most}: a fact of a machine?" if len(found) > most else ""))
        if "--list" in sys.argv:
            print("\n".join(f"  {path}: {name} = {value}" for path, name, value in found))
    print(f"together: {total}")
    return wrong


def main():
    print("Rules")
    wrong = count(COSTS, in_rules)
    print("Tables")
    wrong += count(TABLES, in_tables)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
