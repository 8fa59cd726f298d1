"""CIFAR-100 with eleven convolutional layers: section 4.2, figures 4 and 5.

Commands:  elu-zoo-train --config=elu_cifar_11:activation=elu,seed=0
           elu-zoo-train --config=elu_cifar_11:schedule=quick,activation=elu,seed=0
Arguments: dataset (cifar100, cifar10), activation, batch_norm, seed,
           schedule, epochs, validation, smoke; dropout_placement, padding, init_scale
Paper:     165,000 iterations; learning rate 0.01 to 35,000, then 0.005 to 85,000,
           0.0005 to 135,000, 0.00005; momentum 0.9, L2 decay 0.0005, dropout
           (0, .1, .2, .3, .4, .5, 0); whitened images, padded by 4 pixels, cropped and
           mirrored. CIFAR-100 test error of ten runs: ELU 28.75 +- 0.24 %, shifted ReLU
           29.35 +- 0.29 %, leaky ReLU 30.59 +- 0.29 %, ReLU 31.56 +- 0.37 %.
Ours:      results/results.md, from results/results.csv.
Time:      two CPU cores: 10 to 16 hours (paper), 2 (quick). H200: 13 minutes (paper).

Not in the paper: batches of 100, so that 165,000 iterations are 330 epochs; "caffe"
padding of the 2 x 2 convolutions, equal sizes in others; dropout after the pooling (its
text says before); linear class maps, averaged; zero biases without decay; kernels normal
with variance 2 / fan-in; bfloat16 products in convolutions (on CPUs without bfloat16 use
`--config.train.precision=float32`). The last three arguments try other readings.

`quick` is our schedule, with 30 epochs by default. Set its length by `epochs`, because
--config.train.epochs does not move the boundary; with the schedule of the paper,
`epochs` selects the first epochs. `quick` has Muon for convolutions, kernels of variance
1 / fan-in, and a quarter of the paper's dropout; above 60 epochs a half, with cutout.
See results/tuning.md for its choice, and for `validation`.
"""

from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.configs import arguments, common

DROPOUT = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.0)  # of each stack
SCHEDULES = "paper", "quick"
PAPER_EPOCHS = 330
ARGUMENTS = {
    "dataset": "cifar100",
    "activation": "elu",
    "batch_norm": False,
    "seed": 0,
    "schedule": "paper",
    "epochs": 0,
    "validation": False,
    "smoke": False,
    "dropout_placement": "last",
    "padding": "caffe",
    "init_scale": 0.0,  # 0: that of the schedule
}


def get_config(arg: str = "") -> ConfigDict:
    return build(arguments.parse(arg, **ARGUMENTS))


def build(args: dict) -> ConfigDict:
    schedule = args["schedule"]
    errors.check_choice("schedule", schedule, SCHEDULES)
    config = common.elu_cifar(args)
    config.schedule = schedule
    complete = PAPER_EPOCHS if schedule == "paper" else args["epochs"] or 30
    epochs = args["epochs"] or complete
    if epochs > complete:
        raise errors.UsageError(f"The paper's schedule has {complete} epochs. Received: {epochs}.")
    config.schedule_epochs = complete
    config.name = f"elu_cifar_11-{args['dataset']}"
    if schedule != "paper" or epochs != PAPER_EPOCHS:
        # Runs of different lengths need different folders.
        config.name += f"-{schedule}{epochs}"
    if args["validation"]:
        config.name += "-validation"
    config.model.name = "elu_cifar_11"
    config.data.train_on_validation = not args["validation"]
    config.train.epochs = 2 if config.smoke else epochs
    config.train.dropout_placement = (args["dropout_placement"],)
    config.model.padding = args["padding"]
    if schedule == "paper":
        _use_paper_rates(config)
    else:
        _use_quick(config)
    if args["init_scale"]:
        config.model.init_scale = args["init_scale"]
        config.name += f"-init{args['init_scale']:g}"
    for key in "dropout_placement", "padding":
        if args[key] != ARGUMENTS[key]:
            config.name += f"-{args[key]}"
    return config


def _iterations(config: ConfigDict) -> int:
    images = 50_000 if config.data.train_on_validation else 45_000
    images = config.data.train_examples or images
    return images // config.train.batch_size * config.train.epochs


def _use_paper_rates(config: ConfigDict) -> None:
    boundaries = (4, 8, 12) if config.smoke else (35_000, 85_000, 135_000)
    reached = tuple(b for b in boundaries if b < _iterations(config))
    config.train.boundaries = reached
    rates = 0.01, 0.005, 0.0005, 0.00005
    config.train.learning_rates = rates[: len(reached) + 1]
    config.train.dropout = (DROPOUT,)


def _use_quick(config: ConfigDict) -> None:
    share = common.use_quick(config)
    config.train.boundaries = (round(0.15 * _iterations(config)),)
    config.model.init_scale = 1.0
    config.train.dropout = (tuple(share * rate for rate in DROPOUT),)
