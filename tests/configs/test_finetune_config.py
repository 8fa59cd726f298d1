"""The config `finetune` has the fields of the network's config, except listed ones."""

import numpy as np
import pytest
from fake_runs import get_config

from elu_zoo import errors, training
from elu_zoo.bin.config import with_data
from elu_zoo.configs import finetune
from elu_zoo.training import schedules
from elu_zoo.training.config import resolve


def test_weights_freeze_and_image_shape_change_the_losses(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (40, 20, 20, 3), "uint8")
    np.savez(tmp_path / "own.npz", x=images, y=np.arange(40) % 2)

    def losses(**entries):
        config = finetune.get_config("model=mnist_mlp_5x256,weights=none,epochs=1")
        common = {
            "data.name": str(tmp_path / "own.npz"),
            "data.train_examples": 16,
            "train.batch_size": 8,
            "train.learning_rates": (0.1, 0.1, 0.1),
        }
        config.update_from_flattened_dict({**common, **entries})
        workdir = tmp_path / str(len(list(tmp_path.iterdir())))
        training.train(config, workdir, compile="off")
        return (workdir / "metrics.jsonl").read_text()

    changes = (
        {},
        {"model.weights": "mnist"},
        {"train.freeze": ("body",)},
        {"data.image_shape": (16, 16, 3)},
    )
    assert len({losses(**entries) for entries in changes}) == len(changes)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("elu_cifar_11", "my cats/", ("elu_cifar_11-cifar100@my_cats", "my cats/")),
        ("mnist_mlp_8x128", "a/b.npz", ("mnist_mlp_8x128@b_npz", "a/b.npz")),
        ("finetune", "cifar10", ("finetune-elu_cifar_11-cifar100@cifar10", "cifar10")),
        ("finetune", None, ("finetune-elu_cifar_11-cifar100", "")),
    ],
)
def test_with_data_changes_the_names_of_the_config_and_the_data(name, data, expected):
    config = with_data(get_config(name), data)
    assert (config.name, config.data.name) == expected


@pytest.mark.parametrize(
    ("name", "key"), [("elu_cifar_11", "boundaries"), ("elu_cifar_18", "phase_boundaries")]
)
def test_with_data_converts_boundaries_to_fractions_of_the_run(name, key):
    cifar, photos = get_config(name), with_data(get_config(name), "my_photos")
    total = cifar.train.epochs * 500
    assert schedules.in_iterations(photos.train[key], total) == list(cifar.train[key])
    halves = [round(b / 2) for b in cifar.train[key]]
    assert schedules.in_iterations(photos.train[key], total // 2) == halves


@pytest.mark.parametrize("entry", ["name", "data", "train"])
def test_with_data_leaves_an_incomplete_config_to_resolve(entry):
    config = get_config("elu_cifar_11")
    with config.unlocked():
        del config[entry]
    with pytest.raises(errors.UsageError, match=f"are missing: .*{entry}"):
        resolve(with_data(config, "cifar10"))


def test_with_data_sets_the_folder_of_the_imagenet_config():
    config = with_data(get_config("elu_imagenet_15"), "photos")
    assert (config.data.name, config.data.folder) == ("imagenet2012", "photos")
    config = with_data(get_config("elu_imagenet_15"), "imagenet2012")
    assert config.data.folder == ""


@pytest.mark.parametrize(
    ("arg", "words"),
    [
        ("weights=", "weights must be the name of a data set, .* Received: weights=''"),
        ("wieghts=x", "Unknown config argument 'wieghts'. Did you mean 'weights'"),
        ("epochs=x", "epochs must be of type int"),
        ("image_size=64x64", "image_size must be of type int"),
        ("image_size=-1", "image_size must be an integer >= 0"),
        ("model=elu_imagenet_15,image_size=64", "Set --config.data.image_size and"),
        ("model=elu_cifar11,weights=none", "Unknown model 'elu_cifar11'. Did you mean"),
    ],
)
def test_wrong_arguments_raise_a_usage_error(arg, words):
    with pytest.raises(errors.UsageError, match=words):
        resolve(get_config("finetune", arg))
