"""Model cards: the purpose, facts, test error and limits of a weight file.

The text is in card.md. Its numbers come from the entry of the file (see `manifest`) and
from CSV files in configs/results/.
"""

import contextlib
import json
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from elu_zoo import errors, registry, results
from elu_zoo.weights import manifest, measures
from elu_zoo.weights.manifest import Entry


def model_card(tag: str | os.PathLike) -> None:
    """Prints the model card of published weights or of a finished training run.

    Args:
        tag: a tag of `list_weights()`, the path of a weight file, or the folder of a finished run.

    Raises:
        UsageError: the tag is unknown, or the test error was not measured.
        NotFoundError: the path has no entry.
        CorruptError: the entry is damaged.

    Example:
        >>> elu_zoo.model_card("mnist_mlp_8x128.mnist_elu-7482e452")
    """
    entry = manifest.published().get(str(tag)) or _read(tag)
    lines = text(entry, results.read("results.csv")).split("\n")
    print(*map(errors.printable, lines), sep="\n", end="")


def _read(name: str | os.PathLike) -> Entry:
    if not name or (isinstance(name, str) and os.sep not in name and not os.path.exists(name)):
        raise errors.unknown_name_error("weights", name, manifest.list_weights())
    from elu_zoo.weights import local

    path, entry = local.with_entry(Path(name))
    if entry is None:
        raise errors.NotFoundError(
            f"{path} has no entry beside it, which a model card needs. Pass the folder of "
            "a finished run."
        )
    return entry


def text(entry: Entry, rows: Sequence[results.Row], *, front_matter: bool = False) -> str:
    """Returns the model card of a weight file, in Markdown, with rows of results.csv.

    The front matter, the first part of card.md, is metadata for the Hugging Face hub.
    """
    if results.metric(entry) not in entry["metrics"]:
        raise errors.UsageError(
            f"{entry['tag']} has no test error, which a model card states: its config has "
            "data.measure_test=False. Train with data.measure_test=True in another --workdir."
        )
    fields = entry | _texts(entry) | _results(entry, rows) | _conditions(entry, rows)
    known = {name: value for name, value in fields.items() if value is not None}
    template = resources.files("elu_zoo.weights").joinpath("card.md").read_text()
    parts = template.strip().split("\n\n")[not front_matter :]
    return "\n\n".join(filter(None, (_part(part, known) for part in parts))) + "\n"


def _part(template: str, fields: dict[str, Any]) -> str:
    """Returns a part of card.md with its fields, without the lines that lack a field.

    A line that begins with a space continues the line before it. `{name:.0}` is empty: the
    line is there if the field is. A part without lines is "".
    """
    lines = []
    for line in template.split("\n"):
        with contextlib.suppress(KeyError):
            lines.append(line.format_map(fields))
    return "\n".join(lines).replace("\n ", " ").removeprefix(" ")


def _texts(entry: Entry) -> dict[str, Any]:
    """Returns facts of an entry as card.md states them."""
    names = [name.replace("|", "\\|") for name in entry["classes"]]  # of a cell
    activation = dict(entry["arguments"]["activation"])
    activation_text = f"`{activation.pop('name')}`"
    activation_text += "".join(f" ({key} {value})" for key, value in activation.items())
    activation_text += " after batch normalisation" * entry["arguments"]["batch_norm"]
    share, hours = entry["schedule_share"], entry["wall_time_seconds"] / 3600
    ours, is_listed = f"ours, `{entry['schedule']}`", entry["tag"] in manifest.published()
    origin = "of the network's paper" if entry["schedule"] == "paper" else ours
    described = entry["preprocessing"].items()
    image_shape = trained_shape = entry["arguments"]["input_shape"]
    if "crop" in entry["preprocessing"]:  # The model crops larger images.
        image_shape = [entry["config"]["data"]["image_size"]] * 2 + image_shape[2:]
    return {
        "activation": activation_text,
        "megabytes": entry["bytes"] / 1e6,
        "number_of_classes": len(names),
        "first_classes": ", ".join(names[:10]) + f" and {len(names) - 10} more" * (len(names) > 10),
        "preprocessing_text": ", ".join(
            f"{key} {x:.4g}" if isinstance(x, float) else f"{key} {x}" for key, x in described
        ),
        "origin": origin + f", {share:.0%} of it" * (share != 1),
        "license": entry["licence"].lower() if is_listed else None,  # as the hub names it
        "packages": ", ".join(f"{k} {v}" for k, v in entry["versions"].items() if k != "elu_zoo"),
        "time": f"{hours:.2g} hours" if hours >= 1.5 else f"{60 * hours:.2g} minutes",
        "also_at": ", ".join(entry["sources"]) or None,
        "settings": _settings(entry["config"]) or None,
        "note": entry.get("note") or None,
        "trained_shape": trained_shape,
        "image_shape": image_shape,
        "weights": entry["tag"] + ("" if is_listed else manifest.SUFFIX),
        "readout": None if names else registry.OUTPUT_ACTIVATION[manifest.loss(entry)],
    }


