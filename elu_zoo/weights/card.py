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
_PEOPLE = " Five classes are people: baby, boy, girl, man, woman."
_CIFAR100 = "uoft-cs/cifar100", _DUPLICATES.format(10)
_MNIST = (
    "ylecun/mnist",
    "MNIST's digits are light on dark, scaled to 20 x 20 pixels and centred by their "
    "mass in 28 x 28 pixels. Convert photographs to this form first.",
)
# Data set: (name on the Hugging Face hub, limit of models trained on the data set).
_DATA = {
    "cifar10": ("uoft-cs/cifar10", _DUPLICATES.format(3)),
    "cifar100": (_CIFAR100[0], _CIFAR100[1] + _PEOPLE),
    "cifar100_coarse": _CIFAR100,
    "mnist": _MNIST,
    "mnist_5k": _MNIST,
}
# Fields of the config that other lines of a card state, or that change no weight.
_STATED = {
    *("data.name", "data.folder", "data.measure_test", "model.name", "model.activation"),
    *("model.batch_norm", "train.batch_size", "train.epochs", "train.boundaries"),
    *("train.learning_rates", "train.learning_rate_shape", "train.checkpoint_every"),
    *("train.checkpoints_kept", "train.evaluate_every"),
}
# Values of fields that do nothing, beside 0, "", None and False.
_NEUTRAL = {"model.width": 1.0, "train.heads_until": 1.0, "train.momentum_rise": [0.0, 0]}


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
    from elu_zoo.weights import local

    path, entry = local.with_entry(path)
    if entry is None:
        raise errors.NotFoundError(
            f"{path} has no entry beside it, which a model card needs. Pass the folder of "
            "a finished run."
        )
    return entry


def text(entry: manifest.Entry, rows: Sequence[results.Row], *, front_matter: bool = False) -> str:
    """Returns the model card of a weight file, in Markdown.

    Args:
        entry: the entry of the weight file.
        rows: the rows of configs/results/results.csv.
        front_matter: whether to start with metadata for the Hugging Face hub.
    """
    if missing := sorted(FIELDS - entry.keys()):
        raise errors.CorruptError(
            f"The entry of {entry.get('tag')} lacks {', '.join(missing)}, which a model "
            "card needs. Add the missing fields, or train again."
        )
    if results.metric(entry) not in entry["metrics"]:
        raise errors.UsageError(
            f"{entry['tag']} has no test error, which a model card states: its config "
            "has data.measure_test=False. Train with data.measure_test=True in another "
            "--workdir."
        )
    paper, changes = results.read("paper.csv"), results.read("image_changes.csv")
    command = entry.get("command")
    parts = [
        f"# {entry['tag']}",
        _summary(entry, paper),
        "## Training",
        f"```sh\n{command}\n```" if command else "The config was made in Python.",
        "| | |\n|---|---|\n" + "\n".join(f"| {key} | {x} |" for key, x in _facts(entry).items()),
        "## Evaluation",
        cards_measures.error_table(entry, rows, paper),
        *cards_measures.calibration(entry),
        *cards_measures.changes(entry, changes),
        "## Limits",
        "\n".join(f"- {limit}" for limit in _limits(entry, rows)),
        "## How to use",
        _how_to_use(entry),
        "## Citation",
        _CITATION,
    ]
    return (_metadata(entry) if front_matter else "") + "\n\n".join(parts) + "\n"


def _summary(entry: manifest.Entry, paper: Sequence[results.Row]) -> str:
    activation = dict(entry["arguments"]["activation"])
    name = f"`{activation.pop('name')}`"
    name += "".join(f" ({key} {value})" for key, value in activation.items())
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


