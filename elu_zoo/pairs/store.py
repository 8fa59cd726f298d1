"""Results store of an experiment: a CSV file, independent of the folders of runs."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from elu_zoo import errors, files, results
from elu_zoo.pairs.spec import BUDGETS, Trial

Row = dict[str, Any]
_ARM = "budget", "activation", "batch_norm", "variant"
KEY = *_ARM, "seed", "epochs", "arm"


class Points:
    """Measured rows of each run, or with the key `("budget",)` of each budget."""

    def __init__(self, path: Path, columns: Sequence[str], key: Sequence[str] = KEY):
        self._path = path
        self._columns = (*key, *columns)
        self.rows: list[dict[str, str]] = results.read_file(path)

    def check(self) -> None:
        """Checks that the file has the columns of this store."""
        if self.rows and set(self.rows[0]) != set(self._columns):
            raise errors.DataError(
                f"{self._path} has other columns than this version measures. Expected: "
                f"{', '.join(self._columns)}. Received: {', '.join(self.rows[0])}. "
                "Move the file to another folder; its runs are then measured again."
            )

    def has(self, trial: Trial) -> bool:
        """Returns whether the rows of a run are stored."""
        key = trial.key
        return any(all(row[k] == key[k] for k in KEY) for row in self.rows)

    def put(self, trial: Trial, measured: Iterable[Row]) -> None:
        """Replaces the rows of a run.

        Rows of other seeds of the same arm with another config or other observers go.
        """
        key = trial.key
        self._put((key | row for row in measured), lambda row: _is_replaced(row, key), _order)

    def put_all(self, budget: str, computed: Iterable[Row]) -> None:
        """Replaces all rows of a budget."""
        new = ({"budget": budget} | row for row in computed)
        self._put(new, lambda row: row["budget"] == budget, lambda row: 0)

    def _put(self, new: Iterable[Row], is_replaced: Callable, order: Callable) -> None:
        """Adds rows to the file, which another process may have changed, in place of others."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with files.locked(self._path.parent):
            rows = [row for row in results.read_file(self._path) if not is_replaced(row)]
            self.rows = sorted([*rows, *map(self._cells, new)], key=order)
            results.write(self._path, self._columns, self.rows)

    def of_budget(self, budget: str) -> list[dict[str, str]]:
        """Returns the rows of a budget."""
        return [row for row in self.rows if row["budget"] == budget]

    def _cells(self, row: Row) -> dict[str, str]:
        return {column: _text(row.get(column, "")) for column in self._columns}


def _is_replaced(row: dict[str, str], key: dict[str, str]) -> bool:
    same_arm = all(row[name] == key[name] for name in _ARM)
    return same_arm and (row["seed"] == key["seed"] or row["arm"] != key["arm"])


def _order(row: dict[str, str]) -> tuple:
    arm = BUDGETS.index(row["budget"]), row["batch_norm"], row["variant"]
    return (*arm, row["activation"], int(row["seed"]))


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
