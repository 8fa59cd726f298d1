"""The images on which weights are evaluated."""

import keras

from elu_zoo import registry
from elu_zoo.data import imagenet, load
from elu_zoo.data.class_names import matched
from elu_zoo.data.dataset import ImageData
from elu_zoo.weights.pretrained import Pretrained


def load_for(model: keras.Model, weights: Pretrained, data: str, data_dir: str | None) -> ImageData:
    """Loads a data set, by name or path, for a model, with the classes of a classifier.

    The images stay on the disk for a network of large images.
    """
    shape = model.input_shape[1:]
    if registry.entry(weights.model).preprocessing["kind"] != "mean_crop":
        images = load.load(data, data_dir, shape)
    else:
        settings = weights.entry["config"].get("data", {}) if weights.entry else {}
        count = settings.get("validation_images", imagenet.VALIDATION_IMAGES)
        folder = "" if data in load.ENCODED else data
        images = imagenet.load(folder, shape[0], count, data_dir)
    if len(model.output_shape) > 2:
        return images
    return matched(images, weights.name, weights.classes, model.output_shape[1])
