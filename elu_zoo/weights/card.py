"""Model cards: the purpose, facts, test error and limits of a weight file.

The content comes from the entry of the file (see `manifest`), from CSV files in
configs/results/, and from `_DATA`.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elu_zoo import errors, registry, results
from elu_zoo.weights import cards_measures, manifest, training_cost

# The fields that a card needs; loading weights needs manifest.FIELDS alone.
FIELDS = manifest.FIELDS | {"examples", "multiply_accumulates"}
LICENCE = (
    "Our rights in the code and in the weights are licensed under Apache-2.0. The "
    "entry of each weight file states the terms of its training data. It is not "
    "settled law what these terms imply for weights."
)
_CITATION = (
    "D.-A. Clevert, T. Unterthiner, S. Hochreiter: *Fast and Accurate Deep Network "
    "Learning by Exponential Linear Units (ELUs)*. ICLR 2016, "
    "[arXiv:1511.07289](https://arxiv.org/abs/1511.07289)."
)
_DUPLICATES = (
    "About {} % of the test images have near-duplicates among the training images "
    "([Barz and Denzler, 2020](https://arxiv.org/abs/1902.00423)): expect a larger "
    "error on new photographs."
)
_CIFAR100 = "uoft-cs/cifar100", _DUPLICATES.format(10)
_MNIST = (
    "ylecun/mnist",
    "MNIST's digits are light on dark, scaled to 20 x 20 pixels and centred by their "
    "mass in 28 x 28 pixels. Convert photographs to this form first.",
)
# Data set: (name on the Hugging Face hub, limit of models trained on the data set).
_DATA = {
    "cifar10": ("uoft-cs/cifar10", _DUPLICATES.format(3)),
    "cifar100": _CIFAR100,
    "cifar100_coarse": _CIFAR100,
    "mnist": _MNIST,
    "mnist_5k": _MNIST,
}
# Fields that a card states in words, or that change no weight.
_STATED = {
    *("data.name", "data.folder", "data.measure_test", "model.name", "model.activation"),
    *("model.batch_norm", "train.batch_size", "train.epochs", "train.boundaries"),
    *("train.learning_rates", "train.learning_rate_shape", "train.checkpoint_every"),
    *("train.checkpoints_kept", "train.evaluate_every"),
}
# Values of fields that do nothing, beside 0, "", None and False.
_NEUTRAL = {"model.width": 1.0, "train.heads_until": 1.0, "train.momentum_rise": [0.0, 0]}
_PEOPLE = {"baby", "boy", "girl", "man", "woman"}


def model_card(tag: str | os.PathLike) -> None:
    """Prints the model card of published weights or of a finished training run.

    Args:
        tag: a tag of `list_weights()`, the path of a weight file, or the folder of a
            finished run.

    Raises:
        UsageTypeError: `tag` is neither a string nor a path.
        UsageError: the tag is unknown, or the test error was not measured.
        NotFoundError: the path has no entry.
        CorruptError: the entry is damaged, or lacks fields that a card needs.

    Example:
        >>> elu_zoo.model_card("mnist_mlp_8x128.mnist_elu-7482e452")
    """
    if not isinstance(tag, str | os.PathLike):
        raise errors.UsageTypeError(
            "model_card takes a tag of list_weights() or a path. Received: "
            f"{tag!r} of type {type(tag).__name__}."
        )
    published = manifest.published()
    entry = published[tag] if tag in published else _read(tag)
    lines = text(entry, results.read("results.csv")).split("\n")
    print(*map(errors.printable, lines), sep="\n", end="")


def _read(name: str | os.PathLike) -> manifest.Entry:
    path = Path(os.path.expanduser(name))
    if not name or (isinstance(name, str) and os.sep not in name and not path.exists()):
        raise errors.unknown_name_error("weights", name, manifest.list_weights())
    if path.is_dir():
        entry_path = path / "outcome.json"
    else:
        tag = path.name.removesuffix(manifest.SUFFIX).removesuffix(".json")
        entry_path = path.with_name(tag + ".json")
    if not entry_path.is_file():
        raise errors.NotFoundError(
            f"There is no entry {entry_path}, which a model card needs. Pass the "
            "folder of a finished run, or a weight file with its entry beside it."
        )
    return manifest.read(entry_path)


def text(entry: manifest.Entry, rows: Sequence[results.Row], *, front_matter: bool = False) -> str:
    """Returns the model card of a weight file, in Markdown.

    Args:
        entry: the entry of the weight file.
        rows: the rows of configs/results/results.csv.
        front_matter: whether to start with metadata for the Hugging Face hub.
    """
    _check(entry)
    paper, changes = results.read("paper.csv"), results.read("image_changes.csv")
    evaluation = cards_measures.error_table(entry, rows, paper)
    evaluation += cards_measures.calibration(entry)
    evaluation += cards_measures.changes(entry, changes)
    parts = (
        f"# {entry['tag']}",
        _summary(entry, paper),
        f"## Training\n\n{_training(entry)}",
        f"## Evaluation\n\n{evaluation}",
        f"## Limits\n\n{_limits(entry, rows, changes)}",
        f"## How to use\n\n{_how_to_use(entry)}",
        f"## Citation\n\n{_CITATION}",
    )
    return (_metadata(entry) if front_matter else "") + "\n\n".join(parts) + "\n"


def _check(entry: manifest.Entry) -> None:
    missing = {field for field in FIELDS if entry.get(field) in (None, "")}
    if "examples" not in missing:
        splits = {"train", "validation", "test"} - set(entry["examples"])
        missing |= {f"examples.{split}" for split in splits}
    if missing:
        raise errors.CorruptError(
            f"The entry of {entry.get('tag')} lacks {', '.join(sorted(missing))}, "
            "which a model card needs. The entry is damaged, or an earlier version of "
            "elu_zoo wrote it. Add the missing fields, or train again."
        )
    if results.metric(entry) not in entry["metrics"]:
        raise errors.UsageError(
            f"{entry['tag']} has no test error, which a model card states: its config "
            "has data.measure_test=False. Train with data.measure_test=True in another "
            "--workdir."
        )


def _summary(entry: manifest.Entry, paper: Sequence[results.Row]) -> str:
    activation = dict(entry["arguments"]["activation"])
    name = f"`{activation.pop('name')}`"
    values = ", ".join(f"{key} {value}" for key, value in activation.items())
    name += f" ({values})" if values else ""
    name += " after batch normalisation" if entry["arguments"]["batch_norm"] else ""
    ours, theirs = results.file_error(entry), results.paper_error(entry, paper)
    interval = f" (95 %: {ours.interval})" if ours.interval else ""
    comparison = f"; {theirs.name}: {theirs.value}" if theirs else ""
    return (
        f"The network `{entry['model']}` with the activation {name}, trained on "
        f"{entry['dataset']}. Test error **{ours.value}**{interval}{comparison}. "
        f"{entry['parameters']:,} parameters, "
        f"{entry['multiply_accumulates']:,} multiply-accumulates an image in dense and "
        f"convolution layers, {entry['bytes'] / 1e6:.1f} MB."
    )


def _training(entry: manifest.Entry) -> str:
    """Returns the command of the run, and a table of facts and of the config's fields."""
    examples, classes = entry["examples"], entry["classes"]
    named = ", ".join(classes[:10]) + f" and {len(classes) - 10} more" * (len(classes) > 10)
    versions = (f"{key} {value}" for key, value in entry["versions"].items() if key != "elu_zoo")
    described = (
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in entry["preprocessing"].items()
    )
    rows = {
        "data": f"{entry['dataset']}: {examples['train']:,} training, "
        f"{examples['validation']:,} validation and {examples['test']:,} test images",
        "classes": named,
        "terms of the data": entry["data_terms"],
        "preprocessing of raw pixels, 0 to 255": ", ".join(described),
        "schedule": schedule(entry),
        "learning rate": _learning_rate(entry),
        "batch size": training_cost.batch_size(entry),
        **_config(entry["config"]),
        "seed": entry["seed"],
        "code": f"commit {entry['commit']}, {', '.join(versions)}",
        "duration": f"{_duration(entry['wall_time_seconds'])} on {entry['hardware']}",
    }
    if "training_pflop" in entry:
        cost = f"{entry['training_pflop']:g} PFLOP ({training_cost.FORMULA})"
        rows["cost"] = f"{cost}, {entry['training_hours']:g} hours"
    for key, fact in (
        ("replicas", "replicas, each with an equal share of every batch"),
        ("kept_step", "iteration of the weights, with the lowest validation loss"),
        ("parent", "initial weights, except for the classifier"),
    ):
        if entry.get(key, 1) != 1:
            rows[fact] = entry[key]
    rows["file"] = f"`{entry['tag']}{manifest.SUFFIX}`, {entry['bytes']:,} bytes"
    rows["sha256"] = f"`{entry['sha256']}`"
    if entry["sources"]:
        rows["also at"] = ", ".join(entry["sources"])
    rows["licence"] = (
        f"{entry['licence']} for our rights. It is not settled law what the terms of the "
        "data imply for weights"
    )
    command = entry.get("command")
    how = f"```sh\n{command}\n```" if command else "The config was made in Python."
    table = "\n".join(f"| {key} | {value} |" for key, value in rows.items() if value != "")
    return f"{how}\n\n| | |\n|---|---|\n{table}"


