"""The measured points of an experiment as a CSV file that outlives its runs."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from elu_zoo import errors, results
from elu_zoo.paper.run.spec import BUDGETS, Trial

Row = dict[str, Any]
_ARM = "budget", "activation", "batch_norm", "variant"
KEY = *_ARM, "seed", "epochs", "arm"


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

    def check(self) -> None:
        """Checks that rows can be added: before they are measured.

        Raises:
            DataError: the file has other columns.
        """
        if self.rows and set(self.rows[0]) != set(self._columns):
            raise errors.DataError(
                f"{self._path} has other columns than this version measures. Expected: "
                f"{', '.join(self._columns)}. Received: {', '.join(self.rows[0])}. "
                "Move the file away, and its runs are measured again."
            )

    def has(self, trial: Trial) -> bool:
        """Whether the points of this run are there."""
        key = trial.key
        return any(all(row[k] == key[k] for k in KEY) for row in self.rows)

    def put(self, trial: Trial, measured: Iterable[Row]) -> None:
        """Writes the points of a run.

        Those of its arm that are of another config, or were measured another way, no
        longer belong to it.
        """
        key = trial.key
        kept = [row for row in self.rows if not _replaced(row, key)]
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

    def of_budget(self, budget: str) -> list[dict[str, str]]:
        """Returns the rows of a budget."""
        return [row for row in self.rows if row["budget"] == budget]


def _replaced(row: dict[str, str], key: dict[str, str]) -> bool:
    same_arm = all(row[name] == key[name] for name in _ARM)
    return same_arm and (row["seed"] == key["seed"] or row["arm"] != key["arm"])


def _place(row: dict[str, str]) -> tuple:
    own = BUDGETS.index(row["budget"]), row["batch_norm"], row["variant"]
    return (*own, row["activation"], int(row["seed"]))


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
