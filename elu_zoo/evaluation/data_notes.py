"""Notes that elu-zoo-evaluate prints beside its measures."""

import numpy as np

from elu_zoo import errors
from elu_zoo.data import load
from elu_zoo.data.dataset import ImageData, Split
from elu_zoo.weights.manifest import Entry


def notes(entry: Entry | None, data: ImageData, split: str) -> list[str]:
    """Returns notes on the data set, on changed images and on training images."""
    texts = _missing(data, split) if entry and entry["classes"] else []
    if not (entry and entry["dataset"] == data.name):
        # `ImageData.split` joins the images of a user that are in memory.
        joined = load.is_own(data.name) and isinstance(data.train, Split)
        if not data.note or (joined and split == "all"):
            return texts
        return [*texts, data.note + " --split=all measures all images." * joined]
    if entry.get("images", data.fingerprint) != data.fingerprint:
        texts.append(
            f"the images have changed since {entry['tag']} was trained, from "
            f"{entry['images']} to {data.fingerprint}."
        )
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
    known = split.labels if isinstance(split, Split) else split.new_labels
    classes = range(data.num_classes)
    lacking = np.setdiff1d(classes, classes if known is None else known)
    names = errors.listed([data.class_names[label] for label in lacking])
    kind = "" if name == "all" else f"{name} "
    text = f"{data.name} has no {kind}image of {len(lacking)} of the model's "
    text += f"{data.num_classes} classes: {names}. The measures are of the others."
    return [text] if names else []
