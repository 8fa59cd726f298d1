"""Sentence of the README about the committed comparison of activations."""

import pytest
from pages import comparison

NOISE = 0.1, -0.1, 0.05, -0.05, 0.02
COMMAND = "elu-zoo-train --config=net --config.train.epochs=6"


def summary(**errors):
    """Returns the sentence on activations with an error of 9 but at a best factor.

    `errors` has the best factor, and the error at it or None if a run diverges, by
    activation. Factors 1 and 4 are tried, and all paired runs are made at both.
    """
    rows, trials = [], []
    for name, (best, error) in errors.items():
        for factor in ("1", "4"):
            row = {"activation": name, "factor": factor, "command": COMMAND}
            value = 9.0 if factor != best else error or 1
            trials.append(row | {"seed": "10000", "error": str(value)})
            for seed, noise in enumerate(NOISE):
                each = value + noise * seed * (1 if name == "elu" else 0.5)
                if error is None and factor == best and seed == 1:
                    each = ""
                rows.append(row | {"seed": str(seed), "error": str(each)})
    return comparison.summary(rows, trials, "../{}".format)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (("4", 1.0), "**lower error** relu"),
        (("1", 5.0), "**higher error** relu"),
        (("1", None), "**not trained** relu"),
        (("1", 3.0), "**cannot be told apart** relu"),
    ],
)
def test_activations_at_their_best_rate_are_judged(other, words):
    text = summary(elu=("4", 3.0), relu=other)
    edge = " (best rate at the edge of those tried)"
    assert f"against elu{edge} (2.99 ± 0.11 %): {words}{edge}. [The" in text
    assert "2 activations on `net`, 6 epochs, 5 pairs of runs" in text
    assert "(../configs/results/compare/report.md)" in text


def test_activations_are_sorted_by_error():
    text = summary(elu=("1", 3.0), relu=("4", 2.5), tanh=("4", 1.0), silu=("4", 2.0))
    found = [text.index(f" {name} (best") for name in ("tanh", "silu", "relu")]
    assert found == sorted(found)


def test_an_activation_whose_tuning_diverged_is_not_tested():
    rows = [
        {"activation": name, "factor": "1", "seed": str(seed), "error": "3.0"}
        for name in ("elu", "relu")
        for seed in range(5)
    ]
    rows[0]["command"] = COMMAND
    trials = [
        {"activation": name, "factor": "1", "seed": "10000", "error": error}
        for name, error in (("elu", "3.0"), ("relu", ""))
    ]
    text = comparison.summary(rows, trials, str)
    assert "**not trained** relu. [" in text
