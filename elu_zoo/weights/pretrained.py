"""Search for the weight file and the entry that the argument `weights=` selects."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from absl import logging

from elu_zoo import errors, registry
from elu_zoo.weights import manifest

if TYPE_CHECKING:
    from elu_zoo.weights.unverified import Saved

_HUB = "hf:", "hf-hub:", "huggingface:", "https://huggingface.co/"  # `hub.check` accepts hf: only


@dataclasses.dataclass(frozen=True)
class Pretrained:
    """A weight file, and what its entry or, for a file of Keras, the file states."""

    name: str  # the tag, or the path of a file without an entry; for messages
    model: str
    path: Path  # of the `.weights.h5` or `.keras` file
    activation: dict[str, Any]  # if the file does not state it, that of the arguments
    arguments: dict[str, Any]  # of the builder, as far as they are stated
    preprocessing: dict[str, Any]
    loss: str  # a key of `registry.OUTPUT_ACTIVATION`
    classes: Sequence[str] = ()  # empty for an autoencoder and for a file without an entry
    dataset: str | None = None  # None for a file without an entry
    temperature: float = 1.0  # divides the logits before a softmax; 1 without calibration
    has_classifier: bool = True  # whether `get_model` loads the weights of the classifier
    entry: manifest.Entry | None = None
    saved: "Saved | None" = None  # what a file without an entry states

    @classmethod
    def of_entry(cls, entry: manifest.Entry, path: Path) -> "Pretrained":
        same = {k: entry[k] for k in "model arguments preprocessing classes dataset".split()}
        same |= {"activation": entry["arguments"]["activation"], "loss": manifest.loss(entry)}
        same["temperature"] = entry.get("calibration", {}).get("temperature", 1.0)
        return cls(entry["tag"], path=path, entry=entry, **same)

    @classmethod
    def of_file(cls, saved: "Saved", model: registry.ModelEntry, activation: dict) -> "Pretrained":
        same = {k: getattr(saved, k) for k in "arguments preprocessing has_classifier".split()}
        activation = saved.arguments.get("activation", activation)
        found = {"activation": activation, "loss": model.loss, "saved": saved, **same}
        return cls(str(saved.path), model.name, saved.path, **found)

    def merged(self, requested: dict[str, Any], preprocesses: bool = True) -> dict[str, Any]:
        """Returns the builder arguments of the weights, updated with those of the user.

        Only `num_classes`, `seed` and, where the preprocessing fits any size, the size may differ.
        """
        from elu_zoo import activations

        any_size = registry.entry(self.model).any_size
        one_size = any_size and preprocesses and self.preprocessing["kind"] in ("gcn", "gcn_zca")
        for key, new in requested.items():
            if key not in self.arguments or key in ("num_classes", "seed"):
                continue
            new = new.tolist() if hasattr(new, "tolist") else new  # of NumPy
            trained, new = self.arguments[key], list(new) if isinstance(new, tuple) else new
            new = activations.describe(new) if key == "activation" else new
            is_shape = key == "input_shape" and isinstance(new, list) and len(new) == 3
            if is_shape and any_size and not one_size:
                trained = [*new[:2], trained[2]]
            same_channels = is_shape and one_size and new[2] == trained[2]
            if new != trained:
                raise errors.UsageError(
                    f"The weights {self.name} were trained with {key}={trained}. Received: "
                    f"{key}={new}. Remove the argument {key}, or pass other weights"
                    f"{' or preprocessing=False' * same_channels}."
                )
        return {"activation": self.activation, **self.arguments, **requested}


def find(
    model: str,
    weights: str | os.PathLike | Pretrained | None,
    *,
    activation: Any = None,
    batch_norm: bool | None = None,
    allow_unverified: bool = False,
    warns: bool = True,
) -> Pretrained | None:
    """Returns the pretrained weights for the argument `weights=` of `get_model`, or None.

    Args:
        weights: a `Pretrained` is returned unchanged.
        activation: selects a weight file of a data set, as batch_norm does. None stands for the
            builder's default, or for another activation if no file has the default.
    """
    errors.check_bool("allow_unverified", allow_unverified)
    if weights is None:
        return None
    if isinstance(weights, Pretrained):
        _check_model(weights.name, weights.model, model)
        return weights
    if not isinstance(weights, str | os.PathLike):
        raise errors.UsageTypeError(
            "weights must be the name of a data set, a tag or a path. Received: "
            f"{weights!r} of type {type(weights).__name__}. {manifest.offer(model)}"
        )
    from elu_zoo import activations
    from elu_zoo.weights import fetch, hub, local, unverified

    registered = registry.entry(model)
    arguments = {"activation": activation, "batch_norm": batch_norm}
    requested = {key: v for key, v in arguments.items() if v is not None}
    filled = {key: registered.default(key) for key in arguments} | requested
    filled["activation"] = activations.describe(filled["activation"])
    if str(weights).startswith(_HUB):
        weights = hub.fetch(str(weights))
    if _is_path(weights):
        path, entry = local.with_entry(Path(weights))
    else:
        entry = _from_manifest(str(weights), model, filled, activation is None)
        used, default = entry["arguments"]["activation"]["name"], filled["activation"]["name"]
        if warns and weights == entry["dataset"] and used != default:
            logging.warning(
                f"{model} has no {weights!r} weights with {default}, its default activation. "
                f"Those with {used} are used. To choose them, pass activation={used!r}, or "
                f"set --activation={used}."
            )
        path = fetch.ensure(entry)[0]
    if entry:
        _check_model(entry["tag"], entry["model"], model)
        found = Pretrained.of_entry(entry, path)
    else:
        saved = unverified.find(path, registered, allow_unverified)
        found = Pretrained.of_file(saved, registered, filled["activation"])
    found.merged(requested)  # raises an error if an argument contradicts the file
    return found


def check_exists(model: str, weights: str) -> None:
    """Checks that weights of this name exist, without the import of Keras.

    Commands call this function first, so that a misspelled name fails at once.
    """
    if weights.startswith(_HUB):
        from elu_zoo.weights import hub

        hub.check(weights)
    elif _is_path(weights):
        from elu_zoo.weights import local  # imports h5py and NumPy

        local.with_entry(Path(weights))
    else:
        _published_entries(weights, model)


def _check_model(weights: str, trained: str, model: str) -> None:
    if trained != model:
        raise errors.UsageError(
            f"The weights {weights} belong to the model {trained!r}, not to {model!r}."
        )


def _is_path(weights: str | os.PathLike) -> bool:
    if not isinstance(weights, str) or os.sep in weights or weights.endswith((".h5", ".keras")):
        return True
    # A folder with the name of published weights is ignored.
    published = manifest.published().values()
    is_listed = any(weights in (entry["dataset"], entry["tag"]) for entry in published)
    return bool(weights) and not is_listed and os.path.exists(os.path.expanduser(weights))


def _published_entries(name: str, model: str) -> list[manifest.Entry]:
    """Returns the published entries of a tag or of a data set."""
    published = manifest.published()
    if name in published:
        _check_model(name, published[name]["model"], model)
        return [published[name]]
    of_model = [e for e in published.values() if e["model"] == model]
    if found := [e for e in of_model if e["dataset"] == name]:
        return found
    datasets = sorted({e["dataset"] for e in of_model})
    closest = errors.did_you_mean(name, [*datasets, *(e["tag"] for e in of_model)])
    raise errors.UsageError(
        f"Unknown weights of {model} {name!r}. {closest}{manifest.offer(model)} list_weights() "
        "returns all tags."
    )


def _from_manifest(
    name: str, model: str, arguments: dict[str, Any], any_activation: bool
) -> manifest.Entry:
    """Returns the entry of a tag, or the best entry of a data set and arguments."""
    entries = _published_entries(name, model)
    if name == entries[0]["tag"]:
        return entries[0]
    for keys in [["activation", "batch_norm"]] + [["batch_norm"]] * any_activation:
        matching = [e for e in entries if all(e["arguments"][k] == arguments[k] for k in keys)]
        if matching:
            return min(matching, key=manifest.rank)
    variants = sorted({manifest.variant(e["arguments"]) for e in entries})
    wanted = ", ".join(f"{key} {value}" for key, value in arguments.items())
    raise errors.UsageError(
        f"{model} has no {name!r} weights with {wanted}. There are weights for: "
        f"{', '.join(variants)}. Pass the arguments of one of these, or its tag."
    )
