"""The argument `preprocessing` of `get_model` selects how raw images are scaled."""

import contextlib
from pathlib import Path

import pytest

from elu_zoo import errors, registry
from elu_zoo.models import preprocessing
from elu_zoo.weights.pretrained import Pretrained

CNN = "elu_cifar_11"
DEFAULT = registry.entry(CNN).preprocessing
ENTRY = {
    "tag": "a tag",
    "model": CNN,
    "preprocessing": {"kind": "gcn_zca", "statistics": "letters_zca-1"},
    "arguments": {"input_shape": [24, 40, 3], "activation": {}},
    "config": {"train": {"loss": "softmax_cross_entropy"}},
} | dict.fromkeys(("classes", "dataset"))
TRAINED = Pretrained.of_entry(ENTRY, Path("x"))
GCN = Pretrained.of_entry({**ENTRY, "model": "dsn", "preprocessing": {"kind": "gcn"}}, Path("x"))


@pytest.mark.parametrize(
    ("argument", "trained", "shape", "expected"),
    [
        (False, None, (48, 48, 3), None),
        (False, TRAINED, None, None),
        (True, None, None, DEFAULT),
        (True, None, [32, 32, 3], DEFAULT),
        (True, TRAINED, (24, 40, 3), ENTRY["preprocessing"]),
        ("cifar10", None, None, {**DEFAULT, "statistics": "cifar10"}),
        # The layer checks the image size when it reads the statistics.
        ("letters", None, (48, 48, 3), {**DEFAULT, "statistics": "letters"}),
        ({"kind": "gcn"}, None, (48, 48, 3), {"kind": "gcn"}),
        ({"crop": (8, 8)}, None, None, {"crop": [8, 8]}),
    ],
)
def test_resolve_returns_the_preprocessing(argument, trained, shape, expected):
    network = registry.entry(CNN)
    assert preprocessing.resolve(network, argument, trained, shape) == expected


@pytest.mark.parametrize(("trained", "is_refused"), [(GCN, True), (TRAINED, False)])
def test_weights_trained_on_normalised_contrast_fit_one_size(trained, is_refused):
    requested = {"input_shape": (48, 48, 3)}
    expected = pytest.raises(errors.UsageError, match="or preprocessing=False")
    with expected if is_refused else contextlib.nullcontext():
        assert trained.merged(requested)["input_shape"] == (48, 48, 3)
    assert trained.merged(requested, False)["input_shape"] == (48, 48, 3)


def test_preprocessing_without_statistics_accepts_any_image_size():
    network = registry.entry("mnist_mlp_8x128")
    description = preprocessing.resolve(network, True, None, (5, 5, 1))
    assert description == {"kind": "rescale", "scale": 1 / 255}
