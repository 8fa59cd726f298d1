"""The baselines of Table 1 on CIFAR, trained by the recipes of their authors.

Command:   elu-zoo-train --config=table1_baselines:net=nin,activation=elu,seed=0
           elu-zoo-train --config=table1_baselines:net=nin,schedule=quick
Arguments: net (alexnet_cifar, nin, dsn, maxout, allcnn_c, highway_19, fmp), dataset
           (cifar10, cifar100), activation, batch_norm, seed, schedule, epochs,
           validation, smoke
Paper:     test errors in %, CIFAR-10 and CIFAR-100: AlexNet 18.04 and 45.80, DSN 7.97
           and 34.57, NiN 8.81 and 35.68, Maxout 9.38 and 38.57, All-CNN 7.25 and
           33.71, Highway Network 7.60 and 32.24, Fractional Max-Pooling 4.50 and
           27.62; ELU-Network 6.55 and 24.28. The paper describes only the training of
           the ELU-Network.
Ours:      results/runs.md, from results/results.csv; `elu-zoo-reproduce rivals`.
Time:      minutes for 4 epochs of CIFAR-100 with schedule=fast, two runs at once on two
           CPU cores: alexnet_cifar 3, nin 42, allcnn_c 52, highway_19 55. Hours with
           schedule=quick, one run: nin 2, allcnn_c 2.5. H200: 2 minutes.

The default activation is that of the network's authors. `schedule=paper` is the recipe
of the network's authors; results/baselines.md has each recipe and our deviations.
`fast` (4 epochs, float32) and `quick` (30 epochs, for nin and allcnn_c) are our
schedules; `epochs` changes their length. Both have batches of 100, a learning rate that
rises and falls linearly, and padding by 4 zeros and crops. `fast` has SGD and half of
the dropout. `quick` has Muon and a quarter of it, as elu_cifar_11.
results/tuning.md describes the choice of the learning rates.
"""

from typing import Any

from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.configs import arguments, common

