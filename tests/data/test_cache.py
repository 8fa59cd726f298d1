"""The cache of decoded arrays rebuilds damaged entries and survives failures."""

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.data import cache

ARRAYS = {
    "a": np.arange(6, dtype="uint8").reshape(2, 3),
    "names": np.array(["x", "yz"]),
}


def _build():
    return dict(ARRAYS)


def _fail():
    pytest.fail("must come from the cache")


def _check_load(tmp_path, build=_build):
    source = tmp_path / "source"
    source.write_bytes(b"12345")
    arrays = cache.load("set-1.0", [source], build)
    assert arrays.keys() == ARRAYS.keys()
    for name, expected in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], expected)


def _flip_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("suffix", "damage"),  # suffix of a file, and a function that damages the file
    [
        (".npz", _flip_bit),
        (".npz", lambda path: path.write_bytes(path.read_bytes()[:-1])),
        (".sha256", lambda path: path.write_bytes(b"\xff\x00")),
        (".sha256", lambda path: path.unlink()),
    ],
)
def test_damaged_cache_entries_are_built_again(tmp_path, home, caplog, suffix, damage):
    _check_load(tmp_path)
    _check_load(tmp_path, _fail)
    assert not caplog.records
    damage(next((home / "data").glob(f"*{suffix}")))
    _check_load(tmp_path)
    assert "is damaged" in caplog.text
    _check_load(tmp_path, _fail)


def test_a_source_of_another_name_or_size_has_another_cache_entry(tmp_path, home):
    first, second = tmp_path / "first", tmp_path / "second"
    for path, content in ((first, b"1"), (second, b"22")):
        path.write_bytes(content)
        cache.load("set-1.0", [path], _build)
    cache.load("set-1.0", [first], _fail)
    first.write_bytes(b"longer")
    cache.load("set-1.0", [first], _build)
    assert len(list((home / "data").glob("*.npz"))) == 3


def test_a_cache_that_cannot_be_written_causes_a_warning(tmp_path, home, caplog):
    home.write_text("a file where the folder should be")
    _check_load(tmp_path)
    assert "not cached" in caplog.text


def test_pickled_objects_are_never_loaded(tmp_path):
    with pytest.raises(ValueError, match="allow_pickle=False"):
        for _ in range(2):  # The second call reads the cache.
            cache.load("set-1.0", [], lambda: {"a": np.array([{}], dtype=object)})


def test_a_failed_build_leaves_no_cache_entry(home, tmp_path):
    def fail():
        raise errors.DataError("bad")

    with pytest.raises(errors.DataError, match="bad"):
        cache.load("set-1.0", [], fail)
    assert not home.exists()
