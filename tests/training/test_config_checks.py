"""Checks of configs: unknown and missing fields, wrong types, values out of range."""

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.configs import (
    elu_cifar_11,
    elu_imagenet_15,
    mnist_mlp_8x128,
    quickstart,
    table1_baselines,
)
from elu_zoo.training import config_checks
from elu_zoo.training.config import config_hash

NAN = float("nan")
CONFIGS = {
    "digits": lambda: quickstart.get_config("smoke=True"),
    "mlp": lambda: mnist_mlp_8x128.get_config("smoke=True"),
    "cifar": lambda: elu_cifar_11.get_config("smoke=True"),
    "imagenet": lambda: elu_imagenet_15.get_config("smoke=True"),
    "nin": lambda: table1_baselines.get_config("net=nin,dataset=cifar10,smoke=True"),
    "fmp": lambda: table1_baselines.get_config("net=fmp,schedule=quick,smoke=True"),
}
# AffineRecolor draws each image in a square field of `data.field_size` pixels a side.
FIELD = {"data.augmentation": "affine_recolor", "data.padding": None}


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
        ("digits", {}),
        ("digits", {"train.momentum": 0}),
        ("digits", {"train.momentum": 0.999, "train.nesterov": True}),
        ("digits", {"data.augmentation": "pad_crop_flip"}),
        ("digits", {"train.precision": "mixed_bfloat16", "schedule": "paper"}),
        ("digits", {"train.batch_size": 1, "train.epochs": 1, "seed": 2**64 - 1}),
        ("digits", {"train.label_smoothing": 0.9}),
        ("digits", {"data.train_examples": 0}),
        ("cifar", {"model.padding": None, "model.init_scale": None}),
        ("imagenet", {}),
        ("imagenet", {"data.augmentation": "none"}),
        ("imagenet", {"data.folder": "images", "data.validation_images": 1}),
        ("imagenet", {"data.crop_size": 256}),
        ("imagenet", {"data.crop_size": 1, "data.image_size": 1}),
        ("imagenet", {"model.spp_levels": None, "model.dropout": None}),
        ("nin", {"data.padding": 1, "data.cutout": 64, "data.whole_epochs": 2}),
        ("nin", {"data.padding": None}),
        ("nin", {"data.augmentation": "none", "data.whole_epochs": 1}),
        ("fmp", FIELD),
        ("fmp", {**FIELD, "data.field_size": 1}),
        ("fmp", {**FIELD, "data.field_size": 94, "data.augmentation": "none"}),
    ],
)
def test_valid_values_and_ends_of_ranges_are_accepted(name, entries):
    config_checks.check(make_config(name, entries))


