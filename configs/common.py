"""Base config: every field with its comment and its neutral value.

A config takes `base`, `mnist` or `elu_cifar`, and assigns the fields that differ. The
other functions have fields of some networks, data sets or recipes, to be added by
`config.update(common.phases())`. Training checks names and types of fields against
this file.
"""

from ml_collections import ConfigDict, config_dict

# Arguments of every config, with their defaults.
ARGUMENTS = {"activation": "elu", "seed": 0, "batch_norm": False, "smoke": False}
# Fields that are newer than recorded runs. At the value in this file they are not
# hashed, so that the hash of the recorded runs stays valid.
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
    """Returns the fields of every config; `args` has at least the `ARGUMENTS`."""
    config = ConfigDict()
    config.name = ""  # in the default workdir and in results.csv
    config.seed = args["seed"]  # for initial weights and data order
    config.smoke = args["smoke"]  # the weights of a smoke run are never published
    config.schedule = "paper"  # or ours: "fast", "quick"
    config.schedule_epochs = 1  # the whole schedule; train.epochs may be less

    config.model = ConfigDict()
    config.model.name = ""
    config.model.activation = ConfigDict()
    config.model.activation.name = args["activation"]
    config.model.activation.alpha = config_dict.placeholder(float)  # None: its default
    config.model.batch_norm = args["batch_norm"]
    config.model.width = 1.0  # factor on the units of every layer

    config.data = ConfigDict()
    config.data.name = ""  # name of a data set, or path of images
    config.data.train_examples = 0  # number of training images; 0: all
    config.data.train_on_validation = False  # True: no validation error
    config.data.measure_test = True  # False: validation error only
    config.data.augmentation = "none"  # pad_crop_flip, affine_recolor, or crop_flip
    config.data.cutout = 0  # side of a zeroed square, with pad_crop_flip; 0: none

    config.train = ConfigDict()
    config.train.batch_size = 1  # over all replicas
    config.train.epochs = 1
    config.train.loss = "softmax_cross_entropy"
    config.train.label_smoothing = 0.0  # not in the recorded loss
    config.train.precision = "float32"  # or one of training/precision.py
    config.train.optimizer = "sgd"  # or "muon"
    config.train.momentum = 0.0  # heavy ball
    config.train.nesterov = False  # Nesterov's momentum instead
    # For muon: factor on the learning rate of biases and classifier; L2 decay of the
    # classifier's kernel.
    config.train.sgd_factor = 1.0
    config.train.sgd_decay = 0.0
    # "steps": learning rate i until iteration boundaries[i]. "linear", "exponential":
    # interpolation of rates at iteration 0, at the boundaries and at the end. A
    # boundary is an iteration, or a share of the run such as 0.5.
    config.train.learning_rate_shape = "steps"
    config.train.boundaries = ()
    config.train.learning_rates = (0.01,)
    config.train.evaluate_every = 1  # epochs
    config.train.checkpoint_every = 500  # iterations
    config.train.checkpoints_kept = 3
    return config


def phases() -> ConfigDict:
    """Returns the fields of dropout in phases."""
    train = ConfigDict()
    train.phase_boundaries = ()  # phase i ends at phase_boundaries[i]
    train.dropout = ()  # for each phase, the rate of each stack
    train.dropout_placement = ()  # for each phase, "last" layer of a stack, or "all"
    return ConfigDict({"train": train})


def kernels() -> ConfigDict:
    """Returns arguments of the ELU networks for decay and initialization."""
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
    """Returns the fields of data sets with encoded images on the disk."""
    data = ConfigDict()
    data.folder = ""  # folder of images; "": from tensorflow-datasets
    data.image_size = 256  # pixels, to which height and width are resized
    data.crop_size = 224  # pixels
    data.validation_images = 5000  # test images that are measured after epochs
    return ConfigDict({"data": data})


def pretrained() -> ConfigDict:
    """Returns the fields of runs that start from weights."""
    config = ConfigDict({"model": {}, "data": {}, "train": {}})
    config.model.weights = ""  # see get_model; "": from scratch
    config.data.image_shape = ()  # (height, width, channels); (): shape of the weights
    config.train.freeze = ()  # frozen layers: "body", or parts of names
    return config


def baselines() -> ConfigDict:
    """Returns fields of Table 1's networks; each network has some of them."""
    config = ConfigDict({"data": {}, "train": {}})
    config.data.padding = 4  # pixels on each side, with pad_crop_flip
    config.data.field_size = 32  # pixels of the canvas, with affine_recolor
    config.data.whole_epochs = 0  # the last epochs, without augmentation
    config.train.heads_until = 0.0  # share of the run with auxiliary heads
    # Pairs of a variable's name and a factor on the learning rate.
    config.train.learning_rate_factors = ()
    # The first momentum, and the iteration or share of the run until which it rises.
    config.train.momentum_rise = (0.0, 0)
    return config


def mnist(args: dict, epochs: int) -> ConfigDict:
    """Returns the config of MNIST experiments: batches of 64, learning rate 0.01."""
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
    """Returns the config of the ELU networks on CIFAR; `args` has "dataset"."""
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
