"""Patterns of infini.rearrange: every text is understood or refused with words that point at a character, and what is
understood means what a naive reading says.

Runs under atheris (PyPI), which is libFuzzer for Python and takes its options. The package's compiled part is not needed.
"""
import importlib
import itertools
import math
import pathlib
import re
import sys
import types

try:
    import atheris
except ImportError:
    sys.exit("SKIPPED: atheris is not installed")

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "python" / "infini"


class InvalidValue(ValueError):
    pass


def load():
    """The module alone, in a package that has nothing else but the exception it needs."""
    package, core = types.ModuleType("infini"), types.ModuleType("infini._core")
    package.__path__ = [str(FOLDER)]
    core.InvalidValue = InvalidValue
    sys.modules.update({"infini": package, "infini._core": core})
    with atheris.instrument_imports(include=["infini._pattern"]):
        return importlib.import_module("infini._pattern")


pattern_module = load()
NAMES = ["a", "b", "c", "x", "h_1", "..."]


def read_side(text):
    """Groups of axes, as naively as possible."""
    groups, inside = [], None
    for token in re.findall(r"\.\.\.|[()]|\w+", text):
        if token == "(":
            inside = []
        elif token == ")":
            groups.append(inside)
            inside = None
        elif token == "1":
            groups.append([]) if inside is None else None
        else:
            groups.append([token]) if inside is None else inside.append(token)
    return groups


def spell_out(groups, rest):
    """'...' becomes as many axes as it stands for."""
    return [part for group in groups
            for part in ([[f"...{i}"] for i in range(rest)] if group == ["..."] else [group])]


def naive(pattern, shape, sizes):
    """The elements of the result, as numbers of x's elements in row-major order, and its shape."""
    left, right = (read_side(side) for side in pattern.split("->"))
    rest = len(shape) - sum(1 for group in left if group != ["..."])
    left, right = spell_out(left, rest), spell_out(right, rest)
    extents = dict(sizes)
    for group, extent in zip(left, shape):
        known = math.prod(extents[name] for name in group if name in extents)
        for name in group:
            if name not in extents:
                extents[name] = extent // known if known else 0
    axes = [name for group in right for name in group]
    result = []
    for digits in itertools.product(*(range(extents[name]) for name in axes)):
        at, number = dict(zip(axes, digits)), 0
        for group, extent in zip(left, shape):
            index = 0
            for name in group:
                index = index * extents[name] + at.get(name, 0)
            number = number * extent + index
        result.append(number)
    return result, tuple(math.prod(extents[name] for name in group) for group in right)


def walked(shape, walk):
    steps = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    return [sum(i * scale * (steps[dim] if dim >= 0 else 0) for i, (dim, _, scale) in zip(at, walk))
            for at in itertools.product(*(range(extent) for _, extent, _ in walk))]


def choose_pattern(data):
    """Mostly well-formed, with a few mistakes."""
    if data.ConsumeIntInRange(0, 3) == 0:
        return data.ConsumeUnicodeNoSurrogates(60)
    sides = []
    for _ in range(2 if data.ConsumeIntInRange(0, 30) else 1):
        words = []
        for _ in range(data.ConsumeIntInRange(0, 5)):
            words.append(data.PickValueInList(NAMES + ["(", ")", "( a b )", "(b c)", "1", "a b"]))
        sides.append(" ".join(words))
    return "->".join(sides)


def check(pattern, shape, sizes):
    try:
        given = pattern_module.whole_sizes(sizes)
        walk, result = pattern_module.resolve(pattern, shape, given)
    except InvalidValue as error:
        text = str(error)
        place = re.search(r"character (\d+): ", text)
        if not text or (place and not 1 <= int(place[1]) <= max(len(pattern), 1)):
            raise RuntimeError(f"a bad message for {pattern!r}: {text}") from error
        return
    extents = [extent for _, extent, _ in walk]
    if math.prod(extents) > 600 or max(extents, default=0) > 600 or math.prod(shape) > 600:
        return
    expected = naive(pattern, shape, sizes)
    if (walked(shape, walk), result) != expected:
        raise RuntimeError(f"{pattern!r} of {shape} with {sizes}: {walk} and {result}, expected {expected}")


def one_input(raw):
    data = atheris.FuzzedDataProvider(raw)
    shape = tuple(data.ConsumeIntInRange(0, 7) for _ in range(data.ConsumeIntInRange(0, 5)))
    sizes = {}
    for _ in range(data.ConsumeIntInRange(0, 3)):
        sizes[data.PickValueInList(NAMES[:5])] = data.PickValueInList([2, 3, 1, 4, 0, -1, 2**62, 2**63, 1.5])
    check(choose_pattern(data), shape, sizes)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
