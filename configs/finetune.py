"""Other classes, other images: a network that goes on from pretrained weights.

Command:   elu-zoo-train --config=finetune:model=elu_cifar_11,weights=cifar100 \\
               --data=my_photos/
Arguments: model, weights (as of get_model; none trains from scratch), activation (by
           default the weights'), freeze (none, body, or stacks: stack1+stack2),
           learning_rate, epochs, examples (of the training split, 0: all), validation,
           seed, smoke
Paper:     nothing.
Ours:      results/results.csv.
Time:      elu_cifar_11, 300 batches of 100: two minutes on one CPU core.

Every layer but the classifier starts from the weights, and images are resized to the
shape and preprocessed as those that the weights were trained on. The rest is the
network's own config, of the CIFAR networks its `fast` schedule, except for a learning
rate that rises for 15 % of the run and falls to zero, and Nesterov's momentum.
`freeze=body` trains the new classifier alone. With `validation=False` the validation
images are trained on as well, and runs are measured at their end only.

The learning rate is .01, or less where the network's own config, with the momentum
here, would take shorter steps: .001 for the MLPs, .0001 for the autoencoder. For
elu_cifar_11, by errors on validation images of CIFAR-10 after 30 epochs of 500
images and 6 epochs of 5,000, ELU, one seed (a dash: it diverged):

    rate                     .003     .01      .03      .1
    500, from CIFAR-100      35.9 %   33.3 %   32.1 %
    500, from nothing                 61.6 %   -        -
    5,000, from CIFAR-100    27.5 %   23.2 %   21.2 %
    5,000, from nothing                        -        -

The comparison in results/results.csv takes .03 from CIFAR-100 and .01 from nothing.
"""

import importlib
import importlib.util
import re

from ml_collections import ConfigDict, config_dict

from elu_zoo import errors
from elu_zoo.configs import arguments, table1_baselines

_MOMENTUM = 0.9


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
    model, weights, freeze = args["model"], args["weights"], args["freeze"]
    config = _of_network(model, f"seed={args['seed']},smoke={args['smoke']}")
    if not weights:
        raise errors.UsageError(
            "weights is a data set's name, a tag, a run's folder or none, not empty."
        )
    epochs = 2 if config.smoke else args["epochs"]
    # A step of momentum m is 1 / (1 - m) times as long in the end.
    own = max(config.train.learning_rates) / (1 - config.train.momentum)
    rate = args["learning_rate"] or min(0.01, own * (1 - _MOMENTUM))
    config.schedule = "fast"
    config.schedule_epochs = args["epochs"]
    parts = ["finetune", model, re.sub(r"\W+", "_", weights).strip("_")]
    parts += [str(args["examples"])] if args["examples"] else []
    parts += [freeze] if freeze not in ("", "none") else []
    config.name = "-".join(parts)

    config.model.weights = "" if weights == "none" else weights
    # None and "" are the weights' own, without weights the builder's.
    config.model.activation.name = args["activation"]
    config.model.batch_norm = config_dict.placeholder(bool)
    config.model.width = config_dict.placeholder(float)
    if "padding" in config.model:
        config.model.padding = config_dict.placeholder(str)

    if "folder" not in config.data:
        config.data.name = ""  # --data names it
        config.data.image_shape = ()  # (height, width, channels); () as above
        config.data.train_on_validation = not args["validation"]
    config.data.train_examples = 200 if config.smoke else args["examples"]

    named = freeze not in ("", "none")
    config.train.freeze = tuple(freeze.split("+")) if named else ()
    config.train.epochs = epochs
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


def _of_network(model: str, arg: str) -> ConfigDict:
    """Returns the config that trains a network; of your own one the MNIST MLP's."""
    if model in table1_baselines.NETS:
        config = table1_baselines.get_config(f"net={model},schedule=fast,{arg}")
        if "heads_until" in config.train:  # weights have no auxiliary heads
            config.model.auxiliary_heads = False
            del config.train.heads_until
        if "learning_rate_factors" in config.train:  # the new classifier learns as fast
            del config.train.learning_rate_factors
        if model == "fmp":  # whose maps are scaled by it after training
            config.model.dropout = config_dict.placeholder(float)
        return config
    name = f"elu_zoo.configs.{model}"
    own = model.isidentifier() and importlib.util.find_spec(name)
    module = importlib.import_module(name if own else "elu_zoo.configs.mnist_mlp_8x128")
    schedule = ",schedule=fast" if model == "elu_cifar_11" else ""
    config = module.get_config(arg + schedule)
    config.model.name = model
    return config
