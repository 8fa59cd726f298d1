"""The registry of models: a decorator on a plain builder function, and one dict.

The decorator checks and documents the arguments that builders share.
"""

import dataclasses
import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Mapping
from typing import Any

from elu_zoo import errors

# The activation that turns outputs into what they stand for, by the loss in training.
READOUTS = {
    "softmax_cross_entropy": "softmax",
    "squared_hinge": "softmax",  # scores, not log-probabilities: the order is right
    "sigmoid_cross_entropy": "sigmoid",
    "half_squared_error": "linear",
}


# Keras' dtype policy of convolutions, by a builder's argument `conv_dtype`.
CONV_DTYPES = {"float32": None, "bfloat16": "mixed_bfloat16"}

# The arguments that builders share, as `register_model` documents them.
SHARED_ARGUMENTS = {
    "activation": 'a name, a mapping `{"name": ..., "alpha": ...}`, a Layer class, a '
    "registered callable or a factory; see `elu_zoo.activations.make`.",
    "batch_norm": "batch normalisation between each hidden layer and its activation; "
    "not after the classifier.",
    "num_classes": "number of logits.",
    "input_shape": "`(height, width, channels)` of an image",
    "width": "factor on the number of units of every hidden layer.",
    "seed": "equal seeds give bit-equal initial weights for every activation, with or "
    "without batch normalisation.",
    "preprocessing": "layers on the raw image, see "
    "`elu_zoo.layers.preprocessing_layers`; None for an input that is preprocessed.",
    "kernel_decay": "d of the L2 penalty d / 2 * |kernel|^2, whose gradient is "
    "d * kernel, as Caffe's weight decay; biases have none.",
    "conv_dtype": "`float32` or `bfloat16`, in which convolutions multiply; "
    "variables, activations and logits stay float32.",
}

RETURNS = """Returns:
    A model from `(batch, height, width, channels)` to logits
    `(batch, num_classes)`."""
RAISES = """Raises:
    UsageError: an argument is out of its range."""


@dataclasses.dataclass(frozen=True)
class ModelEntry:
    """A registered model: its builder, and what its training and use need to know.

    Attributes:
        name: the builder's name.
        builder: `(activation, *, batch_norm, num_classes, input_shape, width,
            seed, preprocessing, ...) -> keras.Model`.
        section: where the paper describes the network.
        preprocessing: how raw images become the network's input, the argument
            of `elu_zoo.layers.preprocessing_layers`.
        classifier: the name of the layer that `num_classes` shapes; None where
            there are no classes.
        code: the name of the layer whose output is an autoencoder's code; None for
            a classifier.
        loss: the loss that the paper, or its authors, trained the network with.
        any_size: whether the weights fit images of any height and width.
    """

    name: str
    builder: Callable[..., Any]
    section: str
    preprocessing: dict[str, Any]
    classifier: str | None
    code: str | None
    loss: str
    any_size: bool

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The builder's parameters by name."""
        return inspect.signature(self.builder).parameters

    @property
    def is_autoencoder(self) -> bool:
        """Whether the network gives images, not classes."""
        return self.code is not None

    @property
    def is_phased(self) -> bool:
        """Whether a run sets rates and placement of its dropout, phase by phase."""
        return self.takes("dropout") and self.takes("dropout_placement")

    def takes(self, argument: str) -> bool:
        """Whether the builder has an argument of this name."""
        return argument in self.parameters

    def default(self, argument: str) -> Any:
        """Returns the builder's default of an argument, None if it has none."""
        parameter = self.parameters.get(argument)
        if parameter is None or parameter.default is parameter.empty:
            return None
        return parameter.default


_MODELS: dict[str, ModelEntry] = {}
# Registered by the import of `elu_zoo.models`, which imports Keras: a command checks a
# name before it.
NETWORKS = (
    "alexnet_cifar",
    "allcnn_c",
    "dsn",
    "elu_cifar_11",
    "elu_cifar_18",
    "elu_imagenet_15",
    "fmp",
    "highway_19",
    "maxout",
    "mnist_autoencoder",
    "mnist_mlp_5x256",
    "mnist_mlp_8x128",
    "nin",
)


