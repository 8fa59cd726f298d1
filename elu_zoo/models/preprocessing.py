"""Resolution of the argument `preprocessing` of `get_model`."""

from collections.abc import Mapping
from typing import Any

from elu_zoo import errors
from elu_zoo.registry import ModelEntry
from elu_zoo.weights.pretrained import Pretrained


def resolve(
    registered: ModelEntry,
    argument: bool | str | Mapping[str, Any],
    trained: Pretrained | None,
) -> dict[str, Any] | None:
    """Returns the description that the argument selects, or None for no layers."""
    name = registered.name
    if not isinstance(argument, bool | str | Mapping):
        raise errors.UsageTypeError(
            "preprocessing must be True, False, the name of a data set or a "
            f"description of layers. Received: {argument!r}."
        )
    if argument is False:
        return None
    if not registered.takes("preprocessing"):
        raise errors.UsageError(
            f"The builder of {name} has no argument 'preprocessing', so that its model "
            "cannot take raw images. Pass preprocessing=False, or add the argument to "
            "the builder as described in elu_zoo.register_model."
        )
    default = registered.preprocessing
    if trained or argument is True:
        default = of_raw_images(registered, trained)
    description = _describe(name, default, argument)
    if trained and description != default:
        raise errors.UsageError(
            f"The weights {trained.name} were trained with preprocessing={default}. "
            f"Received: preprocessing={argument!r}. Remove the argument, or pass False."
        )
    return description


def untrained(registered: ModelEntry) -> dict[str, Any]:
    """Returns the description of the preprocessing of a network without weights."""
    return registered.fallback or registered.preprocessing


def of_raw_images(registered: ModelEntry, trained: Pretrained | None) -> dict[str, Any]:
    """Returns the description of a network's preprocessing of raw images."""
    if trained and trained.preprocessing["kind"] is None:
        raise errors.UsageError(
            f"{trained.name} was saved without the layers that preprocess raw images. Build the "
            "model with preprocessing=False, and pass it the images that it was trained on."
        )
    return trained.preprocessing if trained else untrained(registered)


def _describe(
    name: str, default: dict[str, Any], argument: bool | str | Mapping[str, Any]
) -> dict[str, Any]:
    if isinstance(argument, Mapping):
        # Manifest entries are JSON, which has no tuples.
        return {k: list(v) if isinstance(v, tuple) else v for k, v in argument.items()}
    if argument is True:
        return default
    if "statistics" not in default:
        raise errors.UsageError(
            f"The preprocessing of {name} has no statistics of a data set. "
            f"preprocessing must be True or False. Received: {argument!r}."
        )
    return {**default, "statistics": argument}
