"""Measures what a release does not know yet of published weights.

    python tools/measure_weights.py                       all weights without outputs
    python tools/measure_weights.py --twin=runs/... TAG   the file TAG, by its twin

The outputs for four images of noise go to tests/weights/golden.json; they must never
change. Classifiers get their calibration, in the entry, and their errors on changed
images, in image_changes.csv. The temperature is fitted on validation images. A run that
was trained on these images needs a twin, whose temperature is used: a finished run of the
same config and seed, trained with validation=True. Run tools/results_table.py afterwards.
"""

import json
from pathlib import Path

import numpy as np
from absl import flags

from elu_zoo import errors, files, results, zoo
from elu_zoo.bin import flags as binary
from elu_zoo.data import load
from elu_zoo.data.dataset import ImageData
from elu_zoo.evaluation import calibrate, corruptions
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.evaluation.loss import Objective
from elu_zoo.training import result
from elu_zoo.weights import calibration, cards_measures, manifest

_ROOT = Path(__file__).resolve().parent.parent
_CHANGES = _ROOT / "configs" / "results" / "image_changes.csv"
_GOLDEN = _ROOT / "tests" / "weights" / "golden.json"
_WEIGHTS = _ROOT / "elu_zoo" / "weights"
_TWIN = flags.DEFINE_string("twin", None, "Folder of a finished twin run.")


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
    _, logits, labels = evaluator.responses(data.test)
    measured = calibration.measure(logits, labels, temperature)
    rounded = {name: float(f"{value:.6g}") for name, value in measured.items()}
    key = "no_temperature" if temperature is None else "temperature_source"
    return {**rounded, key: source}


def changed(entry: manifest.Entry, data: ImageData, evaluator: Evaluator) -> list[results.Row]:
    """Returns the rows of image_changes.csv of a classifier."""
    described = {
        **{key: entry[key] for key in ("tag", "model", "dataset", "seed")},
        "config": entry["config"]["name"],
        "activation": manifest.variant(entry["arguments"]),
    }
    rows = corruptions.measure(evaluator, data.test)
    return [{k: str(v) for k, v in {**described, **row}.items()} for row in rows]


def _evaluator(entry: manifest.Entry, weights: str | Path) -> Evaluator:
    model = zoo.get_model(entry["model"], weights=weights)
    return Evaluator(model, Objective(manifest.loss(entry), entry["preprocessing"]))


def _store(entry: manifest.Entry) -> None:
    path = _WEIGHTS / "files" / f"{entry['tag']}.json"
    if path.is_file():
        files.write_json(path, entry)
    table = {**manifest.published(), entry["tag"]: entry}
    files.write_json(_WEIGHTS / "manifest.json", {"entries": table})
    manifest.published.cache_clear()


def main(argv: list[str]) -> None:
    golden, published = json.loads(_GOLDEN.read_text()), manifest.published()
    tags = argv[1:] or [tag for tag in manifest.list_weights() if tag not in golden]
    for tag in tags:
        errors.check_choice("weights", tag, published)
    twin = result.find(Path(_TWIN.value)) if _TWIN.value else None
    paired = [tag for tag in tags if twin and calibration.is_twin(published[tag], twin)]
    if _TWIN.value and not paired:
        raise errors.UsageError(
            f"--twin={_TWIN.value} must be the finished run of the config and seed of one of "
            "the weights, trained with validation=True."
        )
    for tag in tags:
        entry = published[tag]
        golden.setdefault(tag, outputs(entry))
        files.write_json(_GOLDEN, golden)
        if not entry["classes"]:
            continue
        data, evaluator = load.load(entry["dataset"]), _evaluator(entry, tag)
        measured = calibrated(entry, data, evaluator, twin if tag in paired else None)
        _store({**entry, "calibration": measured})
        rows = [r for r in results.read_file(_CHANGES) if r["tag"] in {*published} - {tag}]
        rows += changed(entry, data, evaluator)
        rows.sort(key=lambda row: manifest.list_weights().index(row["tag"]))
        results.write(_CHANGES, cards_measures.COLUMNS, rows)
        print(tag, calibration.describe(measured))


if __name__ == "__main__":
    binary.binary(main, lambda argv: None)()
