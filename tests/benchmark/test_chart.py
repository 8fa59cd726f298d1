import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.benchmark import chart, report

SECONDS = {"ours": np.array([1.0, 2.0]), "other": np.array([2.0, 5.0])}


def test_a_chart_has_times_and_ratios_only(tmp_path):
    pytest.importorskip("matplotlib")
    rows = report.timed("step", "a net", SECONDS, "ours")
    rows += report.timed("fit", "a net", SECONDS, "ours")
    chart.draw(rows, tmp_path / "bars.svg")
    content = (tmp_path / "bars.svg").read_text()
    assert content.count("step: a net; 1 is ours") == 1
    assert "fit" not in content
    for label in "1.00   1.5e+03 ms", "2.25   3.5e+03 ms":
        assert label in content


@pytest.mark.parametrize(
    ("parts", "name", "words"),
    [
        (["fit", "serving"], "a.png", "op, step, unit"),
        (["op"], "bars.gif", ".png, .svg or .pdf"),
    ],
)
def test_wrong_parts_or_suffixes_are_refused(parts, name, words, tmp_path):
    pytest.importorskip("matplotlib")
    chart.check(["fit", "op"], tmp_path / "bars.svg")
    with pytest.raises(errors.UsageError, match=words):
        chart.check(parts, tmp_path / name)
