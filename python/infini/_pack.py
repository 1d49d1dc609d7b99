"""pack and unpack: arrays of different shapes one after another in one, and back."""
from __future__ import annotations

import math
import re
from typing import Any, Sequence

from . import _core
from ._core import InvalidType, InvalidValue

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _sides(pattern: str) -> tuple[int, int]:
    """How many axes stand before and behind the star."""
    if not isinstance(pattern, str):
        raise InvalidType(f"pattern is a {type(pattern).__qualname__}; expected a string")
    words = pattern.split()
    for match in re.finditer(r"\S+", pattern):
        word, at = match[0], match.start() + 1
        if word != "*" and not _NAME.fullmatch(word):
            raise InvalidValue(f"pattern {pattern[:80]!r}, character {at}: {word[:40]!r} is no axis or *")
        if word != "*" and words.count(word) > 1:
            raise InvalidValue(f"pattern {pattern[:80]!r}, character {at}: {word[:40]} stands twice")
    if words.count("*") != 1:
        raise InvalidValue(f"pattern {pattern[:80]!r} has {words.count('*')} stars; expected one, for what is packed")
    return words.index("*"), len(words) - words.index("*") - 1


def pack(arrays: Sequence[Any], pattern: str) -> tuple[Any, list[tuple[int, ...]]]:
    """One array of several, and the shapes of their packed dims: pack([image, row], "h * c").

    The star stands for any number of dims of each array, which become one; in it the arrays lie one after another."""
    return _core._pack(arrays, *_sides(pattern))


def unpack(x: Any, packed_shapes: Sequence[Sequence[int]], pattern: str) -> list[Any]:
    """The arrays that pack made one of: unpack(x, shapes, "h * c"). One of the shapes may have a -1.

    Views of x where the framework gives views."""
    before, after = _sides(pattern)
    if not hasattr(x, "reshape"):  # bytes, array.array
        x = _core.Tensor.from_array(x)
    shape = tuple(x.shape)
    if len(shape) != before + after + 1:
        raise InvalidValue(f"x has {len(shape)} dims, the pattern {before + after + 1}")
    shapes = [tuple(packed) for packed in packed_shapes]
    counts = [-1 if -1 in packed else math.prod(packed) for packed in shapes]
    rest = shape[before] - sum(count for count in counts if count >= 0)
    if counts.count(-1) > 1 or rest < 0 or (rest > 0 and -1 not in counts):
        raise InvalidValue(f"the packed dim has {shape[before]} elements, the shapes are {shapes}")
    made, at = [], 0
    for packed, count in zip(shapes, counts):
        if count < 0:
            count = rest
            known = math.prod(size for size in packed if size != -1)
            if packed.count(-1) > 1 or (known == 0 and count) or (known and count % known):
                raise InvalidValue(f"{count} elements do not make the shape {packed}")
            packed = tuple((count // known if known else 0) if size == -1 else size for size in packed)
        part = x[(slice(None),) * before + (slice(at, at + count),)]
        made.append(part.reshape(shape[:before] + packed + shape[before + 1:]))
        at += count
    return made
