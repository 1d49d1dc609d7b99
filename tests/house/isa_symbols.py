"""Objects that are compiled for one instruction set define no weak symbols.

An inline function of theirs would be compiled with that instruction set, and the linker may take it for the whole
library: a processor without the instructions then dies far away from any kernel.
"""
import pathlib
import subprocess
import sys

ISA_NAMES = {"avx2", "avx512", "avx512bf16", "neon"}


def is_for_one_isa(path):
    stem = path.name.split(".")[0]
    return stem in ISA_NAMES or (path.parent.name == "amx" and stem == "kernels")


def main(nm, objects):
    checked, wrong = 0, []
    for path in map(pathlib.Path, objects):
        if not is_for_one_isa(path):
            continue
        checked += 1
        symbols = subprocess.run([nm, "-C", "--defined-only", str(path)], capture_output=True, text=True, check=True)
        wrong += [f"{path}: {line}" for line in symbols.stdout.splitlines() if line.split(None, 2)[1] in "WVu"]
    print("\n".join(wrong) or f"{checked} objects define nothing weak")
    return 1 if wrong or checked == 0 else 0


sys.exit(main(sys.argv[1], sys.argv[2:]))
