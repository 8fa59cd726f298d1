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
_STRATEGY = absl_flags.DEFINE_enum(
    "strategy",
    "auto",
    ["auto", "one", "mirrored", "multi_worker"],
    "Distribution strategy of TensorFlow.",
)
_NUM_DEVICES = absl_flags.DEFINE_integer(
    "num_devices", None, "Number of GPUs or logical CPU devices.", lower_bound=1
)
_COMPILE = absl_flags.DEFINE_enum(
    "compile", "auto", ["auto", "on", "off"], "Whether XLA compiles the training step."
)
_STEPS_PER_CALL = absl_flags.DEFINE_integer(
    "steps_per_call", None, "Iterations per call of the compiled function.", 1
)
_ACCUMULATE = absl_flags.DEFINE_integer(
    "accumulate", 1, "Parts of a device's batch, computed one by one to save memory.", 1
)
_CHECKPOINT_SECONDS = absl_flags.DEFINE_float(
    "checkpoint_seconds",
    None,
    "Skips a checkpoint that is due after train.checkpoint_every iterations if fewer "
    "seconds have passed since the last checkpoint. The end of the run, SIGTERM and "
    "SIGINT always save one. By default 0 on CPUs and 30 on GPUs.",
    lower_bound=0,
)
_ALLOW_CONFIG_CHANGE = absl_flags.DEFINE_bool(
    "allow_config_change", False, "Resume a run with a changed config."
)
_ACTIVATION_IMAGES = absl_flags.DEFINE_integer(
    "activation_images",
    0,
    "Number of training images for the mean and median activation of each unit, which "
    "are recorded after each epoch in activations/; -1: all images.",
)
flags.define("config", "data", "data_dir", "module")


def main(_: list[str]) -> None:
    config = with_data(absl_flags.FLAGS.config, absl_flags.FLAGS.data)

    from elu_zoo.bin.fitting_batch import fit_batch_size
    from elu_zoo.training import Observe, loss, train
    from elu_zoo.training.config import resolve

    resolved = fit_batch_size(config, resolve(config))
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
        checkpoint_seconds=_CHECKPOINT_SECONDS.value,
        allow_config_change=_ALLOW_CONFIG_CHANGE.value,
        observe=Observe(activation_images=_ACTIVATION_IMAGES.value),
        command=command("elu-zoo-train", sys.argv),
    )
    if entry:
        split = "test" if config.data.measure_test else "validation"
        print(split, loss.describe(entry["metrics"], f"{split}_"))
        print(f"weights {workdir}/{entry['tag']}.weights.h5")


def run() -> None:
    flags.run(main, early.check_config, verbose=True)


if __name__ == "__main__":
    run()
