import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.benchmark import chart, report

SECONDS = {"ours": np.array([1.0, 2.0]), "other": np.array([2.0, 5.0])}


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_file_of_each_kind(tmp_path, suffix):
    pytest.importorskip("matplotlib")
    rows = report.timed("step", "a net", SECONDS, "ours")
    rows += report.rows("memory", "a net", SECONDS, "ours", "MiB")
    chart.draw(rows, tmp_path / f"bars.{suffix}")
    content = (tmp_path / f"bars.{suffix}").read_bytes()
    assert content[:4] in (b"\x89PNG", b"<?xm")
    if suffix == "svg":
        assert content.count(b"a net") == 1  # memory is no time


@pytest.mark.parametrize(
    ("parts", "name", "words"),
    [
        (["memory", "policy"], "a.png", "op, step, unit, .* Received: memory, policy"),
        (["op"], "bars.gif", "a file .png, .svg, .pdf. Received: .*bars.gif"),
        (["op"], "bars", "a file .png"),
    ],
)
def test_refusals(parts, name, words, tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(errors.UsageError, match=words):
        chart.check(parts, tmp_path / name)


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setattr(chart.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(errors.UsageError, match=r"pip install \"elu-zoo\[paper\]\""):
        chart.check(["op"], tmp_path / "bars.png")


def test_what_is_not_refused(tmp_path):
    pytest.importorskip("matplotlib")
    chart.check(["memory", "op"], tmp_path / "bars.svg")
