"""What a training step does to images before the network sees them."""

from typing import Any

import keras
from ml_collections import ConfigDict

from elu_zoo.layers import MeanSubtraction, PadCropFlip


class Augmentation:
    """Random crops and flips of images.

    Args:
        crops: a layer of images and draws.
        corners: places of a crop's corner along each side; see
            `elu_zoo.data.order.crops_and_flips`.
        before: a layer of whole images.
    """

    def __init__(
        self, crops: PadCropFlip, corners: int, before: keras.layers.Layer | None = None
    ):
        self.corners = corners
        self._crops = crops
        self._before = before

    def __call__(self, images: Any, draws: Any) -> Any:
        """Returns crops of images `(batch, height, width, channels)`."""
        return self._crops(self._before(images) if self._before else images, draws)


def create(data: ConfigDict, preprocessing: dict[str, Any]) -> Augmentation | None:
    """Returns what a config's entry `data` asks for, None where it is nothing.

    Args:
        data: the entry.
        preprocessing: of the network. That of images in memory is done before the
            steps, the subtraction of a mean image here, on whole images as the mean is.
    """
    if data.augmentation == "none":
        return None
    if data.augmentation == "pad_crop_flip":
        # What the network scales after the augmentation becomes zero around images.
        value = 0.0 - preprocessing.get("offset", 0) / preprocessing.get("scale", 1)
        crops = PadCropFlip(data.get("padding", 4), value=value)
        return Augmentation(crops, 2 * crops.padding + 1)
    mean = MeanSubtraction(preprocessing["statistics"], dtype="float32")
    crops = PadCropFlip(0, preprocessing["crop"])
    return Augmentation(crops, data.image_size - data.crop_size + 1, mean)
