"""Fine-tuning: pretrained weights, other classes and images.

Command:   elu-zoo-train --config=finetune:model=elu_cifar_11,weights=cifar100 \\
               --data=my_photos/
Arguments: model, weights (as of get_model; none trains from scratch), activation (by
           default the weights'), freeze (none, body, or stacks: stack1+stack2),
           learning_rate, epochs, examples (of the training split, 0: all), validation,
           seed, smoke
Paper:     nothing.
Ours:      results/results.csv.
Time:      elu_cifar_11, 300 batches of 100: two minutes on one CPU core.

Every layer except the classifier starts from the weights. Images get the shape and the
preprocessing of the weights. The other fields are those of the network's config (of the
CIFAR networks: `fast`), except for Nesterov's momentum and a learning rate that rises
for 15 % of the run and falls to zero. `freeze=body` trains the classifier only.
`validation=False` trains on the validation images too, without a validation error.

The learning rate is .01, or less if the steps of the network's config are shorter at
the momentum used here: .001 for the MLPs, .0001 for the autoencoder. Errors of
elu_cifar_11 at other rates: results/tuning.md.
"""

import re
from typing import Any

from ml_collections import ConfigDict, config_dict

from elu_zoo import errors
from elu_zoo.configs import (
    arguments,
    common,
    elu_cifar_11,
    elu_cifar_18,
    elu_imagenet_15,
    mnist_autoencoder,
    mnist_mlp_5x256,
    mnist_mlp_8x128,
    table1_baselines,
)

_MOMENTUM = 0.9
# Configs of networks of the paper.
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
        learning_rate=0.0,
        epochs=20,
        examples=0,
        validation=True,
        seed=0,
        smoke=False,
    )
    config = _of_network(args["model"], {key: args[key] for key in ("seed", "smoke")})
    if not args["weights"]:
        raise errors.UsageError(
            "weights is a data set's name, a tag, a run's folder or none, not empty."
        )
    frozen = args["freeze"] if args["freeze"] != "none" else ""
    config.schedule = "fast"
    config.schedule_epochs = args["epochs"]
    parts = ["finetune", args["model"], re.sub(r"\W+", "_", args["weights"]).strip("_")]
    parts += [str(args["examples"])] if args["examples"] else []
    parts += [frozen] if frozen else []
    config.name = "-".join(parts)
    _leave_to_weights(config, args)
    config.data.train_examples = 200 if config.smoke else args["examples"]
    config.train.freeze = tuple(frozen.split("+")) if frozen else ()
    config.train.epochs = 2 if config.smoke else args["epochs"]
    # A step of momentum m is 1 / (1 - m) times as long in the end.
    own = max(config.train.learning_rates) / (1 - config.train.momentum)
    rate = args["learning_rate"] or min(0.01, own * (1 - _MOMENTUM))
    config.train.momentum = _MOMENTUM
    config.train.nesterov = True
    config.train.learning_rate_shape = "linear"
    config.train.boundaries = (0.15,)
    config.train.learning_rates = (0.0, rate, 0.0)
    if "dropout" in config.train:  # one phase, the network's first
        config.train.phase_boundaries = ()
        config.train.dropout = config.train.dropout[:1]
        config.train.dropout_placement = config.train.dropout_placement[:1]
    return config


def _leave_to_weights(config: ConfigDict, args: dict[str, Any]) -> None:
    """Names the weights; None and "" stand for values of the weights."""
    fields = common.pretrained()
    if "folder" in config.data:  # of images, which are resized to data.image_size
        del fields.data.image_shape
    else:
        config.data.name = ""  # --data names it
        config.data.train_on_validation = not args["validation"]
    config.update(fields)
    config.model.weights = "" if args["weights"] == "none" else args["weights"]
    config.model.activation.name = args["activation"]
    config.model.batch_norm = config_dict.placeholder(bool)
    config.model.width = config_dict.placeholder(float)
    if "padding" in config.model:
        config.model.padding = config_dict.placeholder(str)


def _of_network(model: str, given: dict[str, Any]) -> ConfigDict:
    """Returns the config of a network; a user's network gets that of the MNIST MLP."""
    if model in table1_baselines.NETS:
        return _of_baseline(model, given)
    experiment = _EXPERIMENTS.get(model, mnist_mlp_8x128)
    args = {**experiment.ARGUMENTS, **given}
    if "schedule" in args:
        args["schedule"] = "fast"
    config = experiment.build(args)
    config.model.name = model
    return config


def _of_baseline(model: str, given: dict[str, Any]) -> ConfigDict:
    args = {**table1_baselines.ARGUMENTS, "net": model, "schedule": "fast", **given}
    config = table1_baselines.build(args)
    if "heads_until" in config.train:  # weights have no auxiliary heads
        config.model.auxiliary_heads = False
        del config.train.heads_until
    if "learning_rate_factors" in config.train:  # the new classifier learns as fast
        del config.train.learning_rate_factors
    if model == "fmp":  # dropout scales its maps after training as well
        config.model.dropout = config_dict.placeholder(float)
    return config