# Each row: field, wrong value (None deletes the field), part of the message.
RANGES = [
    ("train.batch_size", 0, "train.batch_size must be >= 1. Received: 0"),
    ("train.epochs", -1, "train.epochs must be >= 1. Received: -1"),
    ("train.evaluate_every", 0, "train.evaluate_every must be >= 1"),
    ("train.checkpoint_every", 0, "train.checkpoint_every must be >= 1"),
    ("train.checkpoints_kept", 0, "train.checkpoints_kept must be >= 1"),
    ("data.train_examples", -1, "data.train_examples must be >= 0"),
    ("schedule_epochs", 0, "schedule_epochs must be >= 1. Received: 0"),
    ("train.momentum", 1.0, r"train.momentum must be in \[0, 1\). Received: 1.0"),
    ("train.momentum", -0.1, r"train.momentum must be in \[0, 1\). Received: -0.1"),
    ("train.momentum", NAN, r"train.momentum must be in \[0, 1\). Received: nan"),
    ("train.label_smoothing", 1.0, r"label_smoothing must be in \[0, 1\), .*: 1.0"),
    ("train.label_smoothing", -0.1, r"label_smoothing must be in \[0, 1\), .*: -0.1"),
    ("train.nesterov", True, "train.nesterov=True needs train.momentum > 0"),
    ("schedule", "papers", "Unknown schedule 'papers'. Did you mean 'paper'"),
    ("train.loss", "mse", "Unknown loss 'mse'. Known: softmax_cross_entropy"),
    ("train.precision", "float64", "Unknown precision 'float64'.*Known: float32"),
    ("model.name", "mnist_mlp", "Unknown model 'mnist_mlp'. Did you mean"),
    ("data.name", "", "data.name is missing. Set --data"),
    ("seed", -1, r"seed must be in \[0, 2\*\*64\). Received: -1\."),
    ("seed", 2**64, r"seed must be in \[0, 2\*\*64\). Received: 18446744073709551616"),
    ("model.width", 0.0, "model.width must be finite and > 0. Received: 0.0"),
    ("train.optimizer", "adam", "Unknown train.optimizer 'adam'. Known: sgd, muon"),
    ("train.learning_rates", (-0.1,), r"finite and >= 0. Received: \(-0.1,\)"),
    ("train.learning_rates", (0.1, 0.2), "one entry more than train.boundaries"),
    ("train.learning_rate_shape", "step", "Unknown shape of .* 'step'. Did you mean"),
    ("data.augmentation", "pad_crop", "of mnist_5k 'pad_crop'. Did you mean 'pad"),
    ("data.augmentation", "crop_flip", "Known: none, pad_crop_flip, affine_recolor"),
]
FIELDS = [
    ("schedule", None, "are missing: schedule"),
    ("train.loss", None, "are missing: train.loss"),
    ("data", None, "missing: data.augmentation, data.cutout"),
    ("train", 3, "are missing: train.batch_size"),
    ("train.epoch", 1, "'train.epoch'. .*'train.epochs'"),
    ("speed", 1, "Unknown config entry 'speed'"),
    ("train.epochs", 2.5, "train.epochs must be of type int. Received: 2.5 .* float"),
    ("train.epochs", True, "of type int. Received: True of type bool"),
    ("train.momentum", "x", "train.momentum must be of type float. Received: 'x'"),
    ("model.batch_norm", 1, "model.batch_norm must be of type bool. Received: 1"),
    ("model.activation", "elu", "model.activation must be of type ConfigDict"),
    ("train.learning_rates", 0.1, "learning_rates must be of type tuple"),
    ("train.learning_rates", (np.float32(0.5),), r"float32\(0.5\),\). Use int"),
    ("train.boundaries", (np.int64(5),), r"must hold Python's .*int64\(5\)"),
    ("train.dropout", ((0.1,),), "Unknown config entry 'train.dropout'"),
    ("train.phase_boundaries", (), "Unknown config entry 'train.phase_boundaries'"),
    ("model.padding", "same", "Unknown config entry 'model.padding'"),
]
CIFAR = [
    ("train.dropout", None, "of the config are missing: train.dropout."),
    ("train.phase_boundaries", None, "missing: train.phase_boundaries"),
    ("train.dropout", 0.5, "train.dropout must be of type tuple. Received: 0.5"),
    ("model.padding", 1, "model.padding must be of type str. Received: 1 of type int"),
    ("model.paddin", "same", "entry 'model.paddin'. Did you mean 'model.padding'"),
    ("model.dropout", (0.5,), "Unknown config entry 'model.dropout'"),
    ("model.conv_dtype", "bfloat16", "Unknown config entry 'model.conv_dtype'"),
    ("model.num_classes", 7, "Unknown config entry 'model.num_classes'"),
    ("model.name", 3, "Unknown config entry 'model.init_scale'. Did you mean"),
    ("model.name", None, "are missing: .*model.name"),
    ("model.name", "elu_cifar", "Unknown model 'elu_cifar'. Did you mean"),
    ("data.name", "imagenet2012", "elu_cifar_11 cannot be trained on imagenet2012"),
    ("data.folder", "", "Unknown config entry 'data.folder'"),
]
IMAGENET = [
    ("data.name", "cifar10", "elu_imagenet_15 cannot be trained on cifar10. A net"),
    ("data.augmentation", "pad_crop_flip", "of imagenet2012 .*Known: none, crop_flip"),
    ("data.crop_size", 257, "<= data.image_size. Received: 257, .* 256"),
    ("data.crop_size", 0, "data.crop_size must be >= 1 .* Received: 0"),
    ("data.image_size", 223, "<= data.image_size. Received: 224, .* 223"),
    ("data.validation_images", 0, "validation_images must be an integer >= 1"),
    ("data.train_on_validation", True, "of imagenet2012 are part of its test"),
    ("train.loss", "half_squared_error", "does not fit elu_imagenet_15, which"),
    ("data.folder", None, r"of the config are missing: data.folder\."),
    ("data.validation_images", None, r"are missing: data.validation_images\."),
    ("data.image_size", 256.0, "data.image_size must be of type int. Received: 256.0"),
    ("model.stem_stride", 2.0, "model.stem_stride must be of type int"),
    ("model.dropout", (0.5,), "model.dropout must be of type float"),
]
AUGMENTED = [
    ("data.cutout", 65, r"in \[0, 64\] pixels, .* Received: 65, and pad_crop_flip"),
    ("data.cutout", -1, r"in \[0, 64\] pixels, .* Received: -1, and pad_crop_flip"),
    ("data.padding", 0, "data.padding must be >= 1, .* 0, and .* pad_crop_flip"),
    ("data.padding", 4.5, "data.padding must be of type int"),
    ("data.field_size", 94, "data.field_size must be >= 1, and needs .* affine_r"),
    ("data.whole_epochs", -1, "data.whole_epochs, .* Received: -1"),
    ("data.whole_epochs", 3, r"\[0, train.epochs\] = \[0, 2\]. Received: 3"),
]


