"""The manifest of published weights, and the entry of a weight file.

An entry is the JSON file beside `<tag>.weights.h5` with the network's arguments, the
run, the metrics and the hash of the weight file. The manifest maps each published tag
to its entry. A tag ends in the hash of the weight file and never changes.
"""

import fnmatch
import functools
import hashlib
import json
import os
import re
import reprlib
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

from elu_zoo import errors, registry
from elu_zoo.weights import untrusted

FORMAT = 1
SUFFIX = ".weights.h5"
FIELDS = frozenset(
    "format tag model dataset arguments preprocessing classes sha256 bytes "
    "parameters schedule schedule_share config seed step epochs metrics commit "
    "backend versions hardware wall_time_seconds licence data_terms sources "
    "meaning_sha256".split()
)
# The types of fields that are used before the weight file is read.
_TYPES = {
    "tag": str,
    "model": str,
    "dataset": str,
    "arguments": dict,
    "preprocessing": dict,
    "classes": list,
    "sha256": str,
}
# The fields that determine the network and the meaning of its outputs.
_MEANING = "model dataset arguments preprocessing classes sha256 config".split()
MEANING_HASH = "meaning_sha256"
_LIMIT_BYTES = 4 << 20
_LEVELS = 20

Entry = dict[str, Any]


def variant(arguments: dict[str, Any]) -> str:
    """Returns the part of a tag that names the activation: `elu`, `elu_bn`, ..."""
    return arguments["activation"]["name"] + ("_bn" if arguments["batch_norm"] else "")


def tag(model: str, dataset: str, arguments: dict[str, Any], sha256: str) -> str:
    """Returns `<model>.<dataset>_<activation>[_bn]-<sha8>`."""
    return f"{model}.{dataset}_{variant(arguments)}-{sha256[:8]}"


