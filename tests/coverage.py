#!/usr/bin/env python3
"""Which lines of a folder no test runs: builds the preset coverage, runs the tests and fuzz targets of ./test, asks llvm-cov.

    tests/coverage.py [FOLDER] [--lines] [--jobs N]    FOLDER: src/backends/cpu unless told; --lines: every line, not only how many

Needs clang and llvm. Kernels of instruction sets that this machine lacks cannot be run by it.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
BUILD = TOP / "build" / "coverage"
# Programs, and the tests of ctest that are to run them. What ./test runs on a CPU and nothing more.
CPU = {
    "cpu_rearrange_test": ["cpu_rearrange_test"],
    "cpu_gemm_test": ["cpu_gemm_test"],
    "cpu_gemm_schedule_test": ["cpu_gemm_schedule_test"],
    "cpu_gemm_onednn_test": ["cpu_gemm_onednn_test"],
    "cpu_pool_test": ["cpu_pool_test"],
    "conformance_test": ["conformance_cpu"],
    "gemm_conformance_test": ["gemm_conformance_cpu"],
    "operator_conformance_test": ["operator_conformance_cpu(_avx2|_portable)?"],
    "operators_test": ["operators_test(_avx2|_portable)?"],
    "convert_test": ["convert_test(_avx2|_portable)?"],
    "pages_test": ["pages_cpu"],
    "capi_test": ["capi_test"],
    "runtime_test": ["runtime_test"],
    "infini-cli": ["command_line"],
    **{f"fuzz_{name}": [f"fuzz_{name}"] for name in ("rearrange", "gemm", "misuse", "operators", "graph")},
}
OTHERS = {name: [name] for name in ("base_test", "plan_test", "tensor_test", "reshard_test", "harness_test", "fuzz_text",
                                    "fuzz_pattern", "fuzz_npy", "fuzz_safetensors")}
KINDS = ("lines", "regions", "functions")


def run(*command, **more):
    return subprocess.run([str(part) for part in command], cwd=TOP, check=True, **more)


class Step:
    """Says what is done now and, at its end, how long it took."""

    def __init__(self, words):
        self.words, self.start = words, time.time()
        print(f"== {words}", file=sys.stderr, flush=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        print(f"   {time.time() - self.start:.0f} s", file=sys.stderr, flush=True)


def tool(name):
    """llvm-cov or llvm-profdata of the clang that builds."""
    version = run("clang", "-dumpversion", capture_output=True, text=True).stdout.split(".")[0]
    for candidate in (f"{name}-{version}", name):
        if shutil.which(candidate):
            return candidate
    sys.exit(f"{name} is missing: apt install llvm clang")


def count(programs, jobs):
    """Runs the tests; whether all passed, and where their counters are."""
    profiles = BUILD / "profiles"
    shutil.rmtree(profiles, ignore_errors=True)
    profiles.mkdir(parents=True)
    tests = "|".join(test for tests in programs.values() for test in tests)
    environment = dict(os.environ, LLVM_PROFILE_FILE=str(profiles / "%4m.profraw"),
                       INFINI_FUZZ_SECONDS="0")  # the same in every run
    ctest = ["ctest", "--test-dir", BUILD, "-R", f"^({tests})$", "--output-on-failure", f"-j{jobs}"]
    passed = subprocess.run(ctest, cwd=TOP, env=environment, stdout=sys.stderr).returncode == 0
    merged = profiles / "all.profdata"
    run(tool("llvm-profdata"), "merge", "-sparse", *profiles.glob("*.profraw"), "-o", merged)
    return passed, merged


def uncovered(file):
    """Lines that have code and that no run reached. A line counts by its best segment, as in llvm-cov."""
    lines = {}
    for here, following in zip(file["segments"], file["segments"][1:]):
        line, _, times, counted = here[:4]
        if not counted:
            continue
        for number in range(line, following[0] + 1):
            if number == following[0] and following[1] <= 1:
                continue
            lines[number] = max(lines.get(number, 0), times)
    return sorted(number for number, times in lines.items() if times == 0)


def ranges(numbers):
    text, begin = [], None
    for here, following in zip(numbers, numbers[1:] + [None]):
        begin = here if begin is None else begin
        if following != here + 1:
            text.append(str(begin) if begin == here else f"{begin}-{here}")
            begin = None
    return ", ".join(text)


def report(files, folder, lines):
    """A row for each folder; with `lines` what is missing in each file, the most first."""
    sums = {}
    for path, (summary, missing) in sorted(files.items(), key=lambda item: -len(item[1][1])):
        if lines and missing:
            print(f"{len(missing):4} of {summary['lines']['count']:4}  {path}: {ranges(missing)}")
        for group in (str(path.parent), "all"):
            row = sums.setdefault(group, {kind: [0, 0] for kind in KINDS})
            for kind in KINDS:
                row[kind][0] += summary[kind]["covered"]
                row[kind][1] += summary[kind]["count"]
    print("\n| folder of " + folder + " | " + " | ".join(KINDS) + " | lines that are not run |\n|---|---|---|---|---|")
    for group, row in sorted(sums.items(), key=lambda item: (item[0] == "all", item[0])):
        shares = " | ".join(f"{100 * covered / max(all_, 1):.1f} %" for covered, all_ in row.values())
        name = os.path.relpath(group, folder) if group != "all" else "**all**"
        print(f"| {name} | {shares} | {row['lines'][1] - row['lines'][0]} of {row['lines'][1]} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", default="src/backends/cpu")
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    programs = dict(CPU) if given.folder.startswith("src/backends/cpu") else {**CPU, **OTHERS}
    with Step("configure"):
        run("cmake", "--preset", "coverage", stdout=subprocess.DEVNULL)
    with Step(f"build {len(programs)} programs"):
        run("ninja", "-C", BUILD, f"-j{given.jobs}", *programs, stdout=sys.stderr)
    with Step("run the tests"):
        passed, merged = count(programs, given.jobs)
    with Step("ask llvm-cov"):
        # Every program has all of the library's objects, and counters of one function are the same in all.
        exported = run(tool("llvm-cov"), "export", "-instr-profile", merged, BUILD / "bin" / "fuzz_graph",
                       capture_output=True, text=True).stdout
    files = {}
    for file in json.loads(exported)["data"][0]["files"]:
        path = (BUILD / file["filename"]).resolve()  # compiler caches make names relative
        if path.is_relative_to(TOP / given.folder) and not path.stem.endswith("_test"):
            files[path.relative_to(TOP)] = (file["summary"], uncovered(file))
    report(files, given.folder, given.lines)
    if not passed:
        print("some tests failed, see above: these lines are what the others run", file=sys.stderr)
    return 0 if passed else 1


sys.exit(main())
