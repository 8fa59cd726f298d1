"""Results of elu-zoo-benchmark: tables of results.md, and a summary for the README."""

import functools
from collections.abc import Iterable

from elu_zoo import errors
from elu_zoo.benchmark import report
from elu_zoo.pairs import tables

Rows = list[report.Row]

_PARTS = "step", "unit", "fit", "replicas", "inference"  # as ratios
_STEP = "elu_cifar_11, batch of 100"
_LIBRARIES = {"fit": "Keras fit", "fit_bfloat16": "Keras fit, mixed_bfloat16"}
_LIBRARIES |= {"torch": "PyTorch", "torch_bfloat16": "PyTorch, bfloat16"}
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
_VERDICTS = "faster", "no difference shown", "slower"


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
    parts: dict[str, dict[str, None]] = {}
    for row in rows:
        parts.setdefault(row.machine, {})[f"`{row.part}`"] = None
    lines = [f"- {', '.join(names)}: {machine}." for machine, names in parts.items()]
    return "\n".join(["Measured on:", "", *lines])


def summary(rows: Rows) -> str:
    """Returns a Markdown list of five results of the benchmark."""
    row = functools.partial(_row, rows)
    step = {name: _ratio(row("step", _STEP, form)) for name, form in _LIBRARIES.items()}
    served, alone = (row("serving", _CLIENTS, form).value for form in ("gRPC", "in process"))
    uses: dict[str, list[str]] = {verdict: [] for verdict in _VERDICTS}
    for part, case, words in _USES:
        use = row(part, case, "elu_xla")
        uses[_verdict(use)].append(f"{words} {_ratio(use)}")
    texts = (f"{verdict}: {', '.join(names)}" for verdict, names in uses.items() if names)
    return f"""\
- **A training step** of `elu_cifar_11`, with convolutions in bfloat16, takes \
{_value(row("step", _STEP, "ours"))}. Keras' `fit` takes {step["fit_bfloat16"]} times as long \
with its policy mixed_bfloat16 and {step["fit"]} in float32; PyTorch {step["torch_bfloat16"]} \
in bfloat16 and {step["torch"]} in float32.
- **`elu_xla`, our compiled ELU**: times relative to `tf.nn.elu` (1e7 floats unless stated): \
{"; ".join(texts)}.
- **ELU in place of ReLU** makes a training step in float32 \
{_ratio(row("unit", f"{_STEP}, float32", "elu"))} times as long, of `mnist_mlp_8x128` \
{_ratio(row("unit", "mnist_mlp_8x128, batch of 64, float32", "elu"))}.
- **A single prediction**, after a pause: the SavedModel takes \
{_value(row("inference", _SINGLE, "SavedModel"))} for an image; `model.predict` takes \
{_ratio(row("inference", _SINGLE, "model.predict"))} times as long.
- **The server** predicts {served:,.0f} images a second over gRPC, for 32 clients that send \
one image at a time: {100 * served / alone:.0f} % of the rate of 32 threads of one process."""


def _verdict(row: report.Row) -> str:
    faster, same, slower = _VERDICTS
    # Rounds that do not vary have no interval.
    if abs(row.ratio - 1) < 0.01 or row.ratio_low == row.ratio_high:
        return same
    return faster if row.ratio_high < 1 else slower if row.ratio_low > 1 else same


def _row(rows: Rows, part: str, case: str, form: str) -> report.Row:
    for row in rows:
        if (row.part, row.case, row.form) == (part, case, form):
            return row
    raise errors.UsageError(
        f"benchmark.csv has no row {part!r}, {case!r}, {form!r}, which the README needs. Measure "
        f"it: elu-zoo-benchmark --parts={part} --csv=configs/results/benchmark.csv"
    )


def _value(row: report.Row) -> str:
    return f"{row.value:.3g} {row.unit}"


def _ratio(row: report.Row) -> str:
    if row.form == row.baseline:
        return f"**1** ({_value(row)})"
    return f"{row.ratio:.2f} ({row.ratio_low:.3f} to {row.ratio_high:.3f})"
