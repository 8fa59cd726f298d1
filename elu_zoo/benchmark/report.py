"""What a benchmark found: rows, a table for people, a file."""

import csv
import dataclasses
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from elu_zoo import errors, files
from elu_zoo.benchmark import rounds


@dataclasses.dataclass(frozen=True)
class Row:
    """What was measured of one form of one case.

    Attributes:
        part: of the benchmark, see `parts.PARTS`.
        case: what was done, such as `forward, 10000000 elements`.
        form: how it was done, such as `tf.nn.elu, XLA`.
        unit: of the value: `ms`, `MiB`, or `largest error`.
        rounds: how often it was measured.
        value: the median over the rounds.
        lower_quartile: of the value.
        upper_quartile: of the value.
        baseline: the form to which the ratio is.
        ratio: of the values in one round, the median over the rounds.
        ratio_low: lower end of its 95 % bootstrap interval.
        ratio_high: upper end.
        machine: on what, with the versions of what took part.
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
    part: str,
    case: str,
    values: Mapping[str, np.ndarray],
    baseline: str,
    unit: str = "ms",
) -> list[Row]:
    """Returns a row for each form that was measured.

    Args:
        part: see `Row`.
        case: see `Row`.
        values: of each form, one a round, `(rounds,)`.
        baseline: one of the forms.
        unit: see `Row`.
    """
    found = []
    for form, of_form in values.items():
        low, median, high = (
            float(f"{v:.4g}") for v in np.percentile(of_form, [25, 50, 75])
        )
        ratio = rounds.ratio(of_form, values[baseline])
        ends = (round(v, 4) for v in (ratio.median, ratio.low, ratio.high))
        count = len(of_form)
        found.append(
            Row(part, case, form, unit, count, median, low, high, baseline, *ends)
        )
    return found


def timed(
    part: str, case: str, seconds: Mapping[str, np.ndarray], baseline: str
) -> list[Row]:
    """Returns rows in milliseconds of what `rounds.interleaved` measured."""
    return rows(part, case, {k: 1e3 * v for k, v in seconds.items()}, baseline)


def tables(found: Iterable[Row]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yields each case with its rows for `bin.table`."""
    by_case = {}
    for row in found:
        by_case.setdefault(row.case, []).append(row)
    for case, of_case in by_case.items():
        yield f"{case}, {of_case[0].rounds} rounds", [_shown(row) for row in of_case]


def _shown(row: Row) -> dict[str, str]:
    return {
        "form": row.form,
        row.unit: f"{row.value:.4g}",
        "quartiles": f"{row.lower_quartile:.4g} to {row.upper_quartile:.4g}",
        f"by {row.baseline}": f"{row.ratio:.3f}",
        "95 % interval": f"{row.ratio_low:.3f} to {row.ratio_high:.3f}",
    }


def write(path: Path, found: Iterable[Row]) -> None:
    """Writes rows as CSV, atomically."""
    buffer = io.StringIO()
    names = [field.name for field in dataclasses.fields(Row)]
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(dataclasses.asdict, found))
    files.write_bytes(path, buffer.getvalue().encode())


def check(path: Path) -> None:
    """Checks that `update` can write a file.

    Raises:
        CorruptError: there is one that holds something else.
        OSError: its folder cannot be written.
    """
    files.check_writable(path.resolve().parent)
    if path.exists():
        read(path)


def update(path: Path, found: Sequence[Row]) -> None:
    """Writes rows in place of those of the same parts in a file, if there is one.

    Raises:
        CorruptError: the file holds something else.
    """
    parts = {row.part for row in found}
    kept = read(path) if path.exists() else []
    write(path, [*(row for row in kept if row.part not in parts), *found])


def read(path: Path) -> list[Row]:
    """Reads rows that `write` wrote.

    Raises:
        CorruptError: the file holds something else.
    """
    fields = dataclasses.fields(Row)
    try:
        table = list(csv.DictReader(path.read_text().splitlines(), strict=True))
        return [Row(*(f.type(row[f.name]) for f in fields)) for row in table]
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise errors.CorruptError(
            f"{path} holds no rows of a benchmark: {error!r}. Write it with "
            "elu-zoo-benchmark --csv."
        ) from None


def markdown(found: Iterable[Row]) -> str:
    """Returns the ratios of one part as a Markdown table: a line a form, a column a
    case, the baseline's own value beside its 1."""
    return _markdown((row, row.case, _cell(row)) for row in found)


def markdown_of_values(found: Iterable[Row]) -> str:
    """Returns the medians of one part as a Markdown table, like `markdown`."""
    return _markdown(
        (row, f"{row.case} ({row.unit})", _number(row.value)) for row in found
    )


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def _markdown(found: Iterable[tuple[Row, str, str]]) -> str:
    cells = {(row.form, column): cell for row, column, cell in found}
    forms, columns = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    lines = [f"| | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    lines += [
        f"| {form} | {' | '.join(cells.get((form, c), '') for c in columns)} |"
        for form in forms
    ]
    return "\n".join(lines)


def _cell(row: Row) -> str:
    if row.form == row.baseline:
        return f"**1** ({row.value:.3g} {row.unit})"
    digits = 3 if 0.9 < row.ratio < 1.1 else 2
    low, high = (f"{v:.{digits}f}" for v in (row.ratio_low, row.ratio_high))
    ratio = f"{row.ratio:.{digits}f}"
    return ratio if low == high else f"{ratio} ({low} to {high})"
