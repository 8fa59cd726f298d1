"""Interleaved timing: a slow phase of the machine affects all timed functions alike."""

import dataclasses
import time
from collections.abc import Callable, Mapping

import numpy as np

_RESAMPLES = 4000
# Seconds before a timed call, in which idle threads of other libraries go to sleep.
_PAUSE = 0.005
_SEED = 1511_07289


@dataclasses.dataclass(frozen=True)
class Extent:
    """Limits of the time and the rounds of a measurement.

    Attributes:
        seconds: approximate time of all rounds.
        least: smallest number of rounds, even if they take longer than `seconds`.
        most: largest number of rounds.
        warm: whether an untimed call of the same function precedes each timed call,
            because calls of milliseconds are slower after a pause.
    """

    seconds: float
    least: int = 15
    most: int = 300
    warm: bool = False


def time_interleaved(
    forms: Mapping[str, Callable[[], object]],
    extent: Extent,
    units: Mapping[str, float] | None = None,
) -> dict[str, np.ndarray]:
    """Times each form once per round, in a random order that differs by round.

    Before the rounds each form is called twice: to compile it, and to estimate the
    number of rounds that fit into the time.

    Args:
        forms: functions that return when their work is done, by name.
        extent: extent of the measurement.
        units: units of work per call of each form, such as training steps; by default
            1.

    Returns:
        Seconds per unit, `(rounds,)` for each form.
    """
    for call in forms.values():
        call()
    start = time.perf_counter()
    for call in forms.values():
        call()
    fitting = int(extent.seconds / (time.perf_counter() - start))
    rounds = min(max(fitting, extent.least), extent.most)
    generator = np.random.Generator(np.random.Philox(_SEED))
    names = list(forms)
    seconds = {name: np.zeros(rounds) for name in names}
    for i in range(rounds):
        for index in generator.permutation(len(names)):
            name = names[index]
            if extent.warm:
                forms[name]()
            else:
                time.sleep(_PAUSE)
            start = time.perf_counter()
            forms[name]()
            seconds[name][i] = time.perf_counter() - start
    return {name: seconds[name] / (units or {}).get(name, 1) for name in names}


def ratio(seconds: np.ndarray, baseline: np.ndarray) -> tuple[float, float, float]:
    """Returns the median ratio of two forms, and the median's 95 % bootstrap interval.

    Args:
        seconds: times of a form, `(rounds,)`.
        baseline: times of the baseline in the same rounds, `(rounds,)`.
    """
    ratios = seconds / baseline
    generator = np.random.Generator(np.random.Philox(_SEED))
    indices = generator.integers(0, len(ratios), (_RESAMPLES, len(ratios)))
    medians = np.median(ratios[indices], axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return float(np.median(ratios)), float(low), float(high)
