"""Interleaved timing: a slow phase of the machine affects all timed functions alike."""

import time
from collections.abc import Callable, Mapping

import numpy as np

_MOST = 300  # rounds
_RESAMPLES = 4000
# Seconds before a timed call, in which idle threads of other libraries go to sleep.
_PAUSE = 0.005
_SEED = 1511_07289


def time_interleaved(
    forms: Mapping[str, Callable[[], object]],
    seconds: float,
    rounds: int | None = None,
    *,
    least: int = 15,
    warm: bool = False,
    units: Mapping[str, float] | None = None,
) -> dict[str, np.ndarray]:
    """Returns seconds per unit of work, `(rounds,)` a form, timed in a random order.

    Args:
        forms: functions that return when their work is done, by name.
        seconds: approximate time of all rounds.
        rounds: number of rounds; None for as many as fit into `seconds`.
        least: smallest number of rounds, even if they take longer than `seconds`.
        warm: whether an untimed call of the same function precedes each timed call,
            because calls of milliseconds are slower after a pause.
        units: units of work per call of a form, such as training steps; by default 1.
    """
    for call in forms.values():
        call()  # compiles
    start = time.perf_counter()
    for call in forms.values():
        call()
    fitting = int(seconds / (time.perf_counter() - start))
    rounds = rounds or min(max(fitting, least), _MOST)
    generator = np.random.Generator(np.random.Philox(_SEED))
    names = list(forms)
    found = {name: np.zeros(rounds) for name in names}
    for i in range(rounds):
        for index in generator.permutation(len(names)):
            name = names[index]
            if warm:
                forms[name]()
            else:
                time.sleep(_PAUSE)
            start = time.perf_counter()
            forms[name]()
            found[name][i] = time.perf_counter() - start
    return {name: found[name] / (units or {}).get(name, 1) for name in names}


def ratio(seconds: np.ndarray, baseline: np.ndarray) -> tuple[float, float, float]:
    """Returns the median of the rounds' ratios, and its 95 % bootstrap interval."""
    ratios = seconds / baseline
    generator = np.random.Generator(np.random.Philox(_SEED))
    indices = generator.integers(0, len(ratios), (_RESAMPLES, len(ratios)))
    medians = np.median(ratios[indices], axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return float(np.median(ratios)), float(low), float(high)
