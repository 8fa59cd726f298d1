"""The claims of sections 1 to 3: noise, saturation and the bias shift."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping

from elu_zoo.paper.experiment import Rows
from elu_zoo.paper.figures import bias_shift, noise
from elu_zoo.paper.judging import (
    NAMES,
    NOT_DECIDED,
    Claim,
    Finding,
    Judge,
    Read,
    Values,
    lower,
)

_ROUNDING = 1e-9


def _of_noise() -> Iterator[Claim]:
    """Yields those of the abstract and sections 1 and 3 on noise and saturation."""
    for other in ("leaky_relu", "prelu"):
        yield Claim(
            f"noise-deactivation-more-robust-than-{other}",
            "abstract, 1, 3",
            f"deactivated, ELU passes on less variation than {NAMES[other]}",
            "noise",
            lower(
                _of_layers("elu", "deactivated_noise_gain"),
                _of_layers(other, "deactivated_noise_gain"),
                "noise of deactivated outputs by that of their net inputs, mean of "
                f"layers, ELU - {NAMES[other]}",
            ),
        )
        yield Claim(
            f"noise-absence-quantified-less-than-{other}",
            "abstract, 1, 3",
            f"ELU quantifies the degree of absence less than {NAMES[other]}",
            "noise",
            lower(
                _of_layers("elu", "deactivated_signal"),
                _of_layers(other, "deactivated_signal"),
                "share of the outputs' variance among deactivated values, mean of "
                f"layers, ELU - {NAMES[other]}",
            ),
        )
    for other in ("relu", "leaky_relu", "prelu"):
        yield Claim(
            f"noise-less-propagated-than-{other}",
            "abstract, 3",
            f"ELU decreases the forward propagated variation, against {NAMES[other]}",
            "noise",
            lower(
                _of_layers("elu", "gain"),
                _of_layers(other, "gain"),
                "variance of outputs by that of net inputs, mean of layers, ELU - "
                f"{NAMES[other]}",
            ),
            ours=other == "relu",  # which deactivates without information as well
        )
        yield Claim(
            f"noise-more-robust-than-{other}",
            "1, 3",
            f"ELU networks are more robust to noise than {NAMES[other]} networks",
            "noise",
            lower(
                _of_outputs("elu"),
                _of_outputs(other),
                f"share of classes that noise changes (MNIST), ELU - {NAMES[other]}",
            ),
            ours=other == "relu",
        )


def _of_layers(arm: str, measure: str) -> Read:
    return lambda rows: noise.mean_over_layers(
        rows.get("noise", []), (arm, False, ""), measure
    )


def _of_outputs(arm: str) -> Read:
    return lambda rows: noise.of_logits(
        rows.get("noise", []), (arm, False, ""), "changed"
    )


def _of_theory() -> Iterator[Claim]:
    """Yields the claims of section 2."""
    yield from _of_bias_shifts()
    yield from _of_each_unit()


def _of_bias_shifts() -> Iterator[Claim]:
    """Yields the claims that compare ELU's bias shift and gradient with others'."""
    measures = (
        ("weighted_mean_length", "E_q(a) is shorter", "length of E_q(a)"),
        ("uncorrected_shift", "the bias shift is smaller", "bias shift"),
        ("correction", "the bias shift needs less correction", "correction by shift"),
    )
    phases = (
        ("early", bias_shift.EARLY, "1 to 25"),
        ("late", bias_shift.LATE, "50 to 300"),
    )
    for other, (phase, epochs, text_) in itertools.product(
        ("relu", "leaky_relu"), phases
    ):
        for name, text, measure in measures:
            yield Claim(
                f"theory-{name.replace('_', '-')}-{phase}-below-{other}",
                "abstract, 2",
                f"with ELU {text} than with {NAMES[other]}: {phase} in training",
                "theory",
                lower(
                    _along("elu", name, epochs),
                    _along(other, name, epochs),
                    f"{measure}, geometric mean of kept epochs {text_}, ELU - "
                    f"{NAMES[other]}",
                ),
                ours=other != "relu",
            )
        yield Claim(
            f"theory-gradient-{phase}-closer-than-{other}",
            "abstract, 1, 3",
            "with ELU the gradient is closer to the unit natural gradient than with "
            f"{NAMES[other]}: {phase} in training",
            "theory",
            lower(
                _along(other, "cosine", epochs),
                _along("elu", "cosine", epochs),
                f"cosine of their angle, mean of kept epochs {text_}, {NAMES[other]} - "
                "ELU",
            ),
            ours=other != "relu",
        )


def _of_each_unit() -> Iterator[Claim]:
    """Yields the claims of section 2 that hold for an activation by itself."""
    for arm in ("elu", "relu", "leaky_relu"):
        yield Claim(
            f"theory-covariances-positive-{arm}",
            "2",
            f"the largest components of Cov(delta^2, a) are positive ({NAMES[arm]})",
            "theory",
            lower(
                _negative_share(arm),
                _constant(0.5, arm),
                "share of negative ones among the largest tenth, less 1/2",
            ),
        )
        yield Claim(
            f"theory-shift-of-correlated-units-{arm}",
            "1, 2",
            "the more the units are correlated, the higher their bias shift "
            f"({NAMES[arm]})",
            "theory",
            _undecided(
                lower(
                    _constant(0, arm),
                    _along(arm, "rank_correlation"),
                    "0 - Spearman's correlation, over layers, of the incoming units' "
                    "mean correlation and the bias shift, mean of kept epochs; layers "
                    "differ by their depth, too, which decides nothing",
                )
            ),
        )
        yield Claim(
            f"theory-bias-unit-scaled-up-{arm}",
            "2",
            f"the natural gradient scales the bias unit up ({NAMES[arm]})",
            "theory",
            lower(_constant(1, arm), _along(arm, "k"), "1 - k, mean over epochs"),
        )


def _undecided(judge: Judge) -> Judge:
    """Returns a judge that tells the effect and no more."""

    def effect(rows: Mapping[str, Rows]) -> Finding:
        return dataclasses.replace(judge(rows), p=math.nan, verdict=NOT_DECIDED)

    return effect


def _negative_share(arm: str) -> Read:
    def read(rows: Mapping[str, Rows]) -> Values:
        found = _along(arm, "positive_share")(rows)
        return {seed: 1 - value for seed, value in found.items()}

    return read


def _constant(value: float, arm: str) -> Read:
    """Returns what reads a number of each of an arm's runs."""
    return lambda rows: dict.fromkeys(_along(arm, "k")(rows), value)


