"""The measurement of several parts, with printed tables and a CSV file."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import keras

from elu_zoo import errors
from elu_zoo.benchmark import machine, parts, report


def run(
    names: Sequence[str],
    scope: parts.Scope,
    csv: str | None,
    show: Callable[[list[dict[str, str]]], None],
) -> None:
    """Measures parts, by default all, and shows each table; failures do not stop others."""
    backend = keras.backend.backend()
    names = names or (list(parts.PARTS) if backend == "tensorflow" else parts.ON_JAX)
    parts.check(names, scope.batch_size, backend)
    if csv:
        report.check(Path(csv))
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
    if failed:
        raise errors.EluZooError(" ".join(failed)) from cause
