"""What a person is shown of a model; TensorFlow Serving's form is held elsewhere."""

import dataclasses

import pytest

from elu_zoo.serving import metadata

ORIGIN = {
    "model": "elu_cifar_11",
    "dataset": "cifar10",
    "activation": "elu",
    "alpha": 1.0,
    "weights": {"tag": "elu_cifar_11.cifar10_elu-493de223", "sha256": "493de223"},
    "input_shape": [32, 32, 3],
}
WITHOUT_A_DATA_SET = {k: v for k, v in ORIGIN.items() if k != "dataset"}
SHOWN = {
    "network": "elu_cifar_11",
    "dataset": "cifar10",
    "activation": "elu",
    "alpha": 1.0,
    "input_shape": [32, 32, 3],
    "tag": "elu_cifar_11.cifar10_elu-493de223",
    "sha256": "493de223",
}


@pytest.mark.parametrize(
    ("origin", "shown"),
    [
        (ORIGIN, SHOWN),
        (
            {k: v for k, v in ORIGIN.items() if k != "dataset"},
            SHOWN | {"dataset": None},
        ),
        ({**ORIGIN, "weights": None}, SHOWN | {"tag": None, "sha256": None}),
        ({}, dict.fromkeys(SHOWN)),
    ],
)
def test_described(loaded, origin, shown):
    found = dataclasses.replace(loaded, origin=origin, class_names=("a", "b"))
    of_server = {"name": "net", "version": 1, "class_names": ["a", "b"]}
    of_server["signatures"] = sorted(loaded.signatures)
    assert metadata.described(found) == of_server | shown
