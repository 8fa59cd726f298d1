"""Checks for cycles in HDF5 files, which hang or crash the C library.

HDF5 1.14.6 follows the B-trees of names, the free lists and the global heaps of a file
without detecting cycles. A tree that contains itself overflows the stack, and a cyclic
list never ends. Python can catch neither, so this module checks the bytes before the
library opens the file. The library itself reports other damage.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

from elu_zoo import errors

_END_OF_LIST = 1
_LEFT, _RIGHT = 8, 16  # offsets of the addresses of a node's siblings
_MAX_STEPS = 100_000


def check(content: bytes, path: Path) -> None:
    """Checks that no tree, list or heap of a file contains a cycle.

    Args:
        content: the content of an HDF5 file.
        path: the path of the file, for messages.
    """
    try:
        _Check(content).run()
    except errors.CorruptError as error:
        raise errors.CorruptError(f"{path} is unsafe: {error}.") from None


class _Check:
    """The check of one file, with a count of its steps."""

    def __init__(self, content: bytes):
        self._content = content
        self._steps = itertools.count()

    def run(self) -> None:
        self._check_addresses()
        self._check_trees(set(self._find(b"TREE\0")))  # The 0 marks trees of names.
        for start in self._find(b"HEAP\0"):
            self._check_free_list(start)
        for start in self._find(b"GCOL\1"):
            self._check_global_heap(start)

    def _find(self, signature: bytes) -> Iterator[int]:
        """Yields the offset of every occurrence of a signature."""
        offset = self._content.find(signature)
        while offset >= 0:
            self._step()
            yield offset
            offset = self._content.find(signature, offset + 1)

    def _step(self) -> None:
        if next(self._steps) == _MAX_STEPS:
            raise errors.CorruptError(f"its trees and heaps have more than {_MAX_STEPS} parts")

    def _number(self, offset: int, size: int = 8) -> int:
        """Returns the integer at an offset; missing bytes at the end count as 255."""
        field = self._content[offset : offset + size]
        return int.from_bytes(field.ljust(size, b"\xff"), "little")

    def _check_addresses(self) -> None:
        """Checks that addresses have eight bytes and count from the file's start."""
        # Offsets of the address sizes and the base address, by superblock version.
        sizes, base = {0: (13, 24), 1: (13, 28)}.get(self._number(8, 1), (9, 12))
        is_usual = self._content[sizes : sizes + 2] == b"\x08\x08"
        is_usual = is_usual and self._number(base) == 0
        if len(self._content) > base + 8 and not is_usual:
            raise errors.CorruptError("its addresses are of an unusual kind")

    def _check_trees(self, nodes: set[int]) -> None:
        """Checks that children lie one level below parents; siblings form no ring."""
        for node in nodes:
            level = self._number(node + 5, 1)
            count = self._number(node + 6, 2) if level else 0
            for index in range(count):
                self._step()
                child = self._number(node + 32 + 16 * index)
                if child in nodes and self._number(child + 5, 1) != level - 1:
                    raise errors.CorruptError(f"a tree at {node} contains itself")
        for side in _LEFT, _RIGHT:
            reached_from: dict[int, int] = {}
            for start in nodes:
                node = start
                while node in nodes and node not in reached_from:
                    reached_from[node] = start
                    node = self._number(node + side)
                if node in nodes and reached_from[node] == start:
                    raise errors.CorruptError(f"a tree at {node} is its own sibling")

    def _check_free_list(self, heap: int) -> None:
        """Checks that the free list of a local heap ends."""
        size, free, start = (self._number(heap + field) for field in (8, 16, 24))
        if start + size > len(self._content):
            return  # The library refuses a heap that ends after the file.
        seen = set()
        while free != _END_OF_LIST and free + 16 <= size:
            self._step()
            if free in seen:
                raise errors.CorruptError(f"the free list of the heap at {heap} loops")
            seen.add(free)
            free = self._number(start + free)

    def _check_global_heap(self, heap: int) -> None:
        """Checks that every object of a global heap has a size and lies in the heap."""
        end = heap + self._number(heap + 8)
        if end > len(self._content):
            return  # The library refuses a heap that ends after the file.
        offset = heap + 16
        while offset + 16 <= end:
            self._step()
            index, size = self._number(offset, 2), self._number(offset + 8)
            is_free_space = index == 0
            if not is_free_space:
                size = 16 + -(-size // 8) * 8
            if size < 16 or offset + size > end:
                raise errors.CorruptError(f"an object at {offset} is not inside the heap at {heap}")
            offset += size
