"""Adds calibration and training cost to the entries of published weights.

    python tools/calibrate_weights.py                       all entries without a cost
    python tools/calibrate_weights.py --twin=runs/... TAG   the entry TAG, by its twin

The temperature is fitted on the validation images of the data set. A run that was
trained on these images needs a twin, whose temperature is used: a finished run of the
same config and seed that was trained with validation=True. The weight files do not
change. Run tools/results_table.py afterwards.
"""

from pathlib import Path

from absl import flags

from elu_zoo import errors, files, zoo
from elu_zoo.bin import flags as binary
from elu_zoo.data import load
from elu_zoo.evaluation import calibrate
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.evaluation.loss import Objective
from elu_zoo.training import result
from elu_zoo.weights import calibration, manifest, training_cost

_WEIGHTS = Path(__file__).resolve().parent.parent / "elu_zoo" / "weights"
_TWIN = flags.DEFINE_multi_string("twin", [], "Folder of a finished twin run.")


def _evaluator(entry: manifest.Entry, weights: str | Path) -> Evaluator:
    model = zoo.get_model(entry["model"], weights=weights)
    return Evaluator(model, Objective(manifest.loss(entry), entry["preprocessing"]))


def measure(entry: manifest.Entry, twin: Path | None = None) -> dict:
    """Returns the field `calibration` of the entry of a classifier.

    Args:
        entry: the entry of published weights.
        twin: the folder of the run whose temperature is used; None without a twin.
    """
    data = load.load(entry["dataset"])
    evaluator = _evaluator(entry, entry["tag"])
    if twin is not None:
        other = result.find(twin)
        temperature, source = calibrate.fit(other, _evaluator(other, twin), data)
    else:
        # Without the stored temperature, so that the temperature is fitted again.
        uncalibrated = {k: v for k, v in entry.items() if k != "calibration"}
        temperature, source = calibrate.temperature(uncalibrated, evaluator, data)
    _, logits, labels = evaluator.responses(data.test)
    measured = calibration.measure(logits, labels, temperature)
    rounded = {name: float(f"{value:.6g}") for name, value in measured.items()}
    key = "no_temperature" if temperature is None else "temperature_source"
    return {**rounded, key: source}


def twins(folders: list[str]) -> dict[str, Path]:
    """Returns a dict from tags of published weights to the folders of their twins.

    Raises:
        UsageError: a folder holds no twin of published weights.
    """
    by_tag = {}
    for folder in map(Path, folders):
        other = result.find(folder)
        tags = [
            tag
            for tag, entry in manifest.published().items()
            if other and calibration.is_twin(entry, other)
        ]
        if not tags:
            raise errors.UsageError(
                f"--twin={folder} must be the finished run of the config and seed of "
                "published weights, trained with validation=True."
            )
        by_tag |= dict.fromkeys(tags, folder)
    return by_tag


def main(argv: list[str]) -> None:
    table = dict(manifest.published())
    of_twin = twins(_TWIN.value)
    missing = [tag for tag, entry in table.items() if "training_pflop" not in entry]
    tags = dict.fromkeys(argv[1:] or [*missing, *of_twin])
    for tag in tags:
        errors.check_choice("weights", tag, table)
    for tag in tags:
        entry = table[tag] | training_cost.measure(table[tag])
        if entry["classes"]:
            entry["calibration"] = measure(entry, of_twin.get(tag))
            print(tag, calibration.describe(entry["calibration"]))
        table[tag] = entry
        if (_WEIGHTS / (tag + manifest.SUFFIX)).is_file():
            files.write_json(_WEIGHTS / f"{tag}.json", entry)
        files.write_json(_WEIGHTS / "manifest.json", {"entries": table})


if __name__ == "__main__":
    binary.binary(main, lambda argv: None)()
