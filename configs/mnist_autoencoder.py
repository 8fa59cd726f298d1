"""Deep autoencoder on MNIST, 784-1000-500-250-30-250-500-1000-784: figure 3.

Command:   elu-zoo-train --config=mnist_autoencoder:activation=elu,seed=0
Arguments: activation, seed, batch_norm, learning_rate, mse, smoke
Paper:     section 4.1.2. SGD, batches of 64, 500 epochs, learning rates 1e-2, 1e-3,
           1e-4 and 1e-5; at each learning rate ELU has the lowest reconstruction error,
           and higher rates seem to do better. The paper states no numbers.
Ours:      results/results.md, from results/results.csv.
Time:      35 to 90 minutes for one run on two CPU cores.

Not in the paper, but in Martens' program for this benchmark (kfac's example): training
minimises the sigmoid cross-entropy, and the reported error is the squared error of the
sigmoid. Both are summed over pixels and averaged over images. The code layer of 30
units is linear. With this loss, training at 1e-2 diverges in the first epoch for ELU
and ReLU; 1e-3, the default, is the highest of the paper's rates that does not diverge.
Not in the paper either: pixels / 255, no momentum, He uniform kernels, zero biases.

With `mse` the outputs are linear and the loss is half the squared error, a combination
that Caffe has. The first loss of ELU is large (941, with ReLU 158), and it diverges in
ten steps at 1e-2, 1e-3 and 3e-4; the default is 1e-4, at which both networks learn.
"""

from ml_collections import ConfigDict

from elu_zoo.configs import arguments, common

ARGUMENTS = dict(
    activation="elu", seed=0, batch_norm=False, learning_rate=0.0, mse=False, smoke=False
)


def get_config(arg: str = "") -> ConfigDict:
    return build(arguments.parse(arg, **ARGUMENTS))


def build(args: dict) -> ConfigDict:
    config, usual = common.mnist(args, epochs=500), 1e-4 if args["mse"] else 1e-3
    config.model.name = "mnist_autoencoder"
    config.name = "mnist_autoencoder" + "_mse" * args["mse"]
    rate = args["learning_rate"] or usual
    if rate != usual:
        # Runs with different learning rates need different folders.
        config.name += f"-lr{rate:g}"
    config.train.loss = "half_squared_error" if args["mse"] else "sigmoid_cross_entropy"
    config.train.learning_rates = (rate,)
    config.train.evaluate_every = 1 if config.smoke else 5
    return config
