"""The manifest of published weights, and the entry of a weight file.

An entry is the JSON file beside `<tag>.weights.h5` with the network's arguments, the
run, the metrics and the hash of the weight file. The manifest maps each published tag
to its entry. A tag ends in the hash of the weight file and never changes.
"""

import fnmatch
import functools
import hashlib
import json
import re
import reprlib
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path
from typing import Any

from elu_zoo import errors, registry
from elu_zoo.weights import untrusted

Entry = dict[str, Any]

FORMAT = 1
SUFFIX = ".weights.h5"
MEANING_HASH = "meaning_sha256"
FIELDS = frozenset(
    "format tag model dataset arguments preprocessing classes sha256 bytes parameters schedule "
    "schedule_share config seed step epochs metrics commit backend versions hardware licence "
    f"wall_time_seconds data_terms sources examples multiply_accumulates {MEANING_HASH}".split()
)
# The fields that determine the network and the meaning of its outputs.
_MEANING = "model dataset arguments preprocessing classes sha256 config".split()
_LIMIT_BYTES = 4 << 20


def variant(arguments: dict[str, Any]) -> str:
    """Returns the part of a tag that names the activation: `elu`, `elu_bn`, ..."""
    return arguments["activation"]["name"] + ("_bn" if arguments["batch_norm"] else "")


def tag(model: str, dataset: str, arguments: dict[str, Any], sha256: str) -> str:
    """Returns `<model>.<dataset>_<activation>[_bn]-<sha8>`."""
    return f"{model}.{dataset}_{variant(arguments)}-{sha256[:8]}"


def meaning_hash(entry: Entry) -> str:
    """Returns the SHA-256 of the fields that give weights a meaning, which their file lacks."""
    text = json.dumps({field: entry[field] for field in _MEANING}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def loss(entry: Entry) -> str:
    """Returns the name of the training loss, a key of `registry.OUTPUT_ACTIVATION`."""
    return entry["config"]["train"]["loss"]


# What the fields that are used early must be; a function that raises finds another type.
_RULES: dict[str, Callable[[Entry], Any]] = {
    "tag must be a printable file name": lambda e: (
        re.fullmatch(r"(?!\.)[^/\\]{1,200}", e["tag"]) and e["tag"].isprintable()
    ),
    "sha256 must have 64 hexadecimal digits": lambda e: re.fullmatch("[0-9a-f]{64}", e["sha256"]),
    "sources and classes must be lists": lambda e: isinstance(e["sources"] + e["classes"], list),
    "model, dataset, sources and classes must be texts": lambda e: all(
        isinstance(x, str) for x in (e["model"], e["dataset"], *e["sources"], *e["classes"])
    ),
    "arguments must have a named activation, and batch_norm": lambda e: (
        e["arguments"]["activation"]["name"].isprintable()
        and isinstance(e["arguments"]["batch_norm"], bool)
    ),
    "num_classes must be the number of classes": lambda e: (
        e["arguments"].get("num_classes", len(e["classes"])) == len(e["classes"])
    ),
    "temperature must be > 0": lambda e: 99 > e.get("calibration", {}).get("temperature", 1) > 1e-9,
    "preprocessing must have a kind": lambda e: e["preprocessing"]["kind"].isprintable(),
    f"config.train.loss must be one of {', '.join(registry.OUTPUT_ACTIVATION)}": lambda e: (
        loss(e) in registry.OUTPUT_ACTIVATION
    ),
}


def check(entry: Any, origin: str) -> Entry:
    """Returns an entry of the file `origin`, after checks."""
    if fault := _fault(entry):
        raise errors.CorruptError(f"{origin} {fault}.")
    return entry


def _fault(entry: Any) -> str | None:
    """Returns what is wrong with an entry, and a remedy; None for a valid entry."""
    if not isinstance(entry, dict):
        return "is not the entry of a weight file. Download it again"
    if (found := entry.get("format")) != FORMAT:
        return f"has format {reprlib.repr(found)}, not {FORMAT}. Upgrade elu_zoo"
    if missing := sorted(FIELDS - entry.keys()):
        return f"lacks {', '.join(missing)}. Download or train it again"
    for rule, holds in _RULES.items():
        try:
            is_right = holds(entry)
        except (AttributeError, KeyError, TypeError):
            is_right = False
        if not is_right:
            return f"is damaged: {rule}. Download or train it again"
    if entry[MEANING_HASH] != meaning_hash(entry):
        return f"was edited: {MEANING_HASH} is not its hash. Download or train it again"
    expected = tag(entry["model"], entry["dataset"], entry["arguments"], entry["sha256"])
    if expected != entry["tag"]:
        shown = errors.printable(expected, 100)
        return f"contradicts itself: the tag for its fields is {shown}. Download or train it again"
    # A run today may end in a published file. Its config may have other fields without effect.
    ours, listed = ({**e, "config": loss(e)} for e in (entry, published().get(expected, entry)))
    if differing := [field for field in _MEANING if ours[field] != listed[field]]:
        return (
            f"differs from the published entry {expected} in {', '.join(differing)}. Delete the "
            f"entry and pass the tag instead: weights={expected!r}"
        )
    return None


def read(path: Path) -> Entry:
    """Reads and checks the entry beside a weight file, or the outcome of a run."""
    content = untrusted.read(path, _LIMIT_BYTES, "an entry")
    try:
        return check(json.loads(content.decode()), str(path))
    except (ValueError, RecursionError) as error:
        raise errors.CorruptError(f"{path} is not JSON: {error}. Download or train it.") from None


@functools.cache
def published() -> dict[str, Entry]:
    """Returns the published entries by tag."""
    text = resources.files("elu_zoo.weights").joinpath("manifest.json").read_text()
    return json.loads(text)["entries"]


def natural(name: str) -> list[tuple[int, str]]:
    """Returns a sort key for natural order: `x_5` before `x_18`."""
    return [(int(p), "") if p.isdigit() else (-1, p) for p in re.split(r"(\d+)", name)]


def matching(names: Iterable[str], pattern: str) -> list[str]:
    """Returns the names that match a pattern (see `list_weights`), in natural order."""
    if not isinstance(pattern, str):
        raise errors.UsageTypeError(f"A pattern must be a text. Received: {pattern!r}.")
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


def rank(entry: Entry) -> tuple:
    """Returns a sort key that puts the default of several entries first.

    The criteria are, in this order: the loss with which the network was registered
    before other losses, the schedule `quick`, which is made for weights, before `paper`,
    which is made for comparison, and these before others, longer runs before shorter
    runs, and lower seeds before higher seeds. The test error is no criterion.
    """
    other_loss = loss(entry) != registry.entry(entry["model"]).loss
    schedule = entry["schedule"] != "quick", entry["schedule"] != "paper"
    length = -entry["schedule_share"], -entry["epochs"]
    return other_loss, *schedule, *length, entry["seed"]
