"""Damages and forgeries of good files, as hypothesis draws them."""

import h5py
import numpy as np
from hypothesis import strategies as st

# Of a file's bytes: each takes them, another good file and some random numbers.


def flip(content, other, place, number):
    content[place % len(content)] ^= 1 << number % 8


def overwrite(content, other, place, number):
    """Numbers of eight bytes: sizes and addresses are."""
    place %= len(content)
    values = 0, 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1, number
    content[place : place + 8] = values[number % 8].to_bytes(8, "little")


def insert(content, other, place, number):
    place %= len(content)
    content[place:place] = number.to_bytes(8, "big")[: 1 + number % 8]


def delete(content, other, place, number):
    place %= len(content)
    del content[place : place + 1 + number % 64]


def duplicate(content, other, place, number):
    place %= len(content)
    content[place:place] = content[place : place + 1 + number % 512]


def zero(content, other, place, number):
    place %= len(content)
    count = min(1 + number % 512, len(content) - place)
    content[place : place + count] = bytes(count)


def swap(content, other, place, number):
    """A block from elsewhere in the file: a tree that leads back to itself."""
    place, source = (x % len(content) // 8 * 8 for x in (place, number))
    count = min(64, len(content) - max(place, source))
    content[place : place + count] = content[source : source + count]


def truncate(content, other, place, number):
    del content[place % len(content) :]


def splice(content, other, place, number):
    place %= len(content)
    content[place:] = other[place:]


DAMAGES = flip, overwrite, insert, delete, duplicate, zero, swap, truncate, splice


def damaged(draw, content, other=None):
    """Draws bytes that differ from `content` after one to five damages."""
    found = bytearray(content)
    numbers = st.integers(0, 2**64 - 1)
    for _ in range(draw(st.integers(1, 5))):
        damage = draw(st.sampled_from(DAMAGES))
        if found and (other or damage is not splice):
            damage(found, other, draw(numbers), draw(numbers) % 2**60)
    if found == content:
        found[0] ^= 1
    return bytes(found)


# Of the tree of an HDF5 file: each takes it, one of its objects' names and a draw.

NAMES = "0 1 2 01 -1 x name vars dense dense_1 layers .. /x \u0661".split()
TYPES = "f2 f4 f8 >f2 i2 u1 c8 ? S3 V2".split()
SHAPES = (), (0,), (1,), (3,), (9,), (3, 3), (1, 3, 3), (2**31, 2**31)
ATTRIBUTES = "dense1", "dense2", "spy", "", b"dense1", 3, ["dense1"], h5py.Empty("f")


def rename(file, where, draw):
    file.move(where, where.rpartition("/")[0] + "/" + draw(st.sampled_from(NAMES)))


def move(file, where, draw):
    groups = ["/", "/layers", "/vars", "/layers/dense", "/layers/dense_3/vars"]
    parent = draw(st.sampled_from(groups))
    file.move(where, f"{parent}/{draw(st.sampled_from(NAMES))}")


def remove(file, where, draw):
    del file[where]


def replace(file, where, draw, **how):
    """Another type, shape or storage, some of it compressed."""
    shape, kind = draw(st.sampled_from(SHAPES)), draw(st.sampled_from(TYPES))
    how = draw(st.sampled_from([{}, {"chunks": True}, {"compression": "gzip"}]))
    if shape[:1] == (2**31,):
        how = {"chunks": (1, 1)}
    del file[where]
    file.create_dataset(where, shape, kind, **how)


def retype(file, where, draw):
    values = file[where][...].real  # a cast of complex numbers warns
    del file[where]
    file[where] = values.astype(draw(st.sampled_from(TYPES)))


def poison(file, where, draw):
    place = draw(st.integers(0, file[where].size - 1))
    numbers = np.nan, np.inf, -np.inf
    values = file[where][...].reshape(-1)
    values[place] = draw(st.sampled_from(numbers))
    file[where][...] = values.reshape(file[where].shape)


def link(file, where, draw):
    target = file[draw(st.sampled_from(objects(file)))]
    links = target, h5py.SoftLink("/vars"), h5py.ExternalLink("/etc/passwd", "/x")
    file[f"{where}/{draw(st.sampled_from(NAMES))}"] = draw(st.sampled_from(links))


def copy(file, where, draw):
    file.copy(where, f"layers/{draw(st.sampled_from(NAMES))}")


def attribute(file, where, draw):
    name = draw(st.sampled_from(["name", "name", "alien"]))
    file[where].attrs[name] = draw(st.sampled_from(ATTRIBUTES))


FORGERIES = rename, move, remove, replace, retype, poison, link, copy, attribute


_SENSELESS = (ValueError, RuntimeError, OSError, KeyError, TypeError, AttributeError)
_SENSELESS += (MemoryError, OverflowError)


def objects(file):
    """Returns the names of all objects of a file, each once."""
    found = []
    file.visit(found.append)
    return found


def forge(file, draw):
    """Draws one to four forgeries, and makes them; some have no effect."""
    for _ in range(draw(st.integers(1, 4))):
        forgery = draw(st.sampled_from(FORGERIES))
        where = draw(st.sampled_from(objects(file) or ["/"]))
        try:
            forgery(file, where, draw)
        # h5py refuses what makes no sense, and we read our own bombs.
        except _SENSELESS:
            continue


# Of JSON.

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
    """Draws a copy of nested dicts in which up to three values are others."""
    found = _copied(entry)
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


def _copied(value):
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return value
