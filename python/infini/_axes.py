"""Patterns as text, for frameworks that need the inverse of a copy: its gradient."""
from __future__ import annotations

import re
from collections.abc import Sequence

_TOKEN = re.compile(r"\.\.\.|[()]|\w+")


def _groups(side: str) -> list[list[str]]:
    groups: list[list[str]] = []
    inside = False
    for token in _TOKEN.findall(side):
        if token == "(":
            inside = True
            groups.append([])
        elif token == ")":
            inside = False
        elif inside:
            groups[-1].append(token)
        else:
            groups.append([token])
    return groups


def axis_sizes(pattern: str, shape: Sequence[int], given: dict[str, int]) -> dict[str, int]:
    """The sizes of all named axes of a pattern that fits the shape."""
    groups = _groups(pattern.split("->")[0])
    sizes = dict(given)
    if any(g == ["..."] for g in groups):
        at = next(i for i, g in enumerate(groups) if g == ["..."])
        rest = len(shape) - len(groups) + 1
        pairs = list(zip(groups[:at], shape[:at])) + list(zip(groups[at + 1 :], shape[at + rest :]))
    else:
        pairs = list(zip(groups, shape))
    for group, extent in pairs:
        unknown, known = None, 1
        for name in group:
            if name.isdigit():
                known *= int(name)
            elif name in sizes:
                known *= sizes[name]
            else:
                unknown = name
        if unknown is not None:
            sizes[unknown] = extent // known if known else 0
    return sizes


def spread(pattern: str) -> str:
    """The same without joining "(...)" to one dim, for which there is no inverse: who has such a result reshapes it first."""
    left, arrow, right = pattern.partition("->")
    return left + arrow + re.sub(r"\(\s*\.\.\.\s*\)", "...", right)


def inverse(pattern: str, shape: Sequence[int], given: dict[str, int]) -> tuple[str, dict[str, int], int]:
    """(pattern, sizes, n): rearranging by it undoes `pattern`, with the axes that were new as the last n dims, to be summed."""
    left, right = spread(pattern).split("->")
    sizes = axis_sizes(pattern, shape, given)
    known = set(_TOKEN.findall(left))
    new: list[str] = []

    def rename(match: re.Match[str]) -> str:
        token = match.group(0)
        if token.isdigit() and token != "1":
            name = f"new{len(new)}_"
            sizes[name] = int(token)
            new.append(name)
            return name
        if token not in known and token[0] not in ".()" and not token.isdigit():
            new.append(token)
        return token

    right = _TOKEN.sub(rename, right)
    text = f"{right.strip()} -> {left.strip()} {' '.join(new)}".strip()
    used = set(_TOKEN.findall(text))
    return text, {name: size for name, size in sizes.items() if name in used}, len(new)
