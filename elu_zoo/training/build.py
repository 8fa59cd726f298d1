"""Builds the model, optimizer, training step and evaluator of a config."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import keras
from absl import logging
from ml_collections import ConfigDict

from elu_zoo import errors, layers, registry, zoo
from elu_zoo.data import load
from elu_zoo.data.dataset import ImageData, Split
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.evaluation.loss import Objective
from elu_zoo.layers.dropout import is_keyed, seed_of
from elu_zoo.models.cost import all_layers
from elu_zoo.training import finetuning, hardware
from elu_zoo.training.backends import Placement
from elu_zoo.training.config import ResolvedConfig
from elu_zoo.training.config_checks import check_run
from elu_zoo.training.phases import Phases
from elu_zoo.training.run import Best, Learner, Length, Run
from elu_zoo.training.step import augmentation, optimizer, precision
from elu_zoo.training.step.compilation import STREAMED_STEPS_PER_CALL
from elu_zoo.training.step.pool_before_activation import pool_before_activation
from elu_zoo.weights.pretrained import Pretrained

# Kinds of preprocessing that a run applies once to all images, before its first step.
# The images must fit the memory, and crops are padded with zeros after preprocessing.
_PREPROCESSED_ONCE = "gcn_zca", "gcn", "gcn_mean", "mean"


def load_data(resolved: ResolvedConfig, data_dir: str | None) -> ImageData:
    """Loads the data set of a config."""
    data, model = resolved.config.data, resolved.config.model.name
    if data.name != load.IMAGENET:
        shape = image_shape(resolved.config, resolved.parent)
        images = load.load(data.name, data_dir, shape)
        if images.num_classes < 2 and not registry.entry(model).is_autoencoder:
            raise errors.DataError(
                f"{images.name} must have at least two classes. Its classes: "
                f"{', '.join(map(repr, images.class_names)) or 'none'}."
            )
        if resolved.parent and images.note and not load.is_own(data.name):  # of mnist_5k
            logging.warning("%s", images.note)
        return images
    from elu_zoo.data import imagenet

    return imagenet.load(data.folder, data.image_size, data.validation_images, data_dir)


def image_shape(config: ConfigDict, parent: Pretrained | None) -> tuple[int, int, int] | None:
    """Returns the shape to which images are resized, or None for no resizing."""
    if shape := tuple(config.data.get("image_shape", ())):
        return shape
    if parent:
        return tuple(parent.arguments["input_shape"])
    if config.data.name in load.names():
        return None
    return registry.entry(config.model.name).default("input_shape")


def build(
    resolved: ResolvedConfig,
    data: ImageData,
    placement: Placement,
    options: tuple[str, int | None, int],
    workdir: Path | None = None,
) -> Run:
    """Builds a run; `options` are `compile`, `steps_per_call`, `accumulate` of `train`."""
    split, validation = _splits(resolved.config, data)
    config = finetuning.fit_batch(resolved.config, len(split), placement.replicas * options[-1])
    train, encoded = config.train, split.is_encoded
    length = Length(len(split), train.batch_size, train.epochs)
    check_run(config, length.total, placement.replicas, options[-1])
    _check_arguments(config, data, length.total, placement, options)
    _advise(config, data, length.total, resolved.parent)
    preprocessing = _preprocessing(config, data, split, resolved.parent, workdir)
    objective = Objective(train.loss, preprocessing, train.label_smoothing)
    network = registry.entry(config.model.name)
    # The loss of an autoencoder needs raw images.
    preprocessed_once = preprocessing["kind"] in _PREPROCESSED_ONCE and not network.is_autoencoder
    if preprocessed_once:
        split = Split(layers.preprocess(split.images, preprocessing), split.labels)
    augmenter = augmentation.create(config.data, preprocessing, data.image_shape, train.epochs)
    # The augmentation of encoded images includes the preprocessing.
    inside = None if preprocessed_once or (encoded and augmenter) else preprocessing
    field, phases = augmenter.field if augmenter else None, Phases(train, length.total)
    with placement.strategy.scope():
        model = _model(config, data, preprocessing, inside, phases, field, resolved.parent)
        precision.apply(model, train.precision, network.classifier)
        finetuning.freeze(model, config)  # last, because frozen layers keep their precision
        updater = optimizer.create(config, model, length.total)
    compile_, steps, parts = options
    steps = STREAMED_STEPS_PER_CALL if encoded and steps is None else steps
    compilation = placement.choose_compilation(model, placement.replicas, compile_, steps, parts)
    pooled = pool_before_activation(model, placement.pooling)
    learner = Learner(pooled, updater, objective, train.batch_size, augmenter)
    step = placement.step(learner, split, placement.strategy, compilation)
    # An evaluator needs a float32 model whose inputs are raw images.
    if inside == preprocessing and train.precision == "float32" and not field:
        evaluator = Evaluator(model, objective)
    else:
        evaluated = _model(config, data, preprocessing, preprocessing, phases)
        evaluator = Evaluator(evaluated, objective, model)
    return Run(
        seed=config.seed,
        train=train,
        length=length,
        data=data,
        validation=validation,
        preprocessing=preprocessing,
        model=model,
        optimizer=updater,
        phases=phases,
        augmentation=augmenter,
        compilation=compilation,
        step=step,
        evaluator=evaluator,
        parent=resolved.parent,
        best=Best(model) if train.keep_best else None,
    )


def network_input_shape(data: ImageData, preprocessing: dict[str, Any]) -> tuple[int, int, int]:
    """Returns the shape of preprocessed and cropped images."""
    *size, channels = data.image_shape
    return (*preprocessing.get("crop", size), channels)


def _splits(config: ConfigDict, data: ImageData) -> tuple[Split, Split | None]:
    """Returns the training examples, and the validation images or None."""
    split, validation = data.train, data.validation
    if config.data.train_on_validation:
        split, validation = split.joined(validation), None
    count = config.data.train_examples or len(split)
    if count > len(split) and not config.smoke:
        raise errors.DataError(
            f"data.train_examples must be at most {len(split)}, the number of training "
            f"images of {data.name}. Received: {count}. Set it to 0 for all images."
        )
    return split.first(count), validation


def _preprocessing(
    config: ConfigDict,
    data: ImageData,
    split: Split,
    parent: Pretrained | None,
    workdir: Path | None,
) -> dict[str, Any]:
    """Returns the preprocessing, with statistics of the data or the parent weights."""
    description = (parent or registry.entry(config.model.name)).preprocessing
    kind, shape = description["kind"], data.image_shape
    if parent and kind == "mean_crop" and config.data.crop_size != description["crop"][0]:
        raise errors.UsageError(
            f"{parent.name} needs --config.data.crop_size={description['crop'][0]}, of its weights."
        )
    # The scale of images after the kind `gcn` depends on their size.
    is_sized = "statistics" in description or (parent and kind == "gcn")
    if not is_sized or (parent and kind == "mean_crop"):
        return description
    from elu_zoo.data import statistics

    if parent:
        fits = tuple(parent.arguments["input_shape"]) == shape
    else:
        fits = kind != "gcn_zca" or math.prod(shape) <= statistics.MAX_VALUES
    if not fits:  # statistics of another size, or too large a whitening
        return statistics.fit_scale(kind, split.images)
    if parent:
        return description
    values = statistics.find_or_fit(kind, data, workdir)
    description = {**description, "statistics": values}
    if "crop" in description:
        description = {**description, "crop": [config.data.crop_size] * 2}
    return description


def _model(
    config: ConfigDict,
    data: ImageData,
    preprocessing: dict[str, Any],
    inside: dict[str, Any] | None,
    phases: Phases,
    field: tuple[int, int, int] | None = None,
    parent: Pretrained | None = None,
) -> keras.Model:
    """Returns the network, with the preprocessing `inside` as its first layers."""
    if parent:
        parent = dataclasses.replace(parent, preprocessing=preprocessing)
    others = "name", "weights"
    arguments: dict = {key: config.model[key] for key in config.model if key not in others}
    if registry.entry(config.model.name).takes("num_classes"):
        arguments["num_classes"] = data.num_classes
    shape = field or network_input_shape(data, preprocessing)
    model = zoo.get_model(
        config.model.name,
        weights=parent,
        preprocessing=inside or False,
        **arguments,
        **phases.builder_arguments,
        input_shape=shape,
        seed=config.seed,
    )
    for layer in all_layers(model):
        if is_keyed(layer):
            seed_of(layer)  # raises an error if the layer has no seed
    return model


def _check_arguments(
    config: ConfigDict, data: ImageData, iterations: int, placement: Placement, options: Any
) -> None:
    """Builds a narrow network, as a check before hours of computing statistics."""
    if not data.train.is_encoded:
        return
    narrow = config.copy_and_resolve_references()
    narrow.model.width = 1e-9  # one unit a layer
    preprocessing = {"kind": "mean_crop", "crop": [config.data.crop_size] * 2}
    model = _model(narrow, data, preprocessing, None, Phases(config.train, 1))
    finetuning.freeze(model, config)
    optimizer.create(config, model, iterations)
    placement.choose_compilation(model, placement.replicas, *options)


def _advise(config: ConfigDict, data: ImageData, steps: int, parent: Pretrained | None) -> None:
    """Logs what is allowed, but slow, or may give poor or wrong errors."""
    if config.train.precision != "float32" and not hardware.has_bfloat16():
        logging.warning("The CPU lacks bfloat16: --config.train.precision=float32 is faster.")
    if not load.is_own(config.data.name, config.data.get("folder", "")):
        return
    if config.data.augmentation != "none":
        logging.info(
            "Training images are mirrored at random. If a mirror changes classes, set "
            "--config.data.augmentation=none."
        )
    if steps < 50:  # in which no network of the zoo learns much
        logging.warning("Only %d iterations: set more epochs or a smaller batch size.", steps)
    # A hash of the resized pixels chose the test images.
    moved = parent and parent.dataset == data.name and " for test" in data.note
    if moved and tuple(parent.arguments["input_shape"]) != data.image_shape:
        logging.warning(
            "%s was trained on some of the test images, which another size divides anew. Put the "
            "images into train/, val/ and test/.",
            parent.name,
        )
