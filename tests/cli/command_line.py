"""Runs the command line tool as a person would and looks at what it says and how it exits."""
import json
import os
import pathlib
import re
import subprocess
import sys

# Arguments, exit status, what standard output has, what standard error has. A gemm is checked twice: with
# integers, which must come out exactly, and with random numbers.
CASES = [
    ([], 2, "infini bench", ""),
    (["--help"], 0, "infini check --random", ""),
    (["help"], 0, "infini check --random", ""),
    (["plan", "--help"], 0, "infini plan", ""),
    (["help", "plan"], 0, "--verbose", ""),
    (["bench", "quick", "--filter", "x", "-h"], 0, "--milliseconds N", ""),
    (["help", "dtypes"], 0, "bf16  2 bytes, also bfloat16", ""),
    (["help", "problems"], 0, "rearrange DTYPE SHAPE", ""),
    (["help", "environment"], 0, "INFINI_BACKEND_PATH", ""),
    (["--version"], 0, "infini ", ""),
    (["devices"], 0, "cpu", ""),
    (["plan", "rearrange f32 2x3 perm=1,0"], 0, "order       src b a -> dst a b", ""),
    (["plan", "rearrange f32 2x3 perm=1,0"], 0, "of a copy's speed", ""),
    (["plan", "rearrange f32 2x3 perm=1,0"], 0, "cannot      repeated: ", ""),
    (["plan", "rearrange f32 2x3 perm=1,0"], 0, "reads       24 B in runs of 12 B along a", ""),
    (["plan", "rearrange f32 2x3 perm=1,0", "--verbose"], 0, "writes 24 bytes, reads 24", ""),
    (["plan", "rearrange u8 4x3 src=0,-1"], 0, "src -b -> dst a b", ""),
    (["plan", "rearrange f32 0x3"], 0, "nothing to move", ""),
    (["plan", "rearrange float32 2x3", "--all"], 0, "candidates, by the time", ""),
    (["plan", "gemm f32 m=2 n=3 k=4"], 0, "work        48 FLOP, ", ""),
    (["plan", "gemm f32 m=64 n=64 k=64"], 0, "FLOP/s", ""),
    (["plan", "rms_norm f32 64x4096"], 0, "reads       x (f32) 1 MiB, w (f32) 16 KiB", ""),
    (["plan", "add f32 64x128 b_shape=1x128"], 0, "a              64       512 B       512 B         0 B", ""),
    (["plan", "add f32 0x3"], 0, "nothing to compute", ""),
    (["plan", "gemm f32 m=2 n=3 k=4 b=t", "--verbose"], 0, "48 FLOP", ""),
    (["check", "rearrange u8 5x7x3 perm=2,0,1", "gemm bf16 m=5 n=6 k=7 beta=1"], 0, "3 passed, 0 failed", ""),
    (["check", "--random", "50", "--seed", "3"], 0, "50 passed, 0 failed", ""),
    (["check", "--random", "20", "--op", "gemm"], 0, "40 passed, 0 failed", ""),
    (["check", "--threads", "1", "--random", "5"], 0, "5 passed, 0 failed", ""),
    (["bench", "--list"], 0, "cpu_medium", ""),
    (["bench", "rearrange f32 64x64 perm=1,0", "--milliseconds", "1"], 0, "geometric mean", ""),
    (["bench", "quick", "--filter", "transpose", "--milliseconds", "1"], 0, "transpose_u8", ""),
    (["bench", "--random", "4", "--megabytes", "1", "--milliseconds", "1"], 0, "geometric mean", ""),
    (["bench", "rearrange f32 4096x64 src=256,2", "--milliseconds", "1"], 0, "(whole lines allow 0.67)", ""),
    (["bench", "gemm f32 m=8 n=8 k=8", "--milliseconds", "1"], 0, "gemm f32 m=8 n=8 k=8", ""),
    (["check", "gemm f32 m=2 n=2 k=2 alpha=nan"], 0, "2 passed, 0 failed", ""),
    (["reshard", "f16 4096x11008 (2x4: block,cyclic:128) -> (8: replicate,block)"], 0, "in 56 messages", ""),
    (["reshard", "f32 64x64 (4: block,replicate) -> perm=1,0 (4: block,replicate)", "--explain"], 0, "sends     rank 3", ""),
    (["reshard", "u8 1000 (2: block) -> (2: replicate)", "--simulate", "latency=1s", "bandwidth=100B/s"], 0,
     "expected    6 s", ""),
    (["reshard", "f32 64 (4: blokc) -> (4: block)"], 2, "", "at character 12"),
    (["reshard", "f32 64 (4: block) -> (4: block)", "--simulate", "latencie=3"], 2, "", 'did you mean "latency="?'),
    (["reshard", "f32 64 (4: block) -> (4: block)", "--rank", "4"], 2, "", "the plan has ranks 0..3"),
    (["reshard", "f32 64x64 (2x2: block,block) * 64x64 (2x2: block,block) -> (2x2: block,block) panel=16", "--rank", "1"], 0,
     "k 32..47, A here, B from rank 3", ""),
    (["reshard", "f32 64x64 (4: block,replicate) * 64x64 (4: block,replicate) -> (4: replicate,block)"], 2, "", "reshard a first"),
    # The quotes around a problem may be left out.
    (["plan", "rearrange", "f32", "2x3", "perm=1,0"], 0, "writes      24 B", ""),
    (["check", "rearrange", "f32", "2x3", "gemm", "f32", "m=2", "n=3", "k=4"], 0, "3 passed, 0 failed", ""),
    (["plan", "rearrange", "f32", "2x3", "a b -> b a"], 0, "order       src b a -> dst a b", ""),
    # Patterns, with or without quotes of their own.
    (["plan", "rearrange f32 2x3 'a b -> b a'"], 0, "rearrange f32 3x2 src=1,3", ""),
    (["check", "rearrange bf16 2x64x512 b s (h d) -> b h s d h=8"], 0, "1 passed, 0 failed", ""),
    (["check", "rearrange u8 6x4 src=8,2 'a b -> b (a r)' r=2 dst=13,1"], 0, "1 passed, 0 failed", ""),
    (["check", "rearrange", "u8", "6x4", "a (b c) -> b c a", "b=2", "rearrange f32 2x3 perm=1,0"], 0, "2 passed, 0 failed", ""),
    (["plan", "rearrange f32 2x3 'a b -> b c'"], 2, "", "pattern 'a b -> b c', character 1: a is lost on the right"),
    (["plan", "rearrange f32 2x3 'a (b c) -> b c a' b=2"], 2, "", "character 3: dim 1 has 3 elements, (b c) makes 2 times c"),
    (["plan", "rearrange f32 2x3 'a b -> b a' perm=1,0"], 2, "", "perm and a pattern exclude each other"),
    (["plan", "rearrange f32 2x3 'a b -> b a' dst=1"], 2, "", "dst has 1 strides for 2 dims"),
    # What is wrong is named, and nothing runs.
    (["frobnicate"], 2, "", '"frobnicate" is not a command; see'),
    # What was meant is guessed.
    (["benhc"], 2, "", 'did you mean "bench"?'),
    (["help", "plann"], 2, "", 'did you mean "plan"?'),
    (["bench", "quikc"], 2, "", 'did you mean "quick"?'),
    (["bench", "--milisec", "3"], 2, "", 'did you mean "--milliseconds"?'),
    (["plan", "rearrange flaot32 2x3"], 2, "", 'did you mean "float32"?'),
    (["plan", "rearrange f32 2x3 prem=1,0"], 2, "", 'did you mean "perm="?'),
    (["plan", "gemm f32 m=2 n=3 k=4 btea=1"], 2, "", 'did you mean "beta="?'),
    (["plan", "rearange", "f32", "2x3"], 2, "", 'did you mean "rearrange"?'),
    (["check", "--random", "5", "--device", "cuda"], 2, "", 'did you mean "nvidia"?'),
    (["check", "--random", "5", "--random", "6"], 2, "", "--random is given twice"),
    (["plan"], 2, "", "problem"),
    (["plan", "rearrange f32 2x3 perm=1,1"], 2, "", "perm"),
    (["plan", "rearrange f99 2x3"], 2, "", "f99"),
    (["plan", "rearrange f32 2x2 dst=1,1"], 2, "", "dst"),
    (["plan", "gemm f32 64x64x64"], 2, "", "expected: gemm DTYPE"),
    (["check", "--random", "ten"], 2, "", "ten"),
    (["check", "--frob"], 2, "", "--frob is not an option"),
    (["bench", "nosuch"], 2, "", 'no suite "nosuch"'),
    (["bench", "quick", "--filter", "nosuch"], 2, "", '"nosuch"'),
    (["bench", "quick", "--milliseconds", "-1"], 2, "", "--milliseconds"),
    (["bench", "rearrange f32 4x4", "gemm f32 m=8 n=8 k=8"], 2, "", "not both"),
    (["bench", "--random", "-4"], 2, "", "--random is -4"),
    (["bench", "quick", "--random", "4"], 2, "", '"quick"'),
    (["check", "--random", "5", "--device", "qy"], 2, "", "qy"),
    (["check", "--random", "5", "--device", "toaster"], 2, "", "toaster"),
    (["check", "--random", "5", "--threads", "-3"], 2, "", "-3"),
    (["check", "--random", "5", "--threads", "4294967297"], 2, "", "--threads is 4294967297"),
    (["check", "--random", "-5"], 2, "", "--random is -5"),
    (["check", "--random", "5", "--device", "cpu:0:1"], 2, "", '"cpu:0:1"'),
    (["check", "--random", "5", "--device", "cpu:4294967296"], 2, "", "cpu:4294967296"),
    (["check", "--random", "5", "--device", "cpu:7"], 2, "", "device_id is 7"),
    (["plan", "copy f32 2x3"], 2, "", "begin with rearrange or gemm"),
    (["plan", "gemm"], 2, "", "expected: gemm DTYPE"),
    (["plan", "rearrange", "f23", "2x3", "perm=1,0"], 2, "", '"f23" is not a dtype (did you mean'),
    (["plan", "rearrange f32 4294967296x4294967296x4294967296 perm=2,1,0"], 2, "", "2^63 - 1 bytes"),
    (["plan", "gemm f32 m=4294967296 n=1 k=4294967296 a=t"], 2, "", "2^63 - 1 bytes"),
    (["plan", "rearrange u8 99999999999999999999"], 2, "", "64 bits"),
    (["plan", "rearrange f32 2x3 perm=1,0 src=1,2"], 2, "", "perm and src exclude each other"),
    (["plan", "gemm f32 m=2 n=2 k=2 m=3"], 2, "", "m is given twice"),
    (["plan", "gemm f32 m=2 n=2 k=2 b_at=4096"], 2, "", "b_at is 4096; expected 0..4095"),
    (["devices", "all"], 2, "", '"all" is not understood'),
    (["bench", "--list", "all"], 2, "", '"all" is not understood'),
    (["bench", "quick", "--json", "/nowhere/at/all"], 2, "", "cannot write /nowhere/at/all"),
]
# A sanitizer ends the program where memory ends.
UNSANITIZED = [
    (["check", "rearrange u8 1000000000x1000000000"], 1, "bytes of host memory", ""),
]


