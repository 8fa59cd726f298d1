"""tools/measure_weights.py: checked arguments, outputs that stay, and new rows."""

import json
from unittest import mock

import pytest
import scripts

from elu_zoo import errors, results
from elu_zoo.data.dataset import ImageData
from elu_zoo.weights import cards_measures, manifest

FIRST, SECOND, *_ = (tag for tag in manifest.list_weights() if manifest.published()[tag]["classes"])
ROW = dict.fromkeys(cards_measures.COLUMNS, "1")


@pytest.fixture
def script(monkeypatch, tmp_path):
    """The script, without flags, on files with rows of an unpublished file and of FIRST."""
    flag = mock.MagicMock(**{"return_value.value": None})
    monkeypatch.setattr("absl.flags.DEFINE_string", flag)
    script = scripts.load("measure_weights")
    script._GOLDEN, script._CHANGES = tmp_path / "golden.json", tmp_path / "rows.csv"
    script._WEIGHTS = tmp_path
    script._TWIN = mock.Mock(value=None)
    script._GOLDEN.write_text(json.dumps({FIRST: [[1.0]]}))
    rows = [ROW | {"tag": tag} for tag in (SECOND, "unpublished", FIRST)]
    results.write(script._CHANGES, cards_measures.COLUMNS, rows)
    script.outputs = lambda entry: [[2.0]]
    script._evaluator = lambda entry, weights: None
    monkeypatch.setattr(script.load, "load", lambda name: mock.Mock(spec=ImageData))
    script.calibrated = lambda *arguments: {"nll_nats": 1.0, "ece_percent": 2.0}
    script.changed = lambda entry, *rest: [ROW | {"tag": entry["tag"], "error_percent": "2"}]
    yield script
    manifest.published.cache_clear()


def test_all_arguments_are_checked_before_a_measurement(script, tmp_path):
    script.outputs = None  # a call would raise TypeError
    with pytest.raises(errors.UsageError, match=f"Did you mean '{FIRST}'"):
        script.main(["", FIRST, FIRST[:-1]])
    script._TWIN.value = str(tmp_path)
    with pytest.raises(errors.UsageError, match="--twin"):
        script.main(["", FIRST])


def test_outputs_stay_and_other_measures_are_new(script, tmp_path):
    script.main(["", FIRST])
    assert json.loads(script._GOLDEN.read_text()) == {FIRST: [[1.0]]}
    tags = [row["tag"] for row in results.read_file(script._CHANGES)]
    assert tags == [FIRST, SECOND]
    assert results.read_file(script._CHANGES)[0]["error_percent"] == "2"
    listed = json.loads((tmp_path / "manifest.json").read_text())["entries"]
    assert listed[FIRST]["calibration"] == {"nll_nats": 1.0, "ece_percent": 2.0}
    assert listed.keys() == {*manifest.published()}


def test_weights_without_outputs_are_measured_by_default(script):
    script.main([""])
    assert json.loads(script._GOLDEN.read_text()).keys() == {*manifest.list_weights()}
