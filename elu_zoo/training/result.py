"""Result of a finished run: its weight file, and the entry of the weights."""

import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
from absl import logging
from ml_collections import ConfigDict

import elu_zoo
from elu_zoo import activations, errors, files, registry
from elu_zoo.training import hardware
from elu_zoo.training.build import network_input_shape
from elu_zoo.training.config import differences
from elu_zoo.training.record.checkpoint import TrainState, versions
from elu_zoo.training.run import Run
from elu_zoo.weights import manifest, unfinished


def find(workdir: Path) -> manifest.Entry | Any:
    """Returns the entry of a finished run, or None for an unfinished run."""
    path = workdir / "outcome.json"
    return manifest.read(path) if path.is_file() else None


def find_finished(workdir: Path, config: dict[str, Any]) -> manifest.Entry | None:
    """Returns the entry of a run of a config that is finished, with its weights, or None."""
    entry = find(workdir)
    if not entry or differences(entry["config"], config):
        return None
    path = workdir / (entry["tag"] + manifest.SUFFIX)
    if path.is_file():
        return entry
    if unfinished.newest_step(workdir) is None:
        raise errors.CorruptError(
            f"The weight file {path} of the finished run is missing, and there is no "
            f"checkpoint. Restore the file, or delete {workdir} to train again."
        )
    logging.warning("%s is missing, and will be written from the last checkpoint.", path)
    return None


def write(
    config: ConfigDict,
    run: Run,
    state: TrainState,
    workdir: Path,
    provenance: dict[str, Any],
    check: Callable[[], None],
) -> manifest.Entry:
    """Writes the final weights, rounded in place, and returns their entry."""
    from elu_zoo.models import cost
    from elu_zoo.models.blocks import remove_heads
    from elu_zoo.weights import measures

    model, data, preprocessing = remove_heads(run.model), run.data, run.preprocessing
    content = _weight_file(model)
    arguments = _arguments(config.model, run)
    sha256 = files.sha256(content)
    tag = manifest.tag(config.model.name, data.name, arguments, sha256)
    autoencoder = registry.entry(config.model.name).is_autoencoder
    entry = {
        "format": manifest.FORMAT,
        "tag": tag,
        "model": config.model.name,
        "dataset": data.name,
        "arguments": arguments,
        "preprocessing": preprocessing,
        "classes": [] if autoencoder else list(data.class_names),
        "sha256": sha256,
        "bytes": len(content),
        "parameters": cost.parameters(model),
        "multiply_accumulates": cost.multiply_accumulates(model),
        "examples": _examples(run),
        "schedule": config.schedule,
        "schedule_share": round(config.train.epochs / config.schedule_epochs, 4),
        "config": state.identity.config,
        "seed": config.seed,
        "step": state.step,
        "epochs": config.train.epochs,
        "batch_size": run.length.batch_size,
        "metrics": _metrics(run, config.data.measure_test, check),
        "commit": provenance["commit"],
        "backend": keras.backend.backend(),
        "versions": versions(),
        "hardware": hardware.describe(),
        "strategy": provenance["strategy"],
        "replicas": provenance["replicas"],
        "wall_time_seconds": round(state.seconds, 1),
        "licence": "Apache-2.0",
        "data_terms": data.terms,
        "sources": [],
    }
    entry |= measures.training_cost(entry)
    entry[manifest.MEANING_HASH] = manifest.meaning_hash(entry)
    entry |= _optional(run, state, provenance)
    files.write_bytes(workdir / (tag + manifest.SUFFIX), content)
    files.write_json(workdir / (tag + ".json"), entry)
    # Written after the weights, because outcome.json marks the run as finished.
    files.write_json(workdir / "outcome.json", entry)
    files.write_json(workdir / "config.json", state.identity.config)
    return entry


def _optional(run: Run, state: TrainState, provenance: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of an entry that some runs have."""
    data, parent = run.data, run.parent and run.parent.entry
    fields = {
        "command": provenance["command"],
        "parent": parent and parent["tag"],
        "images": data.fingerprint,
        "note": data.note,
        "code": state.identity.code,
        "config_changes": state.config_changes,
        "kept_step": state.best_step,
        "accumulate": parts if (parts := run.compilation.accumulate) > 1 else 0,
    }
    if parent and parent["data_terms"] != data.terms:
        fields["data_terms"] = f"{data.terms} The weights it began with, {parent['data_terms']}"
    return {key: value for key, value in fields.items() if value}


def _weight_file(model: keras.Model) -> bytes:
    """Returns the content of a weight file, and rounds the model's weights as in it."""
    from elu_zoo.weights import hdf5

    content = hdf5.write(model)
    for layer in model.layers:
        for variable in layer.weights:
            variable.assign(hdf5.rounded(variable))
    return content


def _metrics(run: Run, measure_test: bool, check: Callable[[], None]) -> dict[str, float]:
    splits = {"test": run.data.test if measure_test else None, "validation": run.validation}
    measured = {
        f"{name}_{key}": value
        for name, split in splits.items()
        if split is not None
        for key, value in run.evaluator(split, check).items()
    }
    if wrong := {key: value for key, value in measured.items() if not math.isfinite(value)}:
        raise errors.TrainingError(f"Not finite: {wrong}. Lower the rates in another --workdir.")
    return measured


def _arguments(settings: ConfigDict, run: Run) -> dict[str, Any]:
    """Returns the builder's arguments for the deployed model."""
    arguments: dict[str, Any] = {
        "activation": activations.describe(settings.activation),
        "input_shape": list(network_input_shape(run.data, run.preprocessing)),
    }
    registered = registry.entry(settings.name)
    for key in settings:
        if key not in ("name", "weights", "activation", *registered.training_only):
            value = settings[key]
            arguments[key] = list(value) if isinstance(value, tuple) else value
    if registered.takes("num_classes"):
        arguments["num_classes"] = run.data.num_classes
    return arguments


def _examples(run: Run) -> dict[str, int]:
    validation = 0 if run.validation is None else len(run.validation)
    return {"train": run.length.examples, "validation": validation, "test": len(run.data.test)}


def commit() -> str:
    """Returns the git commit of this code, with `+` for changed files, or the release."""
    git = ["git", "-C", str(Path(elu_zoo.__file__).resolve().parent)]
    options: dict[str, Any] = {"capture_output": True, "text": True, "check": True, "timeout": 10}
    try:
        # Fails if the package is installed inside another repository.
        subprocess.run([*git, "ls-files", "--error-unmatch", "__init__.py"], **options)
        describe = ["describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+"]
        return subprocess.run([*git, *describe], **options).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return f"release {elu_zoo.__version__}"
