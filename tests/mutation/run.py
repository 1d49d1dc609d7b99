#!/usr/bin/env python3
"""The mutation check: plants one fault after another into a copy of the tree and sees whether the tests notice.

    tests/mutation/run.py [--build FOLDER] [--jobs N] [--only WORD] [--results FILE]

Each fault of faults.toml replaces a text that stands once in its file. The copy (of what git tracks, as it is now) is in
FOLDER/tree, built by the preset dev; only what the relevant tests need is built, and of a fault's tests only as many run as
it takes to notice it. A fault that no test notices survived: it is to become a case. Results are added to FILE after every
fault, and faults that stand there already are not tried again unless their text changed.
"""
import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent

# The tests that are to notice faults of a folder, the quickest first. The longest prefix counts.
GPU = ["gpu_schedule_test", "conformance_metax"]
ROOMS = {
    "src/base/": ["base_test", "capi_test", "gemm_conformance_cpu"],
    "src/plan/": ["plan_test", "conformance_cpu", "gemm_conformance_cpu", "tensor_test"],
    "src/plan/reshard/": ["reshard_test"],
    "src/contract/": ["cpu_rearrange_test", "cpu_gemm_test", "capi_test"],
    "src/runtime/": ["runtime_test", "tensor_test", "capi_test"],
    "src/ops/": ["capi_test", "conformance_cpu", "gemm_conformance_cpu"],
    "src/capi/": ["capi_test"],
    "src/tensor/": ["tensor_test"],
    "src/backends/cpu/runtime/": ["cpu_rearrange_test", "cpu_gemm_test", "capi_test"],
    "src/backends/cpu/machine/": ["cpu_rearrange_test", "cpu_gemm_test"],
    "src/backends/cpu/rearrange/": ["fuzz_rearrange", "cpu_rearrange_test", "conformance_cpu"],
    "src/backends/cpu/gemm/": ["cpu_gemm_test", "gemm_conformance_cpu", "fuzz_gemm"],
    "src/backends/cpu/operators/": ["operators_test", "operators_test_avx2", "operators_test_portable"],
    "src/backends/cpu/convert/": ["convert_test", "convert_test_avx2", "convert_test_portable"],
    "src/backends/gpu/operators/": ["operators_test_moore"],
    "src/backends/gpu/rearrange/": GPU,
    "src/backends/gpu/rearrange/tile/": GPU + ["gpu_emulated_bounds_tile", "conformance_metax_tile"],
    "src/backends/gpu/rearrange/transpose/": GPU + ["gpu_emulated_bounds_transpose", "conformance_metax_transpose"],
    "src/backends/gpu/rearrange/planes/": GPU + ["gpu_emulated_bounds_planes", "conformance_metax_planes"],
    "src/backends/gpu/rearrange/rows/": GPU + ["conformance_metax_rows"],
    "src/backends/gpu/rearrange/shift/": GPU + ["conformance_metax_rows", "conformance_metax_copy"],
    "src/backends/gpu/rearrange/scatter/": GPU + ["gpu_emulated_bounds_scatter", "conformance_metax_scatter"],
    "src/backends/gpu/rearrange/generic/": GPU + ["conformance_metax_generic"],
    "src/backends/gpu/gemm/": ["gpu_schedule_test", "gemm_conformance_metax"],
    "src/backends/gpu/runtime/": ["gpu_runtime_moore", "gpu_emulated_test"],
}


def tests_of(fault):
    if "tests" in fault:
        return fault["tests"]
    tests = ROOMS[max((prefix for prefix in ROOMS if fault["file"].startswith(prefix)), key=len)]
    # Schedules are host code, and know nothing of kernels.
    return [test for test in tests if not (fault["file"].endswith(".cuh") and test == "gpu_schedule_test")]


def targets_of(test):
    """What ninja builds for a test of ctest."""
    program = test if test.endswith("_test") or test.startswith("fuzz") else \
        "gpu_emulated_test" if test.startswith("gpu_emulated") else \
        "operators_test" if test.startswith("operators_test") else \
        "convert_test" if test.startswith("convert_test") else \
        "pages_test" if test.startswith("pages") else \
        "gemm_conformance_test" if test.startswith("gemm_conformance") else \
        "conformance_test" if test.startswith("conformance") else "gpu_runtime_test"
    modules = [f"infini-{vendor}" for vendor in ("metax", "moore") if vendor in test]
    return [program] + modules + (["infini-moore"] if test.startswith("gpu_emulated") else [])


