"""The C ABI: the library's exported C functions are exactly the checked list. What it shows to its own tool carries a version
that no client asks for, and the tool takes all of it from the library."""
import subprocess
import sys


def symbols(*words):
    return subprocess.run(["nm", "-D", *words], check=True, text=True, stdout=subprocess.PIPE).stdout.split("\n")


def main(library, list_file, tool):
    names = {line.split()[-1] for line in symbols("--defined-only", library) if line}
    # C++ names are the façade's; its ABI is that of one release. Everything else is listed.
    private = {name for name in names if name.startswith(("_ZN6infini", "_ZNK6infini"))}
    found = {name.split("@")[0] for name in names if not name.startswith("_Z") and "_TOOL" not in name}
    expected = {line.strip() for line in open(list_file) if line.strip() and not line.startswith("#")}
    wrong = [f"exported but not in the list: {name}" for name in sorted(found - expected)]
    wrong += [f"in the list but not exported: {name}" for name in sorted(expected - found)]
    wrong += [f"private, without the tool's version: {name}" for name in sorted(private) if "_TOOL" not in name]
    asked = {line.split()[-1] for line in symbols("--undefined-only", tool) if "_TOOL" in line}
    if not asked:
        wrong.append(f"{tool} takes nothing from the library: does it carry a second copy?")
    print(*wrong, f"{len(found)} C symbols, {len(expected)} expected; {len(asked)} of {len(private)} private ones asked for",
          sep="\n")
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
