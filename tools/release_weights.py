"""Releases finished runs: rows of results.csv, weights in the package, and measurements.

    python tools/release_weights.py runs/mnist_mlp_8x128/elu-s0 ...
    python tools/release_weights.py --results_only runs/mnist_mlp_8x128/elu-s1 ...
    python tools/release_weights.py --twin=runs/... TAG     measures the file TAG again

Weights are copied to elu_zoo/weights/files, those of large networks in parts to
elu_zoo/weights/large, and listed in the manifest; --results_only adds the rows alone. Outputs for
four images of noise go to tests/weights/golden.json; they must never change. Classifiers get their
calibration, in the entry, and their errors on changed images, in image_changes.csv. The temperature
is fitted on validation images. A run that was trained on these images needs a twin, whose
temperature is used: a finished run of the same config and seed, trained with validation=True (or
data.train_on_validation=False). Run tools/results_table.py afterwards.
"""

import json
from pathlib import Path

import numpy as np
from absl import flags

from elu_zoo import errors, files, results, zoo
from elu_zoo.bin import flags as binary
from elu_zoo.data import load
from elu_zoo.data.dataset import ImageData
from elu_zoo.evaluation import calibrate, corruptions, loss
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.evaluation.loss import Objective
from elu_zoo.training import fields, result
from elu_zoo.weights import calibration, manifest, measures

_ROOT = Path(__file__).resolve().parent.parent
_RESULTS = _ROOT / "configs" / "results"
_GOLDEN = _ROOT / "tests" / "weights" / "golden.json"
_WEIGHTS = _ROOT / "elu_zoo" / "weights"
_LARGE = "elu_cifar_18", "maxout"  # whose files the wheel has no room for
_PART_BYTES = 45_000_000
_RESULTS_ONLY = flags.DEFINE_bool("results_only", False, "Add rows to results.csv only.")
_TWIN = flags.DEFINE_string("twin", None, "Folder of a finished twin run.")


def check_run(workdir: Path, entry: manifest.Entry | None) -> None:
    """Checks that a run is finished, can be reproduced, and that its weights are whole."""
    if entry is None or entry["config"]["smoke"] or results.metric(entry) not in entry["metrics"]:
        raise errors.UsageError(f"{workdir} needs a finished run, not of smoke, with a test error.")
    if "config_changes" in entry or results.changed(entry):
        raise errors.UsageError(
            f"The config of {workdir} was changed during the run or in fields "
            f"{sorted(results.changed(entry))}. Train it by a config of configs/ that states them."
        )
    path = workdir / (entry["tag"] + manifest.SUFFIX)
    if files.sha256(path) != entry["sha256"]:
        raise errors.CorruptError(
            f"{path} is damaged: its SHA-256 is not that of its entry, "
            f"{entry['sha256']}. Train again into another folder."
        )
    statistics = entry["preprocessing"].get("statistics")
    is_stored = (_WEIGHTS / "files" / f"{statistics}.npz").is_file()
    if statistics and not (is_stored or _RESULTS_ONLY.value):
        raise errors.UsageError(
            f"{entry['tag']} needs the statistics {statistics}, which the package does "
            "not have. Set --push=hf:owner/repo of elu-zoo-export to publish both."
        )
    if entry["classes"] and not _RESULTS_ONLY.value:
        load.load(entry["dataset"])  # raises an error before a file is written


def outputs(entry: manifest.Entry) -> list[list[float]]:
    """Returns the outputs of weights for four images of noise, to six digits."""
    shape = (4, *entry["arguments"]["input_shape"])
    images = np.random.default_rng(0).integers(0, 256, shape, "uint8")
    model = zoo.get_model(entry["model"], weights=entry["tag"])
    flat = np.asarray(model(images)).reshape(len(images), -1)
    return [[float(f"{value:.6g}") for value in row] for row in flat]


def calibrated(
    entry: manifest.Entry, data: ImageData, evaluator: Evaluator, twin: manifest.Entry | None
) -> dict:
    """Returns the field `calibration` of an entry; `twin` is the entry of its twin."""
    if twin is not None:
        temperature, source = calibrate.fit(twin, _evaluator(twin, _TWIN.value), data)
    else:
        # Without the stored temperature, so that the temperature is fitted again.
        uncalibrated = {k: v for k, v in entry.items() if k != "calibration"}
        temperature, source = calibrate.temperature(uncalibrated, evaluator, data)
        if temperature is None and "temperature" in entry.get("calibration", {}):
            raise errors.UsageError(f"{entry['tag']} would lose its temperature. Set --twin.")
    _, logits, labels = evaluator.responses(data.test)
    measured = calibration.measure(logits, labels, temperature)
    rounded = {name: float(f"{value:.6g}") for name, value in measured.items()}
    return {**rounded, "no_temperature" if temperature is None else "temperature_source": source}