def run(tool, arguments):
    return subprocess.run([tool, *arguments], text=True, capture_output=True, check=False)


def mismatch(tool, arguments, status, output, errors):
    result = run(tool, arguments)
    if result.returncode != status:
        return f"exit status {result.returncode}, expected {status}"
    if output not in result.stdout:
        return f"{output!r} is not in its output"
    if status == 2 and not output and result.stdout:
        return f"nothing ran, but it printed {result.stdout!r}"
    if errors not in result.stderr or bool(errors) != bool(result.stderr):
        return f"expected {errors!r} on standard error, got {result.stderr!r}"
    return ""


def help_mismatches(tool):
    """Every help fits 80 columns, and every option that it lists is one."""
    commands = ["devices", "plan", "check", "bench", "reshard", "machine", "info", "convert", "rearrange", "slice", "shard",
                "unshard"]
    topics = [*commands, "problems", "dtypes", "environment"]
    texts = {topic: run(tool, ["help", topic]).stdout for topic in topics}
    for topic, text in {**texts, "": run(tool, []).stdout}.items():
        yield from (f"help {topic}: over 80 columns: {line}" for line in text.splitlines() if len(line) > 80)
    for command in commands:
        options = re.findall(r"^  (--[a-z-]+)", texts[command], re.M)
        for option in options:
            # Complaints about values and about what is missing are fine.
            errors = run(tool, [command, option, "none" if option == "--peer" else "1", "--frob"]).stderr
            if f"{option} is not an option" in errors or not options:
                yield f"{command} {option}: {errors}"


