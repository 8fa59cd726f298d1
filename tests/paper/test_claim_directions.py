"""Each claim test is decided by the expected numbers, in the expected direction."""

import re

import pytest
from synthetic_worlds import DECIDING_TESTS, EXPERIMENT, outcomes, world


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


# (names of claim tests, the column that decides the tests, function that selects the
# deciding rows).
DECIDING = [
    ("mnist-learns-faster.*", "train_loss", of_epochs("5")),
    ("mnist-fits-to.*", "train_loss", anywhere),
    ("mnist-activations-closer.*", "median_activation",
     lambda row: row["epoch"] not in ("0", "60")),
    ("mnist-activations-smaller.*", "median_activation", trained),
    ("mnist-training-flat.*", "train_loss", of_epochs("25", "60")),
    ("mnist-validation-flat.*", "validation_loss", of_epochs("25", "60")),
    ("autoencoder-training.*", "measured_squared_error", last),
    ("autoencoder-(test|[01]).*", "test_squared_error", last),
    ("mnist-medians-vary.*", "variance_of_changes", anywhere),
    ("mnist-share-of-units.*", "variance_of_changes", anywhere),
    ("mnist-medians-themselves.*", "variance_of_medians", anywhere),
    ("depth.*", "test_error_percent", lambda row: int(row["hidden_layers"]) > 5),
    ("cifar100-training-loss.*", "last_epoch_loss", last),
    ("cifar100-(?!training).*", "test_error_percent", last),
    ("theory-weighted.*early.*", "weighted_mean_length", early),
    ("theory-weighted.*late.*", "weighted_mean_length", late),
    ("theory-uncorrected.*early.*", "uncorrected_shift", early),
    ("theory-uncorrected.*late.*", "uncorrected_shift", late),
    ("theory-correction.*early.*", "correction", early),
    ("theory-correction.*late.*", "correction", late),
    ("theory-covariances.*", "positive_share", trained),
    ("theory-gradient-early.*", "cosine", early),
    ("theory-gradient-late.*", "cosine", late),
    ("theory-(bias-unit|k-grows).*", "k", trained),
    ("theory-mean-length.*", "mean_length", anywhere),
    ("theory-weighted-mean-length-correction.*", "correction", anywhere),
]  # fmt: skip


def test_each_claim_test_has_one_line_of_the_table():
    for name in DECIDING_TESTS:
        assert sum(bool(re.fullmatch(each[0], name)) for each in DECIDING) == 1, name


@pytest.mark.parametrize(("names", "column", "where"), DECIDING)
def test_only_the_deciding_numbers_change_the_outcome(names, column, where):
    def decides(row, other):
        return column == other and where(row)

    tests = [name for name in DECIDING_TESTS if re.fullmatch(names, name)]
    assert tests
    needed = {EXPERIMENT[name] for name in tests}
    # First all other numbers contradict the paper, then only the deciding numbers do.
    supported = outcomes(world(lambda *cell: not decides(*cell), names=needed), tests)
    assert set(supported.values()) == {"supports"}, supported
    opposed = outcomes(world(decides, names=needed), tests)
    assert set(opposed.values()) == {"contradicts"}, opposed
