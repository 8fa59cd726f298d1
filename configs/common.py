"""All config fields, each with a comment and a neutral value.

A config starts from `base`, `mnist` or `elu_cifar` and assigns the fields that differ.
`use_quick` sets fields of our schedule `quick`. The other functions return fields
of some networks, data sets or recipes. A config adds these fields with, for example,
`config.update(common.phases())`. Training checks the names and types of all fields
against this file.
"""

from ml_collections import ConfigDict, config_dict

# Arguments of every config, with their defaults.
ARGUMENTS = {"activation": "elu", "seed": 0, "batch_norm": False, "smoke": False}
# Fields that were added after the first recorded runs. A config's hash omits the fields
# that have the value in this file, so that the hashes of the first runs stay valid.
LATER = (
    "data.cutout",
    "data.measure_test",
    "model.initial_kernels",
    "train.keep_best",
    "train.label_smoothing",
    "train.optimizer",
    "train.sgd_decay",
    "train.sgd_factor",
)


def base(args: dict = ARGUMENTS) -> ConfigDict:
    """Returns the fields of every config; `args` must have the keys of `ARGUMENTS`."""
    config = ConfigDict()
    config.name = ""  # in the default workdir and in results.csv
    config.seed = args["seed"]  # for initial weights and data order
    config.smoke = args["smoke"]  # the weights of a smoke run are never published
    config.schedule = "paper"  # or our own schedules "quick" and "ours"
    config.schedule_epochs = 1  # of the complete schedule; train.epochs may be less

    config.model = ConfigDict()
    config.model.name = ""
    config.model.activation = ConfigDict()
    config.model.activation.name = args["activation"]
    config.model.activation.alpha = config_dict.placeholder(float)  # None: the default
    config.model.batch_norm = args["batch_norm"]
    config.model.width = 1.0  # factor on the units of every layer

    config.data = ConfigDict()
    config.data.name = ""  # name of a data set, or path to images
    config.data.train_examples = 0  # number of training images; 0: all
    config.data.train_on_validation = False  # True: no validation error
    config.data.measure_test = True  # False: validation error only
    config.data.augmentation = "none"  # pad_crop_flip, affine_recolor, or crop_flip
    config.data.cutout = 0  # side of a square of zeros, in pixels, for pad_crop_flip

    config.train = ConfigDict()
    config.train.batch_size = 1  # over all replicas
    config.train.epochs = 1
    config.train.loss = "softmax_cross_entropy"
    config.train.label_smoothing = 0.0  # for gradients, not for the recorded loss
    config.train.precision = "float32"  # or a policy of training/step/precision.py
    config.train.optimizer = "sgd"  # or "muon"
    config.train.momentum = 0.0  # heavy ball
    config.train.nesterov = False  # Nesterov's momentum instead
    # With muon, SGD trains the biases and the classifier.
    config.train.sgd_factor = 1.0  # factor on their learning rate
    config.train.sgd_decay = 0.0  # L2 decay of the classifier's kernel
    # "steps" uses learning rate i until boundaries[i]. "linear" and "exponential"
    # interpolate learning rates at iteration 0, at the boundaries and at the end. A
    # boundary is an iteration, or a fraction of the run such as 0.5.
    config.train.learning_rate_shape = "steps"
    config.train.boundaries = ()
    config.train.learning_rates = (0.01,)
    config.train.evaluate_every = 1  # epochs
    # True: keep the weights of the evaluated epoch with the lowest validation loss, not
    # those of the last iteration. No run of the paper's does.
    config.train.keep_best = False
    config.train.checkpoint_every = 500  # iterations
    config.train.checkpoints_kept = 3
    return config


def phases() -> ConfigDict:
    """Returns the fields for dropout rates that change from phase to phase."""
    train = ConfigDict()
    train.phase_boundaries = ()  # phase i ends at iteration phase_boundaries[i]
    train.dropout = ()  # for each phase, the rate of each stack
    train.dropout_placement = ()  # for each phase, see models/elu_cifar_11.py
    return ConfigDict({"train": train})


def kernels() -> ConfigDict:
    """Returns the arguments of the ELU networks for L2 decay and initialisation."""
    model = ConfigDict()
    model.kernel_decay = 0.0  # as in Caffe, gradient += kernel_decay * kernel
    model.init_scale = 1.0  # variance of initial kernels times fan-in; He's is 2
    return ConfigDict({"model": model})


def stacks() -> ConfigDict:
    """Returns the arguments of the ELU networks for CIFAR."""
    model = ConfigDict()
    model.padding = "caffe"  # of 2 x 2 kernels; or "same", "valid"
    model.initial_kernels = "normal"  # or "orthogonal", with the same norm
    return ConfigDict({"model": model})


def encoded_images() -> ConfigDict:
    """Returns the fields of data sets whose encoded images are read from disk."""
    data = ConfigDict()
    data.folder = ""  # folder of images; "": tensorflow-datasets
    data.image_size = 256  # height and width after resizing, in pixels
    data.crop_size = 224  # height and width of a crop, in pixels
    data.validation_images = 5000  # test images that are evaluated during training
    return ConfigDict({"data": data})


def pretrained() -> ConfigDict:
    """Returns the fields of runs that start from pretrained weights."""
    config = ConfigDict({"model": {}, "data": {}, "train": {}})
    config.model.weights = ""  # see get_model; "": initial weights
    # (height, width) or (height, width, channels) of the images; (): as in the weights.
    config.data.image_shape = ()
    config.train.freeze = ()  # frozen layers: "body", or parts of layer names
    return config


def baselines() -> ConfigDict:
    """Returns fields of the baselines of Table 1; each config uses some of them."""
    config = ConfigDict({"data": {}, "train": {}})
    config.data.padding = 4  # pixels on each side, for pad_crop_flip
    config.data.field_size = 32  # side of the field in pixels, for affine_recolor
    config.data.whole_epochs = 0  # number of last epochs without augmentation
    config.train.heads_until = 0.0  # fraction of the run with auxiliary heads
    # Pairs of a variable's name and a factor on the learning rate.
    config.train.learning_rate_factors = ()
    # The first momentum, and the iteration or fraction of the run at which the momentum
    # reaches train.momentum.
    config.train.momentum_rise = (0.0, 0)
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
    for fields in (phases(), kernels(), stacks()):
        config.update(fields)
    config.model.width = 0.1 if config.smoke else 1.0
    config.model.kernel_decay = 0.0005
    config.model.init_scale = 2.0
    config.data.name = args["dataset"]
    config.data.train_examples = 1000 if config.smoke else 0
    config.data.train_on_validation = True
    config.data.augmentation = "pad_crop_flip"
    config.train.batch_size = 100
    config.train.precision = "bfloat16_conv"
    config.train.momentum = 0.9
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
