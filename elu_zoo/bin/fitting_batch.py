"""Reduction of the default batch size for fine-tuning on few images."""

import sys

from absl import flags, logging
from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.data import imagenet, load, order
from elu_zoo.training import finetuning
from elu_zoo.training.config import ResolvedConfig, resolve

_FLAG = "config.train.batch_size"


def fit_batch_size(config: ConfigDict, resolved: ResolvedConfig) -> ResolvedConfig:
    """Returns a resolved config whose batch is not larger than the training split.

    `config.train.batch_size` is reduced only if `config` has the field `model.weights`
    and --config.train.batch_size is not set. `resolved` is `resolve(config)`.
    """
    is_given = any(a.lstrip("-").partition("=")[0] == _FLAG for a in sys.argv[1:])
    if is_given or "weights" not in config.model:
        return resolved
    try:
        count = _count_images(resolved)
    except errors.EluZooError:  # raised again by `train` unless the run is finished
        return resolved
    size = config.train.batch_size
    if count >= size:
        return resolved
    config.train.batch_size = order.smaller_batch_size(count)
    logging.warning(
        "%d training images do not fill a batch of %d. The batch size is reduced to "
        "%d. Set --config.train.batch_size for another batch size.",
        *(count, size, config.train.batch_size),
    )
    return resolve(config)


def _count_images(resolved: ResolvedConfig) -> int:
    """Returns the number of training images."""
    settings, data_dir = resolved.config.data, flags.FLAGS.data_dir
    if settings.name in load.names():
        count = load.training_images(settings.name, settings.train_on_validation)
    elif settings.name in load.ENCODED:
        sizes = settings.image_size, settings.validation_images
        count = len(imagenet.load(settings.folder, *sizes, data_dir).train)
    else:
        shape = finetuning.image_shape(resolved.config, resolved.parent)
        data = load.load(settings.name, data_dir, shape)
        count = len(data.train) + len(data.validation) * settings.train_on_validation
    return min(settings.train_examples or count, count)