def register_model(
    builder: Callable[..., Any] | None = None,
    *,
    section: str = "",
    preprocessing: dict[str, Any] | None = None,
    classifier: str | None = "classifier",
    code: str | None = None,
    loss: str = "softmax_cross_entropy",
    any_size: bool = False,
    smallest: int = 1,
) -> Callable[..., Any]:
    """Registers a builder under its own name and returns it with its checks.

    Every builder has the arguments `(activation, *, batch_norm, num_classes,
    input_shape, width, seed, preprocessing)`, all with defaults, and may have more.
    It applies `preprocessing_layers(preprocessing)` to its input unless that is None,
    and returns logits. Without that argument it is built with
    `get_model(..., preprocessing=False)` alone. An autoencoder has no `num_classes`; it
    returns one number a pixel, in the image's shape.

    What is returned checks the arguments of `SHARED_ARGUMENTS` that are passed by
    keyword, then calls the builder. Its docstring is the builder's, completed by
    these arguments, `Returns` and `Raises`; what the builder documents itself stays.

    Args:
        builder: the function; absent when the decorator is called with arguments.
        section: where the paper describes the network.
        preprocessing: how raw 0..255 images become the network's input;
            pixels / 255 unless said otherwise.
        classifier: the name of the layer that `num_classes` shapes; None where
            there is none, as in an autoencoder.
        code: the name of the layer whose output is an autoencoder's code.
        loss: a name of `elu_zoo.training.loss`.
        any_size: the shapes of the weights do not depend on height and width of the
            images, so that pretrained ones may be taken for another size.
        smallest: least height and width of an image, in pixels.

    Raises:
        UsageError: the name is taken by another function, or the loss is not known.
    """
    if loss not in READOUTS:
        raise errors.unknown("loss", loss, READOUTS)

    def register(builder: Callable[..., Any]) -> Callable[..., Any]:
        name = builder.__name__
        taken = _MODELS.get(name)
        if taken and not same_origin(taken.builder, builder):
            raise errors.UsageError(
                f"A model named {name!r} is registered already, by "
                f"{taken.builder.__module__}. Give the new function another name."
            )
        checked = _checked(builder, smallest)
        checked.__doc__ = _completed_docstring(builder, any_size, smallest)
        _MODELS[name] = ModelEntry(
            name=name,
            builder=checked,
            section=section,
            preprocessing=preprocessing or {"kind": "rescale", "scale": 1 / 255},
            classifier=None if code else classifier,
            code=code,
            loss=loss,
            any_size=any_size,
        )
        return checked

    return register if builder is None else register(builder)


def _checked(builder: Callable[..., Any], smallest: int) -> Callable[..., Any]:
    """Returns the builder behind the checks of its shared arguments."""

    @functools.wraps(builder)
    def checked(*args: Any, **arguments: Any) -> Any:
        for name, value in arguments.items():
            _check_argument(name, value)
        if "input_shape" in arguments:
            shape = check_image_shape(arguments["input_shape"])
            if min(shape[:2]) < smallest:
                raise errors.UsageError(
                    f"Images of this network are at least {smallest} x {smallest}. "
                    f"Received: input_shape={shape}."
                )
            arguments["input_shape"] = shape
        return builder(*args, **arguments)

    return checked


def _check_argument(name: str, value: Any) -> None:
    """Checks one shared argument; building checks activation and preprocessing."""
    if name == "batch_norm":
        errors.check_bool(name, value)
    elif name == "num_classes":
        errors.check_integer(name, value, minimum=1)
    elif name == "seed":
        errors.check_integer(name, value, minimum=0)
    elif name == "width":
        expected = "multiplies the number of units of every layer: a finite number > 0"
        errors.check_number(name, value, expected, lambda value: value > 0)
    elif name == "kernel_decay":
        errors.check_non_negative(name, value)
    elif name == "conv_dtype":
        errors.check_choice(name, value, CONV_DTYPES)