def _config(config: dict[str, Any]) -> dict[str, str]:
    """Returns the config's fields that do something and are no facts of their own."""
    fields = {
        f"{section}.{name}": value
        for section in ("data", "model", "train")
        for name, value in config[section].items()
        if f"{section}.{name}" not in _STATED and value
    }
    fields = {name: value for name, value in fields.items() if value != _NEUTRAL.get(name)}
    return {name: json.dumps(value).replace('"', "") for name, value in fields.items()}


def schedule(entry: manifest.Entry) -> str:
    """Returns the origin, the completed fraction and the length of the schedule."""
    ours = entry["schedule"] != "paper"
    origin = f"ours, `{entry['schedule']}`" if ours else "of the network's paper"
    if entry["schedule_share"] != 1:
        origin += f", {entry['schedule_share']:.0%} of it"
    return f"{origin}: {entry['epochs']} epochs, {entry['step']:,} iterations"


def _learning_rate(entry: manifest.Entry) -> str:
    train, steps = entry["config"]["train"], entry["step"]
    # A boundary is an iteration or a fraction of the run.
    bounds = [b if isinstance(b, int) else round(b * steps) for b in train["boundaries"]]
    first, *later = (f"{rate:g}" for rate in train["learning_rates"])
    shape, when = train["learning_rate_shape"], bounds
    if shape != "steps":
        when = [*bounds, steps]
    changes = (f", {rate} at iteration {at:,}" for rate, at in zip(later, when, strict=True))
    return f"{first}{''.join(changes)} ({shape})"


