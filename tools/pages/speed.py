"""Results of elu-zoo-benchmark: tables for speed.md, and a summary for the README."""

import string

from elu_zoo import errors
from elu_zoo.benchmark import report
from pages import marks

Rows = list[report.Row]

_STEP = "elu_cifar_11, batch of 100"
_PAGE = string.Template("""\
# Speed

`python tools/results_table.py` writes this page from [benchmark.csv](benchmark.csv),
which has all rows of `elu-zoo-benchmark` with quartiles, including the parts `policy`
(compiled or plain steps) and `replicas`.

In each round the implementations of a table ran once, in random order. Numbers are
ratios to the implementation with **1**, as medians over the rounds with 95 % bootstrap
intervals. A smaller number is faster.

$machine

The benchmark was not run on GPUs. With `KERAS_BACKEND=jax` the parts `step` and `unit`
run without TensorFlow, but the size of their work is chosen for a CPU. On a machine
with GPUs that TensorFlow sees, `python -m pytest -m gpu -n 0` tests the op, several
GPUs, resuming and export; these tests have not been run.

## A training step

The step trains on noise, without dropout, in the precision of our configs. Other
libraries train the same network from the same weights by the same updates, in float32
unless the line says bfloat16. `limit` is the time of as many multiplications in
products of two matrices of 2048 x 2048.

$step

## What the activation costs

The table compares our step with ELU, with ReLU, and with ReLU and batch normalisation.
Batch normalisation computes in float32, like the activation after it.

$unit

Memory of one process each, without the memory after the imports:

$memory

## The op alone

The op is compared with a copy, which is the lower limit, and with a rough approximation
of the exponential (Schraudolph, 1999).

$op

$schraudolph

## A prediction

Times are from NumPy images to NumPy outputs in float32. Our SavedModel returns logits,
probabilities and classes. Each call follows a pause and calls of the others; calls that
follow each other are faster, see `in process` under Serving.

$inference

## Serving

Our server over gRPC (with the client of TensorFlow Serving) and REST is compared with
threads that predict in one process. Clients run on the same two cores and send the next
image after each response. `unbatched` is `--enable_batching=false`. p95 and p99 are in
[benchmark.csv](benchmark.csv).

$serving

## Start-up

Times are from the start of a process to its end.

$start_up
""")
_SUMMARY = string.Template("""\
- **A training step** of `elu_cifar_11`, with products in bfloat16, takes $ours. \
Keras' `fit` takes $fit_bfloat16 times as long with its policy mixed_bfloat16 and $fit \
in float32; PyTorch $torch_bfloat16 in bfloat16 and $torch.
- **The ELU op**: under XLA `tf.nn.elu` takes $elu times as long as ours, \
forward over 1e7 elements.
- **ELU in place of ReLU** makes that training step $unit times as long.
- **A single prediction**, after a pause: the SavedModel takes $predicted for an \
image; `model.predict` takes $predict times as long.
- **The server** predicts $served images a second over gRPC, for 32 clients that send \
one image at a time: $share of the rate of 32 threads that predict in one process.

The network is `elu_cifar_11`, on two cores of a CPU; ratios are medians with 95 % \
intervals: [all tables, and the machine]($page).""")


def page(rows: Rows) -> str:
    """Returns speed.md."""
    parts = _PAGE.get_identifiers()
    return _PAGE.substitute({part: table(part, rows) for part in parts})


def table(part: str, rows: Rows) -> str:
    """Returns the Markdown text of a field of `_PAGE`.

    Args:
        part: a part of the benchmark, or else "machine" or "schraudolph".
        rows: rows of benchmark.csv.
    """
    if part == "machine":
        return f"Measured on: {rows[0].machine}."
    if part == "schraudolph":
        forms = {row.form: row for row in rows if row.unit == "largest error"}
        ours, other = forms["ours, XLA"], forms["Schraudolph's exponential, XLA"]
        return (
            f"Largest errors: ours {ours.value:.1g}, Schraudolph's {other.value:.1g}."
        )
    if part == "serving":
        # Latencies of one client, and throughputs of several clients.
        shown = [r for r in rows if r.case.endswith((" 1 client", "s, throughput"))]
        return report.markdown_of_values(r for r in shown if r.part == part)
    chosen = [r for r in rows if r.part == part and r.unit in ("ms", "MiB")]
    # Smaller tensors are only in benchmark.csv.
    largest = [row for row in chosen if "1e7" in row.case]
    return report.markdown(largest if part == "op" else chosen)


def summary(rows: Rows, link: marks.Link) -> str:
    """Returns a Markdown list of five results of the benchmark.

    Raises:
        UsageError: a row is missing.
    """
    single, op = "elu_cifar_11, batch of 1", "forward, 1e7 elements"
    clients = "elu_cifar_11, 32 clients, throughput"
    served = _row(rows, "serving", clients, "gRPC").value
    alone = _row(rows, "serving", clients, "in process").value
    return _SUMMARY.substitute(
        ours=_value(_row(rows, "step", _STEP, "ours")),
        fit=_ratio(rows, "step", _STEP, "Keras fit"),
        torch=_ratio(rows, "step", _STEP, "PyTorch"),
        fit_bfloat16=_ratio(rows, "step", _STEP, "Keras fit, mixed_bfloat16"),
        torch_bfloat16=_ratio(rows, "step", _STEP, "PyTorch, bfloat16"),
        elu=_ratio(rows, "op", op, "tf.nn.elu, XLA"),
        unit=_ratio(rows, "unit", _STEP, "elu"),
        predicted=_value(_row(rows, "inference", single, "SavedModel")),
        predict=_ratio(rows, "inference", single, "model.predict"),
        served=f"{served:,.0f}",
        share=f"{served / alone:.0%}",
        page=link("configs/results/speed.md"),
    )


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


def _ratio(rows: Rows, part: str, case: str, form: str) -> str:
    row = _row(rows, part, case, form)
    return f"{row.ratio:.2f} ({row.ratio_low:.2f} to {row.ratio_high:.2f})"
