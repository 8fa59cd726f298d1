"""Finds the weights that `weights=` names, and loads them into a model."""

import contextlib
import dataclasses
import math
import os
import reprlib
from pathlib import Path
from typing import Any

import keras

from elu_zoo import activations, errors, registry
from elu_zoo.weights import entries, fetch, h5, opening


@dataclasses.dataclass(frozen=True)
class Weights:
    """A weight file that was found: its path and its entry, if it has one."""

    path: Path
    entry: entries.Entry | None

    def load(self, model: keras.Model) -> h5.Arrays:
        """Reads the file for a model of the same shapes; assigns nothing yet."""
        sha256 = self.entry["sha256"] if self.entry else None
        is_cached = self.path.parent == fetch.weights_folder()
        if is_cached and self.entry and self.entry["sources"]:
            remedy = "Delete it: the next use of these weights downloads it again."
        else:
            remedy = "Delete it and get it again."
        size = self.entry["bytes"] if self.entry else None
        return h5.read(self.path, h5.shapes(model), sha256, remedy, size)

    @property
    def is_published(self) -> bool:
        """Whether its entry is the manifest's, or says the same."""
        return bool(self.entry) and self.entry["tag"] in entries.manifest()

    def check_fits(self, shapes: h5.Shapes) -> None:
        """Checks that the file can hold weights of these shapes, before they are made.

        Raises:
            NotFoundError: the file is not there.
            CorruptError: it is too small: a few words in an entry describe a network
                that does not fit into the memory.
        """
        values = sum(math.prod(shape) for layer in shapes.values() for shape in layer)
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            raise h5.not_found(self.path) from None
        if h5.least_bytes(values) <= size:
            return
        if size != self.entry["bytes"]:
            raise errors.CorruptError(
                f"{self.path} is damaged or another file: it is {size} bytes, its "
                f"entry says {reprlib.repr(self.entry['bytes'])}. Delete it and get it "
                "again."
            )
        raise errors.CorruptError(
            f"The arguments of the entry {self.entry['tag']} make a network of {values}"
            f" weights, too many for the {size} bytes of {self.path}. The entry is "
            "damaged, or of another file."
        )


def find_weights(
    name: str,
    weights: str | os.PathLike,
    *,
    activation: Any = None,
    batch_norm: bool | None = None,
    allow_unverified: bool = False,
) -> Weights:
    """Returns the weight file that `get_model` would take, with its entry.

    Args:
        name: the model's name.
        weights: as of `get_model`.
        activation: picks the file where `weights` is a data set's name; the
            builder's own by default, as for `batch_norm`.
        batch_norm: see `activation`.
        allow_unverified: accept a file that has no entry beside it.
    """
    registered = registry.entry(name)
    given = {"activation": activation, "batch_norm": batch_norm}
    wanted = {
        key: registered.default(key) if value is None else value
        for key, value in given.items()
    }
    wanted["activation"] = activations.describe(wanted["activation"])
    return find(weights, model=name, wanted=wanted, allow_unverified=allow_unverified)


def find(
    weights: str | os.PathLike,
    *,
    model: str,
    wanted: dict[str, Any],
    allow_unverified: bool = False,
) -> Weights:
    """Finds the weights that a user named.

    Args:
        weights: a data set's name (the activation picks the file), a tag, the path
            of a weight file, or the folder of a finished training run.
        model: the model that will take them.
        wanted: `activation` (described) and `batch_norm` as asked for, or the
            builder's defaults.
        allow_unverified: take a file that has no entry beside it.

    Raises:
        UsageTypeError: `weights` is neither a string nor a path.
        UsageError: nothing of this name, or it belongs to another model.
        NotFoundError: a path that does not exist.
        CorruptError: a file without an entry, unless allowed.
        ResourceError: published weights could not be downloaded, or a path not be
            read.
    """
    if not isinstance(weights, str | os.PathLike):
        raise errors.UsageTypeError(
            "weights is a data set's name, a tag or a path. Received: "
            f"{weights!r} of type {type(weights).__name__}."
        )
    if _is_path(weights):
        try:
            found = _from_path(Path(weights).expanduser(), allow_unverified)
        except errors.EluZooError:
            raise
        except (OSError, RuntimeError) as error:  # RuntimeError: nobody's ~home
            raise errors.ResourceError(f"{weights} cannot be read: {error}.") from None
    else:
        found = _from_manifest(str(weights), model, wanted)
    if found.entry and found.entry["model"] != model:
        raise errors.UsageError(
            f"The weights {found.entry['tag']} belong to the model "
            f"{found.entry['model']!r}, not to {model!r}."
        )
    return found


def _is_path(weights: str | os.PathLike) -> bool:
    if not isinstance(weights, str):
        return True
    if os.sep in weights or weights.endswith(entries.SUFFIX):
        return True
    # A folder of this name must not hide the weights of a data set, nor that there
    # are none of it for this network.
    published = entries.manifest().values()
    known = any(weights in (entry["dataset"], entry["tag"]) for entry in published)
    with contextlib.suppress(OSError, RuntimeError):  # it is no path then
        return not known and Path(weights).expanduser().exists()
    return False


def _from_path(path: Path, allow_unverified: bool) -> Weights:
    outcome = path / "outcome.json"
    if outcome.is_file():  # the folder of a finished run
        path = path / (entries.read(outcome)["tag"] + entries.SUFFIX)
    if path.is_dir():
        inside = sorted(path.glob("*" + entries.SUFFIX))
        if len(inside) != 1:
            runs = sorted({str(p.parent) for p in path.glob(f"*/*{entries.SUFFIX}")})
            hint = f" Perhaps one of: {', '.join(runs[:5])}." if runs else ""
            raise errors.UsageError(
                f"{path} is a folder with {len(inside)} weight files; expected the "
                f"folder of a finished training run, with one, or a file.{hint}"
            )
        path = inside[0]
    if path.exists():
        h5.check_name(path)
        opening.check_regular(path)
    beside = path.with_name(path.name.removesuffix(entries.SUFFIX) + ".json")
    if beside.is_file():
        entry = entries.read(beside)
        entries.check_beside(entry, str(beside))
        fetch.keep_statistics(entry, path.parent)
        return Weights(path, entry)
    if not path.exists():
        raise h5.not_found(path)
    if not allow_unverified:
        raise errors.CorruptError(
            f"{path} has no entry {beside.name} beside it, so neither its content nor "
            "the network it belongs to can be verified. If you trust it, pass "
            "allow_unverified=True (--allow_unverified)."
        )
    return Weights(path, None)


def _from_manifest(name: str, model: str, wanted: dict[str, Any]) -> Weights:
    manifest = entries.manifest()
    if name in manifest:
        return _located(manifest[name])
    of_model = [e for e in manifest.values() if e["model"] == model]
    datasets = sorted({e["dataset"] for e in of_model})
    if name not in datasets:
        known = [*datasets, *(e["tag"] for e in of_model)]
        raise errors.unknown(f"weights of {model}", name, known)
    fits = [
        e
        for e in of_model
        if e["dataset"] == name
        and all(e["arguments"][key] == value for key, value in wanted.items())
    ]
    if not fits:
        have = sorted(
            entries.variant(e["arguments"]) for e in of_model if e["dataset"] == name
        )
        raise errors.UsageError(
            f"{model} has no {name!r} weights for {wanted}. "
            f"There are weights for: {', '.join(have)}."
        )
    return _located(min(fits, key=entries.rank))


def _located(entry: entries.Entry) -> Weights:
    weights, *_ = fetch.ensure(entry)
    return Weights(weights, entry)