def _limits(
    entry: manifest.Entry, rows: Sequence[results.Row], changes: Sequence[results.Row]
) -> str:
    share, classes = entry["schedule_share"], entry["classes"]
    height, width, _ = entry["arguments"]["input_shape"]
    people = ", ".join(name for name in classes if name in _PEOPLE)
    among = f" (among the classes: {people})" if people else ""
    limits = [
        "For comparisons of activations, fine-tuning, trials of export and serving, and "
        f"teaching. **Not** for decisions about people{among}, for uses in which "
        "a wrong prediction does harm, or for images unlike those of "
        f"{entry['dataset']}, on which nothing was measured."
    ]
    if entry["schedule"] != "paper":
        limits.append(
            f"Trained with our schedule `{entry['schedule']}` instead of the paper's. "
            "The test error and the differences between activations are therefore not "
            "comparable with the paper's."
        )
    elif share < 1:
        limits.append(f"Trained for {share:.0%} of the paper's schedule only.")
    if len(results.find_runs(entry, rows)) < 2:
        limits.append("One seed: the spread over seeds was not measured.")
    if classes:
        limits.append(
            f"Every image gets one of the {len(classes)} classes, even if it shows "
            "something else. " + cards_measures.limit(entry)
        )
    if entry["dataset"] in _DATA:
        limits.append(_DATA[entry["dataset"]][1])
    if "note" in entry:
        limits.append(entry["note"])
    unmeasured = "resizing other images"
    if all(row["tag"] != entry["tag"] for row in changes):
        unmeasured += ", of noise, of shifts"
    limits += [
        f"Trained on images of {height} x {width} pixels only. The effect of "
        f"{unmeasured} and of attacks was not measured.",
        "Weights are rounded to float16. The test error is that of rounded weights.",
    ]
    return "\n".join(f"- {limit}" for limit in limits)


