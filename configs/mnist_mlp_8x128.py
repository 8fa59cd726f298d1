"""MNIST MLP with eight hidden layers of 128 units: section 4.1.1, figure 2.

Command:   elu-zoo-train --config=mnist_mlp_8x128:activation=elu,seed=0
Arguments: activation, seed, batch_norm, smoke
Paper:     SGD, learning rate 0.01, batches of 64, 300 epochs, He's initialisation;
           ELU's training error falls fastest and its units' median activation stays
           closest to zero. The figure has no numbers.
Ours:      results/runs.md, from results/results.csv.
Time:      2 to 4 minutes a run on two CPU cores.

Not in the paper, from its authors' own framework: pixels / 255 without centring, no
momentum, zero biases, 50,000 images for training and 10,000 for validation.
"""

from ml_collections import ConfigDict, config_dict

from elu_zoo.configs import arguments


def get_config(arg: str = "") -> ConfigDict:
    args = arguments.parse(arg, activation="elu", seed=0, batch_norm=False, smoke=False)

    config = ConfigDict()
    config.name = "mnist_mlp_8x128"  # of the default workdir and the results' rows
    config.seed = args["seed"]  # of initial weights and data order
    config.smoke = args["smoke"]  # a smoke run's weights are never published
    config.schedule = "paper"  # or "fast", our own
    config.schedule_epochs = 300  # of the whole schedule; train.epochs may be a share

    config.model = ConfigDict()
    config.model.name = "mnist_mlp_8x128"
    config.model.activation = ConfigDict()
    config.model.activation.name = args["activation"]
    config.model.activation.alpha = config_dict.placeholder(float)  # its default
    config.model.batch_norm = args["batch_norm"]
    config.model.width = 1.0  # factor on the units of every layer

    config.data = ConfigDict()
    config.data.name = "mnist"
    config.data.train_examples = 0  # the first of the training split; 0: all of them
    config.data.train_on_validation = False  # if so, nothing is measured on it
    config.data.augmentation = "none"  # or random crops, see elu_cifar_11

    config.train = ConfigDict()
    config.train.batch_size = 64  # over all replicas
    config.train.epochs = 300
    config.train.loss = "softmax_cross_entropy"
    config.train.precision = "float32"  # or one of training/precision.py
    config.train.momentum = 0.0  # heavy ball
    config.train.nesterov = False  # Nesterov's momentum instead
    # By "steps" learning rate i holds until iteration boundaries[i]; "linear" rates are
    # those at iteration 0, at the boundaries and at the end. A boundary is an
    # iteration, or a share of the run, such as 0.5.
    config.train.learning_rate_shape = "steps"
    config.train.boundaries = ()
    config.train.learning_rates = (0.01,)
    config.train.evaluate_every = 1  # epochs
    config.train.checkpoint_every = 5000  # iterations
    config.train.checkpoints_kept = 3

    if args["smoke"]:
        config.model.width = 0.25
        config.data.train_examples = 6400
        config.train.epochs = 2
        config.train.checkpoint_every = 50
    return config
