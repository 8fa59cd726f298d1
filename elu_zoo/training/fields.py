"""The table of a config's fields: type, neutral value, range, and what each field needs.

The neutral value of a field means the same as its absence, and never changes: hashes leave
it out, so that a new field changes no earlier hash. A field without one is always hashed.

The arguments of a network's builder are fields of the section `model` too. The table has
only those with a neutral value; the types of the others are those of their defaults.
"""

import dataclasses
import json
from collections.abc import Callable, Collection
from typing import Any

from ml_collections import ConfigDict

from elu_zoo import errors, registry

ALWAYS = object()  # instead of a neutral value
# Fields of the section `model` that are no arguments of one network's builder.
_OF_EVERY_MODEL = "name", "weights", "activation", "batch_norm", "width"
# Arguments of builders that the data or other fields set.
_SET_ELSEWHERE = "num_classes", "input_shape", "seed", "preprocessing"


@dataclasses.dataclass(frozen=True)
class Need:
    """What a field needs unless it has its neutral value: `text`, if `holds(config)`."""

    text: str
    holds: Callable[[ConfigDict], bool]


@dataclasses.dataclass(frozen=True)
class Field:
    """A row of the table."""

    name: str  # `<section>.<key>`, or a key without a section
    kind: type  # `float` accepts int, and `object` accepts everything
    help: str  # meaning, for a config's reader and for --help
    neutral: Any = ALWAYS
    range: tuple[str, Callable[[float], bool]] | None = None  # text, and whether it holds
    choices: Collection[str] | None = None
    need: Need | None = None  # of a value other than `neutral`

    @property
    def always_counts(self) -> bool:
        """Whether the field has no neutral value."""
        return self.neutral is ALWAYS


def _at_least(minimum: int) -> tuple[str, Callable[[float], bool]]:
    return f"must be >= {minimum}", lambda number: number >= minimum


def _is(key: str, *values: Any) -> Need:
    text = f"{key}={' or '.join(map(str, values))}"
    return Need(text, lambda config: get(config, key) in values)


def _is_encoded(config: ConfigDict) -> bool:
    from elu_zoo.data import load

    return get(config, "data.name") == load.IMAGENET


_ENCODED = Need("images that stay on the disk (imagenet2012)", _is_encoded)
_IN_MEMORY = Need(
    "another data set, because the validation images of imagenet2012 are part of its test images",
    lambda config: not _is_encoded(config),
)
_HELD_OUT = Need(
    "validation images that are no test images and are not trained on: another data set than "
    "imagenet2012, and data.train_on_validation=False (an argument of finetune, elu_cifar_11 and "
    "table1_baselines: validation=True)",
    lambda config: not (_is_encoded(config) or get(config, "data.train_on_validation")),
)
_PHASED = Need(
    "a network with the arguments dropout and dropout_placement, such as elu_cifar_11",
    lambda config: registry.entry(config.model.name).takes("dropout_placement"),
)
_MUON, _SGD = _is("train.optimizer", "muon"), _is("train.optimizer", "sgd")
_CROPS = "pad_crop_flip"

