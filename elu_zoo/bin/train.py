"""Trains the network of a config.

elu-zoo-train --config=quickstart
elu-zoo-train --config=mnist_mlp_8x128:activation=relu,seed=3 --config.train.epochs=10
"""

import sys

from absl import flags as absl_flags

from elu_zoo.bin import early, flags
from elu_zoo.bin.config import command, default_workdir, with_data

_WORKDIR = flags.define_path(
    "workdir",
    None,
    "Folder of the run. A run that was stopped in this folder is resumed. By default "
    "runs/<config>/<activation>[_bn]-s<seed>[-smoke].",
)
absl_flags.register_validator("workdir", lambda x: x != "", "Set it to a folder.")
_STRATEGIES = ["auto", "one", "mirrored", "multi_worker"]
absl_flags.DEFINE_enum("strategy", "auto", _STRATEGIES, "Distribution strategy of TensorFlow.")
absl_flags.DEFINE_integer(
    "num_devices", None, "Number of GPUs or logical CPU devices.", lower_bound=1
)
absl_flags.DEFINE_enum(
    "compile", "auto", ["auto", "on", "off"], "Whether XLA compiles the training step."
)
absl_flags.DEFINE_integer(
    "steps_per_call", None, "Iterations per call of the compiled function.", 1
)
absl_flags.DEFINE_integer(
    "accumulate", 1, "Parts of a device's batch, computed one by one to save memory.", 1
)
absl_flags.DEFINE_float(
    "checkpoint_seconds",
    None,
    "Skips a checkpoint that is due after train.checkpoint_every iterations if fewer "
    "seconds have passed since the last one or the start. The end of the run, SIGTERM "
    "and SIGINT always save one. By default 0 on CPUs, 30 on GPUs.",
    0,
)
absl_flags.DEFINE_bool("allow_config_change", False, "Resume with a changed config.")
_ACTIVATION_IMAGES = absl_flags.DEFINE_integer(
    "activation_images",
    0,
    "Number of training images for the mean and median activation of each unit, which "
    "are recorded after each epoch in activations/; -1: all images.",
)
flags.define("config", "data", "data_dir", "module")
# Arguments of `train` with the names of their flags.
_SAME = "data_dir strategy num_devices compile steps_per_call accumulate".split()
_SAME += ["checkpoint_seconds", "allow_config_change"]


def main(_: list[str]) -> None:
    config = with_data(absl_flags.FLAGS.config, absl_flags.FLAGS.data)

    from elu_zoo.bin.fitting_batch import fit_batch_size
    from elu_zoo.evaluation import loss
    from elu_zoo.training import train
    from elu_zoo.training.config import resolve

    resolved = fit_batch_size(config, resolve(config))
    config = resolved.config
    workdir = default_workdir(config) if _WORKDIR.value is None else _WORKDIR.value
    entry = train(
        resolved,
        workdir,
        **{name: absl_flags.FLAGS[name].value for name in _SAME},
        observers=_observers(),
        command=command("elu-zoo-train", sys.argv),
    )
    if entry:
        split = "test" if config.data.measure_test else "validation"
        print(split, loss.describe(entry["metrics"], f"{split}_"))
        print(f"weights {workdir}/{entry['tag']}.weights.h5")


def _observers() -> list:
    if not _ACTIVATION_IMAGES.value:
        return []
    from elu_zoo.training.record.observers import Activations

    return [Activations(_ACTIVATION_IMAGES.value)]


def run() -> None:
    flags.run(main, early.check_config, verbose=True)


if __name__ == "__main__":
    run()
