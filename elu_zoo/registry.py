"""The registry of models: a decorator on a plain builder function, and one dict."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from elu_zoo import errors

# The activation that turns outputs into what they stand for, by the loss in training.
READOUTS = {
    "softmax_cross_entropy": "softmax",
    "squared_hinge": "softmax",  # scores, not log-probabilities: the order is right
    "sigmoid_cross_entropy": "sigmoid",
    "half_squared_error": "linear",
}


@dataclasses.dataclass(frozen=True)
class ModelEntry:
    """What the zoo knows of a model beside its builder.

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


def register_model(
    builder: Callable[..., Any] | None = None,
    *,
    section: str = "",
    preprocessing: dict[str, Any] | None = None,
    classifier: str | None = "classifier",
    code: str | None = None,
    loss: str = "softmax_cross_entropy",
    any_size: bool = False,
) -> Callable[..., Any]:
    """Registers a builder under its own name and returns it unchanged.

    Every builder has the arguments `(activation, *, batch_norm, num_classes,
    input_shape, width, seed, preprocessing)`, all with defaults, and may have more.
    It applies `preprocessing_layers(preprocessing)` to its input unless that is None,
    and returns logits. Without that argument it is built with
    `get_model(..., preprocessing=False)` alone. An autoencoder has no `num_classes`; it
    returns one number a pixel, in the image's shape.

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
        _MODELS[name] = ModelEntry(
            name=name,
            builder=builder,
            section=section,
            preprocessing=preprocessing or {"kind": "rescale", "scale": 1 / 255},
            classifier=None if code else classifier,
            code=code,
            loss=loss,
            any_size=any_size,
        )
        return builder

    return register if builder is None else register(builder)


def same_origin(old: Any, new: Any) -> bool:
    """Whether two functions or classes are one, executed again.

    So they are when a notebook's cell is run twice, or a config is loaded twice.
    """
    if old.__qualname__ != new.__qualname__:
        return False
    files = {_file(old), _file(new)}
    return old.__module__ == new.__module__ or (len(files) == 1 and None not in files)


def _file(definition: Any) -> str | None:
    methods = vars(definition).values() if inspect.isclass(definition) else ()
    codes = (getattr(x, "__code__", None) for x in (definition, *methods))
    return next((code.co_filename for code in codes if code), None)


def entry(name: str) -> ModelEntry:
    """Returns the entry of a registered model.

    Raises:
        UsageTypeError: `name` is not a string.
        UsageError: no model has this name.
    """
    if not isinstance(name, str):
        raise errors.UsageTypeError(
            f"A model's name is a string. Received: {name!r} of type "
            f"{type(name).__name__}."
        )
    if name not in _MODELS:
        raise errors.UsageError(
            f"{errors.unknown('model', name, sorted(_MODELS))} One of your own is "
            "registered before: elu_zoo.register_model, in commands --module."
        )
    return _MODELS[name]


def names() -> list[str]:
    """Returns the names of all registered models."""
    return list(_MODELS)
