"""Cost of a training run, in floating point operations and in hours."""

from elu_zoo.weights.manifest import Entry

FORMULA = "3 x multiply-accumulates x 2 x examples seen"


def measure(entry: Entry) -> dict[str, float]:
    """Returns `training_pflop`, in 10**15 operations, and `training_hours` of an entry.

    A multiply-accumulate is two operations, and the gradients cost about twice the
    forward computation. Only dense and convolution layers are counted.
    """
    examples = entry["step"] * batch_size(entry)
    pflop = 3 * entry["multiply_accumulates"] * 2 * examples / 1e15
    hours = entry["wall_time_seconds"] / 3600
    return {"training_pflop": float(f"{pflop:.4g}"), "training_hours": float(f"{hours:.4g}")}


def batch_size(entry: Entry) -> int:
    """Returns the batch size of a run, which may be smaller than its config's."""
    return entry.get("batch_size") or entry["config"]["train"]["batch_size"]
