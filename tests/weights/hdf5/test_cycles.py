"""HDF5 files with cycles are refused before the C library opens the file."""

import io
import struct
import time

import h5py
import numpy as np
import pytest
from published_weights import read

from elu_zoo import errors
from elu_zoo.weights.hdf5 import cycles


def put(content, offset, *numbers):
    struct.pack_into(f"<{len(numbers)}Q", content, offset, *numbers)


def at(content, signature, number=0):
    """Returns the offset of one occurrence of a signature; `number` counts from 0."""
    offset = -1
    for _ in range(number + 1):
        offset = content.index(signature, offset + 1)
    return offset


# Without the check for cycles, a read of the next two files overflows the stack.
def tree_in_itself(content):
    tree = at(content, b"TREE")
    content[tree + 5] = 1
    put(content, tree + 32, tree)


def trees_in_each_other(content):
    trees = [at(content, b"TREE", number) for number in (0, 2)]
    for tree, partner in (trees, reversed(trees)):
        content[tree + 5] = 1
        put(content, tree + 32, partner)


# Without the check for cycles, a read of the next three files never ends.
def tree_as_its_sibling(content):
    tree = at(content, b"TREE", 2)
    put(content, tree + 8, tree, tree)


def trees_as_siblings(content):
    trees = [at(content, b"TREE", number) for number in (2, 3)]
    for tree, partner in (trees, reversed(trees)):
        put(content, tree + 16, partner)


def free_list_in_itself(content):
    heap = at(content, b"HEAP", 1)
    _, free, start = struct.unpack_from("<QQQ", content, heap + 8)
    put(content, start + free, free)


def empty_object(content):
    put(content, _free_space_size(content), 0)


def object_beyond_its_heap(content):
    put(content, _free_space_size(content), 2**64 - 16)


def _free_space_size(content):
    """Returns the offset of the field for the free space's size in the global heap."""
    offset = at(content, b"GCOL") + 16
    while True:
        index, size = struct.unpack_from("<H6xQ", content, offset)
        if index == 0:
            return offset + 8
        offset += 16 + -(-size // 8) * 8


def addresses_of_four_bytes(content):
    content[13] = 4


def many_trees(content):
    content += b"TREE\0" * 100_001


def trees_with_many_children(content):
    """Adds two trees with 65,535 children each."""
    content += b"TREE\0\1" + b"\xff" * 26
    content += b"TREE\0\1" + b"\xff" * 2


def heaps_in_heaps(content):
    """Adds a heap in which each object is the start of another heap."""
    size = 500 * 32 + 16
    for index in range(500):
        start = len(content)
        content += b"GCOL\1\0\0\0" + bytes(24)
        put(content, start + 8, size - 32 * index)
        put(content, start + 16, 1, 16)
    content += bytes(16)


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (tree_in_itself, "unsafe: a tree at 136 contains itself"),
        (trees_in_each_other, r"unsafe: a tree at \d+ contains itself"),
        (tree_as_its_sibling, r"unsafe: a tree at \d+ is its own sibling"),
        (trees_as_siblings, r"unsafe: a tree at \d+ is its own sibling"),
        (free_list_in_itself, r"unsafe: the free list of the heap at \d+ loops"),
        (empty_object, r"unsafe: an object at \d+ is not inside the heap at \d+"),
        (object_beyond_its_heap, r"unsafe: an object at \d+ is not inside the heap"),
        (addresses_of_four_bytes, "unsafe: its addresses are of an unusual kind"),
        (many_trees, "its trees and heaps have more than 100000 parts"),
        (trees_with_many_children, "its trees and heaps have more than 100000 parts"),
        (heaps_in_heaps, "its trees and heaps have more than 100000 parts"),
    ],
)
def test_cycles_are_refused_within_seconds(model, content, path, forge, message):
    forged = bytearray(content)
    forge(forged)
    path.write_bytes(forged)
    start = time.monotonic()
    with pytest.raises(errors.CorruptError, match=message):
        read(path, model)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("signature", [b"TREE\0", b"HEAP\0", b"GCOL\1"])
def test_values_that_look_like_a_signature_are_accepted(path, signature):
    values = np.random.default_rng(0).integers(0, 256, 400, np.uint8)
    values[: len(signature)] = np.frombuffer(signature, np.uint8)
    with h5py.File(path, "w") as file:
        file["values"] = values
    cycles.check(path.read_bytes(), path)


@pytest.mark.parametrize("version", ["earliest", "latest"])
def test_good_files_with_trees_of_two_levels_are_accepted(path, version):
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", libver=version) as file:
        for index in range(600):
            file.create_group(f"layers/dense_{index}")
    content = buffer.getvalue()
    if version == "earliest":
        levels = {content[offset + 5] for offset in _trees(content)}
        assert levels == {0, 1}
    cycles.check(content, path)


def _trees(content):
    count = content.count(b"TREE\0")
    return [at(content, b"TREE\0", number) for number in range(count)]
