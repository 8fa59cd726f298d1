"""Trains the network of a config.

elu-zoo-train --config=quickstart
elu-zoo-train --config=mnist_mlp_8x128:activation=relu,seed=3 --config.train.epochs=10
"""

import sys

from absl import flags as absl_flags

from elu_zoo.bin import early, flags
from elu_zoo.bin.config import command, default_workdir, usual, with_data

_FOLDER = "Folder of the run, where a stopped run is resumed. By default runs/<config>/"
flags.define_path("workdir", None, _FOLDER + "<activation>[_bn]-s<seed>[-smoke].")
flags.define("config", "data", "data_dir", "module")
_OPTIONS = flags.define_training()  # arguments of `train`


def main(_: list[str]) -> None:
    from elu_zoo.evaluation import loss
    from elu_zoo.training import train
    from elu_zoo.training.config import resolve

    values = absl_flags.FLAGS
    resolved = resolve(with_data(values.config, values.data, usual(values["config"])))
    config = resolved.config
    workdir = default_workdir(config) if values.workdir is None else values.workdir
    entry = train(
        resolved,
        workdir,
        data_dir=values.data_dir,
        **{option.name: option.value for option in _OPTIONS},
        command=command("elu-zoo-train", sys.argv, ["accumulate"]),
    )
    if entry:
        split = "test" if config.data.measure_test else "validation"
        print(split, loss.describe(entry["metrics"], f"{split}_"))
        print(f"weights {workdir}/{entry['tag']}.weights.h5")


run = flags.binary(main, early.check_train, verbose=True)

if __name__ == "__main__":
    run()
