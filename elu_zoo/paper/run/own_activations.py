"""Activations of a user's own, `module:function`, in every process of an experiment."""

import importlib
import sys
from collections.abc import Sequence

from elu_zoo import activations, errors


def register(names: Sequence[str]) -> list[str]:
    """Returns the names of activations, those of `module:function` once registered.

    Args:
        names: of the zoo, or `module:function`, of a module that Python finds from
            the current folder, and of a function as `register_activation` takes it.

    Raises:
        UsageError: an unknown name, or a module without such a function.
    """
    found = []
    for name in names:
        if ":" in name:
            name = _register(name)
        name = activations.describe(name)["name"]  # srelu is shifted_relu
        if name in found:
            raise errors.UsageError(f"The activation {name} is named twice.")
        found.append(name)
    return found


def _register(name: str) -> str:
    module, _, function = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = importlib.import_module(module)
    # It is the user's code: whatever it raises is news about that module.
    except Exception as error:
        raise errors.UsageError(
            f"The activation {name}: importing {module} raises "
            f"{type(error).__name__}: {error}."
        ) from error
    if not hasattr(found, function):
        known = [key for key in vars(found) if not key.startswith("_")]
        raise errors.unknown(f"function of {module}", function, known)
    own = getattr(found, function)
    activations.register_activation(own)  # a second time changes nothing
    return activations.describe(own)["name"]
