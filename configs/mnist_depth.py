"""MNIST MLPs of several depths: the abstract's "networks with more than 5 layers".

Command:   elu-zoo-train --config=mnist_depth:hidden_layers=12,activation=elu,seed=0
Arguments: hidden_layers, activation, seed, batch_norm, smoke
Paper:     ELU leads "not only to faster learning, but also to significantly better
           generalization performance than ReLUs and LReLUs on networks with more than
           5 layers". The paper has no experiment with several depths.
Ours:      results/reproduction.md, from results/figures/depth.csv.
Time:      one or two minutes for one run on two CPU cores.

Layers of 128 units are trained as in mnist_mlp_8x128.py, but for 40 epochs, because
the losses in the paper's figure 2 stay flat after epoch 25.
"""

from ml_collections import ConfigDict

from elu_zoo.configs import arguments, common


def get_config(arg: str = "") -> ConfigDict:
    args = arguments.parse(arg, hidden_layers=8, **common.ARGUMENTS)
    config = common.mnist(args, epochs=40)
    config.name = f"mnist_depth-{args['hidden_layers']}"
    config.schedule = "ours"
    config.model.name = "mnist_mlp_8x128"
    config.model.hidden_layers = args["hidden_layers"]
    return config
