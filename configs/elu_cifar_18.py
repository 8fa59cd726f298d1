"""CIFAR with the paper's large network of "18" layers: section 4.3, table 1.

Command:   elu-zoo-train --config=elu_cifar_18:dataset=cifar10,activation=elu,seed=0
Arguments: dataset (cifar100, cifar10), activation, batch_norm, seed,
           padding (caffe, same), schedule, epochs, smoke
Paper:     as in elu_cifar_11.py, but learning rate 0.01 to iteration 35,000, then
           0.001; at the end, 50,000 iterations with dropout after every layer and
           40,000 iterations with rates 1.5 times as high. The test error is 6.55 % on
           CIFAR-10 and 24.28 % on CIFAR-100.
Ours:      results/results.md.
Time:      not measured; 5e17 floating-point operations, or 2.3e17 with padding=same.

Not in the paper: what elu_cifar_11.py lists, except the batches of 100; the number of
iterations before the last 90,000, which is 165,000 here as for the small network; the
learning rate of the last 90,000, which stays 0.001; the dropout rate of the last hidden
stack, which is 0.5 here because the paper's list has seven rates for eight stacks.

`schedule=quick` is our schedule of elu_cifar_11 with 30 epochs by default, taken over
without trials.
"""

from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.configs import arguments, common

DROPOUT = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.0)  # of each stack
MORE_DROPOUT = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.75, 0.0)
ARGUMENTS = {
    "dataset": "cifar100",
    "activation": "elu",
    "batch_norm": False,
    "seed": 0,
    "padding": "caffe",
    "schedule": "paper",
    "epochs": 0,  # of quick; 0: 30
    "smoke": False,
}


def get_config(arg: str = "") -> ConfigDict:
    return build(arguments.parse(arg, **ARGUMENTS))


def build(args: dict) -> ConfigDict:
    # `valid` leaves no pixels of 32 x 32 images after stack 4.
    errors.check_choice("padding", args["padding"], ("caffe", "same"))
    config = common.elu_cifar(args)
    config.name = f"elu_cifar_18-{args['dataset']}"
    if args["padding"] == "same":
        config.name += "-same"
    config.schedule_epochs = 510
    config.model.name = "elu_cifar_18"
    config.model.padding = args["padding"]
    if args["schedule"] == "quick":
        return _quick(config, args["epochs"] or 30)
    if args["schedule"] != "paper":
        raise errors.unknown_name_error("schedule", args["schedule"], ("paper", "quick"))
    if args["epochs"]:
        raise errors.UsageError(
            "Only schedule=quick has another number of epochs. Received: epochs="
            f"{args['epochs']}. Add schedule=quick, or remove epochs."
        )
    config.train.epochs = 2 if config.smoke else 510
    config.train.boundaries = (4,) if config.smoke else (35_000,)
    config.train.learning_rates = (0.01, 0.001)
    config.train.phase_boundaries = (8, 14) if config.smoke else (165_000, 215_000)
    config.train.dropout = (DROPOUT, DROPOUT, MORE_DROPOUT)
    config.train.dropout_placement = ("last", "all", "all")
    return config


def _quick(config: ConfigDict, epochs: int) -> ConfigDict:
    config.schedule, config.schedule_epochs = "quick", epochs
    config.name += f"-quick{epochs}"
    config.train.epochs = 2 if config.smoke else epochs
    images = config.data.train_examples or 50_000
    iterations = images // config.train.batch_size * config.train.epochs
    config.train.boundaries = (round(0.15 * iterations),)
    share = common.use_quick(config)
    config.model.init_scale = 1.0
    config.train.dropout = (tuple(share * rate for rate in DROPOUT),)
    config.train.dropout_placement = ("last",)
    return config
