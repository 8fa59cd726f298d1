"""Cost of a training run, in floating point operations and in hours."""

from elu_zoo.weights.manifest import Entry

FORMULA = "3 x multiply-accumulates x 2 x examples seen"
_DIGITS = 4  # significant


def measure(entry: Entry) -> dict[str, float]:
    """Returns `training_pflop` and `training_hours` of the run of an entry.

    PFLOP are 10**15 floating point operations. A run takes 3 * multiply-accumulates * 2
    * examples seen, because a multiply-accumulate is two operations, and the gradients
    cost about twice the forward computation. Examples seen are iterations times the
    batch size. Only dense and convolution layers of the deployed network are counted.

    Args:
        entry: must have `multiply_accumulates` (per image), `step`,
            `wall_time_seconds` and `config.train.batch_size`.
    """
    examples = entry["step"] * batch_size(entry)
    pflop = 3 * entry["multiply_accumulates"] * 2 * examples / 1e15
    hours = entry["wall_time_seconds"] / 3600
    return {
        "training_pflop": float(f"{pflop:.{_DIGITS}g}"),
        "training_hours": float(f"{hours:.{_DIGITS}g}"),
    }


def batch_size(entry: Entry) -> int:
    """Returns the batch size of a run, which may be smaller than its config's."""
    return entry.get("batch_size") or entry["config"]["train"]["batch_size"]
