"""The table of activations by name, and the layers made from it."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import keras

from elu_zoo import errors, registry
from elu_zoo.activations.elu import ELU, elu
from elu_zoo.activations.prelu import PReLU
from elu_zoo.activations.rectifiers import LeakyReLU, ShiftedReLU, VeryLeakyReLU
from elu_zoo.activations.rrelu import RReLU

# Keras' functions that act on each element and need no argument.
KERAS = """linear sigmoid softplus softsign selu celu gelu silu mish relu6 exponential
    log_sigmoid hard_sigmoid hard_silu hard_tanh tanh_shrink soft_shrink hard_shrink
    squareplus sparse_plus sparse_sigmoid""".split()

# Layer classes, and functions for keras.layers.Activation.
_table: dict[str, Callable] = {
    "elu": ELU,
    "relu": keras.activations.relu,
    "leaky_relu": LeakyReLU,
    "shifted_relu": ShiftedReLU,
    "prelu": PReLU,
    "rrelu": RReLU,
    "tanh": keras.activations.tanh,
    "very_leaky_relu": VeryLeakyReLU,
    **{name: getattr(keras.activations, name) for name in KERAS},
}
_ALIASES = {"srelu": "shifted_relu", "swish": "silu", "hard_swish": "hard_silu"}
# Not a function of single values: only the network of this name has it.
_MAXOUT = "maxout"
_FUNCTIONS_OF_LAYERS = {elu: ELU, keras.activations.elu: ELU}

_ACCEPTED = (
    "Pass a name, a mapping {'name': ..., 'alpha': ...}, a keras Layer class, a "
    "registered function or a function of no arguments that returns a new layer."
)


def names() -> list[str]:
    """Returns the names of all activations, the paper's first."""
    return list(_table)


def register_activation(name: Any, factory: Callable | None = None) -> Any:
    """Registers an activation here, and with Keras so that it can be saved.

    Example:

    >>> @register_activation
    ... def cube(x):
    ...     return x**3
    >>> @register_activation("scaled_tanh")
    ... class ScaledTanh(keras.layers.Layer): ...
    >>> register_activation("sine", keras.ops.sin)

    Args:
        name: the new name. The default is the name of the object, in lower case with
            underscores.
        factory: a keras Layer class whose arguments all have defaults and are in its
            `get_config`, or an elementwise function of one tensor.

    Returns:
        `factory`, or a decorator for it.
    """
    if not isinstance(name, str):
        if factory is not None:
            raise errors.UsageTypeError(
                f"The name of an activation must be a string. Received: {name!r}"
            )
        factory = name
        spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", getattr(name, "__name__", ""))
        name = spaced.lower()
    elif factory is None:
        return lambda factory: register_activation(name, factory)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise errors.UsageError(
            "The name of an activation must be lower-case letters, digits and "
            f"underscores. Received: {name!r}"
        )
    named = inspect.isroutine(factory) and factory.__name__ != "<lambda>"
    if not _is_layer_class(factory) and not named:
        raise errors.UsageTypeError(
            "register_activation takes a keras Layer class or a function with a name. "
            f"Received: {factory!r}"
        )
    taken = _table.get(name)
    if name in _ALIASES or (taken and not registry.same_origin(taken, factory)):
        raise errors.UsageError(f"The activation {name!r} exists. Choose another name.")
    if not _is_registered(factory):
        keras.saving.register_keras_serializable("elu_zoo_user", name)(factory)
    _table[name] = factory
    return factory


def make(activation: Any, name: str, seed: int | None = None) -> keras.layers.Layer:
    """Returns a new layer of the given activation.

    Args:
        activation: a name of `names()`; a mapping of `name` and the activation's
            arguments, where `None` means the default; a keras Layer class; a
            function registered by `register_activation` or by
            `keras.saving.register_keras_serializable`; or a function of no
            arguments that returns a new layer.
        name: the name of the layer.
        seed: the seed of an activation that draws random numbers.
    """
    if isinstance(activation, str):
        return _build(_lookup(activation), {}, name, seed)
    if isinstance(activation, keras.layers.Layer):
        raise errors.UsageTypeError(
            "Every site of a network needs its own activation layer. Received: the "
            f"layer {activation.name!r}. Pass its class, "
            f"{type(activation).__name__}, or `lambda: "
            f"{type(activation).__name__}(...)`."
        )
    is_class = inspect.isclass(activation)
    if not is_class and callable(getattr(activation, "items", None)):
        return _from_mapping(dict(activation.items()), name, seed)
    if _is_layer_class(activation) or _is_registered(activation):
        return _build(activation, {}, name, seed)
    if not callable(activation):
        raise errors.UsageTypeError(
            f"Unknown activation {activation!r} of type "
            f"{type(activation).__name__}. {_ACCEPTED}"
        )
    return _from_factory(activation, name)


