"""Model cards: the purpose, facts, test error and limits of a weight file.

The content comes from the entry of the file (see `manifest`), from CSV files in
configs/results/, and from `_DATA`.
"""

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elu_zoo import errors, registry, results
from elu_zoo.weights import cards_measures, manifest, training_cost
from elu_zoo.weights.manifest import Entry

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
    "error on new photographs.{}"
)
_MNIST = (
    "ylecun/mnist",
    "MNIST's digits are light on dark, scaled to 20 x 20 pixels and centred by their "
    "mass in 28 x 28 pixels. Convert photographs to this form first.",
)
_PEOPLE = " Five classes are people: baby, boy, girl, man, woman."
# Data set: (name on the Hugging Face hub, limit of models trained on the data set).
_DATA = {
    "cifar10": ("uoft-cs/cifar10", _DUPLICATES.format(3, "")),
    "cifar100": ("uoft-cs/cifar100", _DUPLICATES.format(10, _PEOPLE)),
    "cifar100_coarse": ("uoft-cs/cifar100", _DUPLICATES.format(10, "")),
    "mnist": _MNIST,
    "mnist_5k": _MNIST,
}
# Fields of the config that other lines of a card state, or that change no weight.
_STATED = set(
    "data.name data.folder data.measure_test model.name model.activation model.batch_norm "
    "train.batch_size train.epochs train.boundaries train.learning_rates "
    "train.learning_rate_shape train.checkpoint_every train.checkpoints_kept "
    "train.evaluate_every".split()
)
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
    paper, command = results.read("paper.csv"), entry.get("command")
    parts = [
        f"# {entry['tag']}",
        _summary(entry, paper),
        "## Training",
        f"```sh\n{command}\n```" if command else "The config was made in Python.",
        "| | |\n|---|---|\n" + "\n".join(f"| {k} | {x} |" for k, x in _facts(entry).items()),
        "## Evaluation",
        cards_measures.error_table(entry, rows, paper),
        *cards_measures.calibration(entry),
        *cards_measures.changes(entry, results.read("image_changes.csv")),
        "## Limits",
        "\n".join(f"- {limit}" for limit in _limits(entry, rows) if limit),
        "## How to use",
        _how_to_use(entry),
        "## Citation",
        _CITATION,
    ]
    return (_metadata(entry) if front_matter else "") + "\n\n".join(parts) + "\n"


def _summary(entry: Entry, paper: Sequence[results.Row]) -> str:
    activation = dict(entry["arguments"]["activation"])
    name = f"`{activation.pop('name')}`"
    name += "".join(f" ({key} {value})" for key, value in activation.items())
    name += " after batch normalisation" * entry["arguments"]["batch_norm"]
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


# The lines of the table of facts: the label, and a format of the fields of an entry and of
# `_texts`. A line is left out if the entry lacks a field, or if the text is empty.
_FACTS = {
    "images": "{dataset}: {examples[train]:,} train, {examples[validation]:,} validation, "
    "{examples[test]:,} test",
    "classes": "{first_classes}",
    "terms of the data": "{data_terms}",
    "preprocessing of raw pixels, 0 to 255": "{description}",
    "schedule": "{origin}: {epochs} epochs, {step:,} iterations",
    "learning rate": "{rates} ({config[train][learning_rate_shape]}){boundaries}",
    "batch size": "{batch_size}",
    "seed": "{seed}",
    "code": "commit {commit}, {packages}",
    "duration": "{time} on {hardware}",
    "cost": f"{{training_pflop:g}} PFLOP ({training_cost.FORMULA}), {{training_hours:g}} hours",
    "replicas, each with an equal share of every batch": "{replicas}",
    "iteration of the weights, with the lowest validation loss": "{kept_step}",
    "initial weights, except for the classifier": "{parent}",
    "file": f"`{{tag}}{manifest.SUFFIX}`, {{bytes:,}} bytes",
    "sha256": "`{sha256}`",
    "also at": "{also_at}",
    "licence": "{licence} for our rights",
}


