"""Times the ELU op, training and predictions against other libraries.

elu-zoo-benchmark                       everything, about half an hour
elu-zoo-benchmark --parts=op,step --models=mnist_mlp_8x128 --rounds=5

Each round runs every implementation once. Printed times are medians over the rounds.
Printed ratios are medians of the ratios of two times in the same round, with a 95 %
bootstrap interval. Other load on the machine changes times and ratios.
"""

from pathlib import Path

from absl import flags as absl_flags

from elu_zoo.bin import early, flags

_PARTS = absl_flags.DEFINE_list(
    "parts",
    None,
    "Some of op, fit, step, unit, replicas, inference, serving, host; by default all.",
)
_MODELS = absl_flags.DEFINE_list(
    "models", None, "Networks; by default two dense and one convolutional network."
)
_BATCH = absl_flags.DEFINE_integer(
    "batch_size", None, "Images per step; by default 64, for convolutional nets 100.", 1
)
_ROUNDS = absl_flags.DEFINE_integer(
    "rounds", None, "Rounds of each part; by default for a fixed time.", 1
)
_CSV = flags.define_path(
    "csv", None, "CSV file for the results; only rows of measured parts change."
)
_CHART = flags.define_path("chart", None, "PNG, SVG or PDF file for a chart.")


def main(_: list[str]) -> None:
    import dataclasses

    import keras

    from elu_zoo import errors
    from elu_zoo.benchmark import case, chart, machine, parts, report
    from elu_zoo.bin import table

    backend = keras.backend.backend()
    available = list(parts.PARTS) if backend == "tensorflow" else parts.ON_JAX
    names, models = _PARTS.value or available, _MODELS.value or case.MODELS
    parts.check(names, models, _BATCH.value, backend)
    if _CSV.value:
        report.check(Path(_CSV.value))
    if _CHART.value:
        chart.check(names, Path(_CHART.value))
    print(measured_on := machine.line())
    settings = parts.Settings(models, _BATCH.value, _ROUNDS.value)
    measured, failed = [], []
    for name in names:
        about = parts.PARTS[name].__doc__ or ""  # removed by `python -OO`
        print(f"\n{name}: {about}", flush=True)
        try:
            rows = parts.measure(name, settings)
        except Exception as error:  # the other parts can still be measured
            failed.append(f"{name} was not measured: {type(error).__name__}: {error}")
            cause = error
            continue
        measured += [dataclasses.replace(row, machine=measured_on) for row in rows]
        for title, shown in report.tables(rows):
            print(f"\n{title}")
            table.show(shown)
        if _CSV.value:
            report.update(Path(_CSV.value), measured)
    if _CHART.value:
        chart.draw(measured, Path(_CHART.value))
    if failed:
        raise errors.EluZooError(" ".join(failed)) from cause


def run() -> None:
    flags.run(main, early.check_networks)


if __name__ == "__main__":
    run()
