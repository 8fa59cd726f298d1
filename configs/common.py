"""The base config: every field of a run once, with its comment, at its neutral value.

A config of an experiment takes `base`, or what the experiments of its family share
(`mnist`, `elu_cifar`), and assigns what differs. The other functions hold fields that
only some networks, data sets or recipes have; `config.update(common.phases())` adds
them. Training takes the names and types that it checks from here.
"""

from ml_collections import ConfigDict, config_dict

# Arguments of every config, with their defaults.
ARGUMENTS = {"activation": "elu", "seed": 0, "batch_norm": False, "smoke": False}
# Fields that are younger than recorded runs. At the value that they have in this file
# they are no part of a config's hash, so that those runs are still found by it.
LATER = (
    "data.cutout",
    "data.measure_test",
    "model.initial_kernels",
    "train.label_smoothing",
    "train.optimizer",
    "train.sgd_decay",
    "train.sgd_factor",
)


def base(args: dict = ARGUMENTS) -> ConfigDict:
    """Returns the fields that every config has.

    Args:
        args: the config's arguments, those of `ARGUMENTS` among them.
    """
    config = ConfigDict()
    config.name = ""  # of the default workdir and of rows in results
    config.seed = args["seed"]  # of initial weights and data order
    config.smoke = args["smoke"]  # the weights of a smoke run are never published
    config.schedule = "paper"  # or one of our own: "fast", "quick"
    config.schedule_epochs = 1  # of the whole schedule; train.epochs may be a share

    config.model = ConfigDict()
    config.model.name = ""
    config.model.activation = ConfigDict()
    config.model.activation.name = args["activation"]
    config.model.activation.alpha = config_dict.placeholder(float)  # None: its default
    config.model.batch_norm = args["batch_norm"]
    config.model.width = 1.0  # factor on the units of every layer

    config.data = ConfigDict()
    config.data.name = ""  # of a data set, or the path of images
    config.data.train_examples = 0  # the first of the training split; 0: all of them
    config.data.train_on_validation = False  # if so, nothing is measured on it
    config.data.measure_test = True  # False: a trial, measured on validation images
    config.data.augmentation = "none"  # pad_crop_flip, affine_recolor, or crop_flip
    config.data.cutout = 0  # pixels of a square set to zero, of pad_crop_flip; 0: none

    config.train = ConfigDict()
    config.train.batch_size = 1  # over all replicas
    config.train.epochs = 1
    config.train.loss = "softmax_cross_entropy"
    config.train.label_smoothing = 0.0  # in the loss minimised, not the one recorded
    config.train.precision = "float32"  # or one of training/precision.py
    config.train.optimizer = "sgd"  # or "muon"
    config.train.momentum = 0.0  # heavy ball
    config.train.nesterov = False  # Nesterov's momentum instead
    # Of muon: the factor on the rate of biases and classifier; the L2 decay of the
    # classifier's kernel.
    config.train.sgd_factor = 1.0
    config.train.sgd_decay = 0.0
    # By "steps" learning rate i holds until iteration boundaries[i]; "linear" and
    # "exponential" rates are those at iteration 0, at the boundaries and at the end. A
    # boundary is an iteration, or a share of the run, such as 0.5.
    config.train.learning_rate_shape = "steps"
    config.train.boundaries = ()
    config.train.learning_rates = (0.01,)
    config.train.evaluate_every = 1  # epochs
    config.train.checkpoint_every = 500  # iterations
    config.train.checkpoints_kept = 3
    return config


def phases() -> ConfigDict:
    """Returns the fields of dropout that changes within a run, phase by phase."""
    train = ConfigDict()
    train.phase_boundaries = ()  # phase i holds until iteration phase_boundaries[i]
    train.dropout = ()  # of each phase, the rate of each stack
    train.dropout_placement = ()  # of each phase, "last" layer of a stack, or "all"
    return ConfigDict({"train": train})


def kernels() -> ConfigDict:
    """Returns arguments of the ELU networks for the decay and start of kernels."""
    model = ConfigDict()
    model.kernel_decay = 0.0  # Caffe's: gradient += kernel_decay * kernel
    model.init_scale = 1.0  # variance of initial kernels times fan-in; 2 is He's
    return ConfigDict({"model": model})


def stacks() -> ConfigDict:
    """Returns arguments of the ELU networks for CIFAR."""
    model = ConfigDict()
    model.padding = "caffe"  # of 2 x 2 kernels; or "same"
    model.initial_kernels = "normal"  # or "orthogonal", of the same norm
    return ConfigDict({"model": model})


def encoded_images() -> ConfigDict:
    """Returns the fields of data sets whose images stay encoded on the disk."""
    data = ConfigDict()
    data.folder = ""  # of images; "": the copy that tensorflow-datasets prepared
    data.image_size = 256  # pixels, to which height and width are resized
    data.crop_size = 224  # pixels
    data.validation_images = 5000  # of the test images, measured after epochs
    return ConfigDict({"data": data})


def pretrained() -> ConfigDict:
    """Returns the fields of runs that start from the weights of another run."""
    config = ConfigDict({"model": {}, "data": {}, "train": {}})
    config.model.weights = ""  # as of get_model; "": from scratch
    config.data.image_shape = ()  # (height, width, channels); (): that of the weights
    config.train.freeze = ()  # layers that are not trained: "body", or parts of names
    return config


def baselines() -> ConfigDict:
    """Returns fields of Table 1's networks; a config has those that it needs."""
    config = ConfigDict({"data": {}, "train": {}})
    config.data.padding = 4  # pixels around an image, of pad_crop_flip
    config.data.field_size = 32  # pixels, of affine_recolor: what images are moved in
    config.data.whole_epochs = 0  # the last epochs, without augmentation
    config.train.heads_until = 0.0  # share of the run in which auxiliary heads learn
    # Pairs of a variable's name and a factor on the learning rate.
    config.train.learning_rate_factors = ()
    # The first momentum, and the iteration or share of the run until which it rises.
    config.train.momentum_rise = (0.0, 0)
    return config


def mnist(args: dict, epochs: int) -> ConfigDict:
    """Returns what the experiments on MNIST share: batches of 64, a rate of 0.01."""
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
    """Returns what the ELU networks on CIFAR share, `args["dataset"]` among it."""
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
