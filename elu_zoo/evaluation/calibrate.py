"""Evaluation of a classifier together with its calibration."""

from elu_zoo import errors
from elu_zoo.data.dataset import ImageData
from elu_zoo.evaluation import loss
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.weights import calibration
from elu_zoo.weights.manifest import Entry

NO_TWIN = (
    "No temperature: the run was trained on the validation images too, and no run of "
    "the same config that was trained without them is known."
)


def temperature(entry: Entry, evaluator: Evaluator, data: ImageData) -> tuple[float | None, str]:
    """Returns the temperature of weights and its source, or None and the reason."""
    recorded = entry.get("calibration", {})
    if "temperature" in recorded:
        return recorded["temperature"], recorded["temperature_source"]
    if not calibration.has_held_out(entry):  # test images are never used
        return None, NO_TWIN
    if data.train.is_encoded:
        return None, "No temperature: the validation images of ImageNet are test images."
    if entry.get("images", data.fingerprint) != data.fingerprint:
        return None, f"No temperature: the images have changed since {entry['tag']} was trained."
    try:
        return fit(entry, evaluator, data)
    except errors.DataError as error:  # an evaluation goes on without a temperature
        return None, str(error)


def fit(entry: Entry, evaluator: Evaluator, data: ImageData) -> tuple[float, str]:
    """Returns the temperature fitted on held-out validation images, and its source."""
    _, logits, labels = evaluator.responses(data.validation)
    source = (
        f"The temperature was fitted on the {len(labels):,} validation images of "
        f"{data.name}, on which {entry['tag']} was not trained."
    )
    return calibration.fit_temperature(logits, labels), source


def evaluate(
    evaluator: Evaluator, data: ImageData, split: str, entry: Entry | None
) -> tuple[dict[str, float], list[str]]:
    """Returns the measures of a split, with calibration measures, and notes."""
    fitted, notes = None, []
    if split == "test" and entry and entry["dataset"] == data.name:
        fitted, source = temperature(entry, evaluator, data)
        few = entry.get("examples", {}).get("validation", 0) < calibration.FEW
        notes = [source] if not fitted or (few and "calibration" not in entry) else []
    measured, logits, labels = evaluator.responses(data.split(split))
    if len(labels) < calibration.FEW:
        notes.append(f"NLL and ECE are of only {len(labels)} images, whose ECE is large by chance.")
    return measured | calibration.measure(logits, labels, fitted), notes


def describe(measured: dict[str, float]) -> str:
    """Returns measures as text, with a second line for the calibration."""
    text = loss.describe(measured)
    if "nll_nats" in measured:
        text += f"\ncalibration: {calibration.describe(measured)}"
    return text
