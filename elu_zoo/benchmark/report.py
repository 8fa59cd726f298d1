"""Results of the benchmark as rows, tables and a CSV file."""

import csv
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from elu_zoo import errors, files, results
from elu_zoo.benchmark import rounds


@dataclasses.dataclass(frozen=True)
class Row:
    """Measurement of one form of a case.

    Attributes:
        case: the work, such as `forward, 1e7 elements`.
        form: the implementation of the work, such as `tf.nn.elu, XLA`.
        value: median over the rounds.
        ratio: median over the rounds of value / value of the baseline; `ratio_low` and
            `ratio_high` are the ends of its 95 % bootstrap interval.
    """

    part: str
    case: str
    form: str
    unit: str
    rounds: int
    value: float
    lower_quartile: float
    upper_quartile: float
    baseline: str
    ratio: float
    ratio_low: float
    ratio_high: float
    machine: str = ""


def rows(
    part: str, case: str, values: Mapping[str, np.ndarray], baseline: str, unit: str = "ms"
) -> list[Row]:
    """Returns a row for each form; `values` holds an array `(rounds,)` per form."""
    result = []
    for form, per_round in values.items():
        low, median, high = (float(f"{v:.4g}") for v in np.percentile(per_round, [25, 50, 75]))
        ratio = (round(v, 4) for v in rounds.ratio(per_round, values[baseline]))
        count = len(per_round)
        result.append(Row(part, case, form, unit, count, median, low, high, baseline, *ratio))
    return result


def timed(part: str, case: str, seconds: Mapping[str, np.ndarray], baseline: str) -> list[Row]:
    """Returns rows in milliseconds for the result of `rounds.time_interleaved`."""
    return rows(part, case, {k: 1e3 * v for k, v in seconds.items()}, baseline)


def tables(found: Iterable[Row]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yields the title and the rows of each case's table, which `bin.table` prints."""
    by_case: dict[str, list[Row]] = {}
    for row in found:
        by_case.setdefault(row.case, []).append(row)
    for case, forms in by_case.items():
        yield f"{case}, {forms[0].rounds} rounds", [_cells(row) for row in forms]


def _cells(row: Row) -> dict[str, str]:
    return {
        "form": row.form,
        row.unit: f"{row.value:.4g}",
        "quartiles": f"{row.lower_quartile:.4g} to {row.upper_quartile:.4g}",
        f"by {row.baseline}": f"{row.ratio:.3f}",
        "95 % interval": ""
        if row.ratio_low == row.ratio_high  # rounds that do not vary
        else f"{row.ratio_low:.3f} to {row.ratio_high:.3f}",
    }


def check(path: Path) -> None:
    """Checks that `update` can write a file, before the benchmark runs."""
    files.check_writable(path.resolve().parent)
    if path.exists():
        read(path)


def update(path: Path, found: Sequence[Row]) -> None:
    """Writes rows to a CSV file, in which they replace all rows of their cases."""
    cases = {(row.part, row.case) for row in found}
    previous = read(path) if path.exists() else []
    written = [*(row for row in previous if (row.part, row.case) not in cases), *found]
    names = [field.name for field in dataclasses.fields(Row)]
    results.write(path, names, map(dataclasses.asdict, written))


def read(path: Path) -> list[Row]:
    """Returns the rows of a CSV file; raises `CorruptError` for other files."""
    fields = dataclasses.fields(Row)
    try:
        lines = files.read(path).decode().splitlines()
        table = csv.DictReader(lines, strict=True)
        return [Row(*(f.type(row[f.name]) for f in fields)) for row in table]
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise errors.CorruptError(
            f"{path} must be a CSV file of elu-zoo-benchmark: {error!r}. Set --csv to a new file."
        ) from None
