"""The measured points of an experiment as a CSV file that outlives its runs."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from elu_zoo import results
from elu_zoo.experiments.trial import BUDGETS, Trial

Row = dict[str, Any]
KEY = "budget", "activation", "batch_norm", "variant", "seed", "run"
# All but the hash: a run of another config takes the place of the old one.
_PLACE = KEY[:-1]


class Points:
    """Rows by run, or by budget where no run is trained.

    Args:
        path: the CSV file; it need not exist.
        columns: what a row measures, beside the key.
        key: what tells rows of runs apart; `("budget",)` without runs.
    """

    def __init__(self, path: Path, columns: Sequence[str], key: Sequence[str] = KEY):
        self._path = path
        self._columns = (*key, *columns)
        self.rows: list[dict[str, str]] = results.read_file(path)

    def has(self, trial: Trial) -> bool:
        """Whether the points of this run are there."""
        key = trial.key
        return any(all(row[k] == key[k] for k in KEY) for row in self.rows)

    def put(self, trial: Trial, measured: Iterable[Row]) -> None:
        """Writes the points of a run, instead of those of an earlier config."""
        key = trial.key
        kept = [r for r in self.rows if any(r[k] != key[k] for k in _PLACE)]
        new = [
            {c: _text((key | row).get(c, "")) for c in self._columns}
            for row in measured
        ]
        self.rows = sorted([*kept, *new], key=_place)
        results.write(self._path, self._columns, self.rows)

    def put_all(self, budget: str, computed: Iterable[Row]) -> None:
        """Writes the rows of a budget, instead of those that were there."""
        kept = [row for row in self.rows if row["budget"] != budget]
        new = [
            {c: _text(({"budget": budget} | row).get(c, "")) for c in self._columns}
            for row in computed
        ]
        self.rows = [*kept, *new]
        results.write(self._path, self._columns, self.rows)

    def of_budget(self) -> tuple[str, list[dict[str, str]]]:
        """Returns the longest budget that has points, and its points."""
        for budget in reversed(BUDGETS):
            found = [row for row in self.rows if row["budget"] == budget]
            if found:
                return budget, found
        return "", []


def _place(row: dict[str, str]) -> tuple:
    own = BUDGETS.index(row["budget"]), row["batch_norm"], row["variant"]
    return (*own, row["activation"], int(row["seed"]))


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
