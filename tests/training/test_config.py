"""Resolved configs, their hashes and the differences between two configs."""

import json

import pytest
from ml_collections import FrozenConfigDict

from elu_zoo import errors
from elu_zoo.training.config import as_dict, dict_hash, differences, resolve
from elu_zoo.training.fields import FIELDS, NEUTRAL, flat


def test_resolve_returns_a_complete_config_its_values_and_their_hash(smoke):
    resolved = resolve(config := smoke())
    assert config == smoke()  # the argument is not changed
    assert resolved.values == as_dict(resolved.config)
    assert {key for key in FIELDS if key.startswith("train.")} <= flat(resolved.values).keys()
    stored = json.loads(json.dumps(resolved.values))
    assert resolved.hash == dict_hash(as_dict(config)) == dict_hash(stored)
    assert resolve(FrozenConfigDict(config)).values == stored and resolve(resolved) is resolved


@pytest.mark.parametrize("value", [{"seed": 0}, "quickstart", None])
def test_resolve_refuses_what_is_no_config(value):
    with pytest.raises(errors.UsageTypeError, match="ConfigDict"):
        resolve(value)


def test_missing_fields_have_their_neutral_values(smoke):
    config = smoke()
    with config.unlocked():
        del config.data.measure_test, config.train.optimizer, config.train.nesterov
    assert resolve(config).config == resolve(smoke()).config
    assert dict_hash(as_dict(config)) == dict_hash(as_dict(smoke()))
    assert differences(as_dict(config), as_dict(smoke())) == []
    config.train = {**{k: v for k, v in config.train.items() if k != "momentum"}, "nesterov": True}
    with pytest.raises(errors.UsageError, match="momentum > 0"):
        resolve(config)


@pytest.mark.parametrize("key", FIELDS)
def test_a_field_changes_the_hash_unless_it_is_neutral(key):
    section, _, name = key.rpartition(".")
    nested = lambda value: {section: {name: value}} if section else {name: value}  # noqa: E731
    without = dict_hash({"seed": 0})
    assert dict_hash({"seed": 0, **nested("other")}) != without
    if key in NEUTRAL:
        assert dict_hash({"seed": 0, **nested(NEUTRAL[key])}) == without
        assert differences({}, nested("other")) == [f"{key}: {NEUTRAL[key]!r} -> 'other'"]


def test_differences_lists_each_changed_field():
    old = {"seed": 0, "model": {"width": 1.0, "gone": 1}, "rates": [0.1]}
    new = {"seed": 0, "model": {"width": 0.5, "new": 2}, "rates": [0.1, 0.2]}
    assert differences(old, new) == [
        "model.gone: 1 -> nothing",
        "model.new: nothing -> 2",
        "model.width: 1.0 -> 0.5",
        "rates: [0.1] -> [0.1, 0.2]",
    ]
    # Equal values of different types differ, because their hashes differ.
    assert differences({"a": 1}, {"a": 1.0}) == ["a: 1 -> 1.0"]
    assert differences({"a": {}}, {}) == ["a: {} -> nothing"]


def test_elu_xla_is_trained_and_hashed_as_elu(smoke):
    resolved, elu = resolve(smoke({"model.activation.name": "elu_xla"})), resolve(smoke())
    assert resolved.config.model.activation.name == "elu_xla"
    assert (resolved.values, resolved.hash) == (elu.values, elu.hash)
