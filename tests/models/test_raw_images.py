"""The argument `preprocessing` of `get_model` selects how raw images are scaled."""

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


MEANS = registry.entry("elu_imagenet_15").fallback


@pytest.mark.parametrize(
    ("name", "argument", "trained", "expected"),
    [
        (CNN, False, None, None),
        (CNN, False, TRAINED, None),
        (CNN, True, None, DEFAULT),
        (CNN, True, TRAINED, ENTRY["preprocessing"]),
        (CNN, "cifar10", None, {**DEFAULT, "statistics": "cifar10"}),
        # The layer checks the image size when it reads the statistics.
        (CNN, "letters", None, {**DEFAULT, "statistics": "letters"}),
        (CNN, {"kind": "gcn"}, None, {"kind": "gcn"}),
        (CNN, {"crop": (8, 8)}, None, {"crop": [8, 8]}),
        ("elu_imagenet_15", True, None, MEANS),
        ("mnist_mlp_8x128", True, None, {"kind": "rescale", "scale": 1 / 255}),
    ],
)
def test_resolve_returns_the_preprocessing(name, argument, trained, expected):
    assert preprocessing.resolve(registry.entry(name), argument, trained) == expected


@pytest.mark.parametrize("trained", [GCN, TRAINED])
def test_weights_trained_on_normalised_contrast_fit_one_size(trained):
    requested = {"input_shape": (64, 16, 3)}  # as many values as 32 x 32 pixels
    with pytest.raises(errors.UsageError, match="or preprocessing=False"):
        trained.merged(requested)
    assert trained.merged(requested, False)["input_shape"] == (64, 16, 3)
