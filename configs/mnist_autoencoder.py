"""Deep autoencoder on MNIST, 784-1000-500-250-30-250-500-1000-784: figure 3.

Command:   elu-zoo-train --config=mnist_autoencoder:activation=elu,seed=0
Arguments: activation, seed, batch_norm, learning_rate, smoke
Paper:     section 4.1.2. SGD, batches of 64, 500 epochs, learning rates 1e-2, 1e-3,
           1e-4 and 1e-5; ELU has the lowest reconstruction error at each, and higher
           rates do better. The figure has no numbers.
Ours:      results/runs.md, from results/results.csv.
Time:      35 to 60 minutes a run on two CPU cores.

Not in the paper, from the benchmark's own code (Martens, 2010): the loss is sigmoid
cross-entropy, summed over pixels; what is reported is the squared error of the sigmoid,
summed over pixels; both are means over images. The code of 30 units is linear. With
this loss 1e-2 diverges for ELU and ReLU, within the first epoch: 1e-3 is the highest
of the paper's rates that does not. mnist_autoencoder_mse.py is the other reading.
As for the classifiers: pixels / 255, no momentum, He uniform, zero biases.
"""

from ml_collections import ConfigDict

from elu_zoo.configs import arguments, common

ARGUMENTS = dict(
    activation="elu", seed=0, batch_norm=False, learning_rate=1e-3, smoke=False
)


def get_config(arg: str = "") -> ConfigDict:
    return build(arguments.parse(arg, **ARGUMENTS))


def build(args: dict) -> ConfigDict:
    config = common.mnist(args, epochs=500)
    config.name = config.model.name = "mnist_autoencoder"
    if args["learning_rate"] != ARGUMENTS["learning_rate"]:
        # Runs at another rate get another folder.
        config.name += f"-lr{args['learning_rate']:g}"
    config.train.loss = "sigmoid_cross_entropy"
    config.train.learning_rates = (args["learning_rate"],)
    config.train.evaluate_every = 1 if config.smoke else 5
    return config
