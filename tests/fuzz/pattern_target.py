"""Patterns of infini.rearrange: every text is understood or refused with words that point at a character, and what is
understood means what a naive reading says.

Runs under atheris (PyPI), which is libFuzzer for Python and takes its options; with --runs N it makes N random inputs itself,
the same everywhere. The package's compiled part is not needed.
"""
import contextlib
import importlib
import itertools
import math
import pathlib
import random
import re
import sys
import types

ALONE = sys.argv[1:2] == ["--runs"]
if not ALONE:
    try:
        import atheris
    except ImportError:
        sys.exit("SKIPPED: atheris is not installed")

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "python" / "infini"


class InvalidValue(ValueError):
    pass


class InvalidType(TypeError):
    pass


def load():
    """The module alone, in a package that has nothing else but the exceptions it needs."""
    package, core = types.ModuleType("infini"), types.ModuleType("infini._core")
    package.__path__ = [str(FOLDER)]
    core.InvalidValue, core.InvalidType = InvalidValue, InvalidType
    sys.modules.update({"infini": package, "infini._core": core})
    with contextlib.nullcontext() if ALONE else atheris.instrument_imports(include=["infini._pattern"]):
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


def dense_steps(shape):
    return [math.prod(shape[i + 1:]) for i in range(len(shape))]


def walked(shape, walk, result):
    """The result as naive() gives it, put together by the walk: each axis says where it reads and where it writes."""
    reads, writes = dense_steps(shape), dense_steps(result)
    made = [None] * math.prod(result)
    for at in itertools.product(*(range(axis[1]) for axis in walk)):
        to = sum(i * inner * writes[place] for i, (_, _, _, place, inner) in zip(at, walk))
        made[to] = sum(i * scale * (reads[dim] if dim >= 0 else 0) for i, (dim, _, scale, _, _) in zip(at, walk))
    return made


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
    except (InvalidValue, InvalidType) as error:
        text = str(error)
        place = re.search(r"character (\d+): ", text)
        if not text or (place and not 1 <= int(place[1]) <= max(len(pattern), 1)):
            raise RuntimeError(f"a bad message for {pattern!r}: {text}") from error
        return
    extents = [axis[1] for axis in walk]
    if math.prod(extents) > 600 or max(extents, default=0) > 600 or math.prod(shape) > 600:
        return
    expected = naive(pattern, shape, sizes)
    if (walked(shape, walk, result), result) != expected:
        raise RuntimeError(f"{pattern!r} of {shape} with {sizes}: {walk} and {result}, expected {expected}")


class RandomData:
    """As much of atheris.FuzzedDataProvider as is used here, from a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def ConsumeIntInRange(self, low, high):
        return self.random.randint(low, high)

    def PickValueInList(self, values):
        return self.random.choice(values)

    def ConsumeUnicodeNoSurrogates(self, length):
        letters = "abcx_1 ()->.\u00e9\u03b1\t0"
        return "".join(self.random.choice(letters) for _ in range(self.random.randint(0, length)))


def grouped(data, names):
    """The names as dims, some of them in parentheses together."""
    groups = []
    for name in names:
        if groups and name != "..." and groups[-1] != ["..."] and data.ConsumeIntInRange(0, 2) == 0:
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


def side(groups):
    return " ".join(group[0] if len(group) == 1 else "(" + " ".join(group) + ")" for group in groups)


def choose_meant(data):
    """A pattern that means something, with a shape that it fits and sizes that say enough; now and then one letter is wrong."""
    names = [name for name in NAMES if data.ConsumeIntInRange(0, 1)]
    extents = {name: data.PickValueInList([2, 3, 1, 4, 5, 0]) for name in names}
    new = {name: data.PickValueInList([2, 1, 3]) for name in ("n", "m") if data.ConsumeIntInRange(0, 3) == 0}
    left = grouped(data, names)
    others, right = names + list(new), []
    while others:
        right.append(others.pop(data.ConsumeIntInRange(0, len(others) - 1)))
    shape = []
    for group in left:
        rest = group == ["..."]
        shape += [data.ConsumeIntInRange(0, 4) for _ in range(data.ConsumeIntInRange(0, 2))] if rest else \
            [math.prod(extents[name] for name in group)]
    sizes = {name: extents[name] for group in left for name in group[1:]} | new
    pattern = side(left) + " -> " + side(grouped(data, right))
    if data.ConsumeIntInRange(0, 7) == 0:
        at = data.ConsumeIntInRange(0, len(pattern) - 1)
        pattern = pattern[:at] + data.PickValueInList(["", "(", ")", "a", "1", " ", "->", "..."]) + pattern[at + 1:]
    return pattern, tuple(shape), sizes


def one_input(data):
    if data.ConsumeIntInRange(0, 1):
        check(*choose_meant(data))
        return
    shape = tuple(data.ConsumeIntInRange(0, 7) for _ in range(data.ConsumeIntInRange(0, 5)))
    sizes = {}
    for _ in range(data.ConsumeIntInRange(0, 3)):
        sizes[data.PickValueInList(NAMES[:5])] = data.PickValueInList([2, 3, 1, 4, 0, -1, 2**62, 2**63, 1.5])
    check(choose_pattern(data), shape, sizes)


if __name__ == "__main__" and ALONE:
    for seed in range(int(sys.argv[2])):
        one_input(RandomData(seed))
    print(f"{sys.argv[2]} inputs, no finding")
elif __name__ == "__main__":
    atheris.Setup(sys.argv, lambda raw: one_input(atheris.FuzzedDataProvider(raw)))
    atheris.Fuzz()
