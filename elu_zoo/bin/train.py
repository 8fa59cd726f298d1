"""Trains a network as a config says.

elu-zoo-train --config=quickstart
elu-zoo-train --config=mnist_mlp_8x128:activation=relu,seed=3 --config.train.epochs=10
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from absl import flags as absl_flags
from absl import logging
from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.bin import flags
from elu_zoo.bin.config import command, default_workdir, with_data

if TYPE_CHECKING:
    from elu_zoo.training.config import ResolvedConfig

_WORKDIR = absl_flags.DEFINE_string(
    "workdir",
    None,
    "The run's folder; the same folder resumes. By default "
    "runs/<config>/<activation>[_bn]-s<seed>[-smoke].",
)
absl_flags.register_validator("workdir", lambda x: x != "", "Name a folder.")
_STRATEGY = absl_flags.DEFINE_enum(
    "strategy", "auto", ["auto", "one", "mirrored", "multi_worker"], "tf.distribute's."
)
_NUM_DEVICES = absl_flags.DEFINE_integer(
    "num_devices", None, "GPUs, or logical CPU devices, of this machine.", lower_bound=1
)
_COMPILE = absl_flags.DEFINE_enum(
    "compile", "auto", ["auto", "on", "off"], "XLA for the training step."
)
_STEPS_PER_CALL = absl_flags.DEFINE_integer(
    "steps_per_call", None, "Iterations in one program.", lower_bound=1
)
_ACCUMULATE = absl_flags.DEFINE_integer(
    "accumulate",
    1,
    "Parts of a device's share of a batch, one after the other to save memory.",
    lower_bound=1,
)
_ALLOW_CONFIG_CHANGE = absl_flags.DEFINE_bool(
    "allow_config_change", False, "Go on with the folder of a run of another config."
)
_ACTIVATION_IMAGES = absl_flags.DEFINE_integer(
    "activation_images",
    0,
    "Keep each unit's mean and median activation over this many training images, "
    "after each epoch, in activations/; -1 for all.",
)
flags.define("config", "data", "data_dir", "module")
_NAMED = ("model", "name"), ("weights", "weights")  # fields of config.model


def check(argv: list[str]) -> None:
    """Checks what a config names, if it is complete: `resolve` says what it lacks."""
    flags.no_arguments(argv)
    config = absl_flags.FLAGS.config
    model, data = config.get("model"), config.get("data")
    if isinstance(model, ConfigDict):
        named = {key: model.get(field) for key, field in _NAMED}
        flags.check_exist(**{k: x for k, x in named.items() if isinstance(x, str)})
    # Of a finished run, whose folder exists, the images may be gone.
    if _WORKDIR.value is None:
        is_new = not list(Path("runs").glob(f"{config.get('name')}*"))
    else:
        is_new = not Path(_WORKDIR.value).exists()
    if isinstance(data, ConfigDict) and is_new:
        folder = data.get("folder")
        found = os.path.join(folder, "") if folder else data.get("name")
        found = absl_flags.FLAGS.data or found
        flags.check_exist(data=found if isinstance(found, str) else "")


def main(_: list[str]) -> None:
    config = with_data(absl_flags.FLAGS.config, absl_flags.FLAGS.data)

    from elu_zoo.training import Observe, objective, train
    from elu_zoo.training.config import resolve

    resolved = resolve(config)
    if "weights" in config.model and not _is_given("config.train.batch_size"):
        resolved = _with_fitting_batch(config, resolved)
    config = resolved.config
    workdir = default_workdir(config) if _WORKDIR.value is None else _WORKDIR.value
    entry = train(
        resolved,
        workdir,
        data_dir=absl_flags.FLAGS.data_dir,
        strategy=_STRATEGY.value,
        num_devices=_NUM_DEVICES.value,
        compile=_COMPILE.value,
        steps_per_call=_STEPS_PER_CALL.value,
        accumulate=_ACCUMULATE.value,
        allow_config_change=_ALLOW_CONFIG_CHANGE.value,
        observe=Observe(activation_images=_ACTIVATION_IMAGES.value),
        command=command(sys.argv),
    )
    if entry:
        split = "test" if config.data.measure_test else "validation"
        print(split, objective.describe(entry["metrics"], f"{split}_"))
        print(f"weights {workdir}/{entry['tag']}.weights.h5")


def _is_given(flag: str) -> bool:
    return any(a.lstrip("-").partition("=")[0] == flag for a in sys.argv[1:])


def _with_fitting_batch(config: ConfigDict, resolved: "ResolvedConfig"):
    """Returns the resolved config with a batch that few images fill.

    Its default is for data sets of the paper.
    """
    from elu_zoo.data import imagenet, load, order
    from elu_zoo.training import finetuning
    from elu_zoo.training.config import resolve

    own, data_dir = resolved.config.data, absl_flags.FLAGS.data_dir
    if own.name in load.names():
        count = load.training_images(own.name, own.train_on_validation)
    elif own.name in load.ENCODED:
        if not own.folder:  # of all of ImageNet
            return resolved
        settings = own.image_size, own.validation_images
        count = len(imagenet.load(own.folder, *settings, data_dir).train)
    else:
        shape = finetuning.image_shape(resolved.config, resolved.parent)
        try:
            data = load.load(own.name, data_dir, shape)
        except errors.EluZooError:  # `train` says so, unless the run is finished
            return resolved
        count = len(data.train) + len(data.validation) * own.train_on_validation
    count, size = min(own.train_examples or count, count), config.train.batch_size
    if count >= size:
        return resolved
    config.train.batch_size = order.fitting(count)
    logging.warning(
        "%d images to train on do not fill a batch of %d: batches are of %d. Choose "
        "another size by --config.train.batch_size.",
        *(count, size, config.train.batch_size),
    )
    return resolve(config)


def run() -> None:
    flags.run(main, check, verbose=True)


if __name__ == "__main__":
    run()