def _duration(seconds: float) -> str:
    if seconds < 90 * 60:
        return f"{seconds / 60:.2g} minutes"
    return f"{seconds / 3600:.2g} hours"


def _how_to_use(entry: manifest.Entry) -> str:
    name, tag = entry["model"], entry["tag"]
    weights = tag if tag in manifest.published() else tag + manifest.SUFFIX
    extra, last = "", "elu_zoo.decode_predictions(model(images), name, weights, top=5)"
    if not entry["classes"]:
        readout = registry.OUTPUT_ACTIVATION[manifest.loss(entry)]
        extra = f', classifier_activation="{readout}"'
        last = "reconstructions = model(images)  # in [0, 1]"
    *size, channels = entry["arguments"]["input_shape"]
    if "crop" in entry["preprocessing"]:  # The model crops larger images.
        size = [entry["config"]["data"]["image_size"]] * 2
    return (
        f"With raw pixels as `images`, shape `(n, {size[0]}, {size[1]}, "
        f"{channels})`:\n\n"
        f'```python\nimport elu_zoo\n\nname = "{name}"\nweights = "{weights}"\n'
        f"model = elu_zoo.get_model(name, weights=weights{extra})\n{last}\n```"
    )


def _metadata(entry: manifest.Entry) -> str:
    """Returns the YAML front matter; JSON strings are valid YAML."""
    quoted = json.dumps
    is_classifier = results.metric(entry) != results.SQUARED
    task = "image-classification" if is_classifier else "image-to-image"
    # A user's data set has no name on the hub.
    hub = _DATA[entry["dataset"]][0] if entry["dataset"] in _DATA else None
    datasets = f"datasets: {quoted([hub])}\n" if hub else ""
    value = entry["metrics"][results.metric(entry)]
    if is_classifier:
        kind, words = "accuracy", "share of test images that are classified correctly"
        value = round(1 - value / 100, 6)
    else:
        kind, words = "squared_error", "summed over an image's pixels in [0, 1]"
    activation = entry["arguments"]["activation"]["name"]
    tags = task, "elu", activation, "arxiv:1511.07289"
    return f"""---
license: {entry["licence"].lower()}
library_name: keras
pipeline_tag: {task}
tags: {quoted(list(dict.fromkeys(tags)))}
{datasets}metrics: {quoted([kind])}
model-index:
- name: {quoted(entry["tag"])}
  results:
  - task:
      type: {task}
    dataset:
      name: {quoted(entry["dataset"])}
      type: {quoted(hub or "own images")}
      split: test
    metrics:
    - type: {kind}
      value: {value}
      name: {quoted(words)}
---

"""
