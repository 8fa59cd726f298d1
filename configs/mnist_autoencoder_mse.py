"""The autoencoder of figure 3 with linear outputs and a squared error as the loss.

Command:   elu-zoo-train --config=mnist_autoencoder_mse:activation=elu,seed=0
Arguments: those of mnist_autoencoder
Paper:     "reconstruction error", without a formula; see mnist_autoencoder.py.
Time:      35 to 60 minutes for one run on two CPU cores.

The loss is half the squared error, summed over pixels and averaged over images. The
authors' own framework combines linear outputs with this loss. With He's initialisation
the first outputs of an ELU network are large (first loss 941, with ReLU 158). ELU
diverges within ten steps at 1e-2, 1e-3 and 3e-4, ReLU only at 1e-2. 1e-4 is the highest
of the paper's learning rates at which both networks learn.
"""

from ml_collections import ConfigDict

from elu_zoo.configs import arguments, common

ARGUMENTS = dict(activation="elu", seed=0, batch_norm=False, learning_rate=1e-4, smoke=False)


def get_config(arg: str = "") -> ConfigDict:
    args = arguments.parse(arg, **ARGUMENTS)
    config = common.mnist(args, epochs=500)
    config.name = "mnist_autoencoder_mse"
    if args["learning_rate"] != ARGUMENTS["learning_rate"]:
        # Runs with different learning rates need different folders.
        config.name += f"-lr{args['learning_rate']:g}"
    config.model.name = "mnist_autoencoder"
    config.train.loss = "half_squared_error"
    config.train.learning_rates = (args["learning_rate"],)
    config.train.evaluate_every = 1 if config.smoke else 5
    return config
