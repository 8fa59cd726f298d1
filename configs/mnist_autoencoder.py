"""Deep autoencoder on MNIST, 784-1000-500-250-30-250-500-1000-784: figure 3.

Command:   elu-zoo-train --config=mnist_autoencoder:activation=elu,seed=0
Arguments: activation, seed, batch_norm, learning_rate, smoke
Paper:     section 4.1.2. SGD, batches of 64, 500 epochs, learning rates 1e-2, 1e-3,
           1e-4 and 1e-5; at each learning rate ELU has the lowest reconstruction error,
           and higher rates seem to do better. The paper states no numbers.
Ours:      results/results.md, from results/results.csv.
Time:      35 to 60 minutes for one run on two CPU cores.

Not in the paper, but in Martens' program for this benchmark (kfac's example): training
minimises the sigmoid cross-entropy, and the reported error is the squared error of the
sigmoid. Both are summed over pixels and averaged over images. The code layer of 30
units is linear. With this loss, training at 1e-2 diverges in the first epoch for ELU
and ReLU; 1e-3 is the highest of the paper's rates that does not diverge.
mnist_autoencoder_mse.py has linear outputs and a squared error instead.
Not in the paper either: pixels / 255, no momentum, He uniform kernels, zero biases.
"""

from ml_collections import ConfigDict

from elu_zoo.configs import arguments, common

ARGUMENTS = dict(activation="elu", seed=0, batch_norm=False, learning_rate=1e-3, smoke=False)


def get_config(arg: str = "") -> ConfigDict:
    return build(arguments.parse(arg, **ARGUMENTS))


def build(args: dict) -> ConfigDict:
    config = common.mnist(args, epochs=500)
    config.name = config.model.name = "mnist_autoencoder"
    if args["learning_rate"] != ARGUMENTS["learning_rate"]:
        # Runs with different learning rates need different folders.
        config.name += f"-lr{args['learning_rate']:g}"
    config.train.loss = "sigmoid_cross_entropy"
    config.train.learning_rates = (args["learning_rate"],)
    config.train.evaluate_every = 1 if config.smoke else 5
    return config
