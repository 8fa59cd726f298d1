"""Fine-tuning of pretrained weights on other classes and images.

Command:   elu-zoo-train --config=finetune:model=elu_cifar_11,weights=cifar100 \\
               --data=my_photos/
Arguments: model, weights (as in get_model; none trains from scratch), activation
           (default: that of the weights), freeze (none, body, or stacks such as
           stack1+stack2), image_size (pixels of a side, 0: as in the weights),
           learning_rate, epochs, examples (number of training images, 0: all),
           validation, keep_best, seed, smoke
Paper:     nothing.
Ours:      results/results.csv.
Time:      elu_cifar_11, 300 batches of 100: six minutes on two CPU cores; on CPUs and GPUs
           with bfloat16, --config.train.precision=bfloat16_conv is faster.

Every layer except the classifier starts from the weights. Images get the shape and the
preprocessing of the weights; at another size, the mean and scale of the training images
replace what fits one size. Crops are mirrored at random: if a mirror changes classes, as
of arrows, set --config.data.augmentation=none. The rest is the network's own config,
except for half of the dropout of elu_cifar_11 and the networks of Table 1, float32 in
place of bfloat16_conv, Nesterov's momentum, and a learning rate that rises for 15 % of
the run and falls to zero. Table 1's networks also have batches of 100, crops after
padding by 4 pixels, one learning rate, and the decay of their CIFAR-100 recipe.
`validation=False` trains on the validation images too. The learning rate is .01, for the
MLPs and alexnet_cifar .001, for the autoencoder .0001, so that steps are at most as long
as in the network's own config. Errors at other rates and sizes: results/tuning.md.
"""

import re
from typing import Any

from ml_collections import ConfigDict, config_dict

from elu_zoo import errors
from elu_zoo.configs import (
    arguments,
    elu_cifar_11,
    elu_cifar_18,
    elu_imagenet_15,
    mnist_autoencoder,
    mnist_mlp_5x256,
    mnist_mlp_8x128,
    table1_baselines,
)

_MOMENTUM = 0.9
_DROPOUT = {"elu_cifar_11": 0.5}  # factor on the paper's rates
# Config of each network of the paper. Other networks use mnist_mlp_8x128.
_EXPERIMENTS = {
    "elu_cifar_11": elu_cifar_11,
    "elu_cifar_18": elu_cifar_18,
    "elu_imagenet_15": elu_imagenet_15,
    "mnist_autoencoder": mnist_autoencoder,
    "mnist_mlp_5x256": mnist_mlp_5x256,
}


def get_config(arg: str = "") -> ConfigDict:
    args = arguments.parse(
        arg,
        model="elu_cifar_11",
        weights="cifar100",
        activation="",
        freeze="none",
        image_size=0,
        learning_rate=0.0,
        epochs=20,
        examples=0,
        validation=True,
        keep_best=False,
        seed=0,
        smoke=False,
    )
    config = _build_network(args["model"], {k: args[k] for k in ("seed", "smoke")})
    if not args["weights"]:
        raise errors.UsageError(
            "weights must be the name of a data set, a tag, the folder of a run or "
            "none. Received: weights=''."
        )
    size = args["image_size"]
    errors.check_integer("image_size", size, minimum=0)
    frozen = args["freeze"] if args["freeze"] != "none" else ""
    config.schedule = "ours"
    config.schedule_epochs = args["epochs"]
    parts = ["finetune", args["model"], re.sub(r"\W+", "_", args["weights"]).strip("_")]
    parts += [str(args["examples"])] if args["examples"] else []
    parts += [frozen] if frozen else []
    parts += [f"{size}px"] if size else []
    parts += [f"rate{args['learning_rate']:g}"] if args["learning_rate"] else []
    parts += ["best"] if args["keep_best"] else []
    config.name = "-".join(parts)
    _leave_to_weights(config, args)
    config.data.train_examples = 200 if config.smoke else args["examples"]
    config.train.freeze = tuple(frozen.split("+")) if frozen else ()
    config.train.epochs = 2 if config.smoke else args["epochs"]
    config.train.keep_best = args["keep_best"]
    if config.train.precision == "bfloat16_conv":  # ten times slower on most CPUs
        config.train.precision = "float32"
    # With momentum m, steps become 1 / (1 - m) times as long.
    longest = max(config.train.learning_rates) / (1 - config.train.momentum)
    rate = args["learning_rate"] or min(0.01, longest * (1 - _MOMENTUM))
    config.train.momentum = _MOMENTUM
    config.train.nesterov = True
    config.train.learning_rate_shape = "linear"
    config.train.boundaries = (0.15,)
    config.train.learning_rates = (0.0, rate, 0.0)
    if "dropout" in config.train:  # use only the first phase of the network
        config.train.phase_boundaries = ()
        share = _DROPOUT.get(args["model"], 1.0)
        first = tuple(share * rate for rate in config.train.dropout[0])
        config.train.dropout = (first,)
        config.train.dropout_placement = config.train.dropout_placement[:1]
    return config


def _leave_to_weights(config: ConfigDict, args: dict[str, Any]) -> None:
    """Sets the weights, and empties the fields whose values come from the weights."""
    size = args["image_size"]
    config.data.train_on_validation = not args["validation"]
    if "folder" in config.data:  # images are resized to data.image_size instead
        if size:
            raise errors.UsageError(
                f"{args['model']} crops its images. Set --config.data.image_size and "
                f"--config.data.crop_size instead of image_size. Received: {size}."
            )
    else:
        config.data.name = ""  # set by --data
        config.data.image_shape = (size, size) if size else ()
    config.model.weights = "" if args["weights"] == "none" else args["weights"]
    config.model.activation.name = args["activation"]
    config.model.batch_norm = config_dict.placeholder(bool)
    config.model.width = config_dict.placeholder(float)
    if "padding" in config.model:
        config.model.padding = config_dict.placeholder(str)


def _build_network(model: str, arguments: dict[str, Any]) -> ConfigDict:
    """Returns the config of a network."""
    if model in table1_baselines.NETS:
        return _build_baseline(model, arguments)
    experiment = _EXPERIMENTS.get(model, mnist_mlp_8x128)
    config = experiment.build({**experiment.ARGUMENTS, **arguments})
    config.model.name = model
    return config


def _build_baseline(model: str, arguments: dict[str, Any]) -> ConfigDict:
    config = table1_baselines.build({**table1_baselines.ARGUMENTS, "net": model, **arguments})
    table1_baselines.shorten(config, dropout=0.5)
    # The pixels of alexnet_cifar have a deviation of 60.
    config.train.learning_rates = (0.001 if model == "alexnet_cifar" else 0.01,)
    if model == "fmp":  # Weights decide the size, and the dropout, which scales maps at inference.
        for key, kind in (("dropout", float), ("filters", int), ("regions", str)):
            config.model[key] = config_dict.placeholder(kind)
    return config
