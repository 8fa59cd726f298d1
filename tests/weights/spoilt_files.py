"""Damaged files and changed entries, drawn at random by hypothesis."""

import copy

from hypothesis import strategies as st

# Each function below damages the bytes of a file at a random offset. A second random
# number selects the kind or the size of the damage.


def flip(content, offset, number):
    content[offset] ^= 1 << number % 8


def overwrite(content, offset, number):
    """Overwrites eight bytes, because sizes and addresses in HDF5 have eight bytes."""
    values = 0, 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1, number
    content[offset : offset + 8] = values[number % 8].to_bytes(8, "little")


def delete(content, offset, number):
    del content[offset : offset + 1 + number % 64]


def duplicate(content, offset, number):
    content[offset:offset] = content[offset : offset + 1 + number % 512]


def copy_block(content, offset, number):
    """Overwrites a block with another block, which may make a tree contain itself."""
    offset, source = (x % len(content) // 8 * 8 for x in (offset, number))
    count = min(64, len(content) - max(offset, source))
    content[offset : offset + count] = content[source : source + count]


def truncate(content, offset, number):
    del content[offset:]


DAMAGES = flip, overwrite, delete, duplicate, copy_block, truncate


def draw_damaged(draw, content):
    """Returns a copy of `content` with one to five drawn damages. The copy differs."""
    damaged = bytearray(content)
    numbers = st.integers(0, 2**60)
    for _ in range(draw(st.integers(1, 5))):
        damage = draw(st.sampled_from(DAMAGES))
        if damaged:
            damage(damaged, draw(numbers) % len(damaged), draw(numbers))
    if damaged == content:
        damaged[0] ^= 1
    return bytes(damaged)


TEXTS = (
    "",
    "elu",
    "relu",
    "../../x",
    "/etc/passwd",
    "\x1b[2J",
    "\0",
    "\ud800",
    "9" * 300,
)
NUMBERS = -1, 0, 0.5, 3, 1e9, 10**30, 1e308, float("inf"), float("nan"), -0.0
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(TEXTS),
    st.text(max_size=5),
    st.sampled_from(NUMBERS),
    st.integers(-5, 5000),
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
) | st.sampled_from([[[[[]]]] * 3, ["x"] * 10, [2, 2, 1], [[]] * 1000])


def draw_changed(draw, entry):
    """Returns a copy of nested dicts in which one to three fields were changed."""
    copied = copy.deepcopy(entry)
    for _ in range(draw(st.integers(1, 3))):
        parent = copied
        while True:
            keys = sorted(parent)
            key = draw(st.sampled_from([*keys, "new"]) if keys else st.just("new"))
            inner = parent.get(key)
            if not isinstance(inner, dict) or not inner or draw(st.booleans()):
                break
            parent = inner
        if key in parent and draw(st.integers(0, 3)) == 0:
            del parent[key]
        else:
            parent[key] = draw(values)
    return copied