HUGE = ["rearrange u8 9223372036854775807", "rearrange u8 9223372036854775807 src=0",
        "rearrange u8 3037000499x3037000499 perm=1,0", "rearrange u16 2147483647x2147483647 src=2147483648,1",
        "rearrange u8 3x3074457345618258602 perm=1,0", "rearrange f32 1048576x549755813888x2 perm=1,0,2",
        "rearrange u64 1152921504606846975 src=0", "gemm f32 m=1073741824 n=1073741823 k=1"]


def huge_mismatches(tool):
    """Sizes near 2^63: planned, and no number is printed negative; accelerators may decline."""
    kinds = {device["kind"] for device in json.loads(run(tool, ["devices", "--json"]).stdout)["devices"]} - {"cpu"}
    for kind, problem in ((kind, problem) for kind in sorted(kinds) for problem in HUGE):
        result = run(tool, ["plan", problem, "--device", kind])
        if result.returncode not in (0, 2):
            yield f"{problem} on {kind}: exit status {result.returncode}"
    for problem in HUGE:
        result = run(tool, ["plan", "--verbose", problem])
        negative = re.findall(r".*(?<![\w.,=])-\d.*", result.stdout)
        if result.returncode != 0 or negative:
            yield f"{problem}: exit status {result.returncode}, {negative} {result.stderr}"


