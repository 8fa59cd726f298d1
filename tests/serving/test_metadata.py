"""`metadata.describe` returns the facts about a model that the web page shows."""

import dataclasses

import pytest

from elu_zoo.serving import metadata

ORIGIN = {
    "model": "elu_cifar_11",
    "dataset": "cifar10",
    "activation": "elu",
    "alpha": 1.0,
    "weights": {"tag": "elu_cifar_11.cifar10_elu-1485f2aa", "sha256": "1485f2aa"},
    "input_shape": [32, 32, 3],
}
FACTS = {
    "network": ORIGIN["model"],
    **{name: ORIGIN[name] for name in ("dataset", "activation", "alpha", "input_shape")},
    **ORIGIN["weights"],
}


@pytest.mark.parametrize(
    ("origin", "facts"),
    [
        (ORIGIN, FACTS),
        ({**ORIGIN, "weights": None}, FACTS | {"tag": None, "sha256": None}),
        ({}, dict.fromkeys(FACTS)),
    ],
)
def test_describe_returns_none_for_missing_facts(loaded, origin, facts):
    model = dataclasses.replace(loaded, origin=origin, class_names=("a", "b"))
    assert metadata.describe(model) == {
        "name": "net",
        "version": 1,
        "class_names": ["a", "b"],
        "signatures": sorted(loaded.signatures),
        **facts,
    }
