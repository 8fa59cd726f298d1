"""The hash of what an entry says its weights are."""

import published_weights as made_weights
import pytest

from elu_zoo import errors
from elu_zoo.weights import manifest

OTHERS = {
    "model": "x",
    "dataset": "x",
    "arguments": {"activation": {"name": "elu", "alpha": 2.0}, "batch_norm": False},
    "preprocessing": {},
    "classes": ["x"],
    "sha256": "0" * 64,
    "config": {},
}


@pytest.mark.parametrize("field", OTHERS)
def test_what_an_entry_means_is_hashed(field):
    entry, _, _ = made_weights.make()
    entry = {**entry, manifest.MEANING_HASH: manifest.meaning_hash(entry)}
    assert manifest.check(entry, "here") == entry
    with pytest.raises(errors.CorruptError, match="here was edited"):
        manifest.check({**entry, field: OTHERS[field]}, "here")
