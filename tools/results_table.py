"""Writes measurements between the marks of README.md, the guides and configs/results.

python tools/results_table.py           writes the files that are out of date
python tools/results_table.py --check   exits with 1 if a file is out of date
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from absl import app, flags
from pages import cost, runs, speed, units, weights, worth

from elu_zoo import errors, files, results, zoo
from elu_zoo.benchmark import report
from elu_zoo.pairs import tables
from elu_zoo.paper.claims import VERDICTS
from elu_zoo.weights import manifest

_ROOT = Path(__file__).resolve().parent.parent
_FOLDER = "configs/results"
_FIRST = "On the same images, before the recipe got its warm-up and a finer search"
# The file of configs/results that is the table of a guide, by the guide's folder.
_GUIDES = {"export": "small_exports", "models": "digits", "training": "reliability"}
_MARKED = re.compile(
    r"(<!-- (\w+): begin \(tools/results_table\.py\) -->\n)(.*?)(<!-- \2: end -->)", re.DOTALL
)
_CHECK = flags.DEFINE_bool("check", False, "Write nothing; exit 1 if a file is stale.")


def fill(page: str, text: str, contents: Mapping[str, str]) -> str:
    """Returns the text of a page with `contents` between the marks of their names."""
    names = [match[2] for match in _MARKED.finditer(text)]
    marks = text.count("(tools/results_table.py) -->")
    if sorted(names) != sorted(contents) or marks != len(names):
        raise errors.UsageError(
            f"{page} must have each of the pairs of marks {', '.join(contents)} once. "
            f"Received: {', '.join(names)}."
        )
    return _MARKED.sub(lambda match: f"{match[1]}{contents[match[2]]}\n{match[4]}", text)


def tally(claims: runs.Rows) -> str:
    """Returns a line with the number of the paper's claims that got each verdict."""
    judged = [row["verdict"] for row in claims]
    counts = ", ".join(f"{judged.count(v)} {v}" for v in VERDICTS if v in judged)
    link = f"{_FOLDER}/reproduction.md#the-papers-claims"
    return f"Of {len(judged)} claims of the paper: {counts}. [Each with its tests]({link})."


def generate(root: Path) -> dict[str, str]:
    """Returns the texts of the generated files of a repository, by path."""
    folder = root / _FOLDER
    measured, paper, claims = (
        results.read_file(folder / f"{name}.csv") for name in ("results", "paper", "claims")
    )
    first = results.read_file(folder / "compare" / "without_warm_up.csv")
    compared = results.read_file(folder / "compare" / "compare.csv")
    times = report.read(folder / "benchmark.csv")
    published = [manifest.published()[tag] for tag in manifest.list_weights()]
    missing = weights.missing(published, zoo.list_models())
    pages = {
        "README.md": {
            "worth": worth.table(measured, {"": compared, ", no warm-up": first}, paper),
            "weights": f"{weights.table(published, measured)}\n\n{missing}",
            "units": f"{units.summary(compared)} {_FIRST}: {units.summary(first)}",
            "tally": tally(claims),
            "speed": speed.summary(times),
        },
        f"{_FOLDER}/results.md": {
            # The cards are made before the table, because making them checks the entries.
            "cards": weights.cards(published, measured),
            "files": weights.files_table(published, measured, paper),
            "runs": runs.table(measured, paper),
            "cost": cost.table(published, results.read_file(folder / "airbench.csv")),
            **speed.measured(times),
        },
    }
    for guide, name in _GUIDES.items():
        rows = results.read_file(folder / f"{name}.csv")
        table = tables.markdown(list(rows[0]), [row.values() for row in rows])
        pages[f"elu_zoo/{guide}/README.md"] = {name: table}
    return {page: fill(page, (root / page).read_text(), pages[page]) for page in pages}


def find_stale(root: Path, texts: Mapping[str, str]) -> list[str]:
    """Returns the paths of files that differ from `texts`, the result of `generate`."""
    return [name for name, text in texts.items() if (root / name).read_text() != text]


def main(argv: list[str]) -> None:
    texts = generate(_ROOT)
    if (names := find_stale(_ROOT, texts)) and _CHECK.value:
        sys.exit(f"Not up to date: {', '.join(names)}. Run python tools/results_table.py.")
    for name in names:
        files.write_bytes(_ROOT / name, texts[name].encode())


if __name__ == "__main__":
    app.run(main)
