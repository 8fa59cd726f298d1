"""The table of activations by name, and construction of activation layers."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import keras

from elu_zoo import errors
from elu_zoo.activations.elu import ELU, elu, elu_xla
from elu_zoo.activations.rectifiers import LeakyReLU, PReLU, RReLU, ShiftedReLU, VeryLeakyReLU

# Functions of Keras that act on each element separately and need no arguments.
KERAS = """linear sigmoid softplus softsign selu celu gelu silu mish relu6 exponential
    log_sigmoid hard_sigmoid hard_silu hard_tanh tanh_shrink soft_shrink hard_shrink
    squareplus sparse_plus sparse_sigmoid""".split()

# Each value is a layer class, or a function for keras.layers.Activation.
_table: dict[str, Callable] = {
    "elu": ELU,
    "relu": keras.activations.relu,
    "leaky_relu": LeakyReLU,
    "shifted_relu": ShiftedReLU,
    "prelu": PReLU,
    "rrelu": RReLU,
    "tanh": keras.activations.tanh,
    "very_leaky_relu": VeryLeakyReLU,
    "elu_xla": elu_xla,
}
_table |= {name: getattr(keras.activations, name) for name in KERAS if name not in _table}
BUILT_IN = frozenset(_table)  # without those that users register
_ALIASES = {"srelu": "shifted_relu", "swish": "silu", "hard_swish": "hard_silu"}
# Not in `_table`: maxout is not elementwise, and only the network `maxout` can use it.
_MAXOUT = "maxout"
_FUNCTIONS_OF_LAYERS = {elu: ELU, elu_xla: ELU, keras.activations.elu: ELU}


def names() -> list[str]:
    """Returns the names of all activations, the paper's first."""
    return list(_table)


def register_activation(name: Any, factory: Callable | None = None) -> Any:
    """Registers an activation by name, and with Keras so that models can be saved.

    Example:

    >>> @register_activation
    ... def cube(x):
    ...     return x**3
    >>> @register_activation("scaled_tanh")
    ... class ScaledTanh(keras.layers.Layer): ...
    >>> register_activation("sine", keras.ops.sin)

    Args:
        name: the new name; by default that of the class or function, in lower case, with `_`.
        factory: an elementwise function of one tensor, or a Keras layer class. All
            arguments of the class must have defaults and be in its `get_config`.

    Returns:
        `factory`, or a decorator for it.

    Raises:
        UsageError: the name is malformed or taken, or `factory` is neither or needs arguments.
    """
    if not isinstance(name, str):
        if factory is not None:
            raise errors.UsageTypeError(
                f"The name of an activation must be a string. Received: {name!r}."
            )
        factory = name
        spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", getattr(name, "__name__", ""))
        name = spaced.lower()
    elif factory is None:
        return lambda factory: register_activation(name, factory)
    named = inspect.isroutine(factory) and factory.__name__ != "<lambda>"
    if not _is_layer_class(factory) and not named:
        raise errors.UsageTypeError(
            "register_activation needs a Keras layer class or a function with a name. "
            f"Received: {factory!r}."
        )
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise errors.UsageError(
            "The name of an activation must consist of lower-case letters, digits and "
            f"underscores, and start with a letter. Received: {name!r}."
        )
    taken = _table.get(name, factory)
    if _is_layer_class(factory):
        _build(factory, {}, name, 0)  # an error names arguments without defaults
    else:
        _check_takes_one(factory)
    # A notebook may run a cell twice.
    is_same = (taken.__module__, taken.__qualname__) == (factory.__module__, factory.__qualname__)
    if name in (*_ALIASES, _MAXOUT) or not is_same:
        raise errors.UsageError(f"An activation named {name!r} exists already. Pass another name.")
    if not _is_registered(factory):
        keras.saving.register_keras_serializable("elu_zoo_user", name)(factory)
    _table[name] = factory
    return factory


def _check_takes_one(function: Callable) -> None:
    try:
        inspect.signature(function).bind(None)
    except TypeError as error:
        raise errors.UsageError(
            f"The activation {function.__name__} must be a function of one tensor: {error}."
        ) from None
    except ValueError:  # a function of C may have no signature
        pass


def make(activation: Any, name: str, seed: int | None = None) -> keras.layers.Layer:
    """Returns a new activation layer.

    Args:
        activation: a name of `names()`; a mapping of `name` and the arguments of the activation,
            where `None` means the default; a Keras layer class; a function registered by
            `register_activation` or by `keras.saving.register_keras_serializable`; or a function
            without arguments that returns a new layer.
        name: the name of the layer.
        seed: the seed of an activation that draws random numbers; a factory sets its own.
    """
    if isinstance(activation, str):
        return _build(_lookup(activation), {}, name, seed)
    if isinstance(activation, keras.layers.Layer):
        raise errors.UsageTypeError(
            "A network needs a new layer for each of its activations. Received: the "
            f"layer {activation.name!r}. Pass the class {type(activation).__name__} or "
            f"`lambda: {type(activation).__name__}(...)`."
        )
    is_class = inspect.isclass(activation)
    if not is_class and callable(getattr(activation, "items", None)):
        return _from_mapping(dict(activation.items()), name, seed)
    if _is_layer_class(activation) or _is_registered(activation):
        return _build(activation, {}, name, seed)
    if not callable(activation):
        raise errors.UsageTypeError(
            f"Unknown activation {activation!r} of type {type(activation).__name__}. "
            "Pass a name, a mapping with a 'name', a Keras layer class, a registered "
            "function, or a function without arguments that returns a new layer."
        )
    return _from_factory(activation, name)