@pytest.mark.parametrize(
    ("name", "entries", "words"),
    [
        *[("digits", {key: value}, words) for key, value, words in RANGES + FIELDS],
        *[("cifar", {key: value}, words) for key, value, words in CIFAR],
        *[("imagenet", {key: value}, words) for key, value, words in IMAGENET],
        *[("nin", {key: value}, words) for key, value, words in AUGMENTED],
        (
            *("digits", {"data.augmentation": "none", "data.cutout": 3}),
            r"in \[0, 64\] pixels, and 0 unless .* Received: 3, and none",
        ),
        (
            *("digits", {"train.keep_best": True, "data.train_on_validation": True}),
            "keep_best .*leaves no validation images.*_validation to False .*validation=True",
        ),
        (
            *("imagenet", {"train.keep_best": True}),
            "keep_best .*are part of its test images.*train.keep_best to False.$",
        ),
        (
            *("digits", {"data.measure_test": False, "data.train_on_validation": True}),
            "data.measure_test=False.* Set data.train_on_validation to False",
        ),
        (
            "fmp",
            {**FIELD, "data.field_size": 0},
            "field_size must be >= 1, .*: 0, and .* aff",
        ),
        (
            "fmp",
            {**FIELD, "data.padding": 4},
            "data.padding must .* 4, and .* affine_re",
        ),
        # affine_recolor needs images that are not whitened, and networks for any size.
        ("nin", FIELD, "affine_recolor needs .* Received: nin. Set data.aug"),
        ("mlp", {"data.augmentation": "affine_recolor"}, "any size. Received: mnist"),
        ("mlp", {"data.name": "imagenet2012"}, "mnist_mlp_8x128 cannot be trained on"),
    ],
)
def test_wrong_values_are_refused(name, entries, words):
    with pytest.raises(errors.UsageError, match=words):
        config_checks.check(make_config(name, entries))


LABEL_LOSSES = ("softmax_cross_entropy", "squared_hinge")
IMAGE_LOSSES = ("sigmoid_cross_entropy", "half_squared_error")


@pytest.mark.parametrize(
    ("model", "outputs", "fitting", "wrong"),
    [
        ("mnist_mlp_8x128", "classes", LABEL_LOSSES, IMAGE_LOSSES),
        ("mnist_autoencoder", "images", IMAGE_LOSSES, LABEL_LOSSES),
    ],
)
def test_only_losses_that_fit_the_outputs_of_the_model_are_accepted(
    smoke, model, outputs, fitting, wrong
):
    for loss in fitting:
        config_checks.check(smoke({"model.name": model, "train.loss": loss}))
    for loss in wrong:
        words = (
            f"train.loss {loss} does not fit {model}, which outputs {outputs}. "
            f"Set train.loss to {' or '.join(fitting)}."
        )
        with pytest.raises(errors.UsageError, match=words):
            config_checks.check(smoke({"model.name": model, "train.loss": loss}))


