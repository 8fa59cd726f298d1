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
Ours:      results/results.md, from results/results.csv.
Time:      hours on two CPU cores with schedule=quick: nin 1 to 2, allcnn_c 2.2 to 2.5; with 15
           epochs dsn 0.6 to 1.7, highway_19 0.9 to 1.6. H200: 2 minutes (nin, allcnn_c).

The default activation is that of the network's authors. `schedule=paper` is the recipe
of the network's authors; results/baselines.md has each recipe and our deviations.
`quick` is our schedule, of 30 epochs or of `epochs`: batches of 100, crops of images
padded by 4 zeros, Muon with the learning rates of elu_cifar_11, a quarter of the dropout
(above 60 epochs a half, with cutout), dsn without its auxiliary heads, and fmp as its
author's smaller network.
Initial kernels of nin, dsn and highway_19 were tried (results/tuning.md), others were not.
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
# and the padding or config.data of another augmentation.
NETS: dict[str, dict] = {
    "alexnet_cifar": {
        "activation": "relu",
        "model": {"kernel_decay": 0.004, "classifier_decay": 1.0},
        "train": {
            "batch_size": 100, "epochs": 140, "learning_rates": (1e-3, 1e-4, 1e-5),
            "boundaries": (60 / 70, 65 / 70), "learning_rate_factors": (("bias", 2.0),),
        },
        "padding": 0,
    },
    "nin": {
        "activation": "relu",
        "model": {"kernel_decay": 0.0001, "dropout": 0.5},
        "train": {
            "batch_size": 128, "epochs": 260, "learning_rates": (0.1, 0.01, 0.001),
            "boundaries": (200 / 260, 230 / 260), "learning_rate_factors": _CLASS_MAPS,
        },
        "padding": 4,
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
    },
}  # fmt: skip
# Changes of the recipes when the data set is CIFAR-100.
_CIFAR100: dict[str, dict] = {
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
SCHEDULES = "paper", "quick"
# config.model of schedule=quick. Muon keeps the norm of kernels, so that the initial
# kernels of allcnn_c and fmp are theirs, and others have a larger or smaller variance.
_QUICK = {
    "alexnet_cifar": {"init_scale": 0.05},  # its pixels have a deviation of 60
    "nin": {"init_scale": 1.0},
    "dsn": {"init_scale": 2.0},
    "maxout": {"init_scale": 1.0, "constrained": False},
    "highway_19": {"first_deviation": 0.05},  # of its authors' file
    "fmp": {"filters": 32, "regions": "random"},  # its author's smaller network
}
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
_QUICK_EPOCHS = 30
_SMOKE_WIDTHS = {"fmp": 0.02, "highway_19": 0.2, "alexnet_cifar": 0.25}


def get_config(arg: str = "") -> ConfigDict:
    return build(arguments.parse(arg, **ARGUMENTS))


def build(args: dict) -> ConfigDict:
    net, dataset, schedule = args["net"], args["dataset"], args["schedule"]
    _check(args)
    is_quick = schedule == "quick"
    recipe = _recipe(net, "cifar100" in dataset)
    if is_quick:
        recipe["train"]["epochs"] = args["epochs"] or _QUICK_EPOCHS
    epochs = recipe["train"]["epochs"]
    activation = args["activation"] or recipe["activation"]
    config = common.base({**args, "activation": activation})
    config.schedule = schedule
    config.schedule_epochs = epochs
    config.name = f"table1_baselines-{net}-{dataset}"
    if is_quick:
        config.name += f"-{schedule}{epochs}"
    if args["validation"]:
        config.name += "-validation"

    config.model.name = net
    config.model.width = _SMOKE_WIDTHS.get(net, 0.1) if config.smoke else 1.0
    config.model.update(recipe["model"])

    config.data.name = dataset
    config.data.train_examples = 1000 if config.smoke else 0
    config.data.train_on_validation = not args["validation"]
    if recipe["padding"]:
        config.data.augmentation = "pad_crop_flip"
        config.data.padding = recipe["padding"]
    elif "data" in recipe:
        config.data.update(recipe["data"])
        if config.smoke:
            config.data.whole_epochs = 1

    config.train.momentum = 0.9
    config.train.update(recipe["train"])
    config.train.epochs = 2 if config.smoke else epochs
    config.train.precision = "bfloat16_conv"
    config.train.checkpoint_every = 5 if config.smoke else 500
    if is_quick:
        _use_quick(config)
    return config


def _check(args: dict) -> None:
    net, schedule = args["net"], args["schedule"]
    errors.check_choice("net", net, NETS)
    errors.check_choice("schedule", schedule, SCHEDULES)
    if args["epochs"] and schedule == "paper":
        raise errors.UsageError(
            "epochs needs schedule=quick. Received: schedule=paper. Remove epochs, or pass "
            "schedule=quick."
        )


def _recipe(net: str, is_cifar100: bool) -> dict[str, Any]:
    """Returns the recipe of a network for one of the two data sets."""
    recipe = dict(NETS[net])
    changes = _CIFAR100.get(net, {}) if is_cifar100 else {}
    for key in ("model", "train"):
        recipe[key] = {**recipe[key], **changes.get(key, {})}
    recipe["padding"] = changes.get("padding", recipe["padding"])
    return recipe


def _use_quick(config: ConfigDict) -> None:
    shorten(config, common.use_quick(config))
    config.model.update(_QUICK.get(config.model.name, {}))


def shorten(config: ConfigDict, dropout: float) -> None:
    """Replaces what fits only hundreds of epochs, such as batches, factors and dropout.

    Args:
        dropout: factor on the dropout rates of the network's authors.
    """
    data, train, model = config.data, config.train, config.model
    data.augmentation = "pad_crop_flip"
    data.padding = 4
    train.batch_size = 100
    train.momentum = 0.9
    train.boundaries = (0.15,)
    # With the small deviations of nin for CIFAR-100, the error of the first epoch stays
    # at chance level.
    for fields, name in (
        *((data, "field_size"), (data, "whole_epochs")),
        *((train, "momentum_rise"), (train, "learning_rate_factors"), (model, "deviations")),
    ):
        if name in fields:
            del fields[name]
    if "heads_until" in train:  # heads double the time of a step
        model.auxiliary_heads = False
        train.heads_until = 1.0
    if "dropout" in model:
        rates = model.dropout
        is_tuple = isinstance(rates, tuple)
        model.dropout = tuple(r * dropout for r in rates) if is_tuple else rates * dropout
