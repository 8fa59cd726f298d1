"""Search for the weight file and the entry that the argument `weights=` selects."""

import contextlib
import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from absl import logging

from elu_zoo import errors, files, registry
from elu_zoo.weights import manifest

if TYPE_CHECKING:
    from elu_zoo.weights.hdf5 import Arrays, Shapes
    from elu_zoo.weights.unverified import Saved

_OF_OTHER_ZOOS = ("default", "imagenet", "in1k", "pretrained", "best", "latest", "true")


@dataclasses.dataclass(frozen=True)
class Pretrained:
    """A weight file with its entry.

    Attributes:
        model: the name of the network.
        path: the path of the `.weights.h5` or `.keras` file.
        entry: the entry of the file; None for a file without an entry.
        activation: the description of the activation, see `activations.describe`. It
            comes from the entry or the `.keras` file, otherwise from the arguments.
        has_classifier: whether `get_model` loads the weights of the classifier.
        saved: what a file without an entry states; None for a file with an entry.
    """

    model: str
    path: Path
    entry: manifest.Entry | None
    activation: dict[str, Any]
    has_classifier: bool = True
    saved: "Saved | None" = None

    @property
    def name(self) -> str:
        """The tag, or the path of a file without an entry; for messages."""
        return self.entry["tag"] if self.entry else str(self.path)

    @property
    def preprocessing(self) -> dict[str, Any]:
        """The description of the preprocessing, for `preprocessing_layers`."""
        if stated := self.stated_preprocessing:
            return stated
        return registry.entry(self.model).preprocessing

    @property
    def stated_preprocessing(self) -> dict[str, Any] | None:
        """The preprocessing in the entry or the file; None for a `.weights.h5` file."""
        if self.entry:
            return self.entry["preprocessing"]
        return self.saved.preprocessing if self.saved else None

    @property
    def arguments(self) -> dict[str, Any]:
        """The builder arguments in the entry or the file; other ones are unknown."""
        if self.entry:
            return self.entry["arguments"]
        return self.saved.arguments if self.saved else {}

    @property
    def classes(self) -> list[str]:
        """The class names; empty for an autoencoder and for a file without an entry."""
        return self.entry["classes"] if self.entry else []

    @property
    def dataset(self) -> str | None:
        """The name of the training data set; None for a file without an entry."""
        return self.entry["dataset"] if self.entry else None

    @property
    def loss(self) -> str:
        """The name of the training loss, a key of `registry.OUTPUT_ACTIVATION`.

        A file without an entry has the loss with which the network was registered.
        """
        if self.entry:
            return manifest.loss(self.entry)
        return registry.entry(self.model).loss

    @property
    def is_published(self) -> bool:
        """Whether the manifest has this entry."""
        return bool(self.entry) and self.entry["tag"] in manifest.published()

    def merged(self, requested: dict[str, Any]) -> dict[str, Any]:
        """Returns the builder arguments of the weights, updated with `requested`.

        `num_classes` and `seed` may differ from those of the weights.

        Args:
            requested: the builder arguments that the user passed.
        """
        from elu_zoo import activations

        tag = self.name
        if self.entry and requested.get("auxiliary_heads"):
            raise errors.UsageError(
                f"The weights {tag} do not include auxiliary heads, which exist only "
                "in training. Remove the argument auxiliary_heads."
            )
        merged = dict(self.arguments)
        any_size = registry.entry(self.model).any_size
        for key, value in requested.items():
            if key not in ("num_classes", "seed") and key in merged:
                new = activations.describe(value) if key == "activation" else value
                trained = merged[key]
                if isinstance(new, tuple):
                    new = list(new)
                is_shape = isinstance(new, list) and len(new) == 3
                if key == "input_shape" and any_size and is_shape:
                    trained = [*new[:2], trained[2]]  # height and width may differ
                if new != trained:
                    raise errors.UsageError(
                        f"The weights {tag} were trained with {key}={trained}. "
                        f"Received: {key}={new}. Remove the argument {key}, or pass "
                        "other weights."
                    )
            merged[key] = value
        return {"activation": self.activation, **merged}

    def read(self, shapes: "Shapes") -> "Arrays":
        """Returns the arrays of the file by layer name, see `hdf5.read`."""
        from elu_zoo.weights import hdf5

        entry = self.entry or {}
        is_downloaded = files.home() / "hub" in self.path.parents
        if is_downloaded or (files.home() in self.path.parents and entry.get("sources")):
            remedy = "Delete the file. The next use of the weights downloads it again."
        else:
            remedy = "Delete the file and download it again."
        return hdf5.read(self.path, shapes, entry.get("sha256"), remedy)


