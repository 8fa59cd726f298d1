"""Sections of a model card on the training data, preprocessing and training."""

import shlex
from importlib import resources
from typing import Any

from elu_zoo.configs import table1_baselines
from elu_zoo.weights import training_cost
from elu_zoo.weights.manifest import Entry


def training_data(entry: Entry) -> str:
    """Returns the section on the images and their licence terms."""
    examples, classes = entry["examples"], entry["classes"]
    held_out = f"{examples['validation']:,}" if examples["validation"] else "no"
    names = ", ".join(classes[:10])
    if len(classes) > 10:
        names += f" and {len(classes) - 10} more"
    return (
        f"{entry['dataset']}: {examples['train']:,} training images, {held_out} "
        f"validation images and {examples['test']:,} test images."
        + (f" Classes: {names}." if classes else "")
        + f"\n\nTerms of the data: {entry['data_terms']}"
    )


def preprocessing(entry: Entry) -> str:
    """Returns the section on preprocessing and augmentation."""
    fields = entry["preprocessing"]
    statistics = f"`{fields.get('statistics')}`"
    offset = fields.get("offset", 0)
    if isinstance(offset, list):
        numbers = ", ".join(f"{x:.4g}" for x in offset)
        offset = f"one of {numbers} (the channels' means in training)"
    kinds = {
        "rescale": f"pixels are multiplied by {fields.get('scale', 1):.4g}"
        + (f", and {offset} is added" if offset else ""),
        "gcn": "global contrast normalisation",
        "mean": f"the mean image {statistics} is subtracted",
        "gcn_mean": "global contrast normalisation, then the mean image "
        f"{statistics} of such images is subtracted",
        "gcn_zca": "global contrast normalisation, then ZCA whitening with the "
        f"statistics {statistics}, which fit images of this size only",
        "mean_crop": f"the mean image {statistics} is subtracted, and the centre is cut out",
    }
    data = entry["config"]["data"]
    augmentation = data["augmentation"]
    augmented = f" The training images were augmented by `{augmentation}`"
    for key, words in (
        ("padding", "with {} pixels around each image"),
        ("field_size", "in a field of {0} x {0} pixels"),
        ("cutout", "with a square of {0} x {0} pixels set to 0"),
        ("whole_epochs", "except in the last {} epochs"),
    ):
        if data[key] and (key != "padding" or augmentation == "pad_crop_flip"):
            augmented += ", " + words.format(data[key])
    return (
        "The model takes raw pixels, 0 to 255, and preprocesses them: "
        f"{kinds.get(fields['kind'], fields['kind'])}."
        + (f"{augmented}." if augmentation != "none" else "")
    )


def procedure(entry: Entry) -> str:
    """Returns the section on the run: the command and a table of settings."""
    how = "The entry holds the config, which was made in Python."
    if command := entry.get("command"):
        how = f"```sh\n{command}\n```"
        name = _config_name(command)
        installed = resources.files("elu_zoo.configs")
        if name.isidentifier() and installed.joinpath(f"{name}.py").is_file():
            how += f"\n\n`configs/{name}.py` describes what the paper leaves open, and our choices."
    rows = {
        "schedule": schedule(entry),
        "learning rate": _learning_rate(entry),
        **_update(entry),
        "seed": f"{entry['seed']}, for the initial weights and all random draws",
        "code": f"commit {entry['commit']} on {_versions(entry)}",
        "duration": f"{_duration(entry['wall_time_seconds'])} on {entry['hardware']}",
    }
    if entry.get("replicas", 1) > 1:  # earlier versions did not write it
        rows["devices"] = (
            f"{entry['replicas']} replicas, each with an equal share of every batch: "
            f"`--strategy={entry['strategy']}`"
        )
    if "training_pflop" in entry:
        rows["cost"] = (
            f"{entry['training_pflop']:g} PFLOP ({training_cost.FORMULA}), "
            f"{entry['training_hours']:g} hours"
        )
    if "kept_step" in entry:
        kept = f"of iteration {entry['kept_step']:,}, with the lowest validation loss"
        rows["weights"] = kept
    if "parent" in entry:
        rows["initial weights"] = f"{entry['parent']}, except for the classifier"
        frozen = entry["config"]["train"]["freeze"] or ["nothing"]
        rows["frozen"] = ", ".join(frozen)
    lines = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
    return f"{how}\n\n| | |\n|---|---|\n{lines}"


def owner(model: str) -> str:
    """Returns whose schedule `schedule=paper` of a network is."""
    return "the network's authors'" if model in table1_baselines.NETS else "the paper's"


