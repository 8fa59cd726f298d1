"""Random damage to files and entries, drawn by hypothesis."""

import copy

from hypothesis import strategies as st

# Each damage takes the bytes of a file and two random numbers.


def flip(content, place, number):
    content[place] ^= 1 << number % 8


def overwrite(content, place, number):
    """HDF5 stores sizes and addresses as eight bytes."""
    values = 0, 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1, number
    content[place : place + 8] = values[number % 8].to_bytes(8, "little")


def delete(content, place, number):
    del content[place : place + 1 + number % 64]


def duplicate(content, place, number):
    content[place:place] = content[place : place + 1 + number % 512]


def move(content, place, number):
    """A block from elsewhere in the file, such as a tree that leads back to itself."""
    place, source = (x % len(content) // 8 * 8 for x in (place, number))
    count = min(64, len(content) - max(place, source))
    content[place : place + count] = content[source : source + count]


def truncate(content, place, number):
    del content[place:]


DAMAGES = flip, overwrite, delete, duplicate, move, truncate


def damaged(draw, content):
    """Draws bytes that differ from `content` after one to five damages."""
    found = bytearray(content)
    numbers = st.integers(0, 2**60)
    for _ in range(draw(st.integers(1, 5))):
        damage = draw(st.sampled_from(DAMAGES))
        if found:
            damage(found, draw(numbers) % len(found), draw(numbers))
    if found == content:
        found[0] ^= 1
    return bytes(found)


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
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=5,
) | st.sampled_from([[[[[]]]] * 3, ["x"] * 10, [2, 2, 1], [[]] * 1000])


def changed(draw, entry):
    """Draws a copy of nested dicts with one to three other values."""
    found = copy.deepcopy(entry)
    for _ in range(draw(st.integers(1, 3))):
        place = found
        while True:
            keys = sorted(place)
            key = draw(st.sampled_from([*keys, "new"]) if keys else st.just("new"))
            inner = place.get(key)
            if not isinstance(inner, dict) or not inner or draw(st.booleans()):
                break
            place = inner
        if key in place and draw(st.integers(0, 3)) == 0:
            del place[key]
        else:
            place[key] = draw(values)
    return found
