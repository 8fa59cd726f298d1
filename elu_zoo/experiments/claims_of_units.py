"""The claims of sections 1 to 3: noise, saturation and the bias shift."""

from collections.abc import Iterator, Mapping

from elu_zoo.experiments import noise, theory
from elu_zoo.experiments.experiment import Rows
from elu_zoo.experiments.judging import (
    NAMES,
    Claim,
    Read,
    Values,
    lower,
)


def _of_noise() -> Iterator[Claim]:
    """Yields those of the abstract and sections 1 and 3 on noise and saturation."""
    for other in ("leaky_relu", "prelu"):
        yield Claim(
            f"noise-deactivation-more-robust-than-{other}",
            "abstract, 1, 3",
            f"deactivated, ELU passes on less variation than {NAMES[other]}",
            "noise",
            lower(
                _of_layers("elu", "deactivated_gain"),
                _of_layers(other, "deactivated_gain"),
                "variance of deactivated outputs by that of their net inputs, mean of "
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
    """Yields those of section 2."""
    measures = (
        ("weighted_mean_length", "E_q(a) is shorter", "length of E_q(a)"),
        ("uncorrected_shift", "the bias shift is smaller", "bias shift"),
        ("correction", "the bias shift needs less correction", "correction by shift"),
    )
    for other in ("relu", "leaky_relu"):
        for name, text, measure in measures:
            yield Claim(
                f"theory-{name.replace('_', '-')}-below-{other}",
                "abstract, 2",
                f"with ELU {text} than with {NAMES[other]}",
                "theory",
                lower(
                    _along("elu", name),
                    _along(other, name),
                    f"{measure}, mean over epochs, ELU - {NAMES[other]}",
                ),
            )
    for arm in ("elu", "relu", "leaky_relu"):
        yield Claim(
            f"theory-covariances-positive-{arm}",
            "2",
            f"the largest components of Cov(delta^2, a) are positive ({NAMES[arm]})",
            "theory",
            lower(
                _negative_share(arm),
                _half(arm),
                "share of negative ones among the largest tenth, less 1/2",
            ),
        )


def _negative_share(arm: str) -> Read:
    def read(rows: Mapping[str, Rows]) -> Values:
        found = _along(arm, "positive_share")(rows)
        return {seed: 1 - value for seed, value in found.items()}

    return read


def _half(arm: str) -> Read:
    return lambda rows: dict.fromkeys(_along(arm, "positive_share")(rows), 0.5)


def _along(arm: str, measure: str) -> Read:
    return lambda rows: theory.along_training(
        rows.get("theory", []), (arm, False, ""), measure
    )


CLAIMS: tuple[Claim, ...] = (*_of_noise(), *_of_theory())