def schedule(entry: Entry) -> str:
    """Returns the origin, the completed fraction and the length of the schedule."""
    theirs = owner(entry["model"])
    origin = theirs if entry["schedule"] == "paper" else f"ours, not {theirs}"
    share = entry["schedule_share"]
    if share != 1:
        origin += f", {share:.0%} of it"
    elif entry["schedule"] == "paper":
        origin += ", in full"
    return f"{origin}: {entry['epochs']} epochs, {entry['step']:,} iterations"


def _learning_rate(entry: Entry) -> str:
    train = entry["config"]["train"]
    steps, rates = entry["step"], [f"{rate:g}" for rate in train["learning_rates"]]
    # A boundary is an iteration or a fraction of the run.
    bounds = [b if isinstance(b, int) else round(b * steps) for b in train["boundaries"]]
    shape = train["learning_rate_shape"]
    if shape == "exponential":
        first, how, when = f"{rates[0]}, exponentially to ", "at", [*bounds, steps]
    elif shape == "linear":
        first, how, when = f"{rates[0]}, linearly to ", "at", [*bounds, steps]
    else:
        first, how, when = f"{rates[0]}" + (", " if bounds else ""), "from", bounds
    later = zip(rates[1:], when, strict=True)
    return first + ", ".join(f"{rate} {how} iteration {at:,}" for rate, at in later)


def _config_name(command: str) -> str:
    """Returns the value of --config in a command, without its arguments."""
    words = iter(shlex.split(command))
    for word in words:
        flag, _, value = word.partition("=")
        if flag.lstrip("-") == "config":
            return (value or next(words, "")).partition(":")[0]
    return ""


def _update(entry: Entry) -> dict[str, str]:
    """Returns the rows on the loss, the optimizer, dropout and precision."""
    train, model = entry["config"]["train"], entry["config"]["model"]
    loss = train["loss"].replace("_", " ")
    if train["label_smoothing"]:
        loss += f", label smoothing {train['label_smoothing']:g}"
    momentum = _momentum(train)
    batches = f"on batches of {training_cost.batch_size(entry)}"
    rows = {"loss": loss}
    if train["optimizer"] == "muon":
        parts = [f"Muon {batches}, with kernels of constant norm", *momentum]
        rows["update"] = ", ".join(parts)
        others = "biases and classifier" if entry["classes"] else "biases"
        sgd = ["SGD", *momentum, f"{train['sgd_factor']:g} times the learning rate"]
        if entry["classes"] and train["sgd_decay"]:
            sgd.append(f"L2 decay {train['sgd_decay']:g} of the classifier's kernel")
        rows[others] = ", ".join(sgd)
    else:
        rows["update"] = ", ".join([f"SGD {batches}", *momentum, *_decay(model)])
    if train["learning_rate_factors"]:
        factors = (f"{name} {by:g}" for name, by in train["learning_rate_factors"])
        rows["learning rate factors"] = ", ".join(factors)
    if train["heads_until"] < 1:
        until = train["heads_until"]
        when = f"for the first {until:.0%} of the run" if until else "never learn"
        rows["auxiliary heads"] = when
    if model.get("dropout"):
        rates = model["dropout"]
        rates = rates if isinstance(rates, list | tuple) else [rates]
        rows["dropout"] = ", ".join(f"{rate:g}" for rate in rates)
    if train["dropout"]:
        phases = [", ".join(f"{rate:g}" for rate in rates) for rates in train["dropout"]]
        rows["dropout"] = "; then ".join(phases)
    precision = train["precision"]
    precision += ", variables in float32" if precision != "float32" else ""
    return rows | {"precision": precision}


def _momentum(train: dict[str, Any]) -> list[str]:
    if not train["momentum"]:
        return []
    kind = "Nesterov" if train["nesterov"] else "heavy-ball"
    text = f"{kind} momentum {train['momentum']:g}"
    first, until = train["momentum_rise"]
    if until:
        until = f"iteration {until:,}" if until > 1 else f"{until:.0%} of the run"
        text += f", rising from {first:g} until {until}"
    return [text]


def _decay(model: dict[str, Any]) -> list[str]:
    parts = []
    if model.get("kernel_decay"):
        parts.append(f"L2 decay {model['kernel_decay']:g}")
    if model.get("classifier_decay"):
        parts.append(f"{model['classifier_decay']:g} of the classifier")
    if model.get("constrained"):
        parts.append("bounded norms of kernels")
    return parts


def _versions(entry: Entry) -> str:
    versions = {k: v for k, v in entry["versions"].items() if k != "elu_zoo"}
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _duration(seconds: float) -> str:
    if seconds < 90 * 60:
        return f"{seconds / 60:.2g} minutes"
    return f"{seconds / 3600:.2g} hours"
