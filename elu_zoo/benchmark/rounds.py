"""Times things in turn, so that a machine's slow phases fall on all of them."""

import dataclasses
import time
from collections.abc import Callable, Mapping

import numpy as np

_RESAMPLES = 4000
# Threads of other libraries wait for more work for a while before they sleep.
_PAUSE = 0.005
_SEED = 1511_07289


@dataclasses.dataclass(frozen=True)
class Ratio:
    """The median over rounds of a form's time by another's of the same round.

    Attributes:
        median: of the ratios.
        low: lower end of its 95 % bootstrap interval over the rounds.
        high: upper end.
    """

    median: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Extent:
    """How long something is measured.

    Attributes:
        seconds: about this long.
        least: rounds, however long they take.
        most: rounds.
        warm: call a form before it is timed, as one whose work takes milliseconds is
            slower after a pause.
    """

    seconds: float
    least: int = 15
    most: int = 300
    warm: bool = False


def interleaved(
    forms: Mapping[str, Callable[[], object]],
    extent: Extent,
    units: Mapping[str, float] | None = None,
) -> dict[str, np.ndarray]:
    """Times each form once a round, in an order of chance that differs by round.

    Each form is called twice before: the first call compiles it.

    Args:
        forms: what is timed, by name; a call returns when its work is done.
        extent: of the measurement.
        units: of work in a call of each form, such as training steps; 1 by default.

    Returns:
        Seconds a unit, `(rounds,)` for each form.
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


def ratio(seconds: np.ndarray, baseline: np.ndarray) -> Ratio:
    """Returns how much longer a form takes than another, in the same rounds.

    Args:
        seconds: `(rounds,)`.
        baseline: `(rounds,)`, of the other form.
    """
    ratios = seconds / baseline
    generator = np.random.Generator(np.random.Philox(_SEED))
    chosen = generator.integers(0, len(ratios), (_RESAMPLES, len(ratios)))
    medians = np.median(ratios[chosen], axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return Ratio(float(np.median(ratios)), float(low), float(high))
