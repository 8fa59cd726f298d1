"""Data augmentation: random changes of training images."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import keras
import numpy as np
from ml_collections import ConfigDict

from elu_zoo import layers
from elu_zoo.data import order


@dataclasses.dataclass(frozen=True)
class Augmentation:
    """Random changes of images, and the random numbers ("draws") that they need."""

    layer: keras.layers.Layer
    draw: Callable[[int, int, int], np.ndarray]  # (seed, epoch, count) -> draws `(count, n)`
    still: list[int]  # draws with which the layer only cuts out an image's middle
    epochs: int  # number of first epochs with random draws; later epochs use `still`
    before: keras.layers.Layer | None = None
    after: keras.layers.Layer | None = None  # takes the last two columns of draws
    field: tuple[int, int, int] | None = None  # shape of the changed images if larger

    def draws(self, seed: int, epoch: int, count: int) -> np.ndarray:
        """Returns the draws of an epoch for each image, int32 `(count, n)`."""
        if epoch >= self.epochs:
            return np.tile(np.array(self.still, "int32"), (count, 1))
        return self.draw(seed, epoch, count)

    def __call__(self, images: Any, draws: Any) -> Any:
        """Returns changed images, `(batch, height, width, channels)`."""
        if self.before:
            images = self.before(images)
        if self.after:
            return self.after(self.layer(images, draws[:, :-2]), draws[:, -2:])
        return self.layer(images, draws)


def create(
    data: ConfigDict, preprocessing: dict[str, Any], image_shape: tuple[int, int, int], epochs: int
) -> Augmentation | None:
    """Returns the augmentation of a config's section `data`, or None."""
    if data.augmentation == "none":
        return None
    epochs -= data.whole_epochs
    if data.augmentation == "crop_flip":
        mean = layers.MeanSubtraction(preprocessing["statistics"], dtype="float32")
        crops = layers.PadCropFlip(0, preprocessing["crop"])
        free = data.image_size - data.crop_size
        return Augmentation(crops, *_crops(free), epochs, mean)
    # The network scales this value to about zero, on the average of the channels.
    offset = float(np.mean(preprocessing.get("offset", 0)))
    value = 0.0 - offset / preprocessing.get("scale", 1)
    if data.augmentation == "pad_crop_flip":
        crops = layers.PadCropFlip(data.padding, value=value)
        draw, still = _crops(2 * crops.padding)
        if not data.cutout:
            return Augmentation(crops, draw, still, epochs)
        # With this centre, the cut-out square lies outside of the image.
        still = [*still, -data.cutout, -data.cutout]
        draw = partial(_crops_and_centres, draw, image_shape)
        cutout = layers.Cutout(data.cutout, value)
        return Augmentation(crops, draw, still, epochs, after=cutout)
    *sides, channels = image_shape
    field = data.field_size or max(sides)
    layer = layers.AffineRecolor(field, value)
    shape = layer.compute_output_shape((None, *image_shape), None)[1:]
    n = layer.draws(channels)
    still = [layers.AffineRecolor.STILL] * n
    return Augmentation(
        layer,
        partial(order.integers, each=n),
        still,
        epochs,
        field=None if shape == tuple(image_shape) else shape,
    )


def _crops_and_centres(
    crops: Callable[[int, int, int], np.ndarray], image_shape: tuple[int, int, int], *epoch: int
) -> np.ndarray:
    """Returns the draws of crops, with two more columns for centres of cut-outs."""
    return np.hstack([crops(*epoch), order.centres(*epoch, *image_shape[:2])])


def _crops(free: int) -> tuple[Callable[[int, int, int], np.ndarray], list[int]]:
    """Returns a function that draws crops, and the draws of the middle crop."""
    return partial(order.crops_and_flips, corners=free + 1), [free // 2, free // 2, 0]
