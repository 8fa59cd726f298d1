"""The autoencoder of figure 3 with linear outputs and squared error as its loss.

Command:   elu-zoo-train --config=mnist_autoencoder_mse:activation=elu,seed=0
Arguments: those of mnist_autoencoder
Paper:     "reconstruction error", without a formula; see mnist_autoencoder.py.
Time:      35 to 60 minutes a run on two CPU cores.

The loss is half the squared error, summed over pixels, a mean over images: the pair of
linear output and squared error in the authors' own framework.
"""

from ml_collections import ConfigDict

from elu_zoo.configs import mnist_autoencoder


def get_config(arg: str = "") -> ConfigDict:
    config = mnist_autoencoder.get_config(arg)
    config.name = "mnist_autoencoder_mse"
    config.train.loss = "half_squared_error"
    return config
