"""The network `small_stacks`, and a config that trains it in three phases.

A phase is a range of iterations with constant dropout rates.
"""

from elu_zoo import registry
from elu_zoo.configs import elu_cifar_11
from elu_zoo.models.stacks import conv_stacks

# Two stacks of (layers, units, kernel size). The classifier is the third stack.
STACKS = (((1, 4, 3),), ((1, 4, 1), (1, 6, 2)))
# Two epochs of eight iterations each. A phase ends in the middle of each epoch.
PHASES = {
    "model.name": "small_stacks",
    "model.width": 1.0,
    "model.kernel_decay": 0.01,
    "data.train_examples": 130,
    "train.batch_size": 16,
    "train.precision": "float32",
    "train.boundaries": (3,),
    "train.learning_rates": (0.05, 0.02),
    "train.checkpoint_every": 4,
    "train.phase_boundaries": (5, 11),
    "train.dropout": ((0.2, 0.4, 0.0), (0.1, 0.3, 0.5), (0.0, 0.6, 0.2)),
    "train.dropout_placement": ("last", "all", "last"),
}
ONLY = "dropout", "init_scale", "kernel_decay"
# Fields of a run with the optimizer Muon and label smoothing.
MUON = {
    "model.kernel_decay": 0.0,
    "train.nesterov": True,
    "train.optimizer": "muon",
    "train.sgd_factor": 2.0,
    "train.sgd_decay": 0.01,
    "train.label_smoothing": 0.1,
}


def small_stacks(
    activation="elu",
    *,
    batch_norm=False,
    num_classes=10,
    input_shape=(28, 28, 1),
    width=1.0,
    seed=0,
    preprocessing=None,
    padding="caffe",
    dropout=(0.1, 0.2, 0.3),
    dropout_placement="last",
    kernel_decay=0.0,
    init_scale=1.0,
):
    return conv_stacks(STACKS, name="small_stacks", **locals())


def register():
    registry.register_model(training_only=ONLY)(small_stacks)


def get_config(entries=()):
    """Returns the config of a run in three phases, with changed fields."""
    config = elu_cifar_11.get_config("dataset=mnist_5k,smoke=True")
    config.update_from_flattened_dict({**PHASES, **dict(entries)})
    return config
