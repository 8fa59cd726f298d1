"""Quantization of LiteRT files: converter options, calibration and the check of int8.

Preprocessing is not quantized. With an int8 whitening matrix elu_cifar_11 loses nine
points of its accuracy on CIFAR-100, because whitened pixels are small differences of
large sums.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.data import load, order
from elu_zoo.export import joining, versions
from elu_zoo.export.answers import Answer
from elu_zoo.layers import (
    GlobalContrastNormalization,
    MeanSubtraction,
    ZCAWhitening,
)
from elu_zoo.models.nested import all_layers
from elu_zoo.weights.pretrained import Pretrained

PREPROCESSING = (GlobalContrastNormalization, MeanSubtraction, ZCAWhitening)
# Tolerances of `checks.compare` for noise images, which int8 is not calibrated for.
TOLERANCE = {"dynamic": 0.05, "float16": 2e-3, "int8": 0.5}
CALIBRATION_IMAGES = 500
# Least share of calibration images for which int8 must choose the Keras model's class.
EQUAL_CLASSES = 0.9
_BATCH = 50

Convert = Callable[..., bytes]


def arguments(
    kind: str | None, weights: Pretrained, model: keras.Model
) -> dict[str, Any]:
    """Returns the arguments of `export_interchange` for a kind of quantization."""
    images = None
    if kind == "int8":
        images = calibration_images(weights, model.input_shape[1:])
    return {"quantize": kind, "calibration": images}


def calibration_images(weights: Pretrained, image_shape: Sequence[int]) -> np.ndarray:
    """Returns the images that calibrate int8 activations.

    These are the first `CALIBRATION_IMAGES` training images of the weights' data set,
    in the order of `order.permutation(order.SPLIT_SEED, 0, ...)`. A user's images are
    read from the path that the entry records.

    Returns:
        uint8 array `(images, height, width, channels)`, 0..255.
    """
    problem = f"int8 is calibrated on training images of {weights.name}, but "
    remedy = (
        "Choose another kind of quantization, or pass calibration=<images> to "
        "elu_zoo.export.interchange.export_interchange in Python."
    )
    if weights.dataset is None:
        raise errors.UsageError(f"{problem}the file has no entry. {remedy}")
    name, recorded = weights.dataset, None
    if load.is_own(name):
        recorded = weights.entry.get("images")
        settings = weights.entry["config"]["data"]
        name = settings.get("folder") or settings["name"]
    try:
        data = load.load(name, image_shape=tuple(image_shape))
    except errors.EluZooError as error:
        raise errors.UsageError(
            f"{problem}its data set cannot be loaded. {error} {remedy}"
        ) from error
    if recorded and recorded != data.images:
        raise errors.UsageError(
            f"{problem}the images of {name} have changed from {recorded} to "
            f"{data.images}. {remedy}"
        )
    count = len(data.train)
    indices = order.permutation(order.SPLIT_SEED, 0, count)[:CALIBRATION_IMAGES]
    return data.train.images[indices]


def check(kind: str, format: str, answer: Answer, images: np.ndarray | None) -> None:
    """Checks the arguments of a quantized export."""
    versions.check_quantize(kind, format)
    layers = [x for x in all_layers(answer.model) if isinstance(x, PREPROCESSING)]
    nested = [x.name for x in layers if x not in answer.model.layers]
    if nested:
        raise errors.UsageError(
            "A quantized file needs preprocessing in layers of the model itself, but "
            f"{nested[0]} is in a model inside it. Build one model, for example "
            "by get_model(..., num_classes=...)."
        )
    if kind != "int8":
        return
    if not answer.class_names:
        raise errors.UsageError(
            "int8 must have a classifier, because its check compares classes, but the "
            "model is an autoencoder. Pass quantize='dynamic' or quantize='float16'."
        )
    if np.ndim(images) != 4 or images.shape[1:] != answer.image_shape:
        raise errors.UsageError(
            "calibration must be an array of training images (images, "
            f"{', '.join(map(str, answer.image_shape))}), got "
            f"{'None' if images is None else np.shape(images)}."
        )


def write(
    answer: Answer, kind: str, images: np.ndarray | None, convert: Convert
) -> bytes:
    """Returns a quantized LiteRT file.

    - `dynamic`: int8 kernels. Activations are quantized while the file runs.
    - `float16`: float16 kernels and float32 activations.
    - `int8`: int8 kernels and activations; input and outputs stay float32.

    Layers up to the last one of `PREPROCESSING` keep float32, because the constant of
    `GlobalContrastNormalization` that prevents a division by 0 is 0 in float16.
    Whitening computes in float32 as well. Its mean and matrix are stored in float16
    without a loss, because statistics files hold float16 values.

    Args:
        answer: the answer of the model.
        kind: a name of `versions.QUANTIZATIONS`.
        images: the calibration images, which only int8 uses.
        convert: a function from an answer, and attributes of `tf.lite.TFLiteConverter`
            as keywords, to a LiteRT file.
    """
    model = answer.model
    layers = [layer for layer in model.layers if isinstance(layer, PREPROCESSING)]
    if not layers:
        return convert(answer, **_options(kind, images))
    (start,), border = model.inputs, layers[-1]
    end = border.output
    parts = [(start, end, {})]
    if isinstance(border, ZCAWhitening):
        parts = [(start, border.input, {}), (border.input, end, _options("float16"))]
    if kind == "int8":
        preprocess = keras.Model(start, end)
        images = preprocess.predict(images, batch_size=_BATCH, verbose=0)
    converted = [
        convert(_part(answer, first, last), **options)
        for first, last, options in parts
        if first is not last
    ]
    network = dataclasses.replace(answer, model=keras.Model(end, model.outputs))
    converted.append(convert(network, **_options(kind, images)))
    return functools.reduce(joining.join, converted)


def _part(answer: Answer, first: Any, last: Any) -> Answer:
    """Returns an answer that has only the layers between two tensors of the model."""
    return dataclasses.replace(
        answer,
        model=keras.Model(first, last),
        read=lambda output: {"preprocessed": output},
        compared=("preprocessed",),
    )


def _options(kind: str, images: np.ndarray | None = None) -> dict[str, Any]:
    """Returns attributes of `tf.lite.TFLiteConverter`."""
    options = {"optimizations": [tf.lite.Optimize.DEFAULT]}
    if kind == "float16":
        options["target_spec"] = {"supported_types": [tf.float16]}
    if kind == "int8":
        options["target_spec"] = {
            "supported_ops": [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        }
        options["representative_dataset"] = lambda: ([b] for b in _batches(images))
    return options


def _batches(images: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(images), _BATCH):
        yield images[start : start + _BATCH].astype(np.float32)


def check_classes(
    answer: Answer, call: Callable[[np.ndarray], dict], images: np.ndarray, file: Path
) -> dict[str, dict[str, float]]:
    """Checks that a file and the Keras model choose the same classes.

    Args:
        answer: the answer of the Keras model.
        call: a function from images to the outputs of the file, by name.
        images: the calibration images.
        file: the path of the file, for messages.

    Returns:
        The share of images with equal classes, the least share that is allowed, and
        the number of images.
    """
    equal = [
        call(batch)["logits"].argmax(1) == answer(batch)["classes"].numpy()
        for batch in _batches(images)
    ]
    share = float(np.concatenate(equal).mean())
    if share < EQUAL_CLASSES:
        raise errors.EluZooError(
            f"{file.name} and the Keras model choose the same class for {share:.1%} of "
            f"{len(images)} calibration images; at least {EQUAL_CLASSES:.0%} is "
            "required. Choose another kind of quantization."
        )
    return {
        "classes": {"equal": share, "required": EQUAL_CLASSES, "images": len(images)}
    }
