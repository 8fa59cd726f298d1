"""Resolved configs, their hashes and the differences between two configs."""

import json

import pytest

from elu_zoo import errors
from elu_zoo.configs import common, elu_cifar_11
from elu_zoo.training import config_fields
from elu_zoo.training.config import as_dict, config_hash, dict_hash, differences, resolve
from elu_zoo.weights import manifest


def test_resolve_returns_config_values_and_hash(smoke):
    config = smoke()
    resolved = resolve(config)
    assert resolved.config == config and resolved.config is not config
    assert resolved.values == as_dict(config)
    assert resolved.hash == config_hash(config) == dict_hash(resolved.values)


def test_resolve_checks_the_config(smoke):
    with pytest.raises(errors.UsageError, match="train.epochs must be >= 1"):
        resolve(smoke({"train.epochs": 0}))


def test_missing_later_fields_get_neutral_values(smoke):
    """Later fields are fields that were added after runs had been published."""
    older = smoke()
    with older.unlocked():
        del older.data.measure_test, older.train.optimizer, older.train.sgd_decay
    resolved = resolve(older)
    assert resolved.config == smoke() and resolved.hash == config_hash(older)
    assert "optimizer" not in older.train


def test_neutral_values_of_later_fields_are_those_of_the_base_config():
    config = elu_cifar_11.build(elu_cifar_11.ARGUMENTS)
    base = common.base()
    for key in common.LATER:
        owner = base if config_fields.get(base, key) is not None else common.stacks()
        assert config_fields.get(owner, key) == config_fields.get(config, key)


@pytest.mark.parametrize("tag", manifest.list_weights("elu_cifar_11.*"))
def test_later_fields_do_not_change_the_hash_of_shipped_weights(tag):
    entry = manifest.published()[tag]
    activation = entry["arguments"]["activation"]["name"]
    chosen = ",".join(f"{key}={entry[key]}" for key in ("dataset", "schedule", "epochs"))
    config = elu_cifar_11.get_config(f"{chosen},activation={activation}")
    assert config_hash(config) == dict_hash(entry["config"])


def test_differences_lists_each_changed_field():
    old = {"seed": 0, "model": {"width": 1.0, "gone": 1}, "rates": [0.1]}
    new = {"seed": 0, "model": {"width": 0.5, "new": 2}, "rates": [0.1, 0.2]}
    assert differences(old, new) == [
        "model.gone: 1 -> nothing",
        "model.new: nothing -> 2",
        "model.width: 1.0 -> 0.5",
        "rates: [0.1] -> [0.1, 0.2]",
    ]
    assert differences(old, old) == []
    # Equal values of different types differ, because their hashes differ.
    assert differences({"a": 1}, {"a": 1.0}) == ["a: 1 -> 1.0"]
    assert differences({"a": None}, {}) == ["a: None -> nothing"]
    assert differences({"a": {}}, {}) == ["a: {} -> nothing"]


def test_a_config_read_from_json_has_no_differences(smoke):
    values = as_dict(smoke())
    assert differences(json.loads(json.dumps(values)), values) == []


def test_elu_xla_is_trained_and_hashed_as_elu(smoke):
    resolved = resolve(smoke({"model.activation.name": "elu_xla"}))
    assert resolved.config.model.activation.name == "elu_xla"
    assert resolved.values == as_dict(smoke()) and resolved.hash == config_hash(smoke())


def test_every_field_changes_the_hash(smoke):
    flat = config_fields.flat(as_dict(smoke()))
    assert config_hash(smoke()) == config_hash(smoke())
    hashes = {config_hash(smoke())}
    changed = {"model.activation.alpha": 2.0, "train.boundaries": (1,)}
    changed["train.learning_rates"] = (0.5,)
    for key, value in flat.items():
        if key not in changed:
            changed[key] = not value if isinstance(value, bool) else value * 2 or 1
        if isinstance(value, float) and not value:
            changed[key] = 0.5
        hashes.add(config_hash(smoke({key: changed[key]})))
    assert len(hashes) == 1 + len(flat)