def _facts(entry: Entry) -> dict[str, str]:
    """Returns the lines of the table of facts, and the config's other fields."""
    fields, facts = entry | _texts(entry), {}
    for label, form in _FACTS.items():
        with contextlib.suppress(KeyError):
            facts[label] = form.format(**fields)
    facts |= _config(entry["config"])
    return {label: fact for label, fact in facts.items() if fact}


def _texts(entry: Entry) -> dict[str, Any]:
    """Returns the facts that are no fields of an entry."""
    names, train = entry["classes"], entry["config"]["train"]
    ours, share = entry["schedule"] != "paper", entry["schedule_share"]
    origin = f"ours, `{entry['schedule']}`" if ours else "of the network's paper"
    # A boundary is an iteration or a fraction of the run.
    bounds = [
        f"{b if isinstance(b, int) else round(b * entry['step']):,}" for b in train["boundaries"]
    ]
    hours = entry["wall_time_seconds"] / 3600
    described = entry["preprocessing"].items()
    return {
        "first_classes": ", ".join(names[:10]) + f" and {len(names) - 10} more" * (len(names) > 10),
        "description": ", ".join(
            f"{key} {x:.4g}" if isinstance(x, float) else f"{key} {x}" for key, x in described
        ),
        "origin": origin + f", {share:.0%} of it" * (share != 1),
        "rates": ", ".join(f"{rate:g}" for rate in train["learning_rates"]),
        "boundaries": f", boundaries at {', '.join(bounds)}" * bool(bounds),
        "batch_size": training_cost.batch_size(entry),
        "packages": ", ".join(f"{k} {v}" for k, v in entry["versions"].items() if k != "elu_zoo"),
        "time": f"{hours:.2g} hours" if hours >= 1.5 else f"{60 * hours:.2g} minutes",
        "also_at": ", ".join(entry["sources"]),
    }


def _config(config: dict[str, Any]) -> dict[str, str]:
    """Returns the config's fields that do something and are no facts of their own."""
    return {
        f"{section}.{key}": json.dumps(value).replace('"', "")
        for section in ("data", "model", "train")
        for key, value in config[section].items()
        if value and (name := f"{section}.{key}") not in _STATED and value != _NEUTRAL.get(name)
    }


def _limits(entry: Entry, rows: Sequence[results.Row]) -> list[str]:
    share, dataset, count = entry["schedule_share"], entry["dataset"], len(entry["classes"])
    height, width, _ = entry["arguments"]["input_shape"]
    schedule = f"Trained for {share:.0%} of the paper's schedule only." * (share < 1)
    if entry["schedule"] != "paper":
        schedule = (
            f"Trained with our schedule `{entry['schedule']}` instead of the paper's. "
            "The test error and the differences between activations are therefore not "
            "comparable with the paper's."
        )
    one_seed = "One seed: the spread over seeds was not measured."
    classes = (
        f"Every image gets one of the {count} classes, even if it shows something else. "
        "The model's probabilities are not calibrated."
    )
    return [
        "For comparisons of activations, fine-tuning, trials of export and serving, and "
        "teaching. **Not** for decisions about people, for uses in which a wrong prediction "
        f"does harm, or for images unlike those of {dataset}, on which nothing was measured.",
        schedule,
        one_seed * (len(results.find_runs(entry, rows)) < 2),
        classes * bool(count),
        _DATA.get(dataset, ("", ""))[1],
        entry.get("note", ""),
        f"Trained on images of {height} x {width} pixels only. The effect of resizing other "
        "images and of attacks was not measured.",
        "Weights are rounded to float16. The test error is that of rounded weights.",
    ]


def _how_to_use(entry: Entry) -> str:
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


def _metadata(entry: Entry) -> str:
    """Returns the front matter as JSON, which is YAML too."""
    fields = {
        "license": entry["licence"].lower(),
        "library_name": "keras",
        "pipeline_tag": "image-classification" if entry["classes"] else "image-to-image",
        "tags": sorted({"elu", entry["arguments"]["activation"]["name"], "arxiv:1511.07289"}),
        # A user's data set has no name on the hub.
        "datasets": [_DATA[entry["dataset"]][0]] if entry["dataset"] in _DATA else [],
    }
    return f"---\n{json.dumps(fields, indent=1)}\n---\n\n"
