"""Values with which a config starts: `base`, `mnist` or `elu_cifar`; and `use_quick`.

A config assigns the fields that differ, and may add any other field of the table in
elu_zoo/training/fields.py, which has the meaning, type and range of each field. A command
line can override only fields that the config has.
"""

from ml_collections import ConfigDict, config_dict

# Arguments of every config, with their defaults.
ARGUMENTS = {"activation": "elu", "seed": 0, "batch_norm": False, "smoke": False}


def base(args: dict = ARGUMENTS) -> ConfigDict:
    """Returns the fields of every config; `args` must have the keys of `ARGUMENTS`."""
    config = ConfigDict()
    config.name = ""
    config.seed = args["seed"]
    config.smoke = args["smoke"]
    config.schedule = "paper"
    config.schedule_epochs = 1

    config.model = ConfigDict()
    config.model.name = ""
    config.model.activation = ConfigDict()
    config.model.activation.name = args["activation"]
    config.model.activation.alpha = config_dict.placeholder(float)
    config.model.batch_norm = args["batch_norm"]
    config.model.width = 1.0

    config.data = ConfigDict()
    config.data.name = ""
    config.data.train_examples = 0
    config.data.train_on_validation = False
    config.data.measure_test = True
    config.data.augmentation = "none"
    config.data.cutout = 0

    config.train = ConfigDict()
    config.train.batch_size = 1
    config.train.epochs = 1
    config.train.loss = "softmax_cross_entropy"
    config.train.label_smoothing = 0.0
    config.train.precision = "float32"
    config.train.optimizer = "sgd"
    config.train.momentum = 0.0
    config.train.nesterov = False
    config.train.sgd_factor = 1.0
    config.train.sgd_decay = 0.0
    config.train.learning_rate_shape = "steps"
    config.train.boundaries = ()
    config.train.learning_rates = (0.01,)
    config.train.warmup = 0.0
    config.train.evaluate_every = 1
    config.train.keep_best = False
    config.train.checkpoint_every = 500
    config.train.checkpoints_kept = 3
    return config


def mnist(args: dict, epochs: int) -> ConfigDict:
    """Returns the config of MNIST experiments, with batches of 64 images."""
    config = base(args)
    config.schedule_epochs = epochs
    config.model.width = 0.25 if config.smoke else 1.0
    config.data.name = "mnist"
    config.data.train_examples = 6400 if config.smoke else 0
    config.train.batch_size = 64
    config.train.epochs = 2 if config.smoke else epochs
    config.train.checkpoint_every = 50 if config.smoke else 5000
    return config


def elu_cifar(args: dict) -> ConfigDict:
    """Returns the config of the ELU networks on CIFAR; `args` must have "dataset"."""
    config = base(args)
    config.model.width = 0.1 if config.smoke else 1.0
    config.model.kernel_decay = 0.0005
    config.model.init_scale = 2.0  # variance of initial kernels times fan-in
    config.model.padding = "caffe"
    config.data.name = args["dataset"]
    config.data.train_examples = 1000 if config.smoke else 0
    config.data.train_on_validation = True
    config.data.augmentation = "pad_crop_flip"
    config.train.batch_size = 100
    config.train.precision = "bfloat16_conv"
    config.train.momentum = 0.9
    config.train.phase_boundaries = ()
    config.train.dropout = ()
    config.train.dropout_placement = ()
    config.train.checkpoint_every = 5 if config.smoke else 500
    return config


def use_quick(config: ConfigDict) -> float:
    """Sets the optimizer, learning rates, decay and cutout of our schedule `quick`.

    Returns:
        The factor on the dropout rates of the paper, or of a network's authors.
    """
    is_long = config.schedule_epochs > 60  # expected to overfit more
    config.data.cutout = 8 if is_long else 0
    for decay in ("kernel_decay", "classifier_decay"):  # Muon keeps the norm of kernels
        if decay in config.model:
            config.model[decay] = 0.0
    config.train.optimizer = "muon"
    config.train.nesterov = True
    config.train.sgd_factor = 5.0
    config.train.sgd_decay = 0.0005
    config.train.learning_rate_shape = "linear"
    config.train.learning_rates = (0.0, 0.02, 0.0)
    return 0.5 if is_long else 0.25