def _along(arm: str, measure: str, epochs: range = bias_shift.TRAINED) -> Read:
    return lambda rows: bias_shift.along_training(
        rows.get("theory", []), (arm, False, ""), measure, epochs
    )


def _of_theorems() -> Iterator[Claim]:
    """Yields those that are proved, of which a number can be wrong all the same."""
    stated = {
        "Lemma 1": ("appendix A", "the inverse of a symmetric block matrix"),
        "Lemma 2": ("appendix B", "quadratic forms of mean and second moment"),
        "Theorem 1": ("2", "the unit natural gradient's update and its s"),
        "Theorem 2": ("2", "its bias shift and its k"),
    }
    for name, (section, text) in stated.items():
        yield Claim(
            f"theory-{name.lower().replace(' ', '-')}",
            section,
            f"{name}: {text}",
            "theorems",
            _equal(name),
        )


def _equal(name: str) -> Judge:
    measure = "largest relative distance of both sides, float64"

    def judge(rows: Mapping[str, Rows]) -> Finding:
        own = [r for r in rows.get("theorems", []) if r["statement"].startswith(name)]
        if not own:
            return Finding(measure=measure)
        largest = max(float(row["distance"]) for row in own)
        verdict = "holds" if largest <= _ROUNDING else "does not hold"
        draws = len({row["draw"] for row in own})
        return Finding(draws, largest, verdict=verdict, measure=measure)

    return judge


CLAIMS: tuple[Claim, ...] = (*_of_noise(), *_of_theory(), *_of_theorems())
