"""How the command line tool ends when its output cannot be written or when it is interrupted."""
import json
import pathlib
import signal
import subprocess
import sys


def run_with(tool, arguments, redirection):
    """`redirection` is the shell's; `exec` so that the tool is what the shell becomes."""
    return subprocess.run(["sh", "-c", f'exec "$0" "$@" {redirection}', tool, *arguments], text=True,
                          capture_output=True, check=False)


def output_mismatches(tool, scratch):
    # A full disk and a closed output are told, and the exit status says so.
    for arguments in (["devices"], ["--help"], ["--version"], ["bench", "--list"], ["check", "rearrange u8 4x4"]):
        for redirection in (">/dev/full", ">&-"):
            result = run_with(tool, arguments, redirection)
            if result.returncode != 2 or "cannot write standard output" not in result.stderr:
                yield f"{arguments} {redirection}: exit status {result.returncode}, {result.stderr!r}"
    # What is printed does not land in a file that took the place of a closed output.
    path = pathlib.Path(scratch) / "closed.json"
    path.write_text("")
    run_with(tool, ["bench", "rearrange u8 64x64", "--milliseconds", "1", "--json", str(path)], ">&-")
    if not path.read_text().startswith("{") or "geometric mean" in path.read_text():
        yield f"with a closed output the JSON file is {path.read_text()!r}"
    # A closed error output or input is nobody's business.
    for redirection in ("2>&-", "<&-", "0<&- 2>&-"):
        result = run_with(tool, ["check", "rearrange u8 4x4"], redirection)
        if result.returncode != 0 or "1 passed" not in result.stdout:
            yield f"{redirection}: exit status {result.returncode}, {result.stdout!r}"


def interrupted(tool, arguments, text, count, signals=(signal.SIGINT,)):
    """Sends the signals once `count` lines with `text` were printed; returns the exit status and all of the output."""
    with subprocess.Popen([tool, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        seen = []
        while sum(text in line for line in seen) < count and (line := process.stdout.readline()):
            seen.append(line)
        for number in signals:
            process.send_signal(number)
        output, errors = process.communicate(timeout=100)
    return process.returncode, "".join(seen) + output + errors


def interrupt_mismatches(tool, scratch):
    # What was measured is printed and kept, and the process ends by the signal.
    path = pathlib.Path(scratch) / "interrupted.json"
    cases = ["rearrange u8 64x64 perm=1,0", "gemm f32 m=8 n=8 k=8"]
    for case in cases:
        path.unlink(missing_ok=True)
        many = ["bench", *[case] * 1000, "--no-verify", "--milliseconds", "20", "--json", str(path)]
        status, output = interrupted(tool, many, case, 2)
        if status != -signal.SIGINT or "of 1000 cases were measured" not in output:
            yield f"{case} interrupted: exit status {status}\n{output}"
            continue
        report = json.loads(path.read_text())
        if report["complete"] or not 2 <= len(report["rows"]) < 1000:
            yield f"{case} interrupted: {len(report['rows'])} rows, complete is {report['complete']}"
    # Before the first row: a report without rows, but not in place of an older one.
    endless = ["bench", "rearrange u8 64x64", "--milliseconds", "100000", "--json", str(path)]
    for older in (None, '{"rows": [1]}'):
        path.unlink() if older is None else path.write_text(older)
        status, output = interrupted(tool, endless, "", 1, (signal.SIGTERM,))
        rows = json.loads(path.read_text())["rows"]
        if status != -signal.SIGTERM or rows != ([1] if older else []):
            yield f"interrupted before the first row: exit status {status}, {rows}"


def main(tool, scratch):
    wrong = [*output_mismatches(tool, scratch), *interrupt_mismatches(tool, scratch)]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
