import dataclasses
import re

import pytest

from elu_zoo.benchmark import bars, op, report
from elu_zoo.benchmark.bars import BARS, Bar
from elu_zoo.benchmark.case import Case
from elu_zoo.benchmark.parts import PARTS
from elu_zoo.benchmark.serving import CLIENTS


def row(form, value, ratio, high, case="a net", part="unit"):
    quartiles = value, value
    times = "ms", 40, value, *quartiles, "relu", ratio, ratio, high
    return report.Row(part, case, form, *times)


ROWS = [
    row("relu", 10.0, 1.0, 1.0),
    row("elu", 10.5, 1.05, 1.09),
    row("elu", 5.0, 0.5, 0.5, case="another"),
    dataclasses.replace(row("tanh", 5.0, 0.5, 0.5), rounds=39),
]


@pytest.mark.parametrize(
    ("case", "form", "baseline", "limits", "expected"),
    [
        ("a net", "elu", "relu", {"least": 1.05}, "holds .*: 1.050, at least 1.05$"),
        ("a net", "elu", "relu", {"least": 1.06}, "DOES NOT HOLD .*: 1.050, at least"),
        (
            *("a net", "elu", "relu", {"most": 1.08}),
            r"DOES NOT HOLD .*: 1.050 \(1.050 to 1.090\), upper end at most 1.08$",
        ),
        ("a net", "elu", "relu", {"most": 1.09}, "holds .* elu / relu: 1.050"),
        ("another", "elu", "relu", {"most": 1.0}, "holds"),
        ("a net", "tanh", "relu", {"most": 1.0}, "too few rounds .*: 0.500"),
        ("a net", "tanh", "relu", {"least": 0.4}, "holds"),
        ("a net", "elu", "tanh", {"most": 9.0}, "not measured .*: elu / tanh$"),
        ("a net", "selu", "relu", {"most": 9.0}, "not measured"),
        ("a third", "elu", "relu", {"most": 9.0}, "not measured"),
    ],
)
def test_verdict(case, form, baseline, limits, expected):
    verdict = Bar("unit", case, form, baseline, **limits).verdict(ROWS)
    assert re.match(expected, verdict)
    other = Bar("step", case, form, baseline, **limits).verdict(ROWS)
    assert other.startswith("not measured")


def test_bars_name_what_is_measured():
    cases = {f"{c.model}, batch of {c.batch_size}" for c in map(Case, bars_models())}
    cases |= {f"{m}, {max(CLIENTS)} clients, throughput" for m in bars_models()}
    cases |= {f"{m}, 1 client" for m in bars_models()}
    for bar in BARS:
        assert bar.part in PARTS
        limits = bar.least, bar.most, bar.most_more
        assert sum(limit is not None for limit in limits) == 1
        assert bar.part == "op" or bar.case in cases
    kinds = {f"{kind}, 1e7 elements" for kind in op.PASSES}
    assert {bar.case for bar in bars.BARS if bar.part == "op"} <= kinds


def bars_models():
    return {bar.case.partition(",")[0] for bar in BARS if bar.part != "op"}
