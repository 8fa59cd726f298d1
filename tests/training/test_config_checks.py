"""Checks of configs: unknown and missing fields, wrong types, values out of range."""

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.configs import elu_cifar_11, elu_imagenet_15, quickstart, table1_baselines
from elu_zoo.training.config import resolve
from elu_zoo.training.config_checks import check_config, check_run

NAN = float("nan")
CONFIGS = {
    "digits": lambda: quickstart.get_config("smoke=True"),
    "cifar": lambda: elu_cifar_11.get_config("smoke=True"),
    "imagenet": lambda: elu_imagenet_15.get_config("smoke=True"),
    "nin": lambda: table1_baselines.get_config("net=nin,smoke=True,dataset=cifar10"),
    "fmp": lambda: table1_baselines.get_config("net=fmp,smoke=True"),
}
MUON = {"train.optimizer": "muon", "train.momentum": 0.9, "train.nesterov": True}
CONFIGS["muon"] = lambda: make_config("digits", MUON)


def make_config(name, entries):
    """Returns a config with changed fields; the value None deletes a field."""
    config = CONFIGS[name]().unlock()
    with config.ignore_type():
        for key, value in entries.items():
            *sections, last = key.split(".")
            section = config[sections[0]] if sections else config
            section[last] = value
            if value is None:
                del section[last]
    return config


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("digits", {"train.momentum": 0, "data.train_examples": 0, "train.label_smoothing": 0.9}),
        ("digits", {"train.momentum": 0.999, "train.nesterov": True, "train.batch_size": 1}),
        ("digits", {**MUON, "train.sgd_factor": 5.0, "train.sgd_decay": 0.1}),
        ("digits", {"train.phase_boundaries": (), "data.folder": "", "train.heads_until": 1.0}),
        ("cifar", {"model.padding": None, "model.init_scale": None}),
        ("cifar", {"data.cutout": 64, "data.whole_epochs": 2, "data.padding": 1}),
        ("imagenet", {"data.folder": "images", "data.validation_images": 1}),
        ("imagenet", {"data.crop_size": 1, "data.image_size": 1, "model.spp_levels": None}),
        ("nin", {"data.augmentation": "none"}),  # no flag can remove the field data.padding
        ("fmp", {"data.augmentation": "none"}),
    ],
)
def test_valid_values_and_ends_of_ranges_are_accepted(name, entries):
    check_config(make_config(name, entries))