# (Name of a variable, factor on its learning rate).
_MAXOUT_CONVOLUTIONS = tuple(
    (f"{name}/{kind}", 0.05) for name in ("h0", "h1", "h2") for kind in ("kernel", "bias")
)
_CLASS_MAPS = (("classifier/kernel", 0.1), ("classifier/bias", 0.2), ("bias", 2.0))
_HEADS = tuple(
    entry for i in (1, 2, 3) for entry in ((f"head{i}/kernel", 0.001), (f"head{i}/bias", 0.002))
)
# For each network: the default activation, fields of config.model and config.train,
# the padding or config.data of another augmentation, and the peak learning rate of
# schedule=fast.
NETS = {
    "alexnet_cifar": {
        "activation": "relu",
        "model": {"kernel_decay": 0.004, "classifier_decay": 1.0},
        "train": {
            "batch_size": 100, "epochs": 140, "learning_rates": (1e-3, 1e-4, 1e-5),
            "boundaries": (60 / 70, 65 / 70), "learning_rate_factors": (("bias", 2.0),),
        },
        "padding": 0,
        "peak": 0.01,
    },
    "nin": {
        "activation": "relu",
        "model": {"kernel_decay": 0.0001, "dropout": 0.5},
        "train": {
            "batch_size": 128, "epochs": 260, "learning_rates": (0.1, 0.01, 0.001),
            "boundaries": (200 / 260, 230 / 260), "learning_rate_factors": _CLASS_MAPS,
        },
        "padding": 4,
        "peak": 0.1,
    },
    "dsn": {
        "activation": "relu",
        "model": {"kernel_decay": 0.0005, "dropout": 0.5, "auxiliary_heads": True},
        "train": {
            "batch_size": 100, "epochs": 400, "learning_rates": (0.025, 0.00125, 1e-4),
            "boundaries": (150_001 / 200_000, 0.85), "heads_until": 0.25,
            "learning_rate_factors": (*_HEADS, *_CLASS_MAPS), "loss": "squared_hinge",
        },
        "padding": 4,
        "peak": 0.025,
    },
    "maxout": {
        "activation": "maxout",
        "model": {"constrained": True, "dropout": (0.2, 0.5, 0.5, 0.5, 0.5)},
        "train": {
            "batch_size": 128, "epochs": 474, "learning_rate_shape": "linear",
            "learning_rates": (0.17, 0.17 * (1 - 0.99 * 474 / 500)), "momentum": 0.65,
            "momentum_rise": (0.5, 250 / 474),
            "learning_rate_factors": _MAXOUT_CONVOLUTIONS,
        },
        "padding": 8,
        "peak": 0.17,
    },
    "allcnn_c": {
        "activation": "relu",
        "model": {"kernel_decay": 0.001, "dropout": (0.2, 0.5, 0.5)},
        "train": {
            "batch_size": 256, "epochs": 350,
            "learning_rates": (0.05, 0.005, 0.0005, 0.00005),
            "boundaries": (200 / 350, 250 / 350, 300 / 350),
        },
        "padding": 5,
        "peak": 0.05,
    },
    "highway_19": {
        "activation": "relu",
        "model": {
            "kernel_decay": 0.001, "classifier_decay": 0.01, "dropout": 0.2,
            # Caffe's default. Caffe does not read the 0.05 of the authors' file.
            "first_deviation": 1.0,
        },
        "train": {
            "batch_size": 100, "epochs": 400, "nesterov": True,
            "learning_rates": (0.025, 0.0025, 0.00025, 0.000025),
            "boundaries": (0.5, 0.75, 0.875),
            "learning_rate_factors": (("bias", 2.0),),
        },
        "padding": 8,
        "peak": 0.025,
    },
    "fmp": {
        "activation": "very_leaky_relu",
        "model": {"dropout": 0.5, "filters": 160, "regions": "pseudorandom"},
        "train": {
            "batch_size": 50, "epochs": 810, "momentum": 0.99, "nesterov": True,
            # In the original, .003 multiplies the sum of the gradients of 50 images and
            # 1 - momentum, so that the rate here is .003 * 50 * .01 = 1.5e-3.
            "learning_rates": (1.5e-3, 2.613e-5), "learning_rate_shape": "exponential",
        },
        "padding": 0,
        "data": {
            "augmentation": "affine_recolor", "field_size": 94, "whole_epochs": 10,
        },
        "peak": 0.01,
    },
}  # fmt: skip
# Changes of the recipes when the data set is CIFAR-100.
_CIFAR100 = {
    "nin": {
        "model": {"kernel_decay": 0.0005, "deviations": (0.001, 0.01, 0.05)},
        "train": {
            "learning_rates": (0.02, 0.002, 0.0002),
            "learning_rate_factors": (("bias", 2.0),),
        },
        "padding": 0,
    },
    "dsn": {"train": {"loss": "softmax_cross_entropy"}, "padding": 0},
    "maxout": {
        "train": {
            "epochs": 785, "boundaries": (500 / 785,), "momentum": 0.6,
            "learning_rates": (0.17, 0.0017, 0.0017), "momentum_rise": (0.5, 250 / 785),
        },
        "padding": 0,
    },
    "highway_19": {"model": {"classifier_deviation": 0.1414}},
    "fmp": {"model": {"dropout": 0.0}},
}  # fmt: skip
SCHEDULES = "paper", "fast", "quick"
# Muon keeps the norm of kernels. `quick` is for networks whose initial kernels can have
# variance 1 / fan-in.
QUICK_NETS = "nin", "allcnn_c"
ARGUMENTS = {
    "net": "nin",
    "dataset": "cifar100",
    "activation": "",
    "batch_norm": False,
    "seed": 0,
    "schedule": "paper",
    "epochs": 0,
    "validation": False,
    "smoke": False,
}
_SHORT_EPOCHS = {"fast": 4, "quick": 30}
_SMOKE_WIDTHS = {"fmp": 0.02, "highway_19": 0.2, "alexnet_cifar": 0.25}


