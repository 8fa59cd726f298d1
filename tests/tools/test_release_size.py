"""tools/release_weights.py: the package has room for the weights in the wheel."""

import shutil
import zlib

import published_weights as made_weights
import pytest
from scripts import release_weights

from elu_zoo import errors
from elu_zoo.weights import manifest


@pytest.mark.parametrize("suffix", [".npz", manifest.SUFFIX])
def test_weights_that_do_not_fit_are_refused(tmp_path, monkeypatch, suffix):
    entry, content, _ = made_weights.make(config={"smoke": False})
    weights, runs = tmp_path / "weights", {tmp_path / "run": entry}
    weights.mkdir()
    monkeypatch.setattr(release_weights, "_WEIGHTS", weights)
    file = made_weights.write(tmp_path / "run", entry, content)
    packed = len(zlib.compress(content))
    monkeypatch.setattr(release_weights, "_LIMIT_BYTES", 2 * packed - 1)
    shutil.copy(file, weights)
    release_weights.check(runs)  # the file is replaced
    other = weights / ("x" + suffix)
    other.write_bytes(bytes(10 * packed))  # zeros, which become small
    release_weights.check(runs)
    shutil.copy(file, other)
    with pytest.raises(errors.ResourceError, match=r"limit. .*--push=hf:owner/repo"):
        release_weights.check(runs)
    with pytest.raises(errors.ResourceError, match="limit"):
        release_weights.release(runs, tmp_path / "o", False)
    assert not (tmp_path / "o").exists()
