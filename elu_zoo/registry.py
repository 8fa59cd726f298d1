"""The registry of models: a decorator for builder functions, and their entries by name."""

import dataclasses
import functools
import importlib
import inspect
import numbers
import re
import reprlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from elu_zoo import errors

# For each loss, the activation that turns outputs into probabilities or pixels.
OUTPUT_ACTIVATION = {
    "softmax_cross_entropy": "softmax",
    "squared_hinge": "softmax",  # only the order of these probabilities has a meaning
    "sigmoid_cross_entropy": "sigmoid",
    "half_squared_error": "linear",
}


@dataclasses.dataclass(frozen=True)
class ModelEntry:
    """A registered model: its builder, with checks, and the arguments of `register_model`."""

    name: str
    builder: Callable[..., Any]
    preprocessing: dict[str, Any]
    fallback: dict[str, Any] | None
    code: str | None
    loss: str
    any_size: bool
    training_only: tuple[str, ...]

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.builder).parameters

    @property
    def is_autoencoder(self) -> bool:
        """Whether the network returns images instead of class scores."""
        return self.code is not None

    @property
    def classifier(self) -> str | None:
        """The name of the layer with `num_classes` outputs; None for an autoencoder."""
        return None if self.is_autoencoder else "classifier"

    def takes(self, argument: str) -> bool:
        return argument in self.parameters

    def default(self, argument: str) -> Any:
        """The default of a builder's argument, or None if it has no default."""
        default = getattr(self.parameters.get(argument), "default", None)
        return None if default is inspect.Parameter.empty else default


_MODELS: dict[str, ModelEntry] = {}


def register_model(
    builder: Callable[..., Any] | None = None,
    *,
    preprocessing: dict[str, Any] | None = None,
    fallback: dict[str, Any] | None = None,
    code: str | None = None,
    loss: str = "softmax_cross_entropy",
    any_size: bool = False,
    training_only: tuple[str, ...] = (),
) -> Callable[..., Any]:
    """Registers a builder under its own name and returns it with argument checks.

    A builder has the arguments `(activation, *, batch_norm, num_classes, input_shape,
    width, seed, preprocessing)`, all with defaults, and may have further arguments. It
    applies `preprocessing_layers(preprocessing)` to its input unless `preprocessing` is
    None, and returns logits. Its layer `classifier` has `num_classes` outputs. A builder
    without the argument `preprocessing` needs `get_model(..., preprocessing=False)`. The
    builder of an autoencoder has no `num_classes`; its model's output has the image's shape.

    Args:
        builder: the function; absent when the decorator is called with arguments.
        preprocessing: the description of the layers on raw 0..255 images; the
            default is pixels / 255.
        fallback: the description for a network without weights, if `preprocessing`
            subtracts a mean image that the package does not have.
        code: the name of the layer whose output is an autoencoder's code.
        loss: a key of `elu_zoo.evaluation.loss.LOSSES`.
        any_size: whether the weights fit images of any height and width, and
            `input_shape` may be `(None, None, channels)`.
        training_only: the names of arguments that have an effect in training only, such
            as `dropout`. Entries of weights do not record them.

    Raises:
        UsageError: `builder` is no function, its name is taken, or the loss is unknown.
    """
    errors.check_choice("loss", loss, OUTPUT_ACTIVATION)

    def register(builder: Callable[..., Any]) -> Callable[..., Any]:
        if not inspect.isfunction(builder) or builder.__name__ == "<lambda>":
            raise errors.UsageTypeError(f"register_model needs a function. Received: {builder!r}.")
        name, taken = builder.__name__, _MODELS.get(builder.__name__)
        owner = taken.builder.__module__ if taken else network_modules().get(name)
        if owner not in (None, builder.__module__):  # A notebook may run a cell twice.
            raise errors.UsageError(
                f"A model named {name!r} is registered already, by {owner}. Rename the "
                "new function."
            )
        checked = _checked(builder, any_size)
        _MODELS[name] = ModelEntry(
            name=name,
            builder=checked,
            preprocessing=preprocessing or {"kind": "rescale", "scale": 1 / 255},
            fallback=fallback,
            code=code,
            loss=loss,
            any_size=any_size,
            training_only=training_only,
        )
        return checked

    return register if builder is None else register(builder)