WIDE = ["rearrange f16 4x2048x32x128 perm=0,2,1,3", "rearrange f32 3x5x7x9x11x13x2x4 perm=7,6,5,4,3,2,1,0",
        "rearrange u8 123456789x12345 dst=1,123456789 src=-1,123456789012", "rearrange f64 1000x64 src=0,1",
        "gemm bf16 m=64 n=96 k=128 batch=32", "gemm f32 m=123456789 n=987654321 k=10 a=t", "gemm f32 m=1 n=1 k=1",
        "rope f16 7x4x64 algo=neox", "rms_norm bf16 9x4x4096 w_dtype=f32", "random_sample f16 128000",
        "causal_softmax bf16 3x17x1000 x=2000000,10000,3", "add f32 2x3x4x5x6 c=1,2,6,24,120"]


def wide_mismatches(tool):
    """Plans of any problem, with every detail, and the devices fit 80 columns; the problem stands on a line of its own."""
    present = json.loads(run(tool, ["devices", "--json"]).stdout)["devices"]
    for arguments in [["devices"]] + [["plan", "--all", *WIDE, "--device", device["kind"]] for device in present]:
        result = run(tool, arguments)
        wide = [line for line in result.stdout.splitlines()
                if len(line) > 80 and not line.startswith(("rearrange ", "gemm ", "modules are looked for"))]
        if result.returncode != 0 or wide:
            yield f"{arguments[:2]}: exit status {result.returncode} {result.stderr}, over 80 columns: {wide}"
        if re.search(r"^  kernel      \w+$", result.stdout, re.M):
            yield f"{arguments[:2]}: a kernel is not told in words"


