"""The C ABI: the library's exported C functions are exactly the checked list."""
import subprocess
import sys


def main(library, list_file):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    names = {line.split()[-1].split("@")[0] for line in lines if line}
    # C++ names are the façade's; its ABI is that of one release. Everything else is listed.
    found = {name for name in names if not name.startswith("_Z")}
    expected = {line.strip() for line in open(list_file) if line.strip() and not line.startswith("#")}
    for name in sorted(found - expected):
        print(f"exported but not in the list: {name}")
    for name in sorted(expected - found):
        print(f"in the list but not exported: {name}")
    print(f"{len(found)} C symbols, {len(expected)} expected")
    return 0 if found == expected else 1


sys.exit(main(*sys.argv[1:]))
