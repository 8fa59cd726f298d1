"""What decides each claim, and in which direction.

Points are synthetic: of a world as the paper's, in which every claim holds, and of its
opposite, in which none does.
"""

import re

import pytest
from synthetic_points import DECIDED, OPEN, TRAINED, always, never, view

from elu_zoo.paper import claims

CLAIMS = {claim.name: claim for claim in claims.CLAIMS}


def world(turned=never, names=TRAINED):
    return {name: view(name, turned=turned) for name in names}


@pytest.fixture(scope="module")
def as_in_the_paper():
    return claims.judged(world())


@pytest.mark.parametrize("name", DECIDED)
def test_a_claim_holds_in_the_papers_world(as_in_the_paper, name):
    found = as_in_the_paper[name]
    assert found.verdict == "holds" and found.n >= 5
    assert found.p == 2.0**-found.n and found.measure
    assert found.effect < (0.1 if "flat" in name else 0)


@pytest.fixture(scope="module")
def in_the_opposite():
    return claims.judged(world(always))


@pytest.mark.parametrize("name", DECIDED)
def test_it_does_not_hold_in_the_opposite(in_the_opposite, name):
    found = in_the_opposite[name]
    assert found.verdict == "does not hold" and found.p == 1
    assert found.effect > (0.1 if "flat" in name else 0)


def last(row):
    return row["last"]


def of_epochs(*epochs):
    return lambda row: row["epoch"] in epochs


def anywhere(row):
    return True


def trained(row):
    return row["epoch"] != "0"


def early(row):
    return 1 <= int(row["epoch"]) <= 25


def late(row):
    return int(row["epoch"]) > 25


def until_50(row):
    return row["epoch"] not in ("0", "60")


def shown(row):
    return row["sigma"] == "0.1"


DECIDING = [
    ("mnist-learns-faster.*", "train_loss", of_epochs("5")),
    ("mnist-fits-to.*", "train_loss", anywhere),
    ("mnist-activations-closer.*", "median_activation", until_50),
    ("mnist-activations-smaller.*", "median_activation", trained),
    ("mnist-training-flat.*", "train_loss", of_epochs("1", "25", "60")),
    ("mnist-validation-flat.*", "validation_loss", of_epochs("1", "25", "60")),
    ("autoencoder-training.*", "measured_squared_error", last),
    ("autoencoder-(test|[01]).*", "test_squared_error", last),
    ("mnist-medians-vary.*", "variance_of_changes", anywhere),
    ("mnist-medians-themselves.*", "variance_of_medians", anywhere),
    ("depth.*", "test_error_percent", lambda row: int(row["hidden_layers"]) > 5),
    ("cifar100-training-loss.*", "train_loss", last),
    ("cifar100-(?!training).*", "test_error_percent", last),
    ("noise-deactivation.*", "deactivated_noise_gain", shown),
    ("noise-absence.*", "deactivated_signal", shown),
    ("noise-less.*", "gain", shown),
    ("noise-more.*", "changed", shown),
    ("theory-weighted.*early.*", "weighted_mean_length", early),
    ("theory-weighted.*late.*", "weighted_mean_length", late),
    ("theory-uncorrected.*early.*", "uncorrected_shift", early),
    ("theory-uncorrected.*late.*", "uncorrected_shift", late),
    ("theory-correction.*early.*", "correction", early),
    ("theory-correction.*late.*", "correction", late),
    ("theory-covariances.*", "positive_share", trained),
    ("theory-gradient-early.*", "cosine", early),
    ("theory-gradient-late.*", "cosine", late),
    ("theory-bias-unit.*", "k", trained),
]


def test_what_decides_is_known_of_each():
    """And by one row of the table."""
    for name in DECIDED:
        assert sum(bool(re.fullmatch(each[0], name)) for each in DECIDING) == 1, name


@pytest.mark.parametrize(("names", "column", "where"), DECIDING)
def test_what_decides_is_what_the_claim_names(names, column, where):
    """All else may be of the opposite world; and nothing else saves a claim."""

    def decides(row, other):
        return column == other and where(row)

    of = [CLAIMS[name] for name in DECIDED if re.fullmatch(names, name)]
    assert of
    read = {claim.experiment for claim in of}
    found = world(lambda row, other: not decides(row, other), names=read)
    turned = world(decides, names=read)
    for claim in of:
        seen = found[claim.experiment].rows
        assert claim.judge(seen).verdict == "holds", claim.name
        seen = turned[claim.experiment].rows
        assert claim.judge(seen).verdict == "does not hold", claim.name


def test_open_claims_stay_open(as_in_the_paper):
    undecided = {n for n, f in as_in_the_paper.items() if f.verdict == "not decided"}
    without_runs = "timing", "theorems"
    others = {n for n, claim in CLAIMS.items() if claim.experiment in without_runs}
    assert undecided == OPEN | others
