"""Images to predict, with their names."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from elu_zoo import errors
from elu_zoo.data import digits, load, plausibility
from elu_zoo.data.image_files import read_images
from elu_zoo.export.predictor import Predictor, ranked, reconstructed

_BATCH = 64  # images in a call of the model, whose memory grows with the batch


@dataclasses.dataclass(frozen=True, eq=False)
class Inputs:
    """Images for a model.

    Attributes:
        images: uint8 `(n, height, width, channels)`, 0..255.
        rows: a dict for each image. `image` is the name of the image, and `true` is the
            name of the image's class, if known.
        left_out: a sentence for each file that cannot be used.
        remarks: for digits in MNIST's form, a sentence for each odd one; None for
            other images.
    """

    images: np.ndarray
    rows: list[dict[str, Any]]
    left_out: Sequence[str] = ()
    remarks: Sequence[str] | None = None

    def complaints(self, predictor: Predictor) -> list[str]:
        """Returns warnings about files left out and about implausible pixels."""
        names = [row["image"] for row in self.rows]
        if self.remarks is not None:
            return [*self.left_out, *self.remarks]
        warnings = [*self.left_out, plausibility.scale_complaint(self.images, names)]
        if plausibility.takes_light_on_black(predictor.image_shape, predictor.dataset):
            is_data = any("true" in row for row in self.rows)
            remedy = "image files with --digit" if is_data else "--digit"
            warnings.append(plausibility.ground_complaint(self.images, names, remedy))
        return [warning for warning in warnings if warning]

    def predict(
        self, predictor: Predictor, top: int
    ) -> tuple[list[dict[str, Any]], np.ndarray | None]:
        """Returns the rows with predictions, and the reconstructions if any.

        Args:
            predictor: the predictor of the model.
            top: the largest number of classes per image.
        """
        predictions, pixels = [], []
        for start in range(0, len(self.images), _BATCH):
            images = self.images[start : start + _BATCH]
            if predictor.is_autoencoder:
                rows, reconstructions = reconstructed(predictor, images)
                pixels.append(reconstructions)
            else:
                rows = ranked(predictor, images, top)
            predictions += rows
        pairs = zip(self.rows, predictions, strict=True)
        rows = [row | prediction for row, prediction in pairs]
        return rows, np.concatenate(pixels) if pixels else None


def read_files(paths: Sequence[str], predictor: Predictor, digit: bool = False) -> Inputs:
    """Returns the images of files and folders, see `read_images`."""
    if digit:
        digits.check_shape(predictor.image_shape, "--digit")
    read = read_images(paths, predictor.image_shape, digit)
    rows = [{"image": name} for name in read.names]
    remarks = read.remarks if digit else None
    return Inputs(read.pixels, rows, read.left_out, remarks=remarks)


def load_test_images(name: str, data_dir: str | None, count: int, predictor: Predictor) -> Inputs:
    """Returns the first test images of a data set."""
    # elu_imagenet_15 keeps images on the disk, also those of a user, in splits of its own.
    if name == load.IMAGENET or predictor.preprocessing == "mean_crop":
        raise errors.UsageError(
            f"The images of {name} are not loaded into memory, which --data of this network "
            "requires. Pass image files or folders instead of --data, or run elu-zoo-evaluate "
            "to measure all test images."
        )
    data = load.load(name, data_dir, predictor.image_shape)
    test = data.test.first(count)
    rows = [
        {"image": f"{data.name} test {index}", "true": data.class_names[label]}
        for index, label in enumerate(test.labels)
    ]
    return Inputs(test.images, rows)
