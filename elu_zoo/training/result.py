"""What a finished run leaves: its weights as a file, and the entry beside it."""

import os
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from ml_collections import ConfigDict

import elu_zoo
from elu_zoo import activations, files, layers, registry
from elu_zoo.data import statistics
from elu_zoo.data.sources import ImageData, Split
from elu_zoo.models import cost
from elu_zoo.models.heads import deployed
from elu_zoo.training import finetuning, settings
from elu_zoo.training.evaluate import Evaluator
from elu_zoo.training.run import TrainState
from elu_zoo.training.state import versions
from elu_zoo.weights import entries, h5

# Arguments of builders that matter until the weights are trained, and no longer.
_OF_TRAINING = (
    *("kernel_decay", "classifier_decay", "init_scale", "deviations", "dropout"),
    *("first_deviation", "classifier_deviation", "initial_kernels"),
    *("auxiliary_heads", "constrained", "weights"),
)


def find(workdir: Path) -> entries.Entry | None:
    """Returns the entry of a run that is finished, None before that."""
    path = workdir / "outcome.json"
    return entries.read(path) if path.is_file() else None


def of_config(workdir: Path, config: ConfigDict) -> entries.Entry | None:
    """Returns the entry of a folder's finished run, if it was of this config."""
    entry = find(workdir)
    same = entry and not settings.differences(entry["config"], settings.as_dict(config))
    return entry if same else None


def write(
    config: ConfigDict,
    workdir: Path,
    model: keras.Model,
    evaluator: Evaluator,
    data: ImageData,
    validation: Split | None,
    preprocessing: dict[str, Any],
    position: TrainState,
    commit: str,
    command: str | None = None,
    check: Callable[[], None] | None = None,
) -> entries.Entry:
    """Writes the final weights, measured as they will be read: in float16.

    Args:
        config: the run's config.
        workdir: its folder.
        model: the trained model; its weights are rounded to float16 here.
        evaluator: of that model.
        data: the splits; the test split is looked at here, once, or never.
        validation: what the run has not been trained on; None where there is none.
        preprocessing: of the model.
        position: of the run, at its end.
        commit: of the code that ran.
        command: see `train`.
        check: see `Evaluator`; where it raises, nothing is written.

    Returns:
        The entry, which is on the disk beside the weights.
    """
    model = deployed(model)
    content = h5.write(model)
    for layer in model.layers:
        for variable in layer.weights:
            variable.assign(np.asarray(variable).astype(np.float16))
    measured = {}
    if config.data.get("measure_test", True):
        measured["test"] = evaluator(data.test, check)
    if validation is not None:
        measured["validation"] = evaluator(validation, check)
    trained = len(data.train) + (len(data.validation) if validation is None else 0)
    sha256 = files.sha256(content)
    arguments = {
        "activation": activations.describe(config.model.activation),
        "input_shape": list(network_input(data, preprocessing)),
    }
    for key in config.model:
        if key not in ("name", "activation", *_OF_TRAINING):
            value = config.model[key]
            arguments[key] = list(value) if isinstance(value, tuple) else value
    maps = (x for x in model.layers if isinstance(x, layers.FeatureMapDropout))
    if any(maps):  # it scales what the deployed network computes
        arguments["dropout"] = config.model.dropout
    registered = registry.entry(config.model.name)
    parent, terms = finetuning.parent(config), data.terms
    if parent and parent["data_terms"] != terms:
        terms = f"{terms} The weights it began with, {parent['data_terms']}"
    if registered.takes("num_classes"):
        arguments["num_classes"] = data.num_classes
    tag = entries.tag(config.model.name, data.name, arguments, sha256)
    entry = {
        "format": entries.FORMAT,
        "tag": tag,
        "model": config.model.name,
        "dataset": data.name,
        "arguments": arguments,
        "preprocessing": preprocessing,
        "classes": [] if registered.is_autoencoder else list(data.class_names),
        "sha256": sha256,
        "bytes": len(content),
        "parameters": cost.parameters(model),
        "multiply_accumulates": cost.multiply_accumulates(model),
        "examples": {
            "train": config.data.train_examples or trained,
            "validation": 0 if validation is None else len(validation),
            "test": len(data.test),
        },
        "schedule": config.schedule,
        "schedule_share": round(config.train.epochs / config.schedule_epochs, 4),
        "config": settings.as_dict(config),
        "seed": config.seed,
        "step": position.step,
        "epochs": config.train.epochs,
        "metrics": {
            f"{split}_{key}": value
            for split, found in measured.items()
            for key, value in found.items()
        },
        "commit": commit,
        "backend": keras.backend.backend(),
        "versions": versions(),
        "hardware": hardware(),
        "wall_time_seconds": round(position.seconds, 1),
        "licence": "Apache-2.0",
        "data_terms": terms,
        "sources": [],
    }
    entry[entries.MEANING_HASH] = entries.meaning_hash(entry)
    others = {
        "command": command,
        "parent": parent and parent["tag"],
        "images": data.images,
    }
    others |= {"note": data.note, "config_changes": position.config_changes}
    entry |= {key: value for key, value in others.items() if value}
    # A folder that is copied elsewhere brings what whitens its images.
    statistics.copy(preprocessing, workdir)
    files.write_bytes(workdir / (tag + entries.SUFFIX), content)
    files.write_json(workdir / (tag + ".json"), entry)
    # Last: from here on the run is finished.
    files.write_json(workdir / "outcome.json", entry)
    return entry


def network_input(
    data: ImageData, preprocessing: dict[str, Any]
) -> tuple[int, int, int]:
    """Returns the shape of images after the preprocessing: crops are smaller."""
    *size, channels = data.image_shape
    return (*preprocessing.get("crop", size), channels)


def commit() -> str:
    """Returns the commit of this code, `+` after it where files were changed."""
    folder = Path(elu_zoo.__file__).resolve().parent
    try:
        git = ["git", "-C", str(folder)]
        head = subprocess.run(
            [*git, "rev-parse", "--short=12", "HEAD"],
            capture_output=True, text=True, check=True, timeout=10,
        ).stdout.strip()  # fmt: skip
        tracked = subprocess.run(
            [*git, "ls-files", "--error-unmatch", "__init__.py"],
            capture_output=True, timeout=10,
        )  # fmt: skip
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True, text=True, check=True, timeout=10,
        ).stdout.strip()  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return f"release {elu_zoo.__version__}"
    if tracked.returncode:  # installed inside somebody else's repository
        return f"release {elu_zoo.__version__}"
    return head + "+" * bool(changed)


def hardware() -> str:
    """Returns the processor's name and its number of cores."""
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{name}, {os.cpu_count()} cores"
