"""The autoencoder of figure 3 with linear outputs and squared error as its loss.

Command:   elu-zoo-train --config=mnist_autoencoder_mse:activation=elu,seed=0
Arguments: those of mnist_autoencoder
Paper:     "reconstruction error", without a formula; see mnist_autoencoder.py.
Time:      35 to 60 minutes a run on two CPU cores.

The loss is half the squared error, summed over pixels, a mean over images: the pair of
linear output and squared error in the authors' own framework. From He's initialisation
an ELU network's first outputs are large (a loss of 941, ReLU's 158), and it diverges
at 1e-2, 1e-3 and 3e-4 within ten steps, ReLU at 1e-2 only: 1e-4 is the highest of the
paper's rates at which both learn.
"""

from ml_collections import ConfigDict

from elu_zoo.configs import arguments, common

ARGUMENTS = dict(
    activation="elu", seed=0, batch_norm=False, learning_rate=1e-4, smoke=False
)


def get_config(arg: str = "") -> ConfigDict:
    args = arguments.parse(arg, **ARGUMENTS)
    config = common.mnist(args, epochs=500)
    config.name = "mnist_autoencoder_mse"
    if args["learning_rate"] != ARGUMENTS["learning_rate"]:
        # Runs at another rate get another folder.
        config.name += f"-lr{args['learning_rate']:g}"
    config.model.name = "mnist_autoencoder"
    config.train.loss = "half_squared_error"
    config.train.learning_rates = (args["learning_rate"],)
    config.train.evaluate_every = 1 if config.smoke else 5
    return config
