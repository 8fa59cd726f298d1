"""Statistics of paired runs: Student's interval, Wilcoxon's test, Holm's correction."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from elu_zoo import results

LEAST_PAIRS = 5  # of runs, or single runs of a mean, with which Student's t decides
LEVEL = 0.05  # of significance, after Holm's correction


@dataclasses.dataclass(frozen=True)
class SignedRankTest:
    """Wilcoxon's signed-rank test of the claim that the first values are smaller.

    Attributes:
        w: sum of the ranks of the pairs in which the first value is larger.
        p: exact one-sided p of the claim, the fraction of all 2**n choices of signs
            whose `w` is at most as large.
        opposite: exact one-sided p that the first values are larger.
    """

    w: float
    p: float
    opposite: float

    @property
    def two_sided(self) -> float:
        """The exact p of the null hypothesis that neither value tends to be smaller."""
        return min(1.0, 2 * min(self.p, self.opposite))


@dataclasses.dataclass(frozen=True)
class Interval:
    """Student's interval of a mean of n differences, and the two-sided p that it is 0.

    `low`, `high` and `p` are NaN for differences that do not vary, such as one.
    """

    n: int
    mean: float
    low: float
    high: float
    p: float


def paired_interval(
    first: Sequence[float], second: Sequence[float] | np.ndarray, level: float = 0.95
) -> Interval:
    """Returns Student's interval of the mean difference of pairs.

    There is neither an interval nor p if the differences do not vary: equal differences
    of five runs do not show what a sixth run would be.
    """
    from scipy import stats

    values = np.subtract(first, second)
    n, mean = len(values), float(values.mean())
    if not results.vary(values, scale=np.abs([first, second]).max()):
        return Interval(n, mean, math.nan, math.nan, math.nan)
    error = float(values.std(ddof=1)) / math.sqrt(n)
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * error
    p = 2 * float(stats.t.sf(abs(mean) / error, n - 1))
    return Interval(n, mean, mean - half, mean + half, p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p values corrected for the number of tests by Holm's step-down method."""
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p)
    factors = np.arange(len(p), 0, -1)  # the smallest p is multiplied by all tests
    corrected = np.empty_like(p)
    corrected[order] = np.maximum.accumulate(np.minimum(factors * p[order], 1))
    return corrected.tolist()


def signed_rank_test(first: Sequence[float], second: Sequence[float]) -> SignedRankTest:
    """Compares paired runs by Wilcoxon's exact signed-rank test.

    Pairs without difference receive ranks, but their ranks are in neither sum (Pratt,
    1959). Differences of equal size receive the mean of their ranks; sizes that differ
    only by rounding are equal.
    """
    from scipy import stats

    steps = _round(np.subtract(first, second), np.abs([first, second]).max())
    ranks, signs = stats.rankdata(abs(steps)), np.sign(steps)
    w = float(ranks[signs > 0].sum())
    less, greater = _tails(ranks[signs != 0], w)
    return SignedRankTest(w=w, p=less, opposite=greater)


def _tails(ranks: np.ndarray, w: float) -> tuple[float, float]:
    """Returns P(W <= w) and P(W >= w), where a fair coin adds each rank to W.

    The probabilities are exact for any number of pairs and any ties, because mean ranks are
    multiples of 1/2 and the distribution of W is a short table. With ties, scipy.stats.wilcoxon
    enumerates all signs, which takes 8 s for 16 pairs; it does not accept a single pair.
    """
    mass = np.ones(1)  # probabilities of W = 0, 1/2, 1, ...
    for step in (2 * ranks).astype(int):
        mass = (np.pad(mass, (0, step)) + np.pad(mass, (step, 0))) / 2
    index = int(2 * w)
    return float(mass[: index + 1].sum()), float(mass[index:].sum())


def _round(differences: np.ndarray, scale: float) -> np.ndarray:
    """Rounds to 12 digits of `scale`, as whole numbers: 0.3 - 0.2 equals 0.2 - 0.1."""
    if scale == 0:
        return np.zeros_like(differences)
    return np.round(differences / 10.0 ** (math.floor(math.log10(scale)) - 12))