def _results(entry: Entry, rows: Sequence[results.Row]) -> dict[str, Any]:
    """Returns the errors of an entry and of its recipe as card.md states them."""
    paper = results.read("paper.csv")
    ours, theirs = results.file_error(entry), results.paper_error(entry, paper)
    lines = filter(None, (ours, results.recipe_error(entry, rows), theirs))
    return {
        "error": ours.value,
        "interval": f" (95 %: {ours.interval})" if ours.interval else "",
        "comparison": f"; {theirs.name}: {theirs.value}" if theirs else _gap(entry, paper),
        "error_rows": "\n".join(f"| {' | '.join(line)} |" for line in lines),
        "changed_images": measures.changed_images(entry["tag"], results.read("image_changes.csv")),
    }


def _gap(entry: Entry, paper: Sequence[results.Row]) -> str:
    """Returns how far the error is above the authors' (if any, with this activation), if by 1.5."""
    same = [r for r in paper if r["model"] == entry["model"] and r["dataset"] == entry["dataset"]]
    own = [r for r in same if r["activation"] == entry["arguments"]["activation"]["name"]]
    authors = min((float(row["test_error_percent"]) for row in own or same), default=100.0)
    gap = entry["metrics"].get("test_error_percent", 0.0) - authors
    best = "best with this activation" if own else "best"
    return f", **{gap:.1f} points above** its authors' {best}, {authors:.2f} %" * (gap > 1.5)


def _conditions(entry: Entry, rows: Sequence[results.Row]) -> dict[str, str | None]:
    """Returns the conditions for lines of card.md: "yes", or None if one does not hold."""
    is_papers, dataset = entry["schedule"] == "paper", entry["dataset"]
    conditions = {
        "made_in_python": not entry.get("command"),
        "is_squared": results.metric(entry) == results.SQUARED,
        "is_last_step": "kept_step" not in entry,
        "is_calibrated": bool(entry.get("calibration")),
        "is_uncalibrated": "temperature" not in entry.get("calibration", {}),
        "is_ours": not is_papers,
        "is_shortened": is_papers and entry["schedule_share"] < 1,
        "is_one_seed": len(results.find_runs(entry, rows)) < 2,
        "is_classifier": bool(entry["classes"]),
        "is_cifar10": dataset == "cifar10",
        "is_cifar100": dataset == "cifar100",
        "shows_people": dataset == "cifar100",
        "is_mnist": dataset in ("mnist", "mnist_5k"),
    }
    return {name: "yes" if holds else None for name, holds in conditions.items()}


def _settings(config: dict[str, Any]) -> str:
    """Returns rows of the config's fields, without those that are 0, False or empty."""
    return "\n".join(
        f"| {section}.{key} | {json.dumps(value).replace(chr(34), '')} |"
        for section in ("data", "model", "train")
        for key, value in config[section].items()
        if value
    )
