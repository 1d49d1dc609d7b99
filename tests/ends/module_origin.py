"""Starts the tool and a client in every way there is and looks which module files are loaded: their own, never one of
the current directory, of a folder that a link lies in or, with privileges, of one that the caller names.

A stand-in module tells the file it was loaded from; no build has a module for the kind it stands in for."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

NAME = "libinfini-qy.so"
NOBODY, SOMEBODY = 65534, 65533


def loaded(args, **how):
    result = subprocess.run(args, text=True, capture_output=True, check=False, **how)
    files = [line.split(" ", 1)[1] for line in result.stderr.splitlines() if line.startswith("LOADED ")]
    return [os.path.normpath(file) for file in files], result


def place(root, build, library, marker):
    """prefix/ as installed; hostile/ is a folder to stand in, with a module in every place that was once looked at."""
    for folder in ("prefix/bin", "prefix/lib", "hostile/here", "hostile/lib", "hostile/lib64", "links/bin", "links/lib"):
        (root / folder).mkdir(parents=True)
    subprocess.run(["cmake", "--install", build, "--component", "tool", "--prefix", root / "prefix"], check=True,
                   stdout=subprocess.DEVNULL)
    name = pathlib.Path(library).name  # with the version that programs ask for
    shutil.copy(library, root / "prefix/lib" / name)
    for folder in ("prefix/lib", "hostile/here", "hostile/lib", "hostile/lib64", "links/bin", "links/lib"):
        shutil.copy(marker, root / folder / NAME)
    (root / "links/bin/infini").symlink_to(root / "prefix/bin/infini")
    (root / "links/lib" / name).symlink_to(root / "prefix/lib" / name)


def environment(**more):
    mine = {key: value for key, value in os.environ.items() if key != "INFINI_BACKEND_PATH"}
    return {**mine, **more}


def cases(root, client):
    """What is run, where, with which environment, and the module that it may load (None: no module at all)."""
    own, hostile, tool = str(root / "prefix/lib" / NAME), str(root / "hostile/here"), str(root / "prefix/bin/infini")
    devices = {"args": ["infini", "devices"], "cwd": hostile}
    yield "by its path", {"args": [tool, "devices"], "cwd": hostile}, {}, own
    yield "by PATH", devices, {"PATH": f"{root}/prefix/bin:{os.environ['PATH']}"}, own
    yield "by a link in PATH", devices, {"PATH": f"{root}/links/bin:{os.environ['PATH']}"}, own
    yield "by a relative path", {"args": ["../../prefix/bin/infini", "devices"], "cwd": hostile}, {}, own
    yield "with a name of the caller's", {**devices, "executable": tool}, {}, own
    yield "with a path of the caller's", {**devices, "args": ["./infini", "devices"], "executable": tool}, {}, own
    elsewhere = {"args": [client, hostile], "cwd": str(root / "prefix")}
    yield "a client", elsewhere, {"LD_LIBRARY_PATH": f"{root}/prefix/lib"}, own
    yield "a client by a relative path", elsewhere, {"LD_LIBRARY_PATH": "lib"}, own
    yield "a client by a link", elsewhere, {"LD_LIBRARY_PATH": f"{root}/links/lib"}, own
    yield "a named folder", devices | {"executable": tool}, {"INFINI_BACKEND_PATH": f"{root}:{root}/links/lib"}, \
        str(root / "links/lib" / NAME)
    for relative in (".", "here", "../lib", "./"):
        yield f"the folder {relative}", devices | {"executable": tool}, {"INFINI_BACKEND_PATH": relative}, None
    yield "an empty variable", devices | {"executable": tool}, {"INFINI_BACKEND_PATH": ""}, own


def mismatches(root, client):
    for name, how, more, expected in cases(root, client):
        files, result = loaded(env=environment(**more), **how)
        if files != ([expected] if expected else []):
            yield f"{name}: loaded {files}, expected {expected}\n{result.stdout}{result.stderr}"
        if more.get("INFINI_BACKEND_PATH") == "here" and '"here", which is not an absolute path' not in result.stdout:
            yield f"{name}: `infini devices` does not say that it is not followed"


def privileged_mismatches(root, tool, client):
    """A copy that belongs to somebody else and is setuid, run as nobody: of the tool as it was built, which finds its
    library by an absolute path; the loader follows no other with privileges."""
    folder = root / "hostile/here"
    for program in (tool, client):
        copy = shutil.copy(program, folder)
        os.chown(copy, SOMEBODY, SOMEBODY)
        os.chmod(copy, 0o4755)
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": folder}
    named = environment(INFINI_BACKEND_PATH=str(folder))
    _, result = loaded([folder / "module_client"], env=named, **as_nobody)
    if "privileged 1" not in result.stdout:
        print("not shown here: setuid programs (this folder or this user does not allow them)")
        return
    for arguments in (["module_client"], ["infini", "devices"]):
        files, result = loaded([folder / arguments[0], *arguments[1:]], env=named, **as_nobody)
        if files or result.returncode != 0:
            yield f"setuid {arguments}: loaded {files}, exit status {result.returncode}\n{result.stderr}"
    if "no INFINI_ variable is read" not in result.stdout:
        yield "setuid infini devices does not say what is not followed"


def main(tool, library, client, marker, sanitizers):
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch).resolve()
        root.chmod(0o755)
        place(root, pathlib.Path(tool).parent.parent, library, marker)
        wrong = list(mismatches(root, client))
        if os.geteuid() == 0 and not sanitizers:
            wrong += privileged_mismatches(root, tool, client)
        else:
            print("not shown here: setuid programs (they need root, and no sanitizer)")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