def test_label_smoothing_needs_the_softmax_cross_entropy(smoke):
    entries = {"train.loss": "squared_hinge", "train.label_smoothing": 0.1}
    with pytest.raises(errors.UsageError, match="Received: 0.1, .* squared_hinge"):
        config_checks.check(smoke(entries))


def test_an_unknown_field_lists_each_known_field_once():
    config = make_config("cifar", {"model.paddings": "same"})
    with pytest.raises(errors.UsageError) as caught:
        config_checks.check(config)
    known = str(caught.value).partition("Known: ")[2].rstrip(".").split(", ")
    assert len(known) == len(set(known)) == 48
    assert {"model.init_scale", "train.dropout", "seed"} < set(known)


@pytest.mark.parametrize(
    ("size", "replicas", "parts", "words"),
    [
        (
            65,
            2,
            1,
            "a multiple of 2, because of 2 replicas. Received: 65. Set it to 64 or 66",
        ),
        (1, 2, 1, "2 replicas. Received: 1. Set it to 2"),
        (64, 1, 3, "of 3, because of --accumulate=3. Received: 64. Set it to 63 or 66"),
        (64, 2, 6, "of 12, because of 2 replicas and --accumulate=6. .* 60 or 72"),
    ],
)
def test_a_batch_that_cannot_be_split_is_refused(smoke, size, replicas, parts, words):
    with pytest.raises(errors.UsageError, match=words + r"\.$"):
        config_checks.check_run(smoke({"train.batch_size": size}), 100, replicas, parts)


@pytest.mark.parametrize(("replicas", "parts"), [(1, 1), (1, 64), (2, 8), (8, 8)])
def test_a_batch_that_can_be_split_is_accepted(smoke, replicas, parts):
    config_checks.check_run(smoke(), 100, replicas, parts)


@pytest.mark.parametrize(
    ("name", "entries", "iterations", "words"),
    [
        (
            *("digits", {"train.boundaries": (5,), "train.learning_rates": (1, 0.1)}),
            *(6, "train.boundaries must increase, between 0 and the run's 5 iter"),
        ),
        (
            "cifar",
            {
                "train.phase_boundaries": (5,),
                "train.dropout": ((0.1,) * 7,) * 2,
                "train.dropout_placement": ("last", "all"),
                "train.boundaries": (),
                "train.learning_rates": (0.1,),
            },
            *(
                6,
                "train.phase_boundaries must increase, between 0 and the run's 5 iter",
            ),
        ),
        (
            *("digits", {"train.momentum_rise": (0.0, 5)}),
            *(6, "train.momentum_rise's end must increase"),
        ),
    ],
)
def test_schedules_that_end_after_the_run_are_refused(name, entries, iterations, words):
    config = make_config(name, entries)
    config_checks.check_run(config, iterations, 1)
    with pytest.raises(errors.UsageError, match=words):
        config_checks.check_run(config, iterations - 1, 1)


def test_the_number_of_learning_rates_depends_on_their_shape(smoke):
    entries = {
        "train.learning_rate_shape": "linear",
        "train.learning_rates": (0.1, 0.0),
    }
    config_checks.check_run(smoke(entries), 10, 1)
    entries["train.learning_rate_shape"] = "steps"
    with pytest.raises(errors.UsageError, match="one entry more"):
        config_checks.check_run(smoke(entries), 10, 1)


@pytest.mark.parametrize(
    "entries",
    [
        {"data.folder": "x"},
        {"data.crop_size": 7},
        {"data.validation_images": 7},
        {"model.stem_stride": 1},
        {"model.spp_levels": (1,)},
    ],
)
def test_fields_of_encoded_images_are_hashed(entries):
    assert config_hash(make_config("imagenet", entries)) != config_hash(make_config("imagenet", {}))
