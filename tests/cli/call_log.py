"""INFINI_VERBOSE: one line for every call, each of which ends with a problem that the tool takes."""
import os
import pathlib
import re
import subprocess
import sys

LINE = re.compile(r"infini: cpu:0 \w+ \d+\.\d{3} us: ((rearrange|gemm) .*)")
PROBLEMS = ["rearrange f32 2x3 perm=1,0", "rearrange f32 2x3 dst=1,2", "gemm bf16 m=4 n=5 k=6 batch=3 b=t"]


def run(tool, verbose, *arguments):
    environment = {key: value for key, value in os.environ.items() if key != "INFINI_VERBOSE"}
    if verbose is not None:
        environment["INFINI_VERBOSE"] = verbose
    return subprocess.run([tool, *arguments], env=environment, text=True, capture_output=True, check=False)


def mismatches(tool, scratch):
    log = pathlib.Path(scratch) / "calls.log"
    log.unlink(missing_ok=True)
    for calls in (4, 8):  # a gemm is checked twice; the second run is appended
        if run(tool, str(log), "check", *PROBLEMS).returncode != 0:
            yield "check fails with a log"
        lines = log.read_text().splitlines()
        if len(lines) != calls:
            yield f"{calls} calls, but the log is {lines}"
    found = [LINE.fullmatch(line) for line in lines]
    if not all(found):
        yield f"not as promised: {lines}"
    texts = [match[1] for match in found if match]
    if texts[:1] != ["rearrange f32 3x2 src=1,3"] or run(tool, None, "plan", *texts).returncode != 0:
        yield f"not the problems that ran: {texts}"
    if len(LINE.findall(run(tool, "1", "check", *PROBLEMS).stderr)) != 4:
        yield "1 is not standard error"
    for off in (None, "", "0"):
        result = run(tool, off, "check", *PROBLEMS)
        if "infini: " in result.stderr + result.stdout:
            yield f"{off!r} is not off: {result.stderr}"
    if "infini: " not in run(tool, "2", "check", PROBLEMS[0]).stderr:
        yield "a number is not standard error"
    pipe = pathlib.Path(scratch, f"pipe_{os.getpid()}")
    os.mkfifo(pipe)
    if f"INFINI_VERBOSE={pipe} is not understood" not in run(tool, str(pipe), "plan", PROBLEMS[0]).stdout:
        yield "a pipe that nobody reads is not told"
    pipe.unlink()
    if "INFINI_VERBOSE=/nowhere/log is not understood" not in run(tool, "/nowhere/log", "plan", PROBLEMS[0]).stdout:
        yield "a file that cannot be written is not told"


def main(tool, scratch):
    wrong = list(mismatches(tool, scratch))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
