"""MNIST MLP with five hidden layers of 256 units each: appendix C, figure 7.

Command:   elu-zoo-train --config=mnist_mlp_5x256:activation=elu,seed=0
Arguments: activation, seed, batch_norm, smoke
Paper:     learning rate 0.01, 200 epochs, ELU and ReLU; the units' median activations
           vary much more in the ReLU network. The paper states no numbers.
Ours:      results/results.md, from results/results.csv.
Time:      3 to 20 minutes for one run on two CPU cores.

Not in the paper: batches of 64, and the settings that mnist_mlp_8x128.py lists.
"""

from ml_collections import ConfigDict

from elu_zoo.configs import arguments, common

ARGUMENTS = common.ARGUMENTS


def get_config(arg: str = "") -> ConfigDict:
    return build(arguments.parse(arg, **ARGUMENTS))


def build(args: dict) -> ConfigDict:
    config = common.mnist(args, epochs=200)
    config.name = config.model.name = "mnist_mlp_5x256"
    return config
