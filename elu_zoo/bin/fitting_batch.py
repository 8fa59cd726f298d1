"""Reduction of the default batch size for fine-tuning on few images."""

import concurrent.futures.process
import contextlib
import multiprocessing
import os
import sys
from collections.abc import Iterator
from logging import WARNING
from pathlib import Path

from absl import flags, logging
from ml_collections import ConfigDict

from elu_zoo import errors, files
from elu_zoo.bin.config import default_workdir
from elu_zoo.data import load, order
from elu_zoo.data.shapes import Shape
from elu_zoo.training import finetuning
from elu_zoo.training.config import ResolvedConfig, resolve

_FLAG = "config.train.batch_size"


def fit_batch_size(config: ConfigDict, resolved: ResolvedConfig) -> ResolvedConfig:
    """Returns a resolved config whose batch is not larger than the training split.

    `config.train.batch_size` is reduced only if `config` has the field `model.weights`
    and --config.train.batch_size is not set. If the images are missing, a run that
    exists keeps its batch size. `resolved` is `resolve(config)`.
    """
    is_given = any(a.lstrip("-").partition("=")[0] == _FLAG for a in sys.argv[1:])
    if is_given or "weights" not in config.model:
        return resolved
    # The shape needs the network, which a user's module may have registered.
    shape = finetuning.image_shape(resolved.config, resolved.parent)
    arguments = resolved.config.data, flags.FLAGS.data_dir, shape
    try:
        if _configures_devices():
            # TensorFlow, which decodes images, must not start before.
            spawn = multiprocessing.get_context("spawn")
            with concurrent.futures.ProcessPoolExecutor(1, spawn) as pool:
                try:
                    count = pool.submit(_count_images, *arguments).result()
                except concurrent.futures.process.BrokenProcessPool:
                    raise errors.ResourceError(
                        "The process that decodes the images died, perhaps for lack of memory."
                    ) from None
        else:
            with _no_warnings():
                count = _count_images(*arguments)
    # `train` raises these errors again unless the run is finished.
    except (errors.CorruptError, errors.DataError, errors.UsageError):
        workdir = flags.FLAGS.workdir or default_workdir(resolved.config)
        # `train` raises the error of a damaged file.
        with contextlib.suppress(OSError, errors.CorruptError, KeyError, TypeError):
            recorded = files.read_json(Path(workdir, "config.json"))
            config.train.batch_size = recorded["train"]["batch_size"]
        return resolve(config)
    size = config.train.batch_size
    if count >= size:
        return resolved
    smaller, devices = order.smaller_batch_size(count), flags.FLAGS.num_devices or 1
    config.train.batch_size = max(smaller - smaller % devices, devices)
    logging.warning(
        "%d training images do not fill a batch of %d. The batch size is reduced to "
        "%d. Set --config.train.batch_size for another batch size.",
        count,
        size,
        config.train.batch_size,
    )
    return resolve(config)


@contextlib.contextmanager
def _no_warnings() -> Iterator[None]:
    """Drops the warnings of the images, which `train` logs again."""
    logger = logging.get_absl_logger()
    logger.addFilter(keeps := lambda record: record.levelno < WARNING)
    try:
        yield
    finally:
        logger.removeFilter(keeps)


def _configures_devices() -> bool:
    several = flags.FLAGS.strategy in ("mirrored", "multi_worker")
    return several or bool(flags.FLAGS.num_devices) or "TF_CONFIG" in os.environ


def _count_images(settings: ConfigDict, data_dir: str | None, shape: Shape | None) -> int:
    """Returns the number of training images of a config's section `data`."""
    if settings.name in load.names():
        count = load.training_images(settings.name, settings.train_on_validation)
    elif settings.name in load.ENCODED:
        from elu_zoo.data import imagenet  # imports TensorFlow

        sizes = settings.image_size, settings.validation_images
        count = len(imagenet.load(settings.folder, *sizes, data_dir).train)
    else:
        data = load.load(settings.name, data_dir, shape)
        count = len(data.train) + len(data.validation) * settings.train_on_validation
    return min(settings.train_examples or count, count)