def wide_measurements(tool):
    """Rows of measurements, the longest kernel's name and two digits of cases among them."""
    many = ["rearrange f32 48x48 perm=1,0"] * 10
    for problems, kernel in ((many, {"INFINI_CPU_REARRANGE": "buffered"}), (["gemm f32 m=33 n=44 k=55"] * 10, {})):
        result = subprocess.run([tool, "bench", *problems, "--milliseconds", "1"], text=True, capture_output=True, check=False,
                                env={**os.environ, **kernel})
        wide = [line for line in result.stdout.splitlines() if len(line) > 80]
        if result.returncode != 0 or wide or "[10/10]" not in result.stdout:
            yield f"bench: exit status {result.returncode} {result.stderr}, over 80 columns: {wide}"
    problems = ["gemm f32 m=3 n=4 k=5", "gemm f32 m=4 n=10 k=81 batch=2 a=324,1,4 b=810,1,81"]
    result = subprocess.run([tool, "bench", "--regret", *problems, "--milliseconds", "1"], text=True, capture_output=True, check=False)
    wide = [line for line in result.stdout.splitlines() if len(line) > 80 or line != line.rstrip()]
    if result.returncode != 0 or wide or any(problem not in result.stdout for problem in problems):
        yield f"bench --regret: exit status {result.returncode} {result.stderr}, over 80 columns: {wide}"


def report_mismatches(tool):
    """--json alone: nothing but JSON on standard output, and it says what it is of."""
    for arguments, key in ((["devices"], "devices"), (["plan", "rearrange f32 2x3 perm=1,0"], "plans"),
                           (["plan", "gemm f32 m=2 n=3 k=4"], "plans"), (["check", "--random", "3"], "failures")):
        for words in ([*arguments, "--json"], [arguments[0], "--json=-", *arguments[1:]]):
            result = run(tool, words)
            try:
                report = json.loads(result.stdout)
                missing = {"command", "version", "date", "machine", key} - set(report)
                if missing or report["command"] != arguments[0] or "threads" not in report["machine"]:
                    yield f"{words}: {missing} is not in {result.stdout}"
            except ValueError as error:
                yield f"{words}: {error}: {result.stdout!r}"


def json_mismatch(tool, scratch):
    path = pathlib.Path(scratch) / "bench.json"
    path.unlink(missing_ok=True)
    result = run(tool, ["bench", "rearrange f32 64x64 perm=1,0", "--milliseconds", "1", "--json", str(path)])
    if result.returncode != 0:
        return result.stderr
    text = path.read_text()
    report = json.loads(text)
    if report["command"] != "bench" or not report["complete"] or report["machine"]["threads"] < 1:
        return f"the JSON does not say what it is of: {text[:300]}"
    return "" if "rearrange f32 64x64" in text else "the problem is not in the JSON"


def main(tool, scratch, sanitizers):
    cases = CASES if sanitizers else CASES + UNSANITIZED
    failures = [(case[0], mismatch(tool, *case)) for case in cases]
    failures.append((["bench", "--json"], json_mismatch(tool, scratch)))
    failures += [(["help"], why) for why in help_mismatches(tool)]
    failures += [(["plan"], why) for why in huge_mismatches(tool)]
    failures += [(["columns"], why) for why in (*wide_mismatches(tool), *wide_measurements(tool))]
    failures += [(["--json"], why) for why in report_mismatches(tool)]
    failures = [(arguments, why) for arguments, why in failures if why]
    for arguments, why in failures:
        print(f"infini {' '.join(arguments)}: {why}")
    print(f"{len(cases) + 1 - len(failures)} of {len(cases) + 1} command lines behave")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