def describe(activation: Any) -> dict[str, Any]:
    """Returns the canonical description of an activation, ready for JSON.

    The description is the name and every argument.

    >>> describe("srelu"), describe(ELU)
    ({'name': 'shifted_relu'}, {'name': 'elu', 'alpha': 1.0})

    Args:
        activation: see `make`; `maxout` is described too.
    """
    if is_maxout(activation):
        return {"name": _MAXOUT}
    layer = make(activation, "activation", seed=0)
    if type(layer) is keras.layers.Activation:
        return {"name": _name_of(layer.activation)}
    config = layer.get_config()
    arguments = {k: config[k] for k in _arguments(type(layer)) if k in config}
    return {"name": _name_of(type(layer)), **arguments}


def is_maxout(activation: Any) -> bool:
    """Whether an activation is `maxout`, which only the network `maxout` can build.

    Raises:
        UsageError: a mapping of `maxout` has arguments.
    """
    name, given = activation, {}
    if not inspect.isclass(activation) and hasattr(activation, "items"):
        given = {k: v for k, v in activation.items() if v is not None}
        name = given.pop("name", None)
    if not isinstance(name, str) or name != _MAXOUT:
        return False
    if given:
        raise errors.UsageError(
            f"The activation {name!r} takes no arguments. Received: {given}."
        )
    return True


def _lookup(name: str) -> Callable:
    if name == _MAXOUT:
        raise errors.UsageError(
            f"The activation {name!r} is not a function of single values: only the "
            f"network {name!r} has it."
        )
    name = _ALIASES.get(name, name)
    if name in _table:
        return _table[name]
    if name != "get" and inspect.isfunction(getattr(keras.activations, name, None)):
        raise errors.UsageError(
            f"The activation {name!r} does not act on each element separately. "
            f"Known: {', '.join(_table)}."
        )
    known = *_table, _MAXOUT
    raise errors.UsageError(
        f"{errors.unknown('activation', name, known)} An activation of your own must "
        "be registered first: elu_zoo.register_activation, in commands --module."
    )


def _from_mapping(
    mapping: dict[str, Any], name: str, seed: int | None
) -> keras.layers.Layer:
    kind = mapping.pop("name", None)
    if not isinstance(kind, str):
        raise errors.UsageError(
            "An activation given as a mapping needs a 'name' that is a string. "
            f"Received: name={kind!r}"
        )
    entry = _lookup(kind)
    known = _arguments(entry)
    given = {key: value for key, value in mapping.items() if value is not None}
    for key in mapping:
        # Configs have alpha=None for activations without alpha.
        if key not in known and (key != "alpha" or key in given):
            raise errors.unknown(f"argument of the activation {kind!r}", key, known)
    return _build(entry, given, name, seed)


def _from_factory(factory: Callable, name: str) -> keras.layers.Layer:
    try:
        inspect.signature(factory).bind()
    except (TypeError, ValueError):
        raise errors.UsageError(
            f"The function {factory!r} is not registered, so that a model with it "
            "could not be saved or exported. Decorate it with "
            "@elu_zoo.register_activation or "
            "@keras.saving.register_keras_serializable."
        ) from None
    layer, other = factory(), factory()
    if not isinstance(layer, keras.layers.Layer):
        raise errors.UsageTypeError(
            f"The factory {factory!r} must return a keras Layer. Received: {layer!r}"
        )
    if layer is other:
        raise errors.UsageError(
            f"The factory {factory!r} returned the same layer twice. Every site of a "
            "network needs a new one."
        )
    layer.name = name
    return layer


def _build(
    entry: Callable, arguments: dict[str, Any], name: str, seed: int | None
) -> keras.layers.Layer:
    entry = _FUNCTIONS_OF_LAYERS.get(entry, entry)
    if not _is_layer_class(entry):
        return keras.layers.Activation(entry, name=name)
    parameters = inspect.signature(entry).parameters
    required = [
        key
        for key, parameter in parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if required:
        raise errors.UsageError(
            f"The layer class {entry.__name__} needs arguments: "
            f"{', '.join(required)}. Pass `lambda: {entry.__name__}(...)`."
        )
    if "seed" in parameters:
        arguments = {**arguments, "seed": seed}
    return entry(**arguments, name=name)


def _arguments(entry: Callable) -> list[str]:
    if not _is_layer_class(entry):
        return []
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(entry).parameters.items()
    base = ("name", "dtype", "trainable", "seed")
    return [key for key, p in parameters if p.kind in kinds and key not in base]


def _name_of(entry: Callable) -> str:
    known = (name for name, value in _table.items() if value is entry)
    return next(known, None) or keras.saving.get_registered_name(entry)


def _is_layer_class(entry: Any) -> bool:
    return inspect.isclass(entry) and issubclass(entry, keras.layers.Layer)


def _is_registered(entry: Any) -> bool:
    if not inspect.isroutine(entry) and not inspect.isclass(entry):
        return False
    if entry in _FUNCTIONS_OF_LAYERS or any(entry is v for v in _table.values()):
        return True
    return keras.saving.get_registered_name(entry) != entry.__name__