_ROWS = (
    Field("name", str, "part of the default --workdir; column of results.csv"),
    Field("seed", int, "of initial weights, data order and dropout",
          range=("must be in [0, 2**64)", lambda number: 0 <= number < 2**64)),
    Field("smoke", bool, "the weights of a smoke run are never published", False),
    Field("schedule", str, "whose recipe this is: the paper's, or ours",
          choices=("paper", "quick", "ours")),
    Field("schedule_epochs", int, "epochs of the complete schedule", range=_at_least(1)),
    Field("model.name", str, "name of a registered network"),
    Field("model.activation.name", str, "name of the activation"),
    Field("model.activation.alpha", object, "of ELUs and leaky ReLUs; None: the default", None),
    Field("model.batch_norm", bool, "batch normalisation before each activation", False),
    Field("model.width", float, "factor on the units of every layer", 1.0, errors.POSITIVE),
    Field("model.weights", str, "parent weights; '': none; None: no fine-tuning", None),
    Field("model.kernel_decay", float, "gradient += kernel_decay * kernel", 0.0, need=_SGD),
    Field("model.classifier_decay", float, "the same, of the classifier", 0.0, need=_SGD),
    Field("model.auxiliary_heads", bool, "classifiers of early layers, in training", False),
    Field("model.constrained", bool, "bounded norms of kernels", False),
    Field("data.name", str, "name of a data set, or path of images"),
    Field("data.folder", str, "of images; '': tensorflow-datasets", "", need=_ENCODED),
    Field("data.image_size", int, "side after resizing, in pixels", need=_ENCODED),
    Field("data.crop_size", int, "side of a crop", range=_at_least(1), need=_ENCODED),
    Field("data.validation_images", int, "test images evaluated during training",
          range=_at_least(1), need=_ENCODED),
    Field("data.image_shape", tuple, "to which images are resized; (): no other shape", ()),
    Field("data.train_examples", int, "number of training images; 0: all", 0, _at_least(0)),
    Field("data.train_on_validation", bool, "no validation error", False, need=_IN_MEMORY),
    Field("data.measure_test", bool, "False: validation error only", True, need=_HELD_OUT),
    Field("data.augmentation", str, "none, pad_crop_flip, affine_recolor or crop_flip", "none"),
    Field("data.padding", int, "pixels on each side, for pad_crop_flip", 4, _at_least(1),
          need=_is("data.augmentation", _CROPS, "none")),
    Field("data.cutout", int, "side of a square of zeros, in pixels", 0,
          ("must be in [0, 64]", lambda number: 0 <= number <= 64),
          need=_is("data.augmentation", _CROPS)),
    Field("data.field_size", int, "side of the field of affine_recolor; 0: of the images", 0,
          _at_least(0), need=_is("data.augmentation", "affine_recolor", "none")),
    Field("data.whole_epochs", int, "number of last epochs without augmentation", 0,
          _at_least(0), need=Need("as many train.epochs",
                                  lambda config: config.data.whole_epochs <= config.train.epochs)),
    Field("train.batch_size", int, "over all replicas", range=_at_least(1)),
    Field("train.epochs", int, "of this run", range=_at_least(1)),
    Field("train.loss", str, "name of a loss", choices=registry.OUTPUT_ACTIVATION),
    Field("train.label_smoothing", float, "for gradients, not for the recorded loss", 0.0,
          errors.FRACTION, need=_is("train.loss", "softmax_cross_entropy")),
    Field("train.precision", str, "a policy of training/step/precision.py", "float32"),
    Field("train.optimizer", str, "sgd, or muon for kernels", "sgd",
          choices=("sgd", "muon"), need=_is("train.nesterov", True)),
    Field("train.momentum", float, "heavy ball", 0.0, errors.FRACTION),
    Field("train.nesterov", bool, "Nesterov's momentum instead", False,
          need=Need("train.momentum > 0", lambda config: get(config, "train.momentum") > 0)),
    Field("train.momentum_rise", tuple, "first momentum, and the iteration or fraction of the "
          "run at which the momentum reaches train.momentum", (0.0, 0), need=_SGD),
    Field("train.sgd_factor", float, "with muon: of SGD's learning rate", 1.0, errors.POSITIVE,
          need=_MUON),
    Field("train.sgd_decay", float, "with muon: L2 decay of the classifier's kernel", 0.0,
          errors.NON_NEGATIVE, need=_MUON),
    Field("train.learning_rates", tuple, "until boundary i, or at 0, boundaries and end"),
    Field("train.boundaries", tuple, "iterations, or fractions of the run", ()),
    Field("train.learning_rate_shape", str, "steps, linear or exponential", "steps",
          choices=("steps", "linear", "exponential")),
    Field("train.warmup", float, "fraction of the run in which a factor on the learning rates "
          "grows from 0 to 1", 0.0, errors.FRACTION),
    Field("train.learning_rate_factors", tuple, "pairs (variable, factor)", (), need=_SGD),
    Field("train.phase_boundaries", tuple, "ends of dropout phases", (), need=_PHASED),
    Field("train.dropout", tuple, "for each phase, the rate of each stack", (), need=_PHASED),
    Field("train.dropout_placement", tuple, "for each phase", (), need=_PHASED),
    Field("train.heads_until", float, "fraction of the run with auxiliary heads", 1.0,
          ("must be in [0, 1]", lambda number: 0 <= number <= 1),
          need=_is("model.auxiliary_heads", True)),
    Field("train.freeze", tuple, "frozen layers: body, or parts of layer names", ()),
    Field("train.evaluate_every", int, "epochs", range=_at_least(1)),
    Field("train.keep_best", bool, "keep the weights of the evaluated epoch with the lowest "
          "validation loss, not the last", False, need=_HELD_OUT),
    Field("train.checkpoint_every", int, "iterations", range=_at_least(1)),
    Field("train.checkpoints_kept", int, "number of checkpoints", range=_at_least(1)),
)  # fmt: skip
FIELDS = {field.name: field for field in _ROWS}
# Neutral values as JSON has them, with lists for tuples.
NEUTRAL = {
    name: json.loads(json.dumps(field.neutral))
    for name, field in FIELDS.items()
    if not field.always_counts
}


def get(config: ConfigDict, key: str) -> Any:
    """Returns the value of the field `a.b`; if absent, its neutral value or None."""
    value: Any = config
    for part in key.split("."):
        if not isinstance(value, ConfigDict) or part not in value:
            field = FIELDS.get(key)
            return None if field is None or field.always_counts else field.neutral
        value = value[part]
    return value


def complete(config: ConfigDict) -> None:
    """Adds the missing fields that have a neutral value, at this value.

    An argument gets the default of its builder, which may be another one in a user's network.
    """
    network = registry.entry(config.model.name)
    known = types(network.name)
    for name in NEUTRAL:
        section, _, key = name.rpartition(".")
        part = get(config, section) if section else config
        if isinstance(part, ConfigDict) and key not in part and name in known:
            is_argument = section == "model" and network.takes(key)
            part[key] = network.default(key) if is_argument else FIELDS[name].neutral


def types(model: Any) -> dict[str, type]:
    """Returns the type of each field that a config of the network `model` may have."""
    kinds = {name: field.kind for name, field in FIELDS.items() if not _argument(name)}
    if not isinstance(model, str):
        return kinds
    network = registry.entry(model)
    others = {*_OF_EVERY_MODEL, *_SET_ELSEWHERE}
    others |= {"dropout", "dropout_placement"} if network.takes("dropout_placement") else set()
    return kinds | {
        # A default of None does not tell a type.
        f"model.{key}": object if parameter.default is None else type(parameter.default)
        for key, parameter in network.parameters.items()
        if key not in others
    }


def _argument(name: str) -> bool:
    """Returns whether a field is an argument of some builders."""
    section, _, key = name.partition(".")
    return section == "model" and key.partition(".")[0] not in _OF_EVERY_MODEL


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns the leaves of nested dicts, by names such as `a.b`."""
    leaves = {}
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            leaves.update(flat(value, f"{prefix}{key}."))
        else:
            leaves[prefix + key] = value
    return leaves


def counted(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of a config's JSON values that differ from their neutral values."""
    return {k: v for k, v in flat(values).items() if k not in NEUTRAL or v != NEUTRAL[k]}


def help_text() -> str:
    """Returns a line for each field, for --help."""
    return "\n".join(f"{name}: {field.help}" for name, field in FIELDS.items())
