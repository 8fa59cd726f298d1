"""An exported model in Python, which returns the outputs that a server returns."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from elu_zoo import errors, files
from elu_zoo.export import versions


@dataclasses.dataclass(frozen=True)
class LoadedModel:
    """A loaded export.

    Attributes:
        path: the version's folder.
        class_names: the class names in the order of the logits; () for an autoencoder.
        image_shape: (height, width, channels) of the images that `predict` takes.
    """

    path: Path
    class_names: tuple[str, ...]
    image_shape: tuple[int, int, int]
    # A signature does not keep its variables alive, but this object does.
    _saved: Any = dataclasses.field(repr=False, compare=False)

    def predict(self, images: np.ndarray) -> dict[str, np.ndarray]:
        """Returns the outputs for raw images 0..255, see `named_outputs.make`."""
        try:
            images = np.asarray(images, np.float32)
        except (TypeError, ValueError) as error:
            raise errors.UsageError(f"images must be an array: {error}.") from error
        if images.shape[1:] != self.image_shape or not len(images):
            expected = ", ".join(map(str, self.image_shape))
            raise errors.UsageError(
                f"images must have the shape (batch >= 1, {expected}), got {images.shape}."
            )
        return self.run("serving_default", images=tf.constant(images))

    def run(self, signature: str, **inputs: tf.Tensor) -> dict[str, np.ndarray]:
        """Returns the outputs of a signature by name."""
        errors.check_choice("signature", signature, self._saved.signatures)
        try:
            outputs = self._saved.signatures[signature](**inputs)
        except tf.errors.InvalidArgumentError as error:
            reason = errors.graph_reason(error.message)
            raise errors.UsageError(f"{signature}: {reason}") from error
        except tf.errors.ResourceExhaustedError as error:
            reason = errors.graph_reason(error.message)
            raise errors.ResourceError(f"{signature}: {reason}") from error
        return {name: value.numpy() for name, value in outputs.items()}


def load_saved_model(directory: str | os.PathLike) -> LoadedModel:
    """Loads a model that `export_saved_model` wrote.

    Args:
        directory: see `versions.find_version`.
    """
    path = versions.find_version(Path(os.path.expanduser(directory)))
    try:
        saved = tf.saved_model.load(str(path))
        images = saved.signatures["serving_default"].structured_input_signature[1]
        _, *image_shape = images["images"].shape
        class_names = _class_names(saved.signatures, path)
    # TensorFlow raises many types of errors for a damaged file.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise errors.CorruptError(
            f"{path} is damaged or not an export of elu_zoo: {reason}. Export the model again."
        ) from error
    return LoadedModel(path, class_names, tuple(image_shape), saved)


def _class_names(signatures: Any, path: Path) -> tuple[str, ...]:
    outputs = signatures["serving_default"].structured_outputs
    if set(outputs) != set(signatures["serve_bytes"].structured_outputs):
        raise ValueError("The signatures have different outputs.")
    # Exports of other versions may have more or fewer of the other outputs.
    if {"reconstructions", "codes"} <= set(outputs):
        return ()
    if not {"logits", "probabilities"} <= set(outputs):
        raise ValueError(f"The outputs are {', '.join(sorted(outputs))}.")
    labels = files.read(path / "assets" / "labels.txt").decode("utf-8-sig").splitlines()
    if len(labels) != outputs["logits"].shape[-1]:
        raise ValueError(f"labels.txt has {len(labels)} lines, not one per class.")
    return tuple(labels)
