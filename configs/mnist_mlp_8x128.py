"""MNIST MLP with eight hidden layers of 128 units: section 4.1.1, figure 2.

Command:   elu-zoo-train --config=mnist_mlp_8x128:activation=elu,seed=0
Arguments: activation, seed, batch_norm, smoke
Paper:     SGD, learning rate 0.01, batches of 64, 300 epochs, He's initialisation;
           the training error of ELU falls fastest, and the median activation of ELU
           units stays closest to zero. The paper states no numbers.
Ours:      results/results.md, from results/results.csv.
Time:      3 to 12 minutes for one run on two CPU cores.

Not in the paper, but in its authors' own framework: pixels / 255 without centring, no
momentum, zero biases, 50,000 images for training and 10,000 for validation.
"""

from ml_collections import ConfigDict

from elu_zoo.configs import arguments, common

ARGUMENTS = common.ARGUMENTS


def get_config(arg: str = "") -> ConfigDict:
    return build(arguments.parse(arg, **ARGUMENTS))


def build(args: dict) -> ConfigDict:
    config = common.mnist(args, epochs=300)
    config.name = config.model.name = "mnist_mlp_8x128"
    return config
