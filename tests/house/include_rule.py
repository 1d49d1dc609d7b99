"""The include rule: each room of src/ may see only the rooms below it."""
import pathlib
import re
import sys

RULES = {  # room: what it may include (itself and public headers always)
    "base": set(),
    "plan": {"base"},
    "contract": {"plan", "base"},
    "runtime": {"contract", "plan", "base", "backends/cpu"},  # the CPU's table is built in
    "ops": {"runtime", "contract", "plan", "base"},
    "reshard": {"ops", "runtime", "contract", "plan", "base"},
    "capi": {"reshard", "ops", "runtime", "contract", "plan", "base"},
    "file": {"ops", "runtime", "contract", "plan", "base"},
    "tensor": {"file", "ops", "runtime", "contract", "plan", "base"},
}
# A fork waits for the sections of base/threads/mutex.h; any other lock could stay locked in the child for ever. Modules
# are left out: what they drive does not survive a fork.
LOCKS = re.compile(r"std::(recursive_|shared_|timed_)?mutex|std::call_once|pthread_mutex|static auto\*.*= new ")
LOCK_ROOMS = {"base", "plan", "contract", "runtime", "ops", "reshard", "file", "capi", "tensor", "backends/cpu"}
OWN_LOCKS = {"base/threads/mutex.h", "base/threads/thread_slot.cpp",
             "base/environment.cpp"}  # modules carry it; told at load time
BACKEND = {"contract", "plan", "base"}
SHARES_GPU = {"nvidia", "moore", "metax", "hygon", "iluvatar", "qy", "ali"}
ROOMS = set(RULES) | {"backends", "harness", "tools", "bench", "tests", "emulators"}


def room_of(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "backends" else parts[0]


def allowed(room):
    if not room.startswith("backends/"):
        return RULES[room]
    return BACKEND | ({"backends/gpu"} if room.split("/")[1] in SHARES_GPU else set())


def main(top):
    source = pathlib.Path(top) / "src"
    wrong, files = [], 0
    for path in sorted(source.rglob("*")):
        if path.suffix not in {".h", ".cpp", ".cu", ".cuh", ".xpu"} or path.stem.endswith("_test"):
            continue
        room = room_of(str(path.relative_to(source)))
        if room not in RULES and not room.startswith("backends/"):
            wrong.append(f"{path}: src/{room} is not a room of the house")
            continue
        files += 1
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if room in LOCK_ROOMS and LOCKS.search(line) and str(path.relative_to(source)) not in OWN_LOCKS:
                wrong.append(f"{path}:{number}: locks are infini::Mutex, what is made once is infini::Lazy")
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match:
                continue
            target = room_of(match.group(1))
            if target.split("/")[0] in ROOMS and target != room and target not in allowed(room):
                wrong.append(f"{path}:{number}: {room} may not include {match.group(1)}")
    for path in sorted((pathlib.Path(top) / "emulators").rglob("*")):
        if path.suffix in {".h", ".cpp", ".hpp"} and not path.stem.endswith("_test"):
            for line in path.read_text().splitlines():
                if re.match(r'\s*#\s*include\s+"(base|plan|contract|runtime|ops|reshard|file|capi|tensor|backends|infini)', line):
                    wrong.append(f"{path}: emulators include nothing of ours: {line.strip()}")
    for path in sorted((pathlib.Path(top) / "python").rglob("*.[ch]*")):
        for line in path.read_text().splitlines():
            if re.match(r'\s*#\s*include\s+"(base|plan|contract|runtime|ops|reshard|file|capi|tensor|backends|harness)/', line):
                wrong.append(f"{path}: python sees the public headers alone: {line.strip()}")
    print("\n".join(wrong) or f"{files} files obey the include rule")
    return 1 if wrong or files == 0 else 0


sys.exit(main(sys.argv[1]))
