"""Entries: what travels with a weight file, and the manifest that lists them.

An entry is the JSON beside `<tag>.weights.h5`; the manifest maps each tag that is
published to the same entry. A tag is immutable: it ends in the file's own hash.
"""

import fnmatch
import functools
import json
import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

from elu_zoo import errors, registry

FORMAT = 1
SUFFIX = ".weights.h5"
FIELDS = frozenset(
    "format tag model dataset arguments preprocessing classes sha256 bytes "
    "parameters schedule schedule_share config seed step epochs metrics commit "
    "backend versions hardware wall_time_seconds licence data_terms sources".split()
)
# Of what is read before the weights themselves.
_TYPES = {
    "tag": str,
    "model": str,
    "dataset": str,
    "arguments": dict,
    "preprocessing": dict,
    "classes": list,
    "sha256": str,
}

Entry = dict[str, Any]


def variant(arguments: dict[str, Any]) -> str:
    """Returns the activation's part of a tag: `elu`, `elu_bn`, ..."""
    return arguments["activation"]["name"] + "_bn" * arguments["batch_norm"]


def tag(model: str, dataset: str, arguments: dict[str, Any], sha256: str) -> str:
    """Returns `<model>.<dataset>_<activation>[_bn]-<sha8>`."""
    return f"{model}.{dataset}_{variant(arguments)}-{sha256[:8]}"


def check(entry: Any, origin: str) -> Entry:
    """Returns `entry` after checking that it is one that this version reads.

    Raises:
        CorruptError: a field is missing, or the format is a newer one.
    """
    if not isinstance(entry, dict):
        raise errors.CorruptError(f"{origin} is not an entry of a weight file.")
    if entry.get("format") != FORMAT:
        raise errors.CorruptError(
            f"{origin} has format {entry.get('format')!r}; this version of elu_zoo "
            f"reads format {FORMAT}. Upgrade elu_zoo."
        )
    _check_complete(entry, FIELDS, origin)
    for field, kind in _TYPES.items():
        if not isinstance(entry[field], kind):
            raise errors.CorruptError(
                f"{origin}: {field} is a {kind.__name__}. Received: {entry[field]!r}."
            )
    _check_complete(entry["arguments"], {"activation", "batch_norm"}, origin)
    return entry


def _check_complete(values: dict, fields: Iterable[str], origin: str) -> None:
    missing = sorted(set(fields) - set(values))
    if missing:
        raise errors.CorruptError(f"{origin} lacks {', '.join(missing)}.")


def read(path: Path) -> Entry:
    """Reads the entry beside a weight file."""
    try:
        entry = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise errors.CorruptError(f"{path} is not JSON: {error}.") from None
    return check(entry, str(path))


@functools.cache
def manifest() -> dict[str, Entry]:
    """Returns the published entries by tag, as the package carries them."""
    text = resources.files("elu_zoo.weights").joinpath("manifest.json").read_text()
    entries = json.loads(text)["entries"]
    return {name: check(e, f"manifest entry {name}") for name, e in entries.items()}


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key that puts `x_5` before `x_18`."""
    parts = re.split(r"(\d+)", name)
    return [(int(p), "") if p.isdigit() else (-1, p) for p in parts]


def list_weights(pattern: str = "*") -> list[str]:
    """Returns the tags of the published weights that match, in natural order.

    Args:
        pattern: shell wildcards, `"mnist_mlp*relu*"`.
    """
    return sorted(fnmatch.filter(manifest(), pattern), key=natural)


def loss(entry: Entry) -> str:
    """Returns the name of the loss that the weights were trained with.

    Raises:
        CorruptError: it is none that this version knows.
    """
    try:
        name = entry["config"]["train"]["loss"]
        _ = registry.READOUTS[name]
    except (KeyError, TypeError):
        raise errors.CorruptError(
            f"The entry {entry['tag']} names no loss of {', '.join(registry.READOUTS)} "
            "as config.train.loss. It is damaged, or of a newer version of elu_zoo."
        ) from None
    return name


def rank(entry: Entry) -> tuple:
    """The order of preference between weights of one model, data set and arguments.

    The network's own loss before another, whose output means something else, the
    paper's schedule before ours, then the longest, then the lowest seed. The error on
    the test set has no say in it.
    """
    other_loss = loss(entry) != registry.entry(entry["model"]).loss
    length = -entry["schedule_share"], -entry["epochs"]
    return other_loss, entry["schedule"] != "paper", *length, entry["seed"]


def is_default(entry: Entry) -> bool:
    """Whether `get_model(..., weights=<data set>)` takes this entry."""
    same = ("model", "dataset", "arguments")
    rivals = [e for e in manifest().values() if all(e[k] == entry[k] for k in same)]
    return min(rivals, key=rank)["tag"] == entry["tag"]