def _checked(builder: Callable[..., Any], any_size: bool) -> Callable[..., Any]:
    """Returns a function that checks the shared arguments and calls the builder."""

    @functools.wraps(builder)
    def checked(*args: Any, **arguments: Any) -> Any:
        import keras  # here, because the registry is imported without Keras

        if keras.config.image_data_format() != "channels_last":
            raise errors.UsageError(
                "The networks need images (height, width, channels). Call "
                'keras.config.set_image_data_format("channels_last").'
            )
        for name, value in arguments.items():
            if name in _CHECKS and (name, value) != ("init_scale", None):
                _CHECKS[name](name, value)
        if "input_shape" in arguments:
            arguments["input_shape"] = check_image_shape(arguments["input_shape"], any_size)
        return builder(*args, **arguments)

    return checked


# Checks of shared arguments; the builder checks activation and preprocessing.
_CHECKS: dict[str, Callable[[str, Any], None]] = {
    "batch_norm": errors.check_bool,
    "num_classes": functools.partial(errors.check_integer, minimum=1),
    "seed": functools.partial(errors.check_integer, minimum=0),
    "width": functools.partial(errors.check_number, range=errors.POSITIVE),
    "kernel_decay": functools.partial(errors.check_number, range=errors.NON_NEGATIVE),
    "classifier_decay": functools.partial(errors.check_number, range=errors.NON_NEGATIVE),
    "init_scale": functools.partial(errors.check_number, range=errors.POSITIVE),
}


def check_image_shape(input_shape: Any, any_size: bool = False) -> tuple:
    """Returns an image shape as a tuple; with `any_size`, height and width may be None."""

    def fits(size: Any) -> bool:
        return any_size if size is None else isinstance(size, numbers.Integral) and int(size) > 0

    expected = "integers >= 1 (height, width, channels), such as (28, 28, 1)"
    errors.check_numbers("input_shape", input_shape, 3, expected, fits)
    shape = tuple(input_shape)
    errors.check_integer("the channels of input_shape", shape[2], minimum=1)
    if shape[0] in (1, 3) and shape[2] not in (1, 2, 3, 4):
        raise errors.UsageError(
            f"input_shape must be (height, width, channels). Received {shape}, which looks "
            f"like channels first. Pass {(*shape[1:], shape[0])}."
        )
    return shape


@functools.cache
def network_modules() -> dict[str, str]:
    """The module of each network of `elu_zoo.models`, by name, read without imports."""
    return {
        name: f"elu_zoo.models.{path.stem}"
        for path in sorted((Path(__file__).parent / "models").glob("*.py"))
        for name in re.findall(
            r"^@register_model\b.*?^def (\w+)", path.read_text(encoding="utf-8"), re.M | re.S
        )
    }


def names() -> list[str]:
    """Returns the names of all models, without importing their modules."""
    return sorted({*network_modules(), *_MODELS})


def entry(name: str) -> ModelEntry:
    """Returns the entry of a model, whose module is imported now."""
    check_name(name)
    if name not in _MODELS:
        importlib.import_module(network_modules()[name])
    return _MODELS[name]


def check_name(name: str) -> None:
    """Checks the name of a model without importing its module."""
    if not isinstance(name, str):
        raise errors.UsageTypeError(f"A model's name must be a string: {reprlib.repr(name)}.")
    if name not in names():
        raise errors.UsageError(
            f"{errors.unknown_name_error('model', name, names())} Register your own model "
            "with elu_zoo.register_model; for a command, set --module."
        )
