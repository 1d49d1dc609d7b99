"""Every C, C++ and CUDA source stands as .clang-format says (clang-format 14, Debian 12's)."""
import pathlib
import shutil
import subprocess
import sys

SUFFIXES = {".c", ".h", ".hpp", ".cpp", ".cu", ".cuh", ".xpu"}
ROOMS = ["bench", "emulators", "examples", "harness", "include", "python", "src", "tests", "tools"]


def main(top):
    program = shutil.which("clang-format-14")
    if not program:
        print("SKIPPED: no clang-format-14 here")
        return 0
    top = pathlib.Path(top)
    files = [str(path) for room in ROOMS for path in sorted((top / room).rglob("*"))
             if path.suffix in SUFFIXES]
    result = subprocess.run([program, "--dry-run", "--Werror", "--ferror-limit=1", *files],
                            capture_output=True, text=True)
    print(result.stderr or f"{len(files)} files stand as .clang-format says")
    if result.returncode:
        print("To mend it: clang-format-14 -i FILE")
    return result.returncode or (0 if files else 1)


sys.exit(main(sys.argv[1]))
