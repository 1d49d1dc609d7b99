#!/usr/bin/env python3
"""No candidate's source mentions another: they are compared by what they bid alone. Each is told in words."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Rooms of candidates, and folders in them that all share.
ROOMS = {"src/backends/cpu/gemm": {"simd", "choices"}, "src/backends/cpu/rearrange": {"panels", "choices"},
         "src/backends/cpu/convert": {"choices"},
         "src/backends/gpu/rearrange": {"choices"}, "src/backends/nvidia/gemm": {"choices"}}
# Types that live in one candidate's folder and are another's, too: (who includes, whose). May only get shorter.
SHARED = {"src/backends/gpu/rearrange": {("transpose", "tile")},
          "src/backends/nvidia/gemm": {("boxes", "small"), ("weights", "ring")}}


def mentions(text, room, other):
    """Its headers, its namespace, its name as a string, or what makes, estimates or bids for it."""
    stem = other.rstrip("s")
    asks = rf'\b(?:make|estimate|bid)_{stem}s?(?:_schedules?)?\b'
    return re.search(rf'{re.escape(room[4:])}/{other}/|\b{other}::|"{other}"|{asks}', text)


def untold():
    """Candidates for which `infini plan` would have a name and no words."""
    told = set(re.findall(r'\{"(\w+)", "', next((ROOT / "src").rglob("kernel_words.cpp")).read_text()))
    for path in sorted((ROOT / "src/backends").rglob("*")):
        if path.suffix not in {".cpp", ".h", ".cu", ".cuh"} or path.stem.endswith("_test"):
            continue
        for body in re.findall(r"candidate\(\) const override \{(.*?)\}", path.read_text(), re.S):
            yield from (f"{path.relative_to(ROOT)}: {name} has no words in kernel_words.cpp"
                        for name in re.findall(r'"(\w+)"', body) if name not in told)


def main():
    wrong = list(untold())
    for room, shared in ROOMS.items():
        candidates = sorted(p.name for p in (ROOT / room).iterdir() if p.is_dir() and p.name not in shared)
        if len(candidates) < 2:
            wrong.append(f"{room}: has no candidates")
        for name in candidates:
            for path in sorted((ROOT / room / name).iterdir()):
                if path.stem.endswith("_test"):
                    continue
                text = path.read_text()
                wrong += [f"{path.relative_to(ROOT)}: mentions {other}"
                          for other in candidates if other != name and (name, other) not in SHARED.get(room, ())
                          and mentions(text, room, other)]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
