"""The cache of decoded arrays rebuilds damaged entries and survives failures."""

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.data import cache

ARRAYS = {"a": np.arange(600, dtype="uint8").reshape(20, 30), "names": np.array(["x", "yz"])}


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


def _flip_bit(content):
    return content[:400] + bytes([content[400] ^ 1]) + content[401:]


@pytest.mark.parametrize("damage", [_flip_bit, lambda x: x[:-1], lambda x: x[:99], lambda x: b""])
def test_damaged_cache_entries_are_built_again(tmp_path, home, caplog, damage):
    _check_load(tmp_path)
    _check_load(tmp_path, _fail)
    assert not caplog.records
    (path,) = (home / "data").glob("*")
    path.write_bytes(damage(path.read_bytes()))
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
    built = {"a": np.array([{}], dtype=object)}
    for _ in range(2):  # a pickle would be read the second time
        assert cache.load("set-1.0", [], lambda: built) is built


def test_a_failed_build_leaves_no_cache_entry(home, tmp_path):
    def fail():
        raise errors.DataError("bad")

    with pytest.raises(errors.DataError, match="bad"):
        cache.load("set-1.0", [], fail)
    assert not home.exists()
