"""Cycles in HDF5 files are refused before the C library opens the file."""

import io
import struct
import time

import h5py
import numpy as np
import pytest
from published_weights import read

from elu_zoo import errors
from elu_zoo.weights.hdf5 import cycles


def put(content, place, *numbers):
    struct.pack_into(f"<{len(numbers)}Q", content, place, *numbers)


def at(content, signature, number=0):
    """Returns where the first, second, ... structure of a kind begins."""
    place = -1
    for _ in range(number + 1):
        place = content.index(signature, place + 1)
    return place


# Seen: the process ends, by a stack that is too small.
def a_tree_in_itself(content):
    tree = at(content, b"TREE")
    content[tree + 5] = 1
    put(content, tree + 32, tree)


def trees_in_each_other(content):
    trees = [at(content, b"TREE", number) for number in (0, 2)]
    for tree, other in (trees, reversed(trees)):
        content[tree + 5] = 1
        put(content, tree + 32, other)


# Seen: no end.
def a_tree_beside_itself(content):
    tree = at(content, b"TREE", 2)
    put(content, tree + 8, tree, tree)


def trees_beside_each_other(content):
    trees = [at(content, b"TREE", number) for number in (2, 3)]
    for tree, other in (trees, reversed(trees)):
        put(content, tree + 16, other)


def free_space_in_a_ring(content):
    heap = at(content, b"HEAP", 1)
    _, free, start = struct.unpack_from("<QQQ", content, heap + 8)
    put(content, start + free, free)


def a_text_of_no_size(content):
    put(content, _free_text(content), 0)


def a_text_larger_than_its_heap(content):
    put(content, _free_text(content), 2**64 - 16)


def _free_text(content):
    """Returns where the size of what is free in the heap of names stands."""
    place = at(content, b"GCOL") + 16
    while True:
        index, size = struct.unpack_from("<H6xQ", content, place)
        if index == 0:
            return place + 8
        place += 16 + -(-size // 8) * 8


def addresses_of_four_bytes(content):
    content[13] = 4


def addresses_from_elsewhere(content):
    put(content, 24, 8)


def many_trees(content):
    content += b"TREE\0" * 100_001


def trees_of_many(content):
    """Each of 65,535 others, in what is the end of the file's first tree."""
    content += b"TREE\0\1" + b"\xff" * 26
    content += b"TREE\0\1" + b"\xff" * 2


def heaps_in_heaps(content):
    """Each text of a heap is the start of another one."""
    rest = 500 * 32 + 16
    for index in range(500):
        start = len(content)
        content += b"GCOL\1\0\0\0" + bytes(24)
        put(content, start + 8, rest - 32 * index)
        put(content, start + 16, 1, 16)
    content += bytes(16)


@pytest.mark.parametrize(
    ("bend", "message"),
    [
        (a_tree_in_itself, "unsafe: a tree at 136 contains itself"),
        (trees_in_each_other, r"unsafe: a tree at \d+ contains itself"),
        (a_tree_beside_itself, r"unsafe: a tree at \d+ is beside itself"),
        (trees_beside_each_other, r"unsafe: a tree at \d+ is beside itself"),
        (free_space_in_a_ring, r"unsafe: the free space of the heap at \d+ has no end"),
        (a_text_of_no_size, r"unsafe: a text at \d+ is not within the heap at \d+"),
        (a_text_larger_than_its_heap, r"unsafe: a text at \d+ is not within the heap"),
        (addresses_of_four_bytes, "unsafe: its addresses are of an unusual kind"),
        (addresses_from_elsewhere, "unsafe: its addresses are of an unusual kind"),
        (many_trees, "its trees and heaps have more than 100000 parts"),
        (trees_of_many, "its trees and heaps have more than 100000 parts"),
        (heaps_in_heaps, "its trees and heaps have more than 100000 parts"),
    ],
)
def test_refused(model, content, path, bend, message):
    bent = bytearray(content)
    bend(bent)
    path.write_bytes(bent)
    start = time.monotonic()
    with pytest.raises(errors.CorruptError, match=message):
        read(path, model)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("signature", [b"TREE\0", b"HEAP\0", b"GCOL\1"])
def test_a_signature_among_values_is_none(path, signature):
    """No file is refused for values that look like something else."""
    values = np.random.default_rng(0).integers(0, 256, 400, np.uint8)
    values[: len(signature)] = np.frombuffer(signature, np.uint8)
    with h5py.File(path, "w") as file:
        file["values"] = values
    cycles.check(path.read_bytes(), path)


@pytest.mark.parametrize("version", ["earliest", "latest"])
def test_large_files_have_nothing_of_this(path, version):
    """Of so many layers that their names fill trees of several levels."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", libver=version) as file:
        for index in range(600):
            file.create_group(f"layers/dense_{index}")
    content = buffer.getvalue()
    if version == "earliest":
        levels = {content[place + 5] for place in _trees(content)}
        assert levels == {0, 1}
    cycles.check(content, path)


def _trees(content):
    count = content.count(b"TREE\0")
    return [at(content, b"TREE\0", number) for number in range(count)]
