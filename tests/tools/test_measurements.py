"""Tools that measure published weights: checked arguments, and rows that stay."""

from unittest import mock

import pytest
import scripts

from elu_zoo import errors, results
from elu_zoo.weights import cards_measures, manifest

FIRST, SECOND, *_ = (tag for tag in manifest.list_weights() if manifest.published()[tag]["classes"])


@pytest.fixture
def load(monkeypatch, tmp_path):
    """A function that loads a script, which then defines no flag."""
    flag = mock.MagicMock(**{"return_value.value": str(tmp_path / "rows.csv")})
    for kind in "string", "integer", "multi_string":
        monkeypatch.setattr(f"absl.flags.DEFINE_{kind}", flag)
    return scripts.load


@pytest.mark.parametrize(
    ("name", "known"),
    [("change_images", FIRST), ("calibrate_weights", FIRST),
     ("small_exports", "elu_cifar_11")]
)  # fmt: skip
def test_all_arguments_are_checked_before_a_measurement(load, name, known):
    script = load(name)
    script.measure = script.measured = None  # a call would raise TypeError
    script.twins = lambda folders: {}
    with pytest.raises(errors.UsageError, match=f"Did you mean '{known}'"):
        script.main(["", known, known[:-1]])


def test_rows_of_unpublished_weights_are_removed(load, tmp_path):
    columns = cards_measures.COLUMNS
    tags = SECOND, "unpublished", FIRST
    rows = [dict.fromkeys(columns, "1") | {"tag": tag, "kind": "blur"} for tag in tags]
    results.write(tmp_path / "rows.csv", columns, rows)
    script = load("change_images")
    new = rows[2] | {"error_percent": "2"}
    script.measure = lambda entry, images: [new]
    script.main(["", FIRST])
    assert results.read_file(tmp_path / "rows.csv") == [new, rows[0]]