def shell(*command, cwd, limit=None, log=None):
    """True: it succeeded; False: it failed, or hung."""
    try:
        done = subprocess.run(command, cwd=cwd, timeout=limit, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return False
    if log is not None:
        log.append(done.stdout)
    return done.returncode == 0


class Tree:
    def __init__(self, folder, jobs):
        self.root, self.jobs = folder / "tree", jobs
        self.build = self.root / "build" / "dev"
        self.root.mkdir(parents=True, exist_ok=True)

    def update(self):
        """Files of the copy change only where ours did, so that little is built again."""
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, text=True, check=True).stdout
        names = {name for name in listed.split("\0") if name and (TOP / name).is_file()}
        for name in names:
            here, there = TOP / name, self.root / name
            if there.exists() and there.read_bytes() == here.read_bytes():
                continue
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(here.read_bytes())
            there.chmod(here.stat().st_mode)
        log = []
        if not shell("cmake", "--preset", "dev", "-DINFINI_NVIDIA=OFF", "-DINFINI_PYTHON=OFF", cwd=self.root, log=log):
            sys.exit("".join(log))

    def make(self, test):
        log = []
        done = shell("ninja", "-C", str(self.build), f"-j{self.jobs}", *targets_of(test), cwd=self.root, log=log)
        return done, "".join(log)

    def passes(self, test, limit=900):
        return shell("ctest", "--test-dir", str(self.build), "-R", f"^{test}$", "--no-tests=error", cwd=self.root, limit=limit)


def plant(tree, fault):
    """The file's text before; none where the fault's text has moved."""
    path = tree.root / fault["file"]
    text = path.read_text() if path.exists() else ""
    if text.count(fault["old"]) != 1:
        return None
    path.write_text(text.replace(fault["old"], fault["new"]))
    return text


def judge(tree, fault):
    before = plant(tree, fault)
    if before is None:
        return "moved", "its text does not stand once in the file"
    try:
        for test in tests_of(fault):
            built, log = tree.make(test)
            if not built:
                return "broken", "does not compile: " + log[-600:]
            if not tree.passes(test):
                return "noticed", test
        return "SURVIVED", "passed " + ", ".join(tests_of(fault))
    finally:
        (tree.root / fault["file"]).write_text(before)


def key_of(fault):
    return hashlib.sha1(json.dumps([fault["file"], fault["old"], fault["new"]]).encode()).hexdigest()[:12]


def require_green(tree, faults):
    """What fails without a fault can notice nothing."""
    for test in sorted({test for fault in faults for test in tests_of(fault)}):
        built, log = tree.make(test)
        if not built:
            sys.exit(f"{test} does not build without a fault:\n{log[-2000:]}")
        if not tree.passes(test):
            sys.exit(f"{test} fails without a fault")


def main():
    os.environ["GTEST_FAIL_FAST"] = "1"
    os.environ["INFINI_FUZZ_SECONDS"] = "0"  # inputs that are the same in every run
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=TOP / "build" / "mutation")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="faults whose name or file contains this")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--again", action="store_true", help="also what stands in the results already")
    given = parser.parse_args()
    faults = [fault for fault in tomllib.loads((HERE / "faults.toml").read_text())["fault"]
              if given.only in fault["name"] or given.only in fault["file"]]
    results = given.results or given.build / "results.json"
    known = json.loads(results.read_text()) if results.exists() else {}
    faults = [fault for fault in faults if given.again or known.get(key_of(fault), {}).get("result") != "noticed"]
    tree = Tree(given.build.resolve(), given.jobs)
    tree.update()
    require_green(tree, faults)
    for fault in faults:
        start = time.time()
        result, by = judge(tree, fault)
        known[key_of(fault)] = {"name": fault["name"], "file": fault["file"], "result": result, "by": by}
        results.parent.mkdir(parents=True, exist_ok=True)
        results.write_text(json.dumps(known, indent=1))
        print(f"{result:9} {time.time() - start:5.0f} s  {fault['file']}: {fault['name']} ({by})", flush=True)
    bad = [one for one in known.values() if one["result"] != "noticed"]
    print(f"{len(known) - len(bad)} of {len(known)} faults were noticed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
