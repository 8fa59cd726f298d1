"""Results of elu-zoo-benchmark: tables of results.md, and a summary for the README."""

import string
from collections.abc import Iterable

from elu_zoo import errors
from elu_zoo.benchmark import report
from elu_zoo.pairs import tables

Rows = list[report.Row]

_PARTS = "step", "unit", "fit", "replicas", "inference"  # as ratios
_STEP = "elu_cifar_11, batch of 100"
_SINGLE = "elu_cifar_11, batch of 1"
_CLIENTS = "elu_cifar_11, 32 clients, throughput"
# Part, case and words of each use of the op on the front page. In the part `fit` the
# other activation is `elu`, which is `tf.nn.elu` in a model.
_USES = (
    ("op", "jit, forward, 1e7 floats", "compiled"),
    ("op", "jit, forward and backward, 1e7 floats", "compiled with the gradient"),
    ("op", "eager, forward and backward, 1e7 floats", "eager with the gradient"),
    ("op", "eager, forward, 128 x 128", "eager on 128 x 128 floats"),
    ("fit", "mnist_mlp_8x128, batch of 64, default", "in `fit` of `mnist_mlp_8x128`"),
    ("fit", "mnist_mlp_8x128, batch of 64, jit_compile", "in its compiled `fit`"),
    ("fit", "elu_cifar_11, batch of 100, default", "in `fit` of `elu_cifar_11`"),
)
_FASTER, _SAME, _SLOWER = "faster", "as fast within the interval", "slower"
_SUMMARY = string.Template("""\
- **A training step** of `elu_cifar_11`, with products in bfloat16, takes $ours. \
Keras' `fit` takes $fit_bfloat16 times as long with its policy mixed_bfloat16 and $fit \
in float32; PyTorch $torch_bfloat16 in bfloat16 and $torch.
- **Where the op pays**: compared with `tf.nn.elu` (ratios of times, 1e7 floats unless \
stated), `elu_xla` is $uses.
- **ELU in place of ReLU** makes that training step $unit times as long.
- **A single prediction**, after a pause: the SavedModel takes $predicted for an \
image; `model.predict` takes $predict times as long.
- **The server** predicts $served images a second over gRPC, for 32 clients that send \
one image at a time: $share of the rate of 32 threads that predict in one process.""")


def measured(rows: Rows) -> dict[str, str]:
    """Returns the tables of results.md, by the names of their marks."""
    op: dict[str, Rows] = {}  # by what follows the call and the direction in a case
    for row in _of("op", rows):
        op.setdefault(row.case.split(", ", 2)[-1] if row.unit == "ms" else "", []).append(row)
    values = _table_of_values(op.pop("", ()))
    shown = [r for r in _of("serving", rows) if r.case.endswith((" 1 client", "s, throughput"))]
    return {
        "machines": _machines(rows),
        **{part: _table_of_ratios(_of(part, rows)) for part in _PARTS},
        "op": "\n\n".join([*map(_table_of_ratios, op.values()), values]),
        "gpu": _table_of_values(_of("gpu", rows)),
        "serving": _table_of_values(shown),
    }


def _table_of_ratios(rows: Iterable[report.Row]) -> str:
    return _table({(r.form, r.case): _ratio(r) for r in rows})


def _table_of_values(rows: Iterable[report.Row]) -> str:
    return _table({(r.form, f"{r.case} ({r.unit})"): _number(r.value) for r in rows})


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def _table(cells: dict[tuple[str, str], str]) -> str:
    """Returns a Markdown table with a line for each form and a column for each case."""
    forms, cases = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    lines = [[form, *(cells.get((form, case), "") for case in cases)] for form in forms]
    return tables.markdown(["", *cases], lines)


def _of(part: str, rows: Rows) -> Iterable[report.Row]:
    return (row for row in rows if row.part == part)


def _machines(rows: Rows) -> str:
    """Returns the parts that were measured on each machine."""
    parts: dict[str, dict[str, None]] = {}
    for row in rows:
        parts.setdefault(row.machine, {})[f"`{row.part}`"] = None
    lines = [f"- {', '.join(names)}: {machine}." for machine, names in parts.items()]
    return "\n".join(["Measured on:", "", *lines])


def summary(rows: Rows) -> str:
    """Returns a Markdown list of five results of the benchmark."""
    served = _row(rows, "serving", _CLIENTS, "gRPC").value
    alone = _row(rows, "serving", _CLIENTS, "in process").value
    return _SUMMARY.substitute(
        ours=_value(_row(rows, "step", _STEP, "ours")),
        fit=_ratio(_row(rows, "step", _STEP, "Keras fit")),
        torch=_ratio(_row(rows, "step", _STEP, "PyTorch")),
        fit_bfloat16=_ratio(_row(rows, "step", _STEP, "Keras fit, mixed_bfloat16")),
        torch_bfloat16=_ratio(_row(rows, "step", _STEP, "PyTorch, bfloat16")),
        uses=_uses(rows),
        unit=_ratio(_row(rows, "unit", _STEP, "elu")),
        predicted=_value(_row(rows, "inference", _SINGLE, "SavedModel")),
        predict=_ratio(_row(rows, "inference", _SINGLE, "model.predict")),
        served=f"{served:,.0f}",
        share=f"{served / alone:.0%}",
    )


def _uses(rows: Rows) -> str:
    """Returns where `elu_xla` is faster, as fast and slower than the stock op."""
    found: dict[str, list[str]] = {_FASTER: [], _SAME: [], _SLOWER: []}
    for part, case, words in _USES:
        row = _row(rows, part, case, "elu_xla")
        found[_verdict(row)].append(f"{words} {_ratio(row)}")
    return "; ".join(f"{verdict} {', '.join(uses)}" for verdict, uses in found.items() if uses)


def _verdict(row: report.Row) -> str:
    # Rounds that do not vary have no interval.
    if abs(row.ratio - 1) < 0.01 or row.ratio_low == row.ratio_high:
        return _SAME
    if row.ratio_high < 1:
        return _FASTER
    return _SLOWER if row.ratio_low > 1 else _SAME


def _row(rows: Rows, part: str, case: str, form: str) -> report.Row:
    for row in rows:
        if (row.part, row.case, row.form) == (part, case, form):
            return row
    raise errors.UsageError(
        f"benchmark.csv has no row {part!r}, {case!r}, {form!r}, which the README "
        "needs. Install the libraries of that part and measure it again: "
        f"elu-zoo-benchmark --parts={part} --csv=configs/results/benchmark.csv"
    )


def _value(row: report.Row) -> str:
    return f"{row.value:.3g} {row.unit}"


def _ratio(row: report.Row) -> str:
    if row.form == row.baseline:
        return f"**1** ({_value(row)})"
    return f"{row.ratio:.2f} ({row.ratio_low:.2f} to {row.ratio_high:.2f})"
