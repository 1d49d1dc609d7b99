"""How the command line tool ends when its output cannot be written or when it is interrupted."""
import pathlib
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


def main(tool, scratch):
    wrong = list(output_mismatches(tool, scratch))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
