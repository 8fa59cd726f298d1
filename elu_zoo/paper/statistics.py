"""Is one activation better than another? Exact tests of paired runs.

Runs are paired that share their seed: equal initial weights, equal order of data.
"""

import dataclasses
import importlib.util
import math
from collections.abc import Sequence
from types import ModuleType
from typing import Literal

import numpy as np

from elu_zoo import errors

Alternative = Literal["less", "greater"]
Verdict = Literal["holds", "does not hold", "not decided"]
_OPPOSITE = {"less": "greater", "greater": "less"}
_MOST = 1000  # which takes a second; time grows with the cube
_LEAST_WRITTEN = 0.001
# Beyond them squares, and steps of rounding, leave the range of floats.
_HUGE, _TINY = 1e100, 1e-100
_RESAMPLES = 10_000
_SEED = 1511_07289


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two series of paired runs, and how sure their difference is.

    Attributes:
        alternative: "less": the claim is that ours are smaller; or "greater".
        n: pairs.
        difference: the mean of ours - theirs.
        low: lower end of the bootstrap interval of that mean; NaN for one pair. Of
            fewer than about ten pairs such an interval is too narrow.
        high: its upper end.
        w: the signed-rank statistic: the ranks, summed, of the pairs where ours is
            larger.
        p: one-sided and exact: the share of all 2**n choices of signs with a `w` that
            speaks as much for the claim, or more.
        opposite: the p of the opposite claim.
        effect: the matched-pairs rank-biserial correlation, in [-1, 1]: -1 where ours
            is smaller in every pair, 1 where it is larger in every one.
        smallest: the smallest p that n pairs can give, 2**-n.
    """

    alternative: Alternative
    n: int
    difference: float
    low: float
    high: float
    w: float
    p: float
    opposite: float
    effect: float
    smallest: float


@dataclasses.dataclass(frozen=True)
class Spread:
    """Some values, such as the test errors of runs.

    Attributes:
        n: values.
        mean: of them.
        deviation: the standard deviation of the population they come from, from
            n - 1; NaN for one value.
        low: lower end of the bootstrap interval of the mean; NaN for one value.
        high: its upper end.
    """

    n: int
    mean: float
    deviation: float
    low: float
    high: float


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
    _check_level(level)
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


def paired(
    ours: Sequence[float],
    theirs: Sequence[float],
    *,
    alternative: Alternative = "less",
    confidence: float = 0.95,
) -> Comparison:
    """Compares paired runs by Wilcoxon's signed-rank test, one-sided and exact.

    Zeros are treated as Pratt does: a pair without difference takes part when the
    differences are ranked, and speaks for neither side. Equal differences share the
    mean of their ranks; those that differ by rounding alone are equal.

    Args:
        ours: `(n,)`, such as the test errors of ELU networks.
        theirs: `(n,)`, of the runs with the same seeds, in the same order.
        alternative: what is claimed of ours: "less" or "greater".
        confidence: of the bootstrap interval, in (0, 1).

    Raises:
        UsageError: scipy is not installed, or an argument is wrong: no pair or more
            than 1000, lengths that differ, a value that is not finite.
    """
    first, second = _finite(ours, "ours"), _finite(theirs, "theirs")
    if len(first) != len(second) or len(first) > _MOST:
        raise errors.UsageError(
            f"Paired runs are as many on both sides, {_MOST} at most. Received: "
            f"{len(first)} of ours and {len(second)} of theirs."
        )
    if alternative not in _OPPOSITE:
        raise errors.UsageError(
            f"The alternative is 'less' or 'greater'. Received: {alternative!r}"
        )
    n = len(first)
    differences = first - second
    low, high = _interval(differences, confidence)
    steps = _steps(differences, max(abs(first).max(), abs(second).max()))
    ranks, signs = _stats().rankdata(abs(steps)), np.sign(steps)
    w = float(ranks[signs > 0].sum())
    tails = _tails(ranks[signs != 0], w)
    return Comparison(
        alternative=alternative,
        n=n,
        difference=float(differences.mean()),
        low=low,
        high=high,
        w=w,
        p=tails[alternative],
        opposite=tails[_OPPOSITE[alternative]],
        effect=float(signs @ ranks / ranks.sum()),
        smallest=2.0**-n,
    )


def verdict(comparison: Comparison, *, level: float = 0.05, least: int = 5) -> Verdict:
    """Returns whether the claim holds, by its one-sided p and the opposite one.

    Args:
        comparison: of `paired`.
        level: the largest p that decides, below 1/2.
        least: fewer pairs decide nothing, whatever they are. Five can: 1/32 = .031.

    Returns:
        "holds" for p <= level, "does not hold" where that is so of the opposite claim,
        "not decided" otherwise.
    """
    if comparison.n < least:
        return "not decided"
    if comparison.p <= level:
        return "holds"
    return "does not hold" if comparison.opposite <= level else "not decided"


def claimable(n: int, level: float) -> bool:
    """Returns whether n pairs can give a p below a level, if all of them agree.

    Ten can for .001, as in the paper: 1/1024. Nine cannot: 1/512.
    """
    return 2.0**-n < level


def p_text(comparison: Comparison) -> str:
    """Returns p as a person reads it: "p = 0.031 (n = 5)", "p < 0.001 (n = 10)"."""
    small = comparison.p < _LEAST_WRITTEN and claimable(comparison.n, _LEAST_WRITTEN)
    p = f"p < {_LEAST_WRITTEN}" if small else f"p = {comparison.p:.3f}"
    return f"{p} (n = {comparison.n})"


def spread(values: Sequence[float], *, confidence: float = 0.95) -> Spread:
    """Returns the mean of some values, their spread and an interval of the mean.

    Args:
        values: `(n,)`, one or more.
        confidence: of the bootstrap interval, in (0, 1).

    Raises:
        UsageError: scipy is not installed, or an argument is wrong: no value, one that
            is not finite.
    """
    found = _finite(values, "the values")
    low, high = _interval(found, confidence)
    deviation = float(found.std(ddof=1)) if len(found) > 1 else math.nan
    return Spread(len(found), float(found.mean()), deviation, low, high)


def _tails(ranks: np.ndarray, w: float) -> dict[str, float]:
    """Returns P(W <= w) and P(W >= w) where each rank adds to W by a fair coin.

    Exact for any number of pairs and any ties: mean ranks are multiples of 1/2, so
    that a table of W has few entries. scipy.stats.wilcoxon is exact with ties by
    trying all signs, which takes 8 s for 16 pairs, and refuses a single one.
    """
    mass = np.ones(1)  # of W = 0, 1/2, 1, ...
    for step in (2 * ranks).astype(int):
        mass = (np.pad(mass, (0, step)) + np.pad(mass, (step, 0))) / 2
    at = int(2 * w)
    return {"less": float(mass[: at + 1].sum()), "greater": float(mass[at:].sum())}


def _steps(differences: np.ndarray, scale: float) -> np.ndarray:
    """Returns differences as whole numbers: 0.3 - 0.2 and 0.2 - 0.1 are a tie."""
    if scale < _TINY:
        return np.zeros_like(differences)
    return np.round(differences / 10.0 ** (math.floor(math.log10(scale)) - 12))


def _interval(values: np.ndarray, confidence: float) -> tuple[float, float]:
    _check_level(confidence)
    bootstrap = _stats().bootstrap
    if len(values) == 1:
        return math.nan, math.nan
    found = bootstrap(
        (values,),
        np.mean,
        n_resamples=_RESAMPLES,
        confidence_level=confidence,
        method="percentile",
        random_state=np.random.Generator(np.random.Philox(_SEED)),
    ).confidence_interval
    return float(found.low), float(found.high)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise errors.UsageError(
            f"The confidence level must be between 0 and 1. Received: {level!r}"
        )


def _finite(values: Sequence[float], name: str) -> np.ndarray:
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        array = np.empty(())
    # NaN is not below anything.
    if array.ndim != 1 or not array.size or not (abs(array) < _HUGE).all():
        raise errors.UsageError(
            "What is compared is one or more finite numbers, none beyond "
            f"{_HUGE:g}. Received, as {name}: {values!r}"
        )
    return array


def _stats() -> ModuleType:
    if importlib.util.find_spec("scipy") is None:
        raise errors.UsageError('The test needs scipy: pip install "elu-zoo[paper]"')
    from scipy import stats

    return stats
