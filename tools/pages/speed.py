"""Results of elu-zoo-benchmark: tables for speed.md, and a summary for the README."""

import functools
import string
from collections.abc import Sequence

from elu_zoo import errors, results
from elu_zoo.benchmark import report
from pages import marks, op_use, strategies

Rows = list[report.Row]

# The end of the cases of each table of the part `op`.
_OP = {
    "op_large": ", 1e7 floats",
    "op_small": ", 128 x 128",
    "op_layers": ", 128 x 128, layers",
}
_STEP = "elu_cifar_11, batch of 100"
_PAGE = string.Template("""\
# Speed

`python tools/results_table.py` writes this page from [benchmark.csv](benchmark.csv),
which has all rows of `elu-zoo-benchmark` with quartiles.

In each round the implementations of a table ran once, in random order. Numbers are
ratios to the implementation with **1**, as medians over the rounds with 95 % bootstrap
intervals. A smaller number is faster.

$machine

The benchmark was not run on GPUs, but see [On a GPU](#on-a-gpu). On a machine with GPUs
that TensorFlow sees, `python -m pytest -m gpu -n 0` tests the op, several GPUs,
resuming and export; these tests have not been run.

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

## The op alone

`eager` calls a function directly, `traced` inside `tf.function`, and `jit` inside
`tf.function(jit_compile=True)`. PyTorch is called eagerly, JAX compiled. A copy is the
lower limit.

$op_large

$op_small

Layers, called on 128 x 128 floats:

$op_layers

Memory that an eager tape keeps until the gradient, its peak, and the largest errors in
units of the last place, over a million negative numbers. The run fails if `elu_xla` is
above 1, because its compiled function is then not the polynomial.

$op_values

## The op in a network

Keras' `fit` of a network with `activation="elu_xla"`, compared with `"elu"`:

$fit

The op by itself (`op`, compared with `tf.nn.elu`) and in `fit` (compared with `elu`):

$op_use

## Several devices and machines

Our step on two logical devices of the CPU by `MirroredStrategy`, in the precision of
our configs, compared with one device that has both cores, and with Keras' `fit` in
float32 and in the same strategy, where `fit` fails with `jit_compile=True`. Two devices
of one CPU are no faster than one; the table shows the cost of the strategy.

$replicas

Runs of equal seeds: the training loss of the last epoch, and the test error.
`python tools/strategy_parity.py` repeats them. TensorFlow has not been run on GPUs.

$strategies

## The loop around the step

1,000 iterations of elu_cifar_11 whose step does nothing: order, draws, records and
checkpoints, which a fast device has to wait for.

$host

## On a GPU

Training steps of elu_cifar_11 on JAX, in batches of 100 and with bfloat16 products, 100
in a call, in images a second; more is faster. `python tools/gpu_probe.py` measured each
for 5 seconds, once or twice in turn, so that the numbers have no interval. `all` has
our own derivatives of max-pooling and ELU and loops of constant length; `as before` has
none of them. Processes on one card share it by time slices, or by NVIDIA's
Multi-Process Service (MPS).

$gpu

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
""")
_SUMMARY = string.Template("""\
- **A training step** of `elu_cifar_11`, with products in bfloat16, takes $ours. \
Keras' `fit` takes $fit_bfloat16 times as long with its policy mixed_bfloat16 and $fit \
in float32; PyTorch $torch_bfloat16 in bfloat16 and $torch.
- **Where the op pays**: $op_use
- **ELU in place of ReLU** makes that training step $unit times as long.
- **A single prediction**, after a pause: the SavedModel takes $predicted for an \
image; `model.predict` takes $predict times as long.
- **The server** predicts $served images a second over gRPC, for 32 clients that send \
one image at a time: $share of the rate of 32 threads that predict in one process.

The network is `elu_cifar_11`, on two cores of a CPU; ratios are medians with 95 % \
intervals: [all tables, and the machine]($page).""")


def page(rows: Rows, runs: Sequence[results.Row]) -> str:
    """Returns speed.md, from rows of benchmark.csv and strategies.csv."""
    fields = {part: table(part, rows) for part in _PAGE.get_identifiers() if part != "strategies"}
    return _PAGE.substitute(fields, strategies=strategies.table(runs))


def table(part: str, rows: Rows) -> str:
    """Returns the Markdown text of a field of `_PAGE`.

    Args:
        part: a part of the benchmark, a key of `_OP`, or "machine" or "op_use".
        rows: rows of benchmark.csv.
    """
    if part == "machine":
        return _machines(rows)
    if part == "gpu":
        return report.markdown_of_values(row for row in rows if row.part == part)
    if part == "op_use":
        return op_use.row(rows)
    if part == "op_values":
        return report.markdown_of_values(
            row for row in rows if row.part == "op" and row.unit != "ms"
        )
    if part in _OP:
        return report.markdown(
            row for row in rows if row.part == "op" and row.case.endswith(_OP[part])
        )
    if part == "serving":
        # Latencies of one client, and throughputs of several clients.
        shown = [r for r in rows if r.case.endswith((" 1 client", "s, throughput"))]
        return report.markdown_of_values(r for r in shown if r.part == part)
    return report.markdown(r for r in rows if r.part == part and r.unit == "ms")


def _machines(rows: Rows) -> str:
    """Returns the parts that were measured on each machine."""
    parts: dict[str, dict[str, None]] = {}
    for row in rows:
        parts.setdefault(row.machine, {})[f"`{row.part}`"] = None
    lines = [f"- {', '.join(names)}: {machine}." for machine, names in parts.items()]
    return "\n".join(["Measured on:", "", *lines])


def summary(rows: Rows, link: marks.Link) -> str:
    """Returns a Markdown list of five results of the benchmark.

    Raises:
        UsageError: a row is missing.
    """
    single = "elu_cifar_11, batch of 1"
    clients = "elu_cifar_11, 32 clients, throughput"
    served = _row(rows, "serving", clients, "gRPC").value
    alone = _row(rows, "serving", clients, "in process").value
    return _SUMMARY.substitute(
        ours=_value(_row(rows, "step", _STEP, "ours")),
        fit=_ratio(rows, "step", _STEP, "Keras fit"),
        torch=_ratio(rows, "step", _STEP, "PyTorch"),
        fit_bfloat16=_ratio(rows, "step", _STEP, "Keras fit, mixed_bfloat16"),
        torch_bfloat16=_ratio(rows, "step", _STEP, "PyTorch, bfloat16"),
        op_use=op_use.sentence(functools.partial(_row, rows)),
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
