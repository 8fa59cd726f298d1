"""Checks of what a config does to images in training."""

import pytest

from elu_zoo import errors
from elu_zoo.configs import mnist_mlp_8x128, table1_baselines
from elu_zoo.training import config_checks

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
        ("nin", {"cutout": 64}),
        ("nin", {"padding": None}),
        ("nin", {"whole_epochs": 0}),
        ("nin", {"whole_epochs": 2}),
        ("nin", {"padding": None, "augmentation": "none"}),
        ("nin", {"whole_epochs": 1, "augmentation": "none"}),
        ("fmp", {**FIELD, "field_size": 94, "augmentation": "none"}),
        ("fmp", FIELD),
        ("fmp", {**FIELD, "field_size": 94, "whole_epochs": 1}),
    ],
)
def test_accepts(net, entries):
    config_checks.check(changed(net, entries))


RANGE = "the last ones without augmentation, are from 0 to train.epochs, 2. Received: "


@pytest.mark.parametrize(
    ("net", "entries", "words"),
    [
        (
            "nin",
            {"cutout": 65},
            r"in \[0, 64\] pixels, .* Received: 65, and pad_crop_flip",
        ),
        (
            "nin",
            {"cutout": -1},
            r"in \[0, 64\] pixels, .* Received: -1, and pad_crop_flip",
        ),
        ("nin", {"padding": 0}, "data.padding is >= 1, and .* 0, and pad_crop_flip"),
        ("nin", {"padding": -4}, "data.padding is >= 1, and for the augmentation pad"),
        (
            "nin",
            {"augmentation": "none", "padding": 0},
            "padding is >= 1, .*: 0, and n",
        ),
        ("nin", {"padding": 4.5}, "data.padding is of type int"),
        ("nin", {"field_size": 94}, "data.field_size is >= 1, and for the .* affine_r"),
        ("fmp", {**FIELD, "field_size": 0}, "field_size is >= 1, .*: 0, and affine_r"),
        ("fmp", {**FIELD, "padding": 4}, "data.padding is .* 4, and affine_recolor"),
        ("fmp", {**FIELD, "augmentation": "affine"}, "Unknown aug.*'affine_recolor'"),
        ("nin", {"whole_epochs": -1}, f"data.whole_epochs, {RANGE}-1"),
        ("nin", {"whole_epochs": 3}, f"data.whole_epochs, {RANGE}3"),
        ("nin", {"whole_epochs": 0.5}, "data.whole_epochs is of type int"),
        # Whitened images, and weights of one size of images.
        ("nin", FIELD, "affine_recolor is for networks of raw .* Received: nin. Use"),
        ("mnist_mlp_8x128", FIELD, "of any size. Received: mnist_mlp_8x128"),
    ],
)
def test_refusals(net, entries, words):
    if net == "mnist_mlp_8x128":
        entries = {"augmentation": entries["augmentation"]}
    with pytest.raises(errors.UsageError, match=words):
        config_checks.check(changed(net, entries))
