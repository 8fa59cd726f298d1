"""A model card describes the training data and the training procedure."""

import ast
import importlib

import pytest

from elu_zoo.bin import config as config_flag
from elu_zoo.training.config import resolve
from elu_zoo.weights import cards_training, manifest


def config_of(command):
    """Returns the config of a command, as plain JSON values."""
    # A wrong command line raises an error.
    config_flag.resolve_flag(command.split())
    flag, *others = command.removeprefix("elu-zoo-train --config=").split()
    name, _, arguments = flag.partition(":")
    module = importlib.import_module(f"elu_zoo.configs.{name}")
    config = module.get_config(arguments)
    for field in others:
        key, _, value = field.removeprefix("--config.").partition("=")
        config.update_from_flattened_dict({key: ast.literal_eval(value)})
    return resolve(config).values


@pytest.mark.parametrize("tag", manifest.list_weights())
def test_the_command_of_published_weights_gives_their_config(tag):
    entry = manifest.published()[tag]
    assert config_of(entry["command"]) == entry["config"]


QUICK = manifest.published()["elu_cifar_11.cifar100_elu-8cb788cb"]
BY_SGD = {
    "model": QUICK["config"]["model"] | {"kernel_decay": 0.0005},
    "train": QUICK["config"]["train"] | {"optimizer": "sgd"},
}
ENTRY = QUICK | {"config": QUICK["config"] | BY_SGD}


def with_train(**changes):
    """Returns ENTRY after changes of the section `train` of its config."""
    config = ENTRY["config"]
    return ENTRY | {"config": config | {"train": config["train"] | changes}}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "0, linearly to 0.02 at iteration 2,250, 0 at iteration 15,000"),
        (
            {"boundaries": [0.5]},
            "0, linearly to 0.02 at iteration 7,500, 0 at iteration 15,000",
        ),
        (
            {"learning_rate_shape": "steps", "boundaries": [5000, 0.5]},
            "0, 0.02 from iteration 5,000, 0 from iteration 7,500",
        ),
        (
            {
                "learning_rate_shape": "exponential",
                "boundaries": [],
                "learning_rates": [3e-3, 1e-5],
            },
            "0.003, exponentially to 1e-05 at iteration 15,000",
        ),
        (
            {"learning_rate_shape": "steps", "boundaries": [], "learning_rates": [0.1]},
            "0.1",
        ),
    ],
)
def test_the_procedure_states_the_learning_rates(changes, text):
    assert f"\n| learning rate | {text} |\n" in cards_training.procedure(with_train(**changes))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "update | SGD on batches of 100, Nesterov momentum 0.9, L2 decay 0.0005"),
        (
            {"nesterov": False},
            "update | SGD on batches of 100, heavy-ball momentum 0.9",
        ),
        ({"dropout": [[0.5, 0], [0.1]]}, "dropout | 0.5, 0; then 0.1 |"),
        ({}, "precision | bfloat16_conv, variables in float32 |"),
        ({"loss": "half_squared_error"}, "loss | half squared error |"),
        (
            {"momentum_rise": [0.5, 0.25]},
            "update | SGD on batches of 100, Nesterov momentum 0.9, rising from 0.5 "
            "until 25% of the run, L2 decay 0.0005 |",
        ),
        (
            {"momentum_rise": [0.5, 1000]},
            "update | SGD on batches of 100, Nesterov momentum 0.9, rising from 0.5 "
            "until iteration 1,000, L2 decay 0.0005 |",
        ),
        (
            {"learning_rate_factors": [["bias", 2.0], ["h0/kernel", 0.05]]},
            "learning rate factors | bias 2, h0/kernel 0.05 |",
        ),
        ({"heads_until": 0.0}, "auxiliary heads | never learn |"),
        ({"heads_until": 0.25}, "auxiliary heads | for the first 25% of the run |"),
    ],
)
def test_the_procedure_states_the_update(changes, line):
    assert f"\n| {line}" in cards_training.procedure(with_train(**changes))


MUON = {"optimizer": "muon", "sgd_factor": 2.5, "sgd_decay": 0.0005}


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (
            MUON,
            "update | Muon on batches of 100, with kernels of constant norm, Nesterov "
            "momentum 0.9 |\n| biases and classifier | SGD, Nesterov momentum 0.9, 2.5 "
            "times the learning rate, L2 decay 0.0005 of the classifier's kernel |",
        ),
        (
            {**MUON, "sgd_decay": 0.0},
            "biases and classifier | SGD, Nesterov momentum 0.9, 2.5 times the learn",
        ),
        (
            {"label_smoothing": 0.1},
            "loss | softmax cross entropy, label smoothing 0.1 |\n| update | SGD on",
        ),
    ],
)
def test_the_procedure_states_muon_and_label_smoothing(changes, lines):
    entry = with_train(**changes)
    if "optimizer" in changes:
        entry["config"]["model"] = entry["config"]["model"] | {"kernel_decay": 0.0}
    assert f"\n| {lines}" in cards_training.procedure(entry)


def test_the_update_of_an_autoencoder_states_no_classifier():
    text = cards_training.procedure(with_train(**MUON) | {"classes": []})
    row = "| biases | SGD, Nesterov momentum 0.9, 2.5 times the learning rate |"
    assert f"\n{row}\n" in text


