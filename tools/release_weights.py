"""Takes finished runs into the repository: rows of results, and weights that ship.

python tools/release_weights.py runs/mnist_mlp_8x128/elu-s0 ...
python tools/release_weights.py --results_only runs/mnist_mlp_8x128/elu-s1 ...

A run becomes a row of configs/results.csv, once. Unless --results_only is given, its
weight file is copied to elu_zoo/weights/ with its entry, which the manifest lists.
"""

import csv
import io
import json
import shutil
from pathlib import Path

from absl import app, flags

from elu_zoo import errors, files
from elu_zoo.training import objective, outcome
from elu_zoo.weights import entries

_ROOT = Path(__file__).resolve().parent.parent
_RESULTS = _ROOT / "configs" / "results.csv"
_WEIGHTS = _ROOT / "elu_zoo" / "weights"
_LIMIT_BYTES = 45_000_000
COLUMNS = (
    "config model dataset activation batch_norm seed schedule epochs schedule_share "
    "backend commit steps train_loss validation_loss validation_error_percent "
    "validation_squared_error test_loss test_error_percent test_squared_error "
    "wall_time_seconds hardware sha256"
).split()

_RESULTS_ONLY = flags.DEFINE_bool("results_only", False, "Add rows, ship no weights.")


def row(workdir: Path, entry: entries.Entry) -> dict[str, object]:
    """Returns the row of a finished run."""
    last = (workdir / "metrics.jsonl").read_text().splitlines()[-1]
    return {
        **{key: entry[key] for key in COLUMNS if key in entry},
        **entry["metrics"],
        "config": entry["config"]["name"],
        "activation": entry["arguments"]["activation"]["name"],
        "batch_norm": entry["arguments"]["batch_norm"],
        "steps": entry["step"],
        "train_loss": json.loads(last)["train_loss"],
    }


def add_row(new: dict[str, object]) -> None:
    """Adds a row to the results, unless the run is there already."""
    rows = []
    if _RESULTS.is_file():
        rows = list(csv.DictReader(_RESULTS.read_text().splitlines()))
    if any(old["sha256"] == new["sha256"] for old in rows):
        return
    rows.append(new)
    rows.sort(key=lambda r: (r["config"], str(r["batch_norm"]), int(r["seed"])))
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    files.write_bytes(_RESULTS, text.getvalue().encode())


def ship(workdir: Path, entry: entries.Entry) -> None:
    """Copies weights and entry into the package and lists them."""
    name = entry["tag"] + entries.SUFFIX
    # Whitening statistics are carried as well.
    kinds = "*" + entries.SUFFIX, "*.npz"
    carried = sum(p.stat().st_size for kind in kinds for p in _WEIGHTS.glob(kind))
    if carried + entry["bytes"] > _LIMIT_BYTES:
        raise errors.ResourceError(
            f"With {name} the package would carry {carried + entry['bytes']} bytes; "
            f"{_LIMIT_BYTES} is the limit."
        )
    if entry["config"]["smoke"]:
        raise errors.UsageError(f"{workdir} is a smoke run; its weights do not ship.")
    statistics = entry["preprocessing"].get("statistics")
    if statistics and not (_WEIGHTS / f"{statistics}.npz").is_file():
        raise errors.UsageError(
            f"{name} needs the statistics {statistics}, which do not ship. Train with "
            "those that do, or run tools/fit_statistics.py."
        )
    shutil.copyfile(workdir / name, _WEIGHTS / name)
    files.write_json(_WEIGHTS / f"{entry['tag']}.json", entry)
    listed = {**entries.manifest(), entry["tag"]: entry}
    files.write_json(_WEIGHTS / "manifest.json", {"entries": listed})
    entries.manifest.cache_clear()


def main(argv: list[str]) -> None:
    for path in map(Path, argv[1:]):
        entry = outcome.find(path)
        if entry is None:
            raise errors.UsageError(f"{path} is not the folder of a finished run.")
        add_row(row(path, entry))
        if not _RESULTS_ONLY.value:
            ship(path, entry)
        print(f"{entry['tag']}: {objective.describe(entry['metrics'], 'test_')}")


if __name__ == "__main__":
    app.run(main)