def _facts(entry: manifest.Entry) -> dict[str, Any]:
    """Returns the facts of the run and of the file, and the fields of the config."""
    splits = ("train", "validation", "test")
    images = ", ".join(f"{entry['examples'][split]:,} {split}" for split in splits)
    classes = entry["classes"]
    more = f" and {len(classes) - 10} more" if len(classes) > 10 else ""
    versions = (f"{key} {value}" for key, value in entry["versions"].items() if key != "elu_zoo")
    hours = entry["wall_time_seconds"] / 3600
    duration = f"{hours:.2g} hours" if hours >= 1.5 else f"{60 * hours:.2g} minutes"
    facts = {
        "images": f"{entry['dataset']}: {images}",
        "classes": ", ".join(classes[:10]) + more,
        "terms of the data": entry["data_terms"],
        "preprocessing of raw pixels, 0 to 255": _values(entry["preprocessing"]),
        "schedule": _schedule(entry),
        "learning rate": _learning_rate(entry),
        "batch size": training_cost.batch_size(entry),
        **_config(entry["config"]),
        "seed": entry["seed"],
        "code": f"commit {entry['commit']}, {', '.join(versions)}",
        "duration": f"{duration} on {entry['hardware']}",
    }
    if "training_pflop" in entry:
        cost = f"{entry['training_pflop']:g} PFLOP ({training_cost.FORMULA})"
        facts["cost"] = f"{cost}, {entry['training_hours']:g} hours"
    for field, name in (
        ("replicas", "replicas, each with an equal share of every batch"),
        ("kept_step", "iteration of the weights, with the lowest validation loss"),
        ("parent", "initial weights, except for the classifier"),
    ):
        facts[name] = entry.get(field, "")
    facts |= {
        "file": f"`{entry['tag']}{manifest.SUFFIX}`, {entry['bytes']:,} bytes",
        "sha256": f"`{entry['sha256']}`",
        "also at": ", ".join(entry["sources"]),
        "licence": f"{entry['licence']} for our rights",
    }
    return {name: fact for name, fact in facts.items() if fact != ""}


def _values(described: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in described.items()
    )


def _config(config: dict[str, Any]) -> dict[str, str]:
    """Returns the config's fields that do something and are no facts of their own."""
    fields = {
        f"{section}.{name}": value
        for section in ("data", "model", "train")
        for name, value in config[section].items()
    }
    return {
        name: json.dumps(value).replace('"', "")
        for name, value in fields.items()
        if value and name not in _STATED and value != _NEUTRAL.get(name)
    }


def _schedule(entry: manifest.Entry) -> str:
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
    rates = ", ".join(f"{rate:g}" for rate in train["learning_rates"])
    changes = f", boundaries at {', '.join(f'{b:,}' for b in bounds)}" if bounds else ""
    return f"{rates} ({train['learning_rate_shape']}){changes}"


def _limits(entry: manifest.Entry, rows: Sequence[results.Row]) -> list[str]:
    share, dataset = entry["schedule_share"], entry["dataset"]
    height, width, _ = entry["arguments"]["input_shape"]
    limits = [
        "For comparisons of activations, fine-tuning, trials of export and serving, and "
        "teaching. **Not** for decisions about people, for uses in which a wrong prediction "
        f"does harm, or for images unlike those of {dataset}, on which nothing was measured."
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
    if count := len(entry["classes"]):
        limits.append(
            f"Every image gets one of the {count} classes, even if it shows something else. "
            "The model's probabilities are not calibrated."
        )
    if dataset in _DATA:
        limits.append(_DATA[dataset][1])
    if "note" in entry:
        limits.append(entry["note"])
    limits += [
        f"Trained on images of {height} x {width} pixels only. The effect of resizing other "
        "images and of attacks was not measured.",
        "Weights are rounded to float16. The test error is that of rounded weights.",
    ]
    return limits


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
    """Returns the front matter as JSON, which is YAML too."""
    error, name = entry["metrics"][results.metric(entry)], entry["dataset"]
    task, metric = "image-classification", {"type": "accuracy", "value": round(1 - error / 100, 6)}
    if not entry["classes"]:
        task, metric = "image-to-image", {"type": "squared_error", "value": error}
    # A user's data set has no name on the hub.
    hub = [_DATA[name][0]] if name in _DATA else []
    data = {"name": name, "type": (hub or ["own images"])[0], "split": "test"}
    result = {"task": {"type": task}, "dataset": data, "metrics": [metric]}
    fields = {
        "license": entry["licence"].lower(),
        "library_name": "keras",
        "pipeline_tag": task,
        "tags": sorted({"elu", entry["arguments"]["activation"]["name"], "arxiv:1511.07289"}),
        "datasets": hub,
        "metrics": [metric["type"]],
        "model-index": [{"name": entry["tag"], "results": [result]}],
    }
    return f"---\n{json.dumps(fields, indent=1)}\n---\n\n"
