#!/usr/bin/env python3
"""Which lines of a folder no test runs: builds the preset coverage, runs the tests and the fuzz corpora, asks llvm-cov.

    tests/coverage.py [FOLDER] [--lines]     FOLDER: src/backends/cpu unless told; --lines: every line, not only how many

Needs clang and llvm. Kernels of instruction sets that this machine lacks cannot be run by it.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
BUILD = TOP / "build" / "coverage"
TESTS = ["base_test", "plan_test", "cpu_rearrange_test", "cpu_gemm_test", "conformance_cpu", "gemm_conformance_cpu", "capi_test",
         "operators_test", "operators_test_avx2", "operators_test_portable", "tensor_test", "runtime_test"]
PROGRAMS = ["base_test", "plan_test", "cpu_rearrange_test", "cpu_gemm_test", "conformance_test", "gemm_conformance_test",
            "capi_test", "operators_test", "tensor_test", "runtime_test"]
FUZZERS = ["rearrange", "gemm", "misuse", "operators", "graph", "text", "pattern"]


def run(*command, **more):
    return subprocess.run([str(part) for part in command], cwd=TOP, check=True, **more)


def count(profiles):
    environment = dict(os.environ, LLVM_PROFILE_FILE=str(profiles / "%p-%m.profraw"))
    run("ctest", "--test-dir", BUILD, "-R", "^(" + "|".join(TESTS) + ")$", "--output-on-failure", "-j2", env=environment)
    for name in FUZZERS:
        corpus = BUILD / "corpus" / name
        corpus.mkdir(parents=True, exist_ok=True)
        run(sys.executable, "tests/fuzz/corpus.py", "unpack", name, corpus)
        grown = TOP / "build" / "fuzz" / "corpus" / name
        folders = [corpus] + ([grown] if grown.is_dir() else [])
        run(BUILD / "bin" / f"fuzz_{name}", "-runs=0", *folders, env=environment, stderr=subprocess.DEVNULL)


def uncovered(data, folder):
    """{file: (lines that have code, those of them that no run reached)}. A line counts by its best segment, as in llvm-cov."""
    result = {}
    for file in data["data"][0]["files"]:
        path = pathlib.Path(file["filename"])
        if not path.is_relative_to(folder) or path.stem.endswith("_test"):
            continue
        lines = {}
        segments = [segment for segment in file["segments"]]
        for here, following in zip(segments, segments[1:]):
            line, _, times, counted = here[:4]
            if not counted:
                continue
            for number in range(line, following[0] + 1):
                if number == following[0] and following[1] <= 1:
                    continue
                lines[number] = max(lines.get(number, 0), times)
        if lines:
            result[path.relative_to(TOP)] = (len(lines), sorted(n for n, times in lines.items() if times == 0))
    return result


def ranges(numbers):
    text, begin = [], None
    for here, following in zip(numbers, numbers[1:] + [None]):
        begin = here if begin is None else begin
        if following != here + 1:
            text.append(str(begin) if begin == here else f"{begin}-{here}")
            begin = None
    return ", ".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", default="src/backends/cpu")
    parser.add_argument("--lines", action="store_true")
    given = parser.parse_args()
    run("cmake", "--preset", "coverage", stdout=subprocess.DEVNULL)
    run("ninja", "-C", BUILD, *PROGRAMS, *(f"fuzz_{name}" for name in FUZZERS), stdout=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        profiles = pathlib.Path(folder)
        count(profiles)
        merged = profiles / "all.profdata"
        run("llvm-profdata", "merge", "-sparse", *profiles.glob("*.profraw"), "-o", merged)
        programs = [BUILD / "bin" / name for name in PROGRAMS + [f"fuzz_{name}" for name in FUZZERS]]
        objects = [word for program in programs[1:] for word in ("-object", program)]
        exported = run("llvm-cov", "export", "-instr-profile", merged, programs[0], *objects, capture_output=True, text=True).stdout
    files = uncovered(json.loads(exported), TOP / given.folder)
    for path, (lines, missing) in sorted(files.items(), key=lambda item: -len(item[1][1])):
        print(f"{100 * (lines - len(missing)) / lines:5.1f} %  {len(missing):4} of {lines:4}  {path}"
              + (f"  {ranges(missing)}" if given.lines and missing else ""))
    lines, missing = sum(all_ for all_, _ in files.values()), sum(len(some) for _, some in files.values())
    print(f"{100 * (lines - missing) / max(lines, 1):5.1f} %  {missing} of {lines} lines of {given.folder} are not run")
    return 0


sys.exit(main())
