"""The measurement of several parts, with printed tables, a CSV file and a chart."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import keras

from elu_zoo import errors
from elu_zoo.benchmark import chart, machine, parts, report


def run(
    names: Sequence[str],
    scope: parts.Scope,
    csv: str | None,
    picture: str | None,
    show: Callable[[list[dict[str, str]]], None],
) -> None:
    """Measures and prints parts; a part that fails does not stop the others.

    Args:
        names: names of parts; by default all that the backend can measure.
        csv: CSV file for the results, if any.
        picture: file for a chart, if any.
        show: prints a table.
    """
    backend = keras.backend.backend()
    names = names or (list(parts.PARTS) if backend == "tensorflow" else parts.ON_JAX)
    parts.check(names, scope.models, scope.batch_size, backend)
    if csv:
        report.check(Path(csv))
    if picture:
        chart.check(names, Path(picture))
    print(measured_on := machine.line())
    measured, failed = [], []
    for name in names:
        print(f"\n{name}: {parts.PARTS[name].__doc__}", flush=True)
        try:
            rows = parts.measure(name, scope)
        except Exception as error:  # the other parts can still be measured
            failed.append(f"{name} was not measured: {type(error).__name__}: {error}")
            cause = error
            continue
        measured += [dataclasses.replace(row, machine=measured_on) for row in rows]
        for title, shown in report.tables(rows):
            print(f"\n{title}")
            show(shown)
        if csv:
            report.update(Path(csv), measured)
    if picture:
        chart.draw(measured, Path(picture))
    if failed:
        raise errors.EluZooError(" ".join(failed)) from cause
