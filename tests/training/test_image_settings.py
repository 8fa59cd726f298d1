"""Checks of configs whose images stay on the disk."""

import pytest

from elu_zoo import errors
from elu_zoo.configs import elu_cifar_11, elu_imagenet_15, mnist_mlp_8x128
from elu_zoo.training import config_checks
from elu_zoo.training.config import config_hash

NETWORK = "elu_imagenet_15"


def changed(entries, module=elu_imagenet_15):
    """Returns a config, not locked, with these entries; without those of None."""
    config = module.get_config("smoke=True").unlock()
    with config.ignore_type():
        for key, value in entries.items():
            section, last = key.split(".")
            config[section][last] = value
            if value is None:
                del config[section][last]
    return config


@pytest.mark.parametrize(
    "entries",
    [
        {},
        {"data.augmentation": "none"},
        {"data.folder": "images", "data.validation_images": 1},
        {"data.crop_size": 256},
        {"data.crop_size": 1, "data.image_size": 1},
        {"data.train_examples": 0},
        {"model.spp_levels": None, "model.stem_stride": None, "model.dropout": None},
        {"train.precision": "float32"},
    ],
)
def test_accepts(entries):
    config_checks.check(changed(entries))


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (
            {"data.augmentation": "pad_crop_flip"},
            "Unknown augmentation of imagenet2012 'pad_crop_flip'. .*'crop_flip'. "
            "Known: none, crop_flip",
        ),
        ({"data.augmentation": ""}, "of imagenet2012 ''. Known: none, crop_flip"),
        (
            {"data.crop_size": 257},
            "data.crop_size is >= 1 and at most data.image_size. Received: 257 and 256",
        ),
        ({"data.crop_size": 0}, "at most data.image_size. Received: 0 and 256"),
        ({"data.crop_size": -8}, "at most data.image_size. Received: -8 and 256"),
        ({"data.image_size": 223}, "at most data.image_size. Received: 224 and 223"),
        ({"data.image_size": 0}, "at most data.image_size. Received: 224 and 0"),
        (
            {"data.validation_images": 0},
            "data.validation_images is >= 1. Received: 0",
        ),
        ({"data.validation_images": -1}, "validation_images is >= 1. Received: -1"),
        (
            {"data.train_on_validation": True},
            "The validation images of imagenet2012 are test images. "
            "data.train_on_validation is False",
        ),
        ({"data.train_examples": -1}, "data.train_examples is >= 0"),
        ({"train.batch_size": 0}, "train.batch_size is >= 1. Received: 0"),
        ({"train.precision": "bfloat16"}, "Unknown precision 'bfloat16'"),
        ({"train.loss": "half_squared_error"}, f"does not fit {NETWORK}, which gives"),
        ({"data.folder": None}, r"The config has no entry data.folder\."),
        ({"data.image_size": None}, r"The config has no entry data.image_size\."),
        ({"data.crop_size": None}, r"The config has no entry data.crop_size\."),
        ({"data.validation_images": None}, r"has no entry data.validation_images\."),
        ({"data.folder": 3}, "data.folder is of type str. Received: 3"),
        ({"data.image_size": 256.0}, "data.image_size is of type int. Received: 256.0"),
        ({"data.crop_size": "224"}, "data.crop_size is of type int. Received: '224'"),
        ({"data.validation_images": True}, "validation_images is of type int"),
        ({"data.fold": ""}, "Unknown config entry 'data.fold'. Did you mean 'data.fo"),
        ({"model.stem_stride": 2.0}, "model.stem_stride is of type int"),
        ({"model.spp_levels": 4}, "model.spp_levels is of type tuple. Received: 4"),
        ({"model.dropout": (0.5,)}, "model.dropout is of type float"),
        ({"model.dropout_placement": "all"}, "config entry 'model.dropout_placement'"),
        ({"train.dropout": (0.5,)}, "Unknown config entry 'train.dropout'"),
        ({"train.phase_boundaries": ()}, "config entry 'train.phase_boundaries'"),
    ],
)
def test_refusals(entries, words):
    with pytest.raises(errors.UsageError, match=words) as caught:
        config_checks.check(changed(entries))
    assert caught.value.exit_code == 2


OF_IMAGES = {
    "data.folder": "",
    "data.image_size": 256,
    "data.crop_size": 224,
    "data.validation_images": 50,
}


@pytest.mark.parametrize(
    ("module", "entries", "words"),
    [
        (
            elu_imagenet_15,
            {"data.name": "cifar10"},
            f"{NETWORK} cannot be trained on cifar10: networks that subtract a mean "
            "image and crop take imagenet2012 or folders of images, and no others do. "
            r"Received: data.name cifar10\.",
        ),
        (
            mnist_mlp_8x128,
            {"data.name": "imagenet2012"},
            "mnist_mlp_8x128 cannot be trained on imagenet2012: networks that",
        ),
        (
            elu_cifar_11,
            {"data.name": "imagenet2012", "data.augmentation": "crop_flip"},
            "elu_cifar_11 cannot be trained on imagenet2012: networks that",
        ),
        (
            elu_cifar_11,
            {"data.augmentation": "crop_flip"},
            "of cifar100 'crop_flip'. .*'pad_crop_flip'. Known: none, pad_crop_flip",
        ),
        (elu_cifar_11, {"data.folder": ""}, "Unknown config entry 'data.folder'"),
        (elu_cifar_11, {"data.image_size": 32}, "config entry 'data.image_size'"),
    ],
)
def test_networks_and_data_sets_that_do_not_fit(module, entries, words):
    config_checks.check(module.get_config("smoke=True"))
    with pytest.raises(errors.UsageError, match=words):
        config_checks.check(changed(entries, module))


def test_check_run():
    config = changed({})
    config_checks.check_run(config, 10, 1)
    config_checks.check_run(config, 10, 2, 5)
    with pytest.raises(errors.UsageError, match="20; take 15 or 30"):
        config_checks.check_run(config, 10, 3, 5)


def test_every_entry_is_hashed():
    """What changes the numbers by design gives another hash."""
    hashes = {config_hash(changed({}))}
    others = {
        **{key: value + type(value)(1) for key, value in OF_IMAGES.items()},
        **{"model.stem_stride": 1, "model.spp_levels": (1,), "model.dropout": 0.0},
    }
    hashes |= {config_hash(changed({k: v})) for k, v in others.items()}
    assert len(hashes) == 1 + len(others)
