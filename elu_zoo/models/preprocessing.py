"""Resolves the argument `preprocessing` of `get_model` for a network."""

from collections.abc import Mapping
from typing import Any

from elu_zoo import errors
from elu_zoo.registry import ModelEntry, check_image_shape
from elu_zoo.weights.manifest import Entry


def chosen(
    registered: ModelEntry,
    asked: bool | str | Mapping[str, Any],
    entry: Entry | None,
    input_shape: Any = None,
) -> dict[str, Any] | None:
    """Returns the description of the preprocessing layers, None for no layers.

    Args:
        registered: the network.
        asked: the argument `preprocessing` of `elu_zoo.get_model`.
        entry: the entry of the weights; None for initial weights, or for a file
            without an entry.
        input_shape: the argument `input_shape` of the builder; None for the default.

    Raises:
        UsageTypeError: `asked` has the wrong type.
        UsageError: the network or its weights do not accept it, or the statistics
            belong to images of another size.
    """
    name = registered.name
    if not isinstance(asked, bool | str | Mapping):
        raise errors.UsageTypeError(
            "preprocessing is True, False, a data set's name or a description of "
            f"layers. Received: {asked!r}."
        )
    if asked is False:
        return None
    if not registered.takes("preprocessing"):
        raise errors.UsageError(
            f"The builder of {name} has no argument 'preprocessing', so that its model "
            "cannot take raw images. Pass preprocessing=False, or add the argument: "
            "see elu_zoo.register_model."
        )
    own = entry["preprocessing"] if entry else registered.preprocessing
    found = _described(name, own, asked)
    if entry and found != own:
        raise errors.UsageError(
            f"The weights {entry['tag']} were trained on {own}. Received: "
            f"preprocessing={asked!r}. Leave it out, or pass False."
        )
    if asked is True or entry:
        trained = entry["arguments"].get("input_shape") if entry else None
        _check_size(own, trained or registered.default("input_shape"), input_shape)
    return found


def _described(
    name: str, own: dict[str, Any], asked: bool | str | Mapping[str, Any]
) -> dict[str, Any]:
    if isinstance(asked, Mapping):
        # Entries are JSON, which has no tuples.
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asked.items()}
    if asked is True:
        return own
    if "statistics" not in own:
        raise errors.UsageError(
            f"{name} takes no statistics of a data set: preprocessing is True or "
            f"False. Received: {asked!r}."
        )
    return {**own, "statistics": asked}


def _check_size(own: dict[str, Any], known: Any, asked: Any) -> None:
    """Checks that images have the size that the statistics were computed from."""
    if "statistics" not in own or None in (known, asked):
        return
    asked = check_image_shape(asked)
    known = check_image_shape(known)
    if asked != known:
        images = "crops" if "crop" in own else "images"
        raise errors.UsageError(
            f"The statistics of {own['statistics']} fit {images} of {known[0]} x "
            f"{known[1]} pixels with {known[2]} channels. Received: input_shape="
            f"{asked}. Pass preprocessing=False and preprocess the images yourself, or "
            f"input_shape={known}."
        )
