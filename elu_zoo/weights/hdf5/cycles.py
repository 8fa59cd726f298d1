"""Cycles in HDF5 files, on which the C library never returns or ends the process.

HDF5 1.14.6 follows the B-trees of names, the lists of free space and the global heaps
in a file without looking for cycles: a tree that contains itself overflows the stack, a
list that leads back to its start never ends. No `except` catches either, so the bytes
are checked before the library opens them. Other damage the library reports itself.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

from elu_zoo import errors

_NO_SPACE = 1  # ends a list of free space
_LEFT, _RIGHT = 8, 16  # offsets of a node's siblings
_MOST = 100_000  # parts of trees and heaps that are visited


def check(content: bytes, path: Path) -> None:
    """Checks that no tree, list or heap of a file leads back to itself.

    Args:
        content: of an HDF5 file.
        path: of the file, for messages.

    Raises:
        CorruptError: one does, or addresses are of another kind than h5py writes.
    """
    steps = itertools.count()

    def refuse(reason: str) -> None:
        raise errors.CorruptError(f"{path} is unsafe: {reason}.")

    def places(signature: bytes) -> Iterator[int]:
        place = content.find(signature)
        while place >= 0:
            step()
            yield place
            place = content.find(signature, place + 1)

    def step() -> None:
        if next(steps) == _MOST:
            refuse(f"its trees and heaps have more than {_MOST} parts")

    _check_addresses(content, refuse)
    _check_trees(content, set(places(b"TREE\0")), step, refuse)  # 0: of names
    for place in places(b"HEAP\0"):
        _check_free_space(content, place, step, refuse)
    for place in places(b"GCOL\1"):
        _check_texts(content, place, step, refuse)


def _number(content: bytes, place: int, size: int = 8) -> int:
    """Returns the integer at an offset; past the end of the file the largest one."""
    return int.from_bytes(content[place : place + size].ljust(size, b"\xff"), "little")


def _check_addresses(content: bytes, refuse: Callable[[str], None]) -> None:
    """Checks that addresses are eight bytes from the start, as other checks assume."""
    sizes, base = {0: (13, 24), 1: (13, 28)}.get(_number(content, 8, 1), (9, 12))
    is_usual = content[sizes : sizes + 2] == b"\x08\x08" and not _number(content, base)
    if len(content) > base + 8 and not is_usual:
        refuse("its addresses are of an unusual kind")


def _check_trees(
    content: bytes,
    places: set[int],
    step: Callable[[], None],
    refuse: Callable[[str], None],
) -> None:
    """Checks that a child is one level below its node, and siblings form no ring."""
    for place in places:
        level = _number(content, place + 5, 1)
        count = _number(content, place + 6, 2) if level else 0
        for index in range(count):
            step()
            child = _number(content, place + 32 + 16 * index)
            if child in places and _number(content, child + 5, 1) != level - 1:
                refuse(f"a tree at {place} contains itself")
    for side in _LEFT, _RIGHT:
        reached: dict[int, int] = {}
        for start in places:
            place = start
            while place in places and place not in reached:
                reached[place] = start
                place = _number(content, place + side)
            if reached.get(place) == start and place in places:
                refuse(f"a tree at {place} is beside itself")


def _check_free_space(
    content: bytes,
    place: int,
    step: Callable[[], None],
    refuse: Callable[[str], None],
) -> None:
    """Checks that the list of free space in a heap of names ends."""
    size, free, start = (_number(content, place + offset) for offset in (8, 16, 24))
    if start + size > len(content):
        return  # The library refuses it.
    seen = set()
    while free != _NO_SPACE and free + 16 <= size:
        step()
        if free in seen:
            refuse(f"the free space of the heap at {place} has no end")
        seen.add(free)
        free = _number(content, start + free)


def _check_texts(
    content: bytes,
    place: int,
    step: Callable[[], None],
    refuse: Callable[[str], None],
) -> None:
    """Checks that every object of a global heap has a size, and lies in the heap."""
    end = place + _number(content, place + 8)
    if end > len(content):
        return  # The library refuses it.
    at = place + 16
    while at + 16 <= end:
        step()
        index, size = _number(content, at, 2), _number(content, at + 8)
        size = 16 + -(-size // 8) * 8 if index else size  # index 0: free space
        if size < 16 or at + size > end:
            refuse(f"a text at {at} is not within the heap at {place}")
        at += size