def get_config(arg: str = "") -> ConfigDict:
    return build(arguments.parse(arg, **ARGUMENTS))


def build(args: dict) -> ConfigDict:
    net, dataset, schedule = args["net"], args["dataset"], args["schedule"]
    _check(args)
    short = schedule != "paper"
    recipe = _recipe(net, "cifar100" in dataset)
    if short:
        recipe["train"]["epochs"] = args["epochs"] or _SHORT_EPOCHS[schedule]
    epochs = recipe["train"]["epochs"]
    activation = args["activation"] or recipe["activation"]
    config = common.base({**args, "activation": activation})
    config.schedule = schedule
    config.schedule_epochs = epochs
    config.name = f"table1_baselines-{net}-{dataset}"
    if short:
        config.name += f"-{schedule}{epochs}"
    if args["validation"]:
        config.name += "-validation"

    config.model.name = net
    config.model.width = _SMOKE_WIDTHS.get(net, 0.1) if config.smoke else 1.0
    config.model.update(recipe["model"])

    config.data.name = dataset
    config.data.train_examples = 1000 if config.smoke else 0
    config.data.train_on_validation = not args["validation"]
    padding = 4 if short else recipe["padding"]
    if padding:
        config.data.augmentation = "pad_crop_flip"
        config.data.padding = padding
    elif "data" in recipe:
        config.data.update(recipe["data"])
        if config.smoke:
            config.data.whole_epochs = 1

    config.train.momentum = 0.9
    config.train.update(recipe["train"])
    config.train.epochs = 2 if config.smoke else epochs
    config.train.precision = "bfloat16_conv"
    config.train.checkpoint_every = 5 if config.smoke else 500
    if short:
        _use_short_schedule(config, recipe["peak"])
    return config


def _check(args: dict) -> None:
    net, schedule = args["net"], args["schedule"]
    if net not in NETS:
        raise errors.unknown("net", net, NETS)
    if schedule not in SCHEDULES:
        raise errors.unknown("schedule", schedule, SCHEDULES)
    if schedule == "quick" and net not in QUICK_NETS:
        raise errors.UsageError(
            f"schedule=quick is only for net={' and net='.join(QUICK_NETS)}. Received: "
            f"net={net}. Pass schedule=fast, or one of these networks."
        )
    if args["epochs"] and schedule == "paper":
        raise errors.UsageError(
            "epochs needs schedule=fast or schedule=quick. Received: schedule=paper. "
            "Remove epochs, or pass another schedule."
        )


def _recipe(net: str, is_cifar100: bool) -> dict[str, Any]:
    """Returns the recipe of a network for one of the two data sets."""
    recipe = dict(NETS[net])
    changes = _CIFAR100.get(net, {}) if is_cifar100 else {}
    for key in ("model", "train"):
        recipe[key] = {**recipe[key], **changes.get(key, {})}
    recipe["padding"] = changes.get("padding", recipe["padding"])
    return recipe


def _use_short_schedule(config: ConfigDict, peak: float) -> None:
    train, model = config.train, config.model
    train.batch_size = 100
    train.momentum = 0.9
    train.boundaries = (0.15,)
    if "momentum_rise" in train:
        del train.momentum_rise
    # With the small deviations of nin for CIFAR-100, the error of the first epoch stays
    # at chance level.
    if "deviations" in model:
        del model.deviations
    if config.schedule == "quick":
        share = common.use_quick(config)
        if model.name == "nin":
            model.init_scale = 1.0  # allcnn_c always has this variance
        if "learning_rate_factors" in train:
            del train.learning_rate_factors
    else:
        share = 0.5
        train.nesterov = True
        train.learning_rate_shape = "linear"
        train.learning_rates = (0.0, peak, 0.0)
        # On a CPU without bfloat16 matrix units, bfloat16 takes 1.5 times as long.
        train.precision = "float32"
    if "dropout" in model:
        rates = model.dropout
        is_tuple = isinstance(rates, tuple)
        model.dropout = tuple(r * share for r in rates) if is_tuple else rates * share
