"""Statistics of paired runs: Student's interval, Wilcoxon's exact test, Holm.

Two runs are a pair if they have the same seed: equal initial weights and data order.
"""

import dataclasses
import math
from collections.abc import Sequence
from types import ModuleType
from typing import Literal

import numpy as np

from elu_zoo import errors

Verdict = Literal["holds", "does not hold", "not decided"]
_SMALL_P = 0.001


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Wilcoxon's signed-rank test of the claim that our runs have smaller values.

    Attributes:
        n: number of pairs.
        w: signed-rank statistic: sum of the ranks of pairs in which ours is larger.
        p: exact one-sided p of the claim: share of all 2**n choices of signs with a
            `w` at most as large.
        opposite: exact one-sided p of the opposite claim, that ours are larger.
        effect: matched-pairs rank-biserial correlation in [-1, 1]; -1 if ours is
            smaller in every pair.
    """

    n: int
    w: float
    p: float
    opposite: float
    effect: float


@dataclasses.dataclass(frozen=True)
class Interval:
    """Student's interval and two-sided t test of a mean difference.

    Attributes:
        n: number of differences.
        mean: their mean.
        low: lower end of the interval; NaN for one difference.
        high: upper end; NaN for one difference.
        p: two-sided p of the hypothesis that the mean is 0; NaN for one difference.
    """

    n: int
    mean: float
    low: float
    high: float
    p: float


def student_interval(differences: Sequence[float], level: float = 0.95) -> Interval:
    """Returns Student's interval of the mean of paired differences.

    Equal differences have an interval of no width, with p = 0, or p = 1 if all are 0.

    Args:
        differences: `(n,)`, one for each pair of runs.
        level: confidence level, in (0, 1).

    Raises:
        UsageError: scipy is not installed, `differences` is empty or not finite, or
            the level is outside (0, 1).
    """
    values = _finite(differences, "differences")
    if not 0 < level < 1:
        raise errors.UsageError(
            f"The confidence level must be between 0 and 1. Received: {level!r}"
        )
    t = _stats().t
    n, mean = len(values), float(values.mean())
    if n == 1:
        return Interval(1, mean, math.nan, math.nan, math.nan)
    error = float(values.std(ddof=1)) / math.sqrt(n)
    if error == 0 or np.ptp(values) == 0:
        return Interval(n, mean, mean, mean, float(mean == 0))
    half = float(t.ppf((1 + level) / 2, n - 1)) * error
    p = 2 * float(t.sf(abs(mean) / error, n - 1))
    return Interval(n, mean, mean - half, mean + half, p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p values corrected for their number by Holm's step-down method.

    Rejecting where a corrected p is at most alpha keeps the probability of any false
    rejection at most alpha.

    Args:
        p_values: `(tests,)`, each in [0, 1]; may be empty.

    Returns:
        Corrected p values, in the order given.

    Raises:
        UsageError: a p value is outside [0, 1].
    """
    p = np.asarray(p_values, np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise errors.UsageError(
            f"p values must be between 0 and 1. Received: {p_values!r}"
        )
    order = np.argsort(p)
    factors = np.arange(len(p), 0, -1)  # the smallest p is multiplied by all tests
    corrected = np.empty_like(p)
    corrected[order] = np.maximum.accumulate(np.minimum(factors * p[order], 1))
    return corrected.tolist()


def paired(ours: Sequence[float], theirs: Sequence[float]) -> Comparison:
    """Compares paired runs by Wilcoxon's exact signed-rank test.

    Pairs without difference are ranked but count for neither side (Pratt). Equal
    differences share the mean of their ranks, also if they differ only by rounding.

    Args:
        ours: `(n,)`, such as test errors of ELU networks.
        theirs: `(n,)`, of the runs with the same seeds, in the same order.

    Raises:
        UsageError: scipy is not installed, lengths differ, or values are missing or
            not finite.
    """
    first, second = _finite(ours, "ours"), _finite(theirs, "theirs")
    if len(first) != len(second):
        raise errors.UsageError(
            "Paired runs must have equal numbers of values. Received: "
            f"{len(first)} of ours and {len(second)} of theirs."
        )
    differences = first - second
    steps = _steps(differences, max(abs(first).max(), abs(second).max()))
    ranks, signs = _stats().rankdata(abs(steps)), np.sign(steps)
    w = float(ranks[signs > 0].sum())
    less, greater = _tails(ranks[signs != 0], w)
    return Comparison(
        n=len(first),
        w=w,
        p=less,
        opposite=greater,
        effect=float(signs @ ranks / ranks.sum()),
    )


def verdict(comparison: Comparison, *, level: float = 0.05, least: int = 5) -> Verdict:
    """Returns whether the claim holds, by its p and the p of the opposite claim.

    Args:
        comparison: result of `paired`.
        level: largest p that decides, below 1/2.
        least: number of pairs below which nothing is decided. Five pairs that agree
            have p = 1/32 = .031.

    Returns:
        "holds" for p <= level, "does not hold" for opposite <= level, else "not
        decided".
    """
    if comparison.n < least:
        return "not decided"
    if comparison.p <= level:
        return "holds"
    return "does not hold" if comparison.opposite <= level else "not decided"


def p_text(comparison: Comparison) -> str:
    """Returns p as text: "p = 0.031 (n = 5)", "p < 0.001 (n = 10)"."""
    is_small = comparison.p < _SMALL_P
    p = f"p < {_SMALL_P}" if is_small else f"p = {comparison.p:.3f}"
    return f"{p} (n = {comparison.n})"


def _tails(ranks: np.ndarray, w: float) -> tuple[float, float]:
    """Returns P(W <= w) and P(W >= w), where a fair coin adds each rank to W.

    Exact for any number of pairs and any ties: mean ranks are multiples of 1/2, so the
    distribution of W is a short table. scipy.stats.wilcoxon tries all signs if there
    are ties, which takes 8 s for 16 pairs, and refuses a single pair.
    """
    mass = np.ones(1)  # probabilities of W = 0, 1/2, 1, ...
    for step in (2 * ranks).astype(int):
        mass = (np.pad(mass, (0, step)) + np.pad(mass, (step, 0))) / 2
    at = int(2 * w)
    return float(mass[: at + 1].sum()), float(mass[at:].sum())


def _steps(differences: np.ndarray, scale: float) -> np.ndarray:
    """Returns differences as whole numbers, so that 0.3 - 0.2 equals 0.2 - 0.1."""
    if scale == 0:
        return np.zeros_like(differences)
    return np.round(differences / 10.0 ** (math.floor(math.log10(scale)) - 12))


def _finite(values: Sequence[float], name: str) -> np.ndarray:
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        raise errors.UsageError(
            f"Statistics need one or more finite numbers. Received, as {name}: "
            f"{values!r}"
        )
    return array


def _stats() -> ModuleType:
    try:
        from scipy import stats
    except ImportError as error:
        raise errors.UsageError(
            'Statistics need scipy: pip install "elu-zoo[paper]"'
        ) from error
    return stats
