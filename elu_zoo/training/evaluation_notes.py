"""Notes that elu-zoo-evaluate prints beside its measures."""

from elu_zoo.data.dataset import ImageData
from elu_zoo.weights.manifest import Entry


def notes(entry: Entry | None, data: ImageData, split: str) -> list[str]:
    """Returns notes on the data set, on changed images and on training images.

    Args:
        entry: the entry of the weights, if they have one.
        data: the data set of the evaluation.
        split: a name for `ImageData.split`.
    """
    if not (entry and entry["dataset"] == data.name):
        shown = data.note and split != "all"
        return [f"{data.note} --split=all measures all its images."] if shown else []
    texts = []
    if entry.get("images", data.images) != data.images:
        texts.append(
            f"the images have changed since {entry['tag']} was trained, from "
            f"{entry['images']} to {data.images}."
        )
    settings = entry["config"].get("data", {})
    if split == "all":
        texts.append(f"{entry['tag']} was trained on most of these images.")
    elif split != "test" and (split == "train" or settings.get("train_on_validation")):
        texts.append(f"{entry['tag']} was trained on these {split} images.")
    return texts
