"""Patterns: "b s (h d) -> b h s d" and what it means for a shape."""
from __future__ import annotations

import functools
import math
import operator
import re
from typing import NoReturn, SupportsIndex

from ._core import InvalidType, InvalidValue

_TOKEN = re.compile(r"\s*(\.\.\.|->|[()]|[A-Za-z_][A-Za-z0-9_]*|1(?![A-Za-z0-9_]))")
_REST = "..."

# An axis of the result before grouping: (dim of x or -1 for a new one, extent, how many of x's elements one step is).
Axis = tuple[int, int, int]
# The same with its dim of the result, and how many of the result's elements one step is.
Placed = tuple[int, int, int, int, int]


def _fail(pattern: str, at: int, why: str) -> NoReturn:
    shown = pattern if len(pattern) < 100 else pattern[:97] + "..."
    raise InvalidValue(f"pattern {shown!r}, character {at + 1}: {why}")


def _tokens(pattern: str) -> list[tuple[str, int]]:
    found, at = [], 0
    end = len(pattern.rstrip())
    while at < end:
        match = _TOKEN.match(pattern, at)
        if not match:
            at += len(pattern[at:]) - len(pattern[at:].lstrip())
            _fail(pattern, at, f"{pattern[at]!r} is no axis, 1, (, ), ... or ->")
        found.append((match[1], match.start(1)))
        at = match.end()
    return found


def _groups(pattern: str, tokens: list[tuple[str, int]]) -> list[list[str]]:
    """One side: a list of dims, each the list of its axes; [] is a dim of size 1."""
    groups: list[list[str]] = []
    seen: set[str] = set()
    inside: list[str] | None = None
    for token, at in tokens:
        if token == "(":
            if inside is not None:
                _fail(pattern, at, "parentheses do not nest")
            inside = []
        elif token == ")":
            if inside is None:
                _fail(pattern, at, "closes no parenthesis")
            groups.append(inside)
            inside = None
        elif token == "1":
            if inside is None:
                groups.append([])
        else:
            if token in seen:
                _fail(pattern, at, f"{token} stands twice on one side")
            if token == _REST and inside is not None:
                _fail(pattern, at, "... stands outside of parentheses")
            seen.add(token)
            groups.append([token]) if inside is None else inside.append(token)
    if inside is not None:
        _fail(pattern, len(pattern) - 1, "a parenthesis is not closed")
    return groups


@functools.lru_cache(maxsize=1024)
def _parse(pattern: str) -> tuple[list[list[str]], list[list[str]]]:
    if not isinstance(pattern, str):
        raise InvalidType(f"pattern is a {type(pattern).__qualname__}; expected a string")
    tokens = _tokens(pattern)
    arrows = [i for i, (token, _) in enumerate(tokens) if token == "->"]
    if len(arrows) != 1:
        _fail(pattern, tokens[arrows[1]][1] if arrows else max(len(pattern) - 1, 0), "expected one -> between two sides")
    left, right = _groups(pattern, tokens[: arrows[0]]), _groups(pattern, tokens[arrows[0] + 1 :])
    if ([_REST] in left) != ([_REST] in right):
        _fail(pattern, pattern.index(_REST), "... stands on one side only")
    return left, right


def names(pattern: str, axis: str) -> bool:
    """Whether the pattern has an axis of this name."""
    return any(axis in group for side in _parse(pattern) for group in side)


def _split(pattern: str, dim: int, extent: int, names: list[str], sizes: dict[str, int]) -> None:
    """Finds the one size of a dim that is not given, and checks the others."""
    known, unknown = 1, [name for name in names if name not in sizes]
    for name in names:
        known *= sizes.get(name, 1)
    if len(unknown) > 1:
        raise InvalidValue(f"pattern {pattern!r}: the sizes of {' and '.join(unknown)} in dim {dim} of {extent} are not given")
    if unknown and known and extent % known == 0:
        sizes[unknown[0]] = extent // known
    elif unknown or known != extent:
        raise InvalidValue(f"pattern {pattern!r}: dim {dim} has {extent} elements, ({' '.join(names)}) makes {known}"
                         + (f" times {unknown[0]}" if unknown else ""))


def _axes_of(
    pattern: str, left: list[list[str]], shape: tuple[int, ...], sizes: dict[str, int]
) -> tuple[dict[str, Axis], list[Axis]]:
    """The named axes of the left side, and those of "..."; finds the sizes that are not given."""
    rest = len(shape) - (len(left) - ([_REST] in left))
    if rest < 0 or (rest and [_REST] not in left):
        raise InvalidValue(f"pattern {pattern!r} has {len(left)} dims, the array has {len(shape)}: {shape}")
    axes: dict[str, Axis] = {}
    dim, rest_axes = 0, []
    for names in left:
        if names == [_REST]:
            rest_axes = [(dim + i, shape[dim + i], 1) for i in range(rest)]
            dim += rest
            continue
        _split(pattern, dim, shape[dim], names, sizes)
        scale = 1
        for name in reversed(names):
            axes[name] = (dim, sizes[name], scale)
            scale *= sizes[name]
        dim += 1
    return axes, rest_axes


def _require_all_used(pattern: str, right: list[list[str]], axes: dict[str, Axis], sizes: dict[str, int]) -> None:
    used = {name for names in right for name in names}
    for name in axes:
        if name not in used and sizes[name] != 1:
            raise InvalidValue(f"pattern {pattern!r}: {name} ({sizes[name]} elements) is lost on the right")
    for name in sizes:
        if name not in axes and name not in used:
            raise InvalidValue(f"pattern {pattern!r} has no axis {name}")


def whole_sizes(given: dict[str, SupportsIndex]) -> tuple[tuple[str, int], ...]:
    """As resolve() takes them. Before its cache, for which 1.0 and 1 are one."""
    sizes = []
    for name, size in given.items():
        try:
            number = operator.index(size)
        except TypeError:
            number = -1
        if not 0 <= number < 2**63:
            raise InvalidValue(f"{name} is {size!r}; expected a size")
        sizes.append((name, number))
    return tuple(sizes)


@functools.lru_cache(maxsize=4096)
def resolve(
    pattern: str, shape: tuple[int, ...], given: tuple[tuple[str, int], ...]
) -> tuple[tuple[Placed, ...], tuple[int, ...]]:
    """The axes to walk, outermost first, and the shape of the result."""
    left, right = _parse(pattern)
    sizes = dict(given)
    axes, rest_axes = _axes_of(pattern, left, shape, sizes)
    _require_all_used(pattern, right, axes, sizes)
    walk: list[Placed] = []
    result: list[int] = []
    for names in right:
        if names == [_REST]:
            for axis in rest_axes:
                walk.append((*axis, len(result), 1))
                result.append(axis[1])
            continue
        for name in names:
            if name not in sizes:
                raise InvalidValue(f"pattern {pattern!r}: {name} is new on the right; give its size")
        for i, name in enumerate(names):
            inner = math.prod(sizes[later] for later in names[i + 1 :])
            walk.append((*axes.get(name, (-1, sizes[name], 0)), len(result), inner))
        result.append(math.prod(sizes[name] for name in names))
    return tuple(walk), tuple(result)