def changed(entry: manifest.Entry, data: ImageData, evaluator: Evaluator) -> list[results.Row]:
    """Returns the rows of image_changes.csv of a classifier."""
    described = {
        **{key: entry[key] for key in ("tag", "model", "dataset", "seed")},
        "config": entry["config"]["name"],
        "activation": manifest.variant(entry["arguments"]),
    }
    # The first thousand colour images, because each of the 26 changes takes a pass of minutes.
    count = len(data.test) if entry["dataset"] == "mnist" else 1000
    rows = corruptions.measure(evaluator, data.test.first(count))
    return [{k: str(v) for k, v in {**described, **row}.items()} for row in rows]


def _evaluator(entry: manifest.Entry, weights: str | Path) -> Evaluator:
    model = zoo.get_model(entry["model"], weights=weights)
    return Evaluator(model, Objective(manifest.loss(entry), entry["preprocessing"]))


def _copy(path: Path, model: str) -> None:
    """Copies a weight file into the repository."""
    content = path.read_bytes()
    if model not in _LARGE:
        files.write_bytes(_WEIGHTS / "files" / path.name, content)
        return
    for number, start in enumerate(range(0, len(content), _PART_BYTES), 1):
        part = _WEIGHTS / "large" / f"{path.name}.part{number}"
        files.write_bytes(part, content[start : start + _PART_BYTES])


def _store(entry: manifest.Entry) -> None:
    """Lists an entry, which is also beside its weight file if the repository has the file."""
    for path in _WEIGHTS.glob(f"*/{entry['tag']}{manifest.SUFFIX}*"):
        files.write_json(path.with_name(f"{entry['tag']}.json"), entry)
    manifest.published.cache_clear()  # Another process may have added entries.
    table = {**manifest.published(), entry["tag"]: entry}
    files.write_json(_WEIGHTS / "manifest.json", {"entries": table})
    manifest.published.cache_clear()


def measure(tag: str, twin: manifest.Entry | None) -> None:
    """Writes outputs, and of a classifier calibration and errors on changed images."""
    entry = manifest.published()[tag]
    files.write_json(_GOLDEN, {tag: outputs(entry)} | json.loads(_GOLDEN.read_text()))
    if entry["classes"]:
        data, evaluator = load.load(entry["dataset"]), _evaluator(entry, tag)
        measured = calibrated(entry, data, evaluator, twin)
        _store({**entry, "calibration": measured})
        path, new = _RESULTS / "image_changes.csv", changed(entry, data, evaluator)
        tags = manifest.list_weights()
        rows = [r for r in results.read_file(path) if r["tag"] in tags and r["tag"] != tag] + new
        rows.sort(key=lambda row: tags.index(row["tag"]))
        results.write(path, measures.COLUMNS, rows)
        print(tag, calibration.describe(measured))


def main(argv: list[str]) -> None:
    if not _GOLDEN.is_file():
        raise errors.NotFoundError(f"{_GOLDEN} is missing: run `git sparse-checkout disable`.")
    runs = {Path(name): result.find(Path(name)) for name in argv[1:] if Path(name).is_dir()}
    for path, entry in runs.items():
        check_run(path, entry)
    tags = [name for name in argv[1:] if Path(name) not in runs]
    for tag in tags:
        errors.check_choice("weights", tag, manifest.published())
    entries = [*runs.values(), *(manifest.published()[tag] for tag in tags)]
    if not entries:
        raise errors.UsageError("Pass the folders of finished runs, or tags.")
    twin = result.find(Path(_TWIN.value)) if _TWIN.value else None
    are_twins = [twin and calibration.is_twin(e, twin, fields.NEUTRAL) for e in entries]
    if _TWIN.value and not any(are_twins):
        raise errors.UsageError(
            f"--twin={_TWIN.value} must be the finished run of the config and seed of one of "
            "the weights, with data.train_on_validation=False."
        )
    for path, entry in runs.items():
        results.add(_RESULTS / "results.csv", results.row(path, entry))
        if not _RESULTS_ONLY.value:
            _copy(path / (entry["tag"] + manifest.SUFFIX), entry["model"])
            _store(manifest.published().get(entry["tag"], entry))
        print(f"{entry['tag']}: {loss.describe(entry['metrics'], 'test_')}")
    for entry, is_twin in [] if _RESULTS_ONLY.value else zip(entries, are_twins, strict=True):
        measure(entry["tag"], twin if is_twin else None)


if __name__ == "__main__":
    binary.binary(main, lambda argv: None)()
