"""Lemmas and theorems in numbers: how far both sides of each equation differ."""

import numpy as np
import pandas as pd

from elu_zoo.pairs import tables
from elu_zoo.pairs.spec import Plan
from elu_zoo.paper.claims import Claim, ClaimTest, Effect, Find
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.theory import natural_gradient

_UNITS, _EXAMPLES = 10, 400
_DRAWS = 20
_ROUNDING = 1e-9  # relative distance above which rounding of float64 is no explanation
_STATEMENTS = {
    "Lemma 1": "the inverse of a symmetric block matrix",
    "Lemma 2": "quadratic forms of mean and second moment, and their inequality",
    "Theorem 1": "the unit natural gradient's update, its s, and s > 0",
    "Theorem 2": "its bias shift and its k",
}


def compute(plan: Plan) -> list[dict]:
    """Returns the relative distance of both sides of each statement, by draw."""
    return [
        {"statement": statement, "draw": draw, "distance": distance}
        for draw in range(_DRAWS)
        for statement, distance in _distances(draw).items()
    ]


def _distances(draw: int) -> dict[str, float]:
    generator = np.random.Generator(np.random.Philox(draw))
    mixing = np.eye(_UNITS) + 0.3 * generator.standard_normal((_UNITS, _UNITS))
    shift = generator.standard_normal(_UNITS)
    inputs = generator.standard_normal((_EXAMPLES, _UNITS)) @ mixing + shift
    deltas = generator.standard_normal(_EXAMPLES) * np.exp(0.2 * inputs[:, 0])
    gradient = generator.standard_normal(_UNITS + 1)
    fisher = natural_gradient.unit_fisher(inputs, deltas)
    inverse = np.linalg.inv(fisher)
    moments = natural_gradient.moments(inputs, deltas)
    update = natural_gradient.natural_gradient(moments, gradient)
    a, b, c = fisher[:-1, :-1], fisher[:-1, -1], fisher[-1, -1]
    s = 1 / (c - b @ np.linalg.solve(a, b))
    u = -s * np.linalg.solve(a, b)
    block = np.block([[np.linalg.inv(a) + np.outer(u, u) / s, u[:, None]], [u, np.array(s)]])
    mean, p_mean = moments.weighted_mean, moments.mean
    second = np.linalg.solve(moments.weighted_second, mean)
    variance = np.linalg.solve(moments.weighted_variance, mean)
    direct = inverse @ gradient
    k = 1 + moments.covariance @ variance / moments.delta2
    return {
        "Lemma 1": _gap(block, inverse),
        "Lemma 2, inequality": max(0.0, float(mean @ second - 1)),
        "Lemma 2, second part": _gap(1 / (1 - mean @ second), 1 + mean @ variance),
        "Lemma 2, third part": _gap(
            (1 - p_mean @ second) / (1 - mean @ second), 1 + (mean - p_mean) @ variance
        ),
        "Theorem 1, update": _gap(np.append(update.weights, update.bias), direct),
        "Theorem 1, s": _gap(update.s, inverse[-1, -1]),
        "Theorem 1, s > 0": max(0.0, float(-update.s)),
        "Theorem 2, bias shift": _gap(update.shift_from_means, np.append(p_mean, 1) @ direct),
        "Theorem 2, k by the covariance": _gap(update.k, k),
    }


def _gap(first, second) -> float:
    """Returns the largest distance, divided by the second's largest absolute value."""
    return float(np.max(np.abs(first - second)) / np.max(np.abs(second)))


def _summary(frame: pd.DataFrame) -> str:
    statements = frame.groupby("statement", sort=False)["distance"]
    lines = [[name, len(own), f"{own.max():.1g}"] for name, own in statements]
    return tables.markdown(("statement", "draws", "largest relative distance"), lines)


def _largest_distance(name: str) -> Find:
    def find(frame: pd.DataFrame, test: ClaimTest) -> Effect:
        own = frame[frame["statement"].str.startswith(name)]
        largest = float(own["distance"].max())
        outcome = "supports" if test.supports(largest) else "contradicts"
        return Effect(own["draw"].nunique(), largest, outcome=outcome)

    return find


_CLAIM = Claim(
    "theorems",
    "2, appendices A and B",
    "Lemmas 1 and 2, Theorems 1 and 2: inverses, the unit natural gradient, its bias "
    "shift, and s > 0.",
    "proofs",
    tuple(
        ClaimTest(
            f"theory-{name.lower().replace(' ', '-')}",
            f"{name}: {content}; largest relative distance of both sides",
            _largest_distance(name),
            _ROUNDING,
        )
        for name, content in _STATEMENTS.items()
    ),
)

EXPERIMENT = Experiment(
    title="Lemmas and theorems in numbers",
    section="2 and appendices A and B",
    data="algebra",
    draw=None,
    summary=_summary,
    compute=compute,
    columns=("statement", "draw", "distance"),
    claims=(_CLAIM,),
    note=(
        f"Each draw has {_UNITS} correlated incoming units, whose means are not 0, "
        f"and {_EXAMPLES} examples, in float64. The statements are compared with the "
        "inverse of the whole Fisher matrix."
    ),
)
