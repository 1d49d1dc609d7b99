"""Kernel arguments: the structs of a header that host and device share may hold members of fixed width
only. On the device long, size_t and pointers are 4 bytes wide; no compiler of the host can tell."""
import pathlib
import re
import sys

FIXED = {"float", "double"} | {f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)}


def wrong_members(text):
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    structs = re.findall(r"struct\s+(\w+)\s*\{(.*?)\};", text, flags=re.S)
    known = FIXED | {name for name, _ in structs}
    for name, body in structs:
        for member in filter(None, (line.strip() for line in body.split(";"))):
            if member.split()[0] not in known or "*" in member or "&" in member:
                yield f"{name}: {' '.join(member.split())}"


def main(paths):
    found = [f"{path}: {member}" for path in paths
             for member in wrong_members(pathlib.Path(path).read_text())]
    print("\n".join(found) or f"{len(paths)} headers have members of fixed width only")
    # The lint itself must be able to fail.
    assert list(wrong_members("struct A { size_t n; int32_t* p; int32_t ok, fine[3]; };")) == [
        "A: size_t n", "A: int32_t* p"]
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
