"""tools/setup.sh where it cannot install: it looks for programs, says what to install, and goes on without extras. So on a
system that is not Debian, and on Debian for somebody whom sudo refuses.

The system is a PATH with links to the programs that it has."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BASE = ["bash", "sh", "sed", "sort", "head", "cat", "ls", "id", "grep", "env", "dirname", "cut"]
BUILD = ["g++", "cmake", "ninja", "pkg-config", "python3", "as", "ld"]


def system(folder, programs):
    """A folder of links to these programs, to be all of PATH."""
    for name in programs:
        found = shutil.which(name)
        if found and not (folder / name).exists():
            (folder / name).symlink_to(found)
    return str(folder)


def run(top, path, words):
    return subprocess.run(["bash", "-c", f". tools/setup.sh; {words}"], cwd=top, env={**os.environ, "PATH": path},
                          text=True, capture_output=True)


def old_cmake(folder):
    """One that is there, and too old."""
    (folder / "cmake").unlink(missing_ok=True)
    (folder / "cmake").write_text("#!/bin/sh\necho cmake version 3.18.4\n")
    (folder / "cmake").chmod(0o755)


def refused(top, folder):
    """Debian, and a user without rights."""
    for name, body in (("apt-get", "echo Permission denied >&2; exit 100"), ("sudo", 'echo a password is required >&2; exit 1'),
                       ("id", "echo 1000")):
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    path = system(folder, BASE + ["mkdir", "tail"])
    result = run(top, path, f"cd {folder}; need g++ cmake; echo ended with $?")
    said = result.stdout
    if any(text not in said for text in ("password is required", "apt-get install --no-install-recommends g++ cmake", "ended with 1")):
        yield f"sudo refuses: {result}"
    result = run(top, path, f"cd {folder}; want qemu-user && echo goes on")
    if "install --no-install-recommends qemu-user" not in result.stdout or "goes on" not in result.stdout:
        yield f"sudo refuses an extra: {result}"


def mismatches(top, root):
    bare, full, old = (pathlib.Path(root) / name for name in ("bare", "full", "old"))
    for folder in (bare, full, old):
        folder.mkdir()
    none, there, aged = system(bare, BASE), system(full, BASE + BUILD), system(old, BASE + BUILD)
    old_cmake(old)
    result = run(top, none, "need g++ cmake ninja-build")
    if result.returncode != 1 or "gcc-c++" not in result.stdout or "ninja" not in result.stdout:
        yield f"nothing is there: {result}"
    if "dpkg" in result.stderr or "apt" in result.stdout + result.stderr:
        yield f"not Debian, and yet: {result}"
    result = run(top, there, "need g++ cmake ninja-build python3 pkg-config")
    if result.returncode != 0 or result.stdout:
        yield f"all is there: {result}"
    result = run(top, aged, "need cmake")
    if result.returncode != 1 or "3.25" not in result.stdout:
        yield f"an old CMake: {result}"
    result = run(top, there, "want clang-format-14 qemu-user && echo goes on")
    if result.returncode != 0 or "clang-format-14 qemu-user" not in result.stdout or "goes on" not in result.stdout:
        yield f"extras: {result}"
    debian = pathlib.Path(root) / "debian"
    debian.mkdir()
    yield from refused(top, debian)


def main(top):
    with tempfile.TemporaryDirectory() as root:
        wrong = list(mismatches(top, root))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