def baseline(**model):
    """Returns ENTRY as the entry of a baseline, after changes of its config.model."""
    config = ENTRY["config"]
    train = config["train"] | {"dropout": []}
    model = config["model"] | model
    return ENTRY | {"model": "nin", "config": config | {"train": train, "model": model}}


@pytest.mark.parametrize(
    ("model", "line"),
    [
        ({"classifier_decay": 0.01}, "L2 decay 0.0005, 0.01 of the classifier |"),
        ({"constrained": True}, "L2 decay 0.0005, bounded norms of kernels |"),
        ({"dropout": 0.25}, "\n| dropout | 0.25 |"),
        ({"dropout": [0.1, 0.25]}, "\n| dropout | 0.1, 0.25 |"),
        ({}, "| schedule | ours, not the network's authors'"),
    ],
)
def test_the_procedure_states_the_settings_of_a_baseline(model, line):
    assert line in cards_training.procedure(baseline(**model))


def test_fields_at_their_neutral_values_are_not_stated():
    entry = manifest.published()["mnist_mlp_8x128.mnist_elu-7482e452"]
    text = cards_training.procedure(entry)
    assert "| update | SGD on batches of 64 |\n| precision | float32 |" in text
    assert "dropout" not in text


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "ours, not the paper's: 30 epochs, 15,000 iterations"),
        ({"schedule": "paper"}, "the paper's, in full: 30 epochs, "),
        ({"schedule": "paper", "schedule_share": 0.1}, "the paper's, 10% of it: 30 "),
    ],
)
def test_the_schedule_is_compared_with_the_paper(changes, text):
    assert cards_training.schedule(ENTRY | changes).startswith(text)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "`configs/elu_cifar_11.py` describes what the paper leaves open, and our"),
        ({"command": "x --config=elu_cifar_18"}, "```sh\nx --config=elu_cifar_18\n```"),
        (
            {"command": "x --config 'elu_cifar_18:a=b'"},
            "`configs/elu_cifar_18.py` describes",
        ),
        ({"command": "x --config=my/own.py"}, "```\n\n| | |"),
        ({"command": "x --config=my/quickstart.py:seed=1"}, "```\n\n| | |"),
        ({"command": None}, "The entry holds the config, which was made in Python."),
        (
            {"parent": "net.mnist_elu-0"},
            "| initial weights | net.mnist_elu-0, except for the classifier |",
        ),
        (
            {"strategy": "mirrored", "replicas": 2},
            "| devices | 2 replicas, each with an equal share of every batch: `--st",
        ),
        ({"wall_time_seconds": 159.6}, "| duration | 2.7 minutes on AMD EPYC, 2 c"),
        ({"wall_time_seconds": 7200.0}, "| duration | 2 hours on AMD EPYC, 2 cores |"),
    ],
)
def test_the_procedure_depends_on_the_entry(changes, text):
    assert text in cards_training.procedure(ENTRY | changes)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "50,000 training images, no validation images and 10,000 test images. Cl"),
        ({}, "beetle, bicycle, bottle and 90 more.\n\nTerms of the data: CIFAR: A. "),
        ({"classes": ["cat", "dog"]}, " Classes: cat, dog.\n"),
        ({"classes": []}, "10,000 test images.\n"),
        (
            {"examples": {"train": 1, "validation": 2000, "test": 3}},
            "cifar100: 1 training images, 2,000 validation images and 3 test images.",
        ),
    ],
)
def test_the_sizes_and_classes_of_the_training_data_are_stated(changes, text):
    assert text in cards_training.training_data(ENTRY | changes)


@pytest.mark.parametrize(
    ("description", "text"),
    [
        ({"kind": "rescale", "scale": 1 / 255}, "pixels are multiplied by 0.003922."),
        ({"kind": "rescale", "scale": 1, "offset": [-1.00001, 2]}, "one of -1, 2 (the"),
        ({"kind": "gcn_zca", "statistics": "x_zca-1"}, "with the statistics `x_zca-1`"),
        (
            {"kind": "mean_crop", "statistics": "x_mean-1", "crop": [8, 8]},
            "the mean image `x_mean-1` is subtracted",
        ),
        ({"kind": "new"}, "preprocesses them: new."),
    ],
)
def test_the_preprocessing_is_described(description, text):
    assert text in cards_training.preprocessing(ENTRY | {"preprocessing": description})


def test_the_augmentation_is_described():
    assert "augmented by `pad_crop_flip`" in cards_training.preprocessing(ENTRY)
    config = ENTRY["config"]
    for data, words in (
        ({"padding": 8}, "`pad_crop_flip`, with 8 pixels around each image."),
        ({"cutout": 0}, "`pad_crop_flip`, with 4 pixels around each image."),
        ({"cutout": 9}, "around each image, with a square of 9 x 9 pixels set to 0."),
        (
            {"augmentation": "affine_recolor", "field_size": 94, "whole_epochs": 10},
            "`affine_recolor`, in a field of 94 x 94 pixels, except in the last 10 ep",
        ),
    ):
        entry = ENTRY | {"config": config | {"data": config["data"] | data}}
        assert words in cards_training.preprocessing(entry)
    entry = manifest.published()["mnist_mlp_8x128.mnist_elu-7482e452"]
    assert "augmented" not in cards_training.preprocessing(entry)
