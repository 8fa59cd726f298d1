"""Checks of what a config does to images in training."""

import pytest

from elu_zoo import errors
from elu_zoo.configs import mnist_mlp_8x128, table1_baselines
from elu_zoo.training import settings

FIELD = {"augmentation": "affine_recolor", "padding": None}


def changed(net, entries):
    """A smoke config, two epochs of crops, with entries of `data` but those of None."""
    if net == "mnist_mlp_8x128":
        config = mnist_mlp_8x128.get_config("smoke=True").unlock()
    else:
        arg = f"net={net},schedule=fast,smoke=True"
        config = table1_baselines.get_config(arg).unlock()
    with config.ignore_type():
        for key, value in entries.items():
            config.data[key] = value
            if value is None:
                del config.data[key]
    return config


@pytest.mark.parametrize(
    ("net", "entries"),
    [
        ("nin", {}),
        ("nin", {"padding": 1}),
        ("nin", {"padding": None}),
        ("nin", {"augmented_epochs": 1}),
        ("nin", {"augmented_epochs": 2}),
        ("nin", {"padding": None, "augmentation": "none"}),
        ("fmp", FIELD),
        ("fmp", {**FIELD, "field_size": 94, "augmented_epochs": 1}),
    ],
)
def test_accepts(net, entries):
    settings.check(changed(net, entries))


RANGE = "data.augmented_epochs is from 1 to train.epochs, and for an augmentation"


@pytest.mark.parametrize(
    ("net", "entries", "words"),
    [
        ("nin", {"padding": 0}, "data.padding is >= 1, and .* 0, and pad_crop_flip"),
        ("nin", {"padding": -4}, "data.padding is >= 1, and for the augmentation pad"),
        ("nin", {"augmentation": "none"}, "for .* pad_crop_flip. Received: 4, and no"),
        ("nin", {"padding": 4.5}, "data.padding is of type int"),
        ("nin", {"field_size": 94}, "data.field_size is >= 1, and for the .* affine_r"),
        ("fmp", {**FIELD, "field_size": 0}, "field_size is >= 1, .*: 0, and affine_r"),
        ("fmp", {**FIELD, "padding": 4}, "data.padding is .* 4, and affine_recolor"),
        ("fmp", {**FIELD, "augmentation": "affine"}, "Unknown aug.*'affine_recolor'"),
        ("nin", {"augmented_epochs": 0}, f"{RANGE}. Received: 0, 2 and pad_crop_flip"),
        ("nin", {"augmented_epochs": 3}, f"{RANGE}. Received: 3, 2 and pad_crop_flip"),
        (
            *("nin", {"augmented_epochs": 1, "padding": None, "augmentation": "none"}),
            f"{RANGE}. Received: 1, 2 and none",
        ),
        # Whitened images, and weights of one size of images.
        ("nin", FIELD, "affine_recolor is for networks of raw .* Received: nin. Use"),
        ("mnist_mlp_8x128", FIELD, "of any size. Received: mnist_mlp_8x128"),
    ],
)
def test_refusals(net, entries, words):
    if net == "mnist_mlp_8x128":
        entries = {"augmentation": entries["augmentation"]}
    with pytest.raises(errors.UsageError, match=words):
        settings.check(changed(net, entries))