def meaning_hash(entry: Entry) -> str:
    """Returns the SHA-256 of the fields that determine the meaning of the weights.

    The hash of a weight file does not protect these fields, which the file lacks.
    """
    text = json.dumps({field: entry[field] for field in _MEANING}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def check(entry: Any, origin: str) -> Entry:
    """Returns `entry`, after a check of its format and fields.

    Args:
        entry: parsed JSON.
        origin: the name of the entry's file, for messages.
    """
    if not isinstance(entry, dict):
        raise errors.CorruptError(f"{origin} is not the entry of a weight file.")
    if type(entry.get("format")) is not int or entry["format"] != FORMAT:
        raise errors.CorruptError(
            f"{origin} has format {reprlib.repr(entry.get('format'))}; this version of "
            f"elu_zoo reads format {FORMAT}. Upgrade elu_zoo."
        )
    _check_complete(entry, FIELDS, origin)
    for field, kind in _TYPES.items():
        _check(isinstance(entry[field], kind), entry, field, kind.__name__, origin)
    name = entry["tag"]
    # The tag becomes the name of a file.
    is_file_name = name.isprintable() and not {"/", "\\", os.sep} & set(name)
    is_file_name &= 0 < len(name) <= 200 and name[0] != "."
    _check(is_file_name, entry, "tag", "file name without a folder", origin)
    is_hash = re.fullmatch("[0-9a-f]{64}", entry["sha256"])
    _check(is_hash, entry, "sha256", "hash of 64 hexadecimal digits", origin)
    arguments = entry["arguments"]
    _check_complete(arguments, {"activation", "batch_norm"}, origin)
    activation = arguments["activation"]
    is_named = isinstance(activation, dict) and isinstance(activation.get("name"), str)
    _check(is_named, arguments, "activation", "dict with a name", origin)
    is_flag = isinstance(arguments["batch_norm"], bool)
    _check(is_flag, arguments, "batch_norm", "bool", origin)
    if entry[MEANING_HASH] != meaning_hash(entry):
        raise errors.CorruptError(
            f"{origin} was edited: its {MEANING_HASH} is not the hash of "
            f"{', '.join(_MEANING)}. Download the entry again."
        )
    return entry


def _check(is_right: Any, values: dict, field: str, expected: str, origin: str) -> None:
    if not is_right:
        raise errors.CorruptError(
            f"{origin}: {field} must be a {expected}. Received: {reprlib.repr(values[field])}."
        )


def _check_complete(values: dict, fields: Iterable[str], origin: str) -> None:
    missing = sorted(set(fields) - set(values))
    if missing:
        raise errors.CorruptError(
            f"{origin} lacks {', '.join(missing)}. Download the entry again, or train "
            "again if an older version of elu_zoo wrote it."
        )


def check_beside(entry: Entry, origin: str) -> None:
    """Checks that an entry beside a weight file agrees with its tag and the manifest.

    The weight file cannot confirm the entry, because the file lacks the activation.

    Args:
        entry: result of `check`.
        origin: the name of the entry's file, for messages.
    """
    sources, classes = entry["sources"], entry["classes"]
    are_texts = isinstance(sources, list) and all(isinstance(x, str) for x in sources)
    _check(are_texts, entry, "sources", "list of strings", origin)
    are_texts = all(isinstance(x, str) for x in classes)
    _check(are_texts, entry, "classes", "list of strings", origin)
    arguments = entry["arguments"]
    if arguments.get("num_classes", len(classes)) != len(classes):
        raise errors.CorruptError(
            f"{origin} names {len(classes)} classes, but its num_classes is "
            f"{reprlib.repr(arguments['num_classes'])}."
        )
    preprocessing = entry["preprocessing"]
    is_number = errors.is_finite(preprocessing.get("scale", 1))
    _check(is_number, preprocessing, "scale", "finite number", origin)
    expected = tag(entry["model"], entry["dataset"], arguments, entry["sha256"])
    if expected != entry["tag"]:
        raise errors.CorruptError(
            f"{origin} contradicts itself: its tag is {entry['tag']}, but the tag for "
            "its model, dataset, activation, batch_norm and sha256 is "
            f"{untrusted.printable(expected)}. Download the entry again."
        )
    listed = published().get(expected, entry)
    differing = [field for field in _MEANING if entry[field] != listed[field]]
    if differing:
        raise errors.CorruptError(
            f"{origin} differs from the published entry {expected} in "
            f"{', '.join(differing)}. Delete the entry and pass the tag instead: "
            f"weights={expected!r}."
        )


def read(path: Path) -> Entry:
    """Reads the entry beside a weight file."""
    content = untrusted.read(path, _LIMIT_BYTES, "an entry")
    try:
        entry = json.loads(content.decode(), parse_constant=_refuse)
        is_deep = _is_deep(entry, _LEVELS)
    except (ValueError, RecursionError) as error:
        raise errors.CorruptError(f"{path} is not JSON: {error}.") from None
    if is_deep:
        raise errors.CorruptError(
            f"{path} is not the entry of a weight file: its content is nested more "
            f"than {_LEVELS} levels deep."
        )
    return check(entry, str(path))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not allowed")


def _is_deep(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deep(each, levels - 1) for each in inner)


@functools.cache
def published() -> dict[str, Entry]:
    """Returns the published entries by tag."""
    text = resources.files("elu_zoo.weights").joinpath("manifest.json").read_text()
    entries = json.loads(text)["entries"]
    return {name: check(e, f"manifest entry {name}") for name, e in entries.items()}


def natural(name: str) -> list[tuple[int, str]]:
    """Returns a sort key for natural order: `x_5` before `x_18`."""
    parts = re.split(r"(\d+)", name)
    return [(int(p), "") if p.isdigit() else (-1, p) for p in parts]


def matching(names: Iterable[str], pattern: str) -> list[str]:
    """Returns the names that match a pattern (see `list_weights`), in natural order."""
    if not isinstance(pattern, str):
        raise errors.UsageTypeError(
            f"A pattern must be a text such as 'mnist_*'. Received: {pattern!r}."
        )
    if pattern and not set("*?[") & set(pattern):
        pattern = f"*{pattern}*"
    return sorted(fnmatch.filter(names, pattern), key=natural)


def list_weights(pattern: str = "*") -> list[str]:
    """Returns the tags of the published weights that match, in natural order.

    Args:
        pattern: part of a tag (`"cifar100"`), or shell wildcards (`"mnist_mlp*relu*"`).
    """
    return matching(published(), pattern)


def offer(model: str) -> str:
    """Returns a sentence that says which weights of a network are published."""
    entries = published().values()
    datasets = sorted({e["dataset"] for e in entries if e["model"] == model})
    if datasets:
        calls = " or ".join(f"weights={name!r}" for name in datasets)
        return f"Weights of {model} were trained on {', '.join(datasets)}: pass {calls}."
    models = sorted({e["model"] for e in entries}, key=natural)
    return (
        f"{model} has no weights. Pass the path of a weight file, remove the argument, or use a "
        f"network with weights: {', '.join(models)}."
    )


def loss(entry: Entry) -> str:
    """Returns the name of the training loss, a key of `registry.OUTPUT_ACTIVATION`."""
    try:
        name = entry["config"]["train"]["loss"]
        _ = registry.OUTPUT_ACTIVATION[name]
    except (KeyError, TypeError):
        raise errors.CorruptError(
            f"The entry {entry['tag']} must name one of {', '.join(registry.OUTPUT_ACTIVATION)} "
            "as config.train.loss. The entry is damaged, or a newer elu_zoo wrote it."
        ) from None
    return name


def rank(entry: Entry) -> tuple:
    """Returns a sort key that puts the default of several entries first.

    The criteria are, in this order: the loss with which the network was registered
    before other losses, the schedules `paper`, `quick` and others, longer runs before
    shorter runs, and lower seeds before higher seeds. The test error is no criterion.
    """
    other_loss = loss(entry) != registry.entry(entry["model"]).loss
    schedule = entry["schedule"] != "paper", entry["schedule"] != "quick"
    length = -entry["schedule_share"], -entry["epochs"]
    return other_loss, *schedule, *length, entry["seed"]


def is_default(entry: Entry) -> bool:
    """Returns whether `get_model(..., weights=<data set>)` loads this entry's file."""
    entries = [e for e in published().values() if _selection(e) == _selection(entry)]
    return min(entries, key=rank)["tag"] == entry["tag"]


def _selection(entry: Entry) -> tuple:
    """Returns what `pretrained.find` compares; the width, for example, is not."""
    arguments = entry["arguments"]
    selecting = arguments["activation"], arguments["batch_norm"]
    return entry["model"], entry["dataset"], *selecting