def check_image_shape(input_shape: Any) -> tuple[int, int, int]:
    """Returns `(height, width, channels)` as a tuple of positive integers.

    Raises:
        UsageError: another rank, a size that is not positive, or channels first.
    """
    expected = "input_shape is (height, width, channels), for instance (28, 28, 1)"
    try:
        shape = tuple(input_shape)
    except TypeError:
        shape = ()
    if len(shape) != 3:
        raise errors.UsageError(f"{expected}. Received: {input_shape!r}.")
    for size in shape:
        errors.check_integer("Each entry of input_shape", size, minimum=1)
    if shape[0] in (1, 3) and shape[2] > 4:
        raise errors.UsageError(
            f"{expected}. Received {shape}, which looks like channels first: move "
            f"the first axis to the end, {(*shape[1:], shape[0])}."
        )
    return shape


def _completed_docstring(
    builder: Callable[..., Any], any_size: bool, smallest: int
) -> str | None:
    """Returns a builder's docstring with the sections that it leaves to the registry.

    None, as under `python -OO`, stays None.
    """
    if not builder.__doc__:
        return None
    headings = r"\n\n(?=(?:Args|Returns|Raises):\n|Reference)"
    summary, *rest = re.split(headings, inspect.cleandoc(builder.__doc__))
    sections = {section.partition(":")[0]: section for section in rest}
    own = sections.pop("Args", "Args:")
    lines = []
    for name in inspect.signature(builder).parameters:
        if name not in SHARED_ARGUMENTS or f"\n    {name}:" in own:
            continue
        text = SHARED_ARGUMENTS[name]
        if name == "input_shape":
            text += f", of at least {smallest} x {smallest} pixels" * (smallest > 1)
            text += "; the weights fit any size." if any_size else "."
        indents = {"initial_indent": "    ", "subsequent_indent": "        "}
        lines.append(textwrap.fill(f"{name}: {text}", 84, **indents))
    arguments = own.replace("Args:", "\n".join(["Args:", *lines]), 1)
    returns = sections.pop("Returns", RETURNS)
    raises = sections.pop("Raises", RAISES)
    return "\n\n".join([summary, arguments, returns, raises, *sections.values()])


def same_origin(old: Any, new: Any) -> bool:
    """Whether two functions or classes come from one definition, executed again.

    A notebook's cell that is run twice gives such two, and a config loaded twice.
    """
    if old.__qualname__ != new.__qualname__:
        return False
    files = {_file(old), _file(new)}
    return old.__module__ == new.__module__ or (len(files) == 1 and None not in files)


def _file(definition: Any) -> str | None:
    definition = inspect.unwrap(definition)
    methods = vars(definition).values() if inspect.isclass(definition) else ()
    codes = (getattr(x, "__code__", None) for x in (definition, *methods))
    return next((code.co_filename for code in codes if code), None)


def entry(name: str) -> ModelEntry:
    """Returns the entry of a registered model.

    Raises:
        UsageTypeError: `name` is not a string.
        UsageError: no model has this name.
    """
    _check_known(name, _MODELS)
    return _MODELS[name]


def check_name(name: str) -> None:
    """Checks that a model has this name, before `elu_zoo.models` is imported.

    Raises:
        UsageTypeError, UsageError: as `entry`.
    """
    _check_known(name, {*_MODELS, *NETWORKS})


def _check_known(name: str, known: Collection[str]) -> None:
    if not isinstance(name, str):
        raise errors.UsageTypeError(
            f"A model's name is a string. Received: {name!r} of type "
            f"{type(name).__name__}."
        )
    if name not in known:
        raise errors.UsageError(
            f"{errors.unknown('model', name, sorted(known))} One of your own is "
            "registered before: elu_zoo.register_model, in commands --module."
        )


def names() -> list[str]:
    """Returns the names of all registered models."""
    return list(_MODELS)
