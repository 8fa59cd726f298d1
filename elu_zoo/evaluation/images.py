"""The images on which weights are evaluated, and notes on them beside the measures."""

import keras
import numpy as np

from elu_zoo import errors
from elu_zoo.data import load
from elu_zoo.data.class_names import matched
from elu_zoo.data.dataset import ImageData
from elu_zoo.weights.manifest import Entry
from elu_zoo.weights.pretrained import Pretrained


def load_for(model: keras.Model, weights: Pretrained, data: str, data_dir: str | None) -> ImageData:
    """Loads a data set, by name or path, for a model, with the classes of a classifier."""
    shape = model.input_shape[1:]
    if weights.preprocessing["kind"] != "mean_crop":
        images = load.load(data, data_dir, shape)
    else:
        from elu_zoo.data import imagenet  # imports TensorFlow

        settings = weights.entry["config"].get("data", {}) if weights.entry else {}
        count = settings.get("validation_images", imagenet.VALIDATION_IMAGES)
        folder = "" if data == load.IMAGENET else data
        images = imagenet.load(folder, shape[0], count, data_dir)
    if len(model.output_shape) > 2:
        return images
    return matched(images, weights.name, weights.classes, model.output_shape[1])


def notes(entry: Entry | None, data: ImageData, split: str) -> list[str]:
    """Returns notes on the data set, on changed images and on training images."""
    texts = _missing(data, split) if entry and entry["classes"] else []
    is_namesake = entry and entry["dataset"] == data.name
    if not (is_namesake and entry.get("images", data.fingerprint) == data.fingerprint):
        if is_namesake:
            changed = "the images have changed since, or are others: it may have seen some of them."
            return [*texts, f"{entry['tag']} was trained on {data.name}; {changed}"]
        # `ImageData.split` joins the images of a user that are in memory.
        joined = load.is_own(data.name) and not data.train.is_encoded
        if data.note and not (joined and split == "all"):
            texts.append(data.note + " --split=all measures all images." * joined)
        return texts
    settings = entry["config"].get("data", {})
    if split == "all":
        texts.append(f"{entry['tag']} was trained on some of these images.")
    elif split != "test" and (split == "train" or settings.get("train_on_validation")):
        texts.append(f"{entry['tag']} was trained on these {split} images.")
    return texts


def _missing(data: ImageData, name: str) -> list[str]:
    """Returns a note on the classes without an image in a split."""
    split = data.split(name)
    # The labels of images that stay on the disk may be unknown.
    known = split.new_labels if split.is_encoded else split.labels
    classes = range(data.num_classes)
    lacking = np.setdiff1d(classes, classes if known is None else known)
    names = errors.listed([data.class_names[label] for label in lacking])
    kind = "" if name == "all" else f"{name} "
    text = f"{data.name} has no {kind}image of {len(lacking)} of the model's "
    text += f"{data.num_classes} classes: {names}. The measures are of the others."
    return [text] if names else []