def find(
    model: str,
    weights: str | os.PathLike | Pretrained | None,
    *,
    activation: Any = None,
    batch_norm: bool | None = None,
    allow_unverified: bool = False,
    warns: bool = True,
) -> Pretrained | None:
    """Returns the pretrained weights for the argument `weights=` of a model.

    Args:
        model: the model's name.
        weights: the name of a data set, a tag, the path of a weight file, the folder of
            a finished run, or `hf:owner/repo[@revision]`. None and a `Pretrained` are
            returned unchanged.
        activation: the activation of the network, which selects one of the weight files
            of a data set. None stands for the builder's default, or for another
            activation if no file has the default. For a tag or a path, `activation`
            must be None or the activation of the entry.
        batch_norm: whether the network has batch norm; used like `activation`.
        allow_unverified: whether to accept a file without an entry beside it.
        warns: whether to log warnings, for instance if the default activation gives way.
    """
    if weights is None:
        return None
    if isinstance(weights, Pretrained):
        _check_model(weights.name, weights.model, model)
        return weights
    from elu_zoo import activations

    registered = registry.entry(model)
    arguments = {"activation": activation, "batch_norm": batch_norm}
    requested = {key: v for key, v in arguments.items() if v is not None}
    filled = {key: registered.default(key) for key in arguments} | requested
    filled["activation"] = activations.describe(filled["activation"])
    if not isinstance(weights, str | os.PathLike):
        raise errors.UsageTypeError(
            "weights must be the name of a data set, a tag or a path. Received: "
            f"{weights!r} of type {type(weights).__name__}. {manifest.offer(model)}"
        )
    if str(weights).startswith("hf:"):
        from elu_zoo.weights import hub

        weights = hub.fetch(str(weights))
    if _is_path(weights):
        from elu_zoo.weights import local

        path, entry, saved = local.find(Path(weights), registered, allow_unverified, warns)
    else:
        from elu_zoo.weights import fetch

        entry = _from_manifest(str(weights), model, filled, activation is None)
        used, default = entry["arguments"]["activation"]["name"], filled["activation"]
        if warns and weights == entry["dataset"] and used != default["name"]:
            logging.warning(
                f"{model} has no {weights!r} weights with {default['name']}, its "
                f"default activation. Those with {used} are used. To choose them, pass "
                f"activation={used!r}, or set --activation={used}."
            )
        path, *_ = fetch.ensure(entry)
    if entry:
        _check_model(entry["tag"], entry["model"], model)
        selected = Pretrained(model, path, entry, entry["arguments"]["activation"])
    else:
        used = saved.arguments.get("activation", filled["activation"])
        head = saved.has_classifier
        selected = Pretrained(model, path, None, used, head, saved)
    # `merged` raises an error if an argument contradicts the entry.
    selected.merged(requested)
    return selected


def check_exists(model: str, weights: str) -> None:
    """Checks that weights of this name exist, without the import of Keras.

    Commands call this function first, so that a misspelled name fails at once.
    """
    if weights.startswith("hf:"):
        from elu_zoo.weights import hub

        hub.check(weights)
        return
    if not _is_path(weights):
        _published_entries(weights, model)
        return
    from elu_zoo.weights import local

    local.check_exists(Path(weights))


def _check_model(weights: str, trained: str, model: str) -> None:
    if trained != model:
        raise errors.UsageError(
            f"The weights {weights} belong to the model {trained!r}, not to {model!r}."
        )


def _is_path(weights: str | os.PathLike) -> bool:
    if not isinstance(weights, str):
        return True
    if os.sep in weights or weights.endswith((".h5", ".keras")):
        return True
    # A folder with the name of published weights is ignored.
    published = manifest.published().values()
    is_listed = any(weights in (entry["dataset"], entry["tag"]) for entry in published)
    with contextlib.suppress(OSError, RuntimeError):
        return bool(weights) and not is_listed and Path(weights).expanduser().exists()
    return False


def _published_entries(name: str, model: str) -> list[manifest.Entry]:
    """Returns the published entries of a tag or of a data set."""
    published = manifest.published()
    if name in published:
        return [published[name]]
    of_model = [e for e in published.values() if e["model"] == model]
    datasets = sorted({e["dataset"] for e in of_model})
    if name in datasets:
        return [e for e in of_model if e["dataset"] == name]
    if of_model and any(name == e["dataset"] for e in published.values()):
        raise errors.UsageError(
            f"{model} has no weights for {name!r}. There are weights for: {', '.join(datasets)}."
        )
    if not name or name.lower().startswith(_OF_OTHER_ZOOS):
        raise errors.UsageError(
            f"{model} has no weights {name!r}: weights are named after their data set. "
            f"{manifest.offer(model)}"
        )
    choices = [*datasets, *(e["tag"] for e in of_model)]
    unknown = errors.unknown_name_error(f"weights of {model}", name, choices)
    if of_model:
        raise unknown
    models = sorted({e["model"] for e in published.values()}, key=manifest.natural)
    raise errors.UsageError(
        f"{unknown} Networks with weights: {', '.join(models)}. Use another network, "
        f"pass the path of a weight file of {model}, or remove the argument weights."
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
