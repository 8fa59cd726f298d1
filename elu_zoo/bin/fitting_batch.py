"""The batch size of a run on few images."""

import sys

from absl import flags, logging
from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.data import imagenet, load, order
from elu_zoo.training import finetuning
from elu_zoo.training.config import ResolvedConfig, resolve

_FLAG = "config.train.batch_size"


def fitted(config: ConfigDict, resolved: ResolvedConfig) -> ResolvedConfig:
    """Returns a resolved config whose batch the images to train on fill.

    The default batch of a config that starts from weights is for data sets of the
    paper. A batch that --config.train.batch_size sets stays, and so do other configs.

    Args:
        config: to resolve; gets the smaller `train.batch_size`.
        resolved: of `config`.
    """
    is_given = any(a.lstrip("-").partition("=")[0] == _FLAG for a in sys.argv[1:])
    if is_given or "weights" not in config.model:
        return resolved
    try:
        count = _images(resolved)
    except errors.EluZooError:  # `train` says so, unless the run is finished
        return resolved
    size = config.train.batch_size
    if count >= size:
        return resolved
    config.train.batch_size = order.fitting(count)
    logging.warning(
        "%d images to train on do not fill a batch of %d: batches are of %d. Choose "
        "another size by --config.train.batch_size.",
        *(count, size, config.train.batch_size),
    )
    return resolve(config)


def _images(resolved: ResolvedConfig) -> int:
    """Returns how many images are trained on."""
    own, data_dir = resolved.config.data, flags.FLAGS.data_dir
    if own.name in load.names():
        count = load.training_images(own.name, own.train_on_validation)
    elif own.name in load.ENCODED:
        settings = own.image_size, own.validation_images
        count = len(imagenet.load(own.folder, *settings, data_dir).train)
    else:
        shape = finetuning.image_shape(resolved.config, resolved.parent)
        data = load.load(own.name, data_dir, shape)
        count = len(data.train) + len(data.validation) * own.train_on_validation
    return min(own.train_examples or count, count)