def describe(activation: Any) -> dict[str, Any]:
    """Returns the name and all arguments of an activation, as values of JSON.

    >>> describe("srelu"), describe(ELU)
    ({'name': 'shifted_relu'}, {'name': 'elu', 'alpha': 1.0})

    How a layer computes is no argument: `elu_xla` is described as `elu`.

    Args:
        activation: an activation as in `make`, or `maxout`.
    """
    if is_maxout(activation):
        return {"name": _MAXOUT}
    layer = make(activation, "activation", seed=0)
    if type(layer) is keras.layers.Activation:
        return {"name": _name_of(layer.activation)}
    config = layer.get_config()
    arguments = {k: config[k] for k in _arguments(type(layer)) if k in config}
    listed = {k: list(v) for k, v in arguments.items() if isinstance(v, tuple)}  # as in JSON
    return {"name": _name_of(type(layer)), **arguments, **listed}


def of_config(layer: dict[str, Any]) -> dict[str, Any] | None:
    """Describes a layer of a saved model (`class_name` and `config`); None if not in `names`."""
    saved = layer["config"]
    for name in _table:
        made = make(name, "activation", seed=0)
        stored = keras.saving.serialize_keras_object(made)
        is_class = all(stored[k] == layer.get(k) for k in ("class_name", "registered_name"))
        if is_class and made.get_config().get("activation") == saved.get("activation"):
            keys = [k for k in _arguments(type(made)) if k in saved]
            return {"name": name, **{k: saved[k] for k in keys if k != "activation"}}
    return None


def is_maxout(activation: Any) -> bool:
    """Returns whether an activation is `maxout`, which only that network has."""
    name, arguments = activation, {}
    if not inspect.isclass(activation) and hasattr(activation, "items"):
        arguments = {k: v for k, v in activation.items() if v is not None}
        name = arguments.pop("name", None)
    if not isinstance(name, str) or name != _MAXOUT:
        return False
    if arguments:
        raise errors.UsageError(f"The activation {name!r} has no arguments. Received: {arguments}.")
    return True


def _lookup(name: str) -> Callable:
    name = _ALIASES.get(name, name)
    if name in _table:
        return _table[name]
    of_keras = name != "get" and inspect.isfunction(getattr(keras.activations, name, None))
    if name == _MAXOUT or of_keras:
        raise errors.UsageError(
            f"The activation {name!r} needs arguments, or does not act on each element separately. "
            f"Known: {', '.join(_table)}, and {_MAXOUT} in the network {_MAXOUT} only."
        )
    raise errors.UsageError(
        f"{errors.unknown_name_error('activation', name, [*_table, _MAXOUT])} Register your own "
        "activation with elu_zoo.register_activation. In a command, pass its file as --module."
    )


def _from_mapping(mapping: dict[str, Any], name: str, seed: int | None) -> keras.layers.Layer:
    kind = mapping.pop("name", None)
    if not isinstance(kind, str):
        raise errors.UsageError(
            "The mapping of an activation needs a 'name' that is a string. "
            f"Received: name={kind!r}."
        )
    entry = _lookup(kind)
    known = _arguments(entry)
    arguments = {key: value for key, value in mapping.items() if value is not None}
    for key in mapping:
        # Configs have alpha=None for activations without alpha.
        if key not in known and (key != "alpha" or key in arguments):
            raise errors.unknown_name_error(f"argument of the activation {kind!r}", key, known)
    return _build(entry, arguments, name, seed)


def _from_factory(factory: Callable, name: str) -> keras.layers.Layer:
    try:
        inspect.signature(factory).bind()
    except (TypeError, ValueError):
        raise errors.UsageError(
            f"The function {factory!r} is not registered, so that a model with it could not be "
            "saved or exported. Decorate it with @elu_zoo.register_activation or "
            "@keras.saving.register_keras_serializable."
        ) from None
    layer, other = factory(), factory()
    if not isinstance(layer, keras.layers.Layer):
        raise errors.UsageTypeError(
            f"The factory {factory!r} must return a Keras layer. Received: {layer!r}."
        )
    if layer is other:
        raise errors.UsageError(
            f"The factory {factory!r} returned the same layer twice. It must return a "
            "new layer each time."
        )
    layer.name = name
    return layer


def _build(
    entry: Callable, arguments: dict[str, Any], name: str, seed: int | None
) -> keras.layers.Layer:
    if entry is elu_xla:
        arguments = {**arguments, "jit_compile": True}
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
            f"The layer class {entry.__name__} needs arguments: {', '.join(required)}. Give them "
            f"defaults, or pass `lambda: {entry.__name__}(...)` as the activation."
        )
    if not any(p.kind is p.VAR_KEYWORD or p.name == "name" for p in parameters.values()):
        raise errors.UsageError(
            f"The layer class {entry.__name__} needs an argument name, or **kwargs, for Keras."
        )
    if "seed" in parameters:
        arguments = {**arguments, "seed": seed}
    return entry(**arguments, name=name)


def _arguments(entry: Callable) -> list[str]:
    entry = _FUNCTIONS_OF_LAYERS.get(entry, entry)
    if not _is_layer_class(entry):
        return []
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(entry).parameters.items()
    base = ("name", "dtype", "trainable", "seed", "jit_compile")
    return [key for key, p in parameters if p.kind in kinds and key not in base]


def _name_of(entry: Callable) -> str:
    matching = (name for name, value in _table.items() if value is entry)
    return next(matching, None) or keras.saving.get_registered_name(entry)


def _is_layer_class(entry: Any) -> bool:
    return inspect.isclass(entry) and issubclass(entry, keras.layers.Layer)


def _is_registered(entry: Any) -> bool:
    if not inspect.isroutine(entry) and not inspect.isclass(entry):
        return False
    if entry in _FUNCTIONS_OF_LAYERS or any(entry is v for v in _table.values()):
        return True
    return keras.saving.get_registered_name(entry) != entry.__name__