# (config, field, wrong value or None for a deleted field, a word of the error)
REFUSED = [
    # Ranges and choices of the table.
    *(("digits", f"train.{key}", 0, ">= 1") for key in ("batch_size", "epochs", "evaluate_every")),
    ("digits", "train.checkpoint_every", 0, ">= 1"),
    ("digits", "train.checkpoints_kept", 0, ">= 1"),
    ("digits", "schedule_epochs", 0, ">= 1"),
    ("digits", "data.train_examples", -1, ">= 0"),
    *(("digits", "train.momentum", value, r"\[0, 1\)") for value in (1.0, -0.1, NAN)),
    ("digits", "train.label_smoothing", 1.0, r"\[0, 1\)"),
    *(("digits", "seed", value, r"2\*\*64") for value in (-1, 2**64)),
    ("digits", "model.width", 0.0, "> 0"),
    ("digits", "schedule", "papers", "'paper'"),
    ("digits", "train.loss", "mse", "softmax_cross_entropy"),
    ("digits", "train.precision", "float64", "float32"),
    ("digits", "train.optimizer", "adam", "muon"),
    ("digits", "train.learning_rate_shape", "step", "'steps'"),
    ("digits", "model.name", "mnist_mlp", "Did you mean"),
    ("cifar", "data.cutout", 65, r"\[0, 64\]"),
    ("nin", "data.padding", 0, ">= 1"),
    ("fmp", "data.field_size", -1, ">= 0"),
    ("fmp", "data.whole_epochs", -1, ">= 0"),
    ("imagenet", "data.crop_size", 0, ">= 1"),
    ("imagenet", "data.validation_images", 0, ">= 1"),
    # What a field needs.
    ("digits", "train.nesterov", True, "needs train.momentum > 0"),
    ("digits", "train.sgd_factor", 2.0, "needs train.optimizer=muon"),
    ("digits", "train.sgd_decay", 0.1, "needs train.optimizer=muon"),
    ("digits", "train.optimizer", "muon", "needs train.nesterov"),
    ("cifar", "train.optimizer", "muon", "model.kernel_decay needs train.optimizer=sgd"),
    ("digits", "train.dropout", ((0.1,),), "needs a network"),
    ("digits", "train.phase_boundaries", (5,), "needs a network"),
    ("digits", "data.cutout", 3, "needs data.augmentation=pad_crop_flip"),
    ("digits", "train.heads_until", 0.5, "needs model.auxiliary_heads=True"),
    ("cifar", "data.folder", "x", "needs images that stay on the disk"),
    ("cifar", "data.image_size", 256, "Remove it"),
    ("cifar", "train.keep_best", True, "train_on_validation=False.*validation=True"),
    ("cifar", "data.measure_test", False, "train_on_validation=False.*validation=True"),
    ("imagenet", "train.keep_best", True, "test images"),
    ("imagenet", "data.train_on_validation", True, "test images"),
    ("nin", "data.field_size", 94, "needs data.augmentation=affine_recolor"),
    ("fmp", "data.padding", 8, "needs data.augmentation=pad_crop_flip"),
    ("nin", "data.whole_epochs", 3, "needs as many train.epochs"),
    ("muon", "train.sgd_factor", 0.0, "> 0"),
    ("muon", "train.sgd_decay", -0.1, ">= 0"),
    ("muon", "train.learning_rate_factors", (("bias", 2.0),), "needs train.optimizer=sgd"),
    ("muon", "train.momentum_rise", (0.5, 3), "needs train.optimizer=sgd"),
    # Names and types.
    ("digits", "schedule", None, "missing: schedule"),
    ("digits", "train", 3, "missing: train.batch_size"),
    ("digits", "model.activation", "elu", "missing: model.activation.name"),
    ("digits", "train.epoch", 1, "'train.epochs'"),
    ("digits", "speed", 1, "'speed'"),
    ("digits", "model.padding", "same", "'model.padding'"),
    ("cifar", "model.paddin", "same", "'model.padding'"),
    ("cifar", "model.num_classes", 7, "'model.num_classes'"),
    ("digits", "train.epochs", 2.5, "type int"),
    ("digits", "train.epochs", True, "type int"),
    ("digits", "model.batch_norm", 1, "type bool"),
    ("digits", "train.learning_rates", 0.1, "type tuple"),
    ("cifar", "model.padding", 1, "type str"),
    ("digits", "train.learning_rates", (np.float32(0.5),), "float32"),
    # Several fields together.
    ("digits", "data.name", "", "--data"),
    ("digits", "data.augmentation", "pad_crop", "'pad_crop_flip'"),
    ("digits", "data.augmentation", "crop_flip", "pad_crop_flip"),
    ("digits", "data.augmentation", "affine_recolor", "any size"),
    ("imagenet", "data.augmentation", "pad_crop_flip", "crop_flip"),
    ("digits", "train.loss", "half_squared_error", "squared_hinge"),
    ("digits", "model.name", "mnist_autoencoder", "sigmoid_cross_entropy"),
    ("cifar", "data.name", "imagenet2012", "cannot be trained"),
    ("imagenet", "data.crop_size", 257, "257"),
]


@pytest.mark.parametrize(("name", "field", "value", "word"), REFUSED)
def test_a_wrong_value_is_refused(name, field, value, word):
    with pytest.raises(errors.UsageError, match=word):
        check_config(make_config(name, {field: value}))


@pytest.mark.parametrize(
    ("size", "replicas", "parts", "near"),
    [(65, 2, 1, "64 or 66"), (1, 2, 1, "2"), (64, 1, 3, "63 or 66"), (64, 2, 6, "60 or 72")],
)
def test_a_batch_must_be_a_multiple_of_replicas_and_parts(smoke, size, replicas, parts, near):
    config = resolve(smoke({"train.batch_size": size})).config
    with pytest.raises(errors.UsageError, match=rf"Set it to {near}\."):
        check_run(config, 100, replicas, parts)
    config.train.batch_size = int(near.split()[-1])
    check_run(config, 100, replicas, parts)


@pytest.mark.parametrize(
    ("name", "entries", "word"),
    [
        ("digits", {"train.boundaries": (5,), "train.learning_rates": (1, 0.1)}, "boundaries"),
        ("cifar", {"train.phase_boundaries": (5,), "train.dropout": ((0.1,) * 7,) * 2,
                   "train.dropout_placement": ("last", "all"), "train.boundaries": (),
                   "train.learning_rates": (0.1,)}, "phase_boundaries"),
        ("digits", {"train.momentum": 0.9, "train.momentum_rise": (0.0, 5)}, "momentum_rise"),
    ],
)  # fmt: skip
def test_schedules_that_end_after_the_run_are_refused(name, entries, word):
    config = resolve(make_config(name, entries)).config
    check_run(config, 6, 1)
    with pytest.raises(errors.UsageError, match=f"{word}.* must increase"):
        check_run(config, 5, 1)
