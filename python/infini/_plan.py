"""Plans: how a copy is understood and run, as data and in words."""
from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import _core

if TYPE_CHECKING:
    from ._core import Array


class Loop(NamedTuple):
    """One loop around what it repeats; steps count bytes."""

    extent: int
    dst_step: int
    src_step: int


class Plan(NamedTuple):
    """A copy: atom_bytes bytes at every point of the loops, outermost first. str() is it in words."""

    atom_bytes: int
    dst_offset: int
    src_offset: int
    loops: tuple[Loop, ...]
    bytes_written: int
    bytes_read: int  # each byte of src once
    candidate: str  # the kernel that was chosen; empty where nothing is to be moved
    schedule: str  # how it walks, in the device's own words
    text: str

    def __str__(self) -> str:
        return self.text


def plan(dst: Array, src: Array) -> Plan:
    """How copy(dst, src) would be done: the loops, the bytes moved, the chosen kernel. Nothing is copied.

    print(infini.plan(y, x.T)) says it in words, plan(y, x.T).loops as numbers."""
    facts = _core._plan(dst, src)
    return Plan(**{**facts, "loops": tuple(Loop(*loop) for loop in facts["loops"])})
