"""Configs that the flag --data changes."""

import pytest
from fake_runs import get_config

from elu_zoo import errors
from elu_zoo.bin.config import with_data
from elu_zoo.training import schedules
from elu_zoo.training.config import resolve


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("elu_cifar_11", "my cats/", ("elu_cifar_11-cifar100@my_cats", "my cats")),
        ("elu_cifar_11", "cifar10/", ("elu_cifar_11-cifar100@cifar10", "cifar10/")),
        ("elu_imagenet_15", "photos", ("elu_imagenet_15@photos", "photos")),
        ("elu_imagenet_15", "imagenet2012", ("elu_imagenet_15@imagenet2012", "")),
        ("mnist_mlp_8x128", "a/b.npz", ("mnist_mlp_8x128@b_npz", "a/b.npz")),
        ("finetune", "cifar10", ("finetune-elu_cifar_11-cifar100@cifar10", "cifar10")),
        ("finetune", None, ("finetune-elu_cifar_11-cifar100", "")),
    ],
)
def test_with_data_changes_the_names_of_the_config_and_the_data(name, data, expected):
    config = with_data(get_config(name), data)
    assert (config.name, config.data.get("folder", config.data.name)) == expected


@pytest.mark.parametrize(
    ("name", "key"), [("elu_cifar_11", "boundaries"), ("elu_cifar_18", "phase_boundaries")]
)
def test_with_data_converts_boundaries_to_fractions_of_the_run(name, key):
    cifar, photos = get_config(name), with_data(get_config(name), "my_photos")
    total = cifar.train.epochs * 500
    assert schedules.in_iterations(photos.train[key], total) == list(cifar.train[key])
    halves = [round(b / 2) for b in cifar.train[key]]
    assert schedules.in_iterations(photos.train[key], total // 2) == halves
    small, own = get_config(name), get_config(name)
    small.train.batch_size = own.train.batch_size = 20
    own.train[key] = (own.train.epochs * 625,)
    assert with_data(small, "x", cifar).train[key] == photos.train[key]
    assert with_data(own, "x", cifar).train[key] == (own.train.epochs * 625,)


@pytest.mark.parametrize("entry", ["name", "data", "train"])
def test_with_data_leaves_an_incomplete_config_to_resolve(entry):
    config = get_config("elu_cifar_11")
    with config.unlocked():
        del config[entry]
    with pytest.raises(errors.UsageError, match=f"are missing: .*{entry}"):
        resolve(with_data(config, "cifar10"))
