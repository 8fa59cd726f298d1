"""Writes results into Markdown: tables in README.md files, and whole pages.

python tools/results_table.py           writes the files that are out of date
python tools/results_table.py --check   exits with 1 if a file is out of date

Tables of a README.md and of tuning.md are between marks, see pages/marks.py. In
configs/results/ whole pages are generated: runs.md, speed.md and cards.md.
figures/overview.png and figures/image_changes.png are drawn again if their points have
changed.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from absl import app, flags
from pages import (
    cards,
    changes,
    comparison,
    counts,
    marks,
    measurements,
    overview,
    runs,
    small_exports,
    speed,
    weights,
)

from elu_zoo import files, zoo
from elu_zoo.weights import manifest

_ROOT = Path(__file__).resolve().parent.parent
# Each module draws its figure from one field of `Measurements`.
_FIGURES = {overview: "runs", changes: "changes"}
_CHECK = flags.DEFINE_bool("check", False, "Write nothing; exit 1 if a file is stale.")


def contents(tables: measurements.Measurements) -> Mapping[str, marks.Content]:
    """Returns the functions that make the text between marks, by name of the marks."""
    published = [manifest.published()[tag] for tag in manifest.list_weights()]
    networks = zoo.list_models()
    return {
        "weights": lambda link: (
            weights.table(published, tables.runs, tables.paper, networks, link)
            + f"\n\n{overview.caption(tables.runs, tables.paper, link)}"
        ),
        "comparison": lambda link: comparison.summary(tables.comparison, tables.tuning, link),
        "tally": lambda link: counts.tally(tables.claims, link),
        "finetune": lambda link: runs.finetuning_table(tables.runs),
        "sizes": lambda link: runs.sizes_table(tables.trials),
        "reliability": lambda link: counts.reliability(tables.faults),
        "digits": lambda link: counts.digits(tables.digits),
        "small_exports": lambda link: small_exports.table(tables.small_exports),
        "speed": lambda link: speed.summary(tables.times, link),
    }


def generate(root: Path) -> dict[str, str]:
    """Returns the contents of the generated files of a repository, by path.

    Raises:
        UsageError: the marks of a README.md are wrong, or a measurement is missing.
        CorruptError: an entry lacks a field of its card.
    """
    tables = measurements.read(root)
    marked = [*marks.readmes(root), root / measurements.FOLDER / "tuning.md"]
    readmes = {p.relative_to(root).as_posix(): p for p in marked}
    texts = {name: path.read_text() for name, path in readmes.items()}
    folder = measurements.FOLDER.as_posix()
    return {
        **marks.fill(texts, contents(tables)),
        f"{folder}/cards.md": cards.page(tables.runs, tables.paper, tables.changes),
        f"{folder}/runs.md": runs.page(tables.runs, tables.paper),
        f"{folder}/speed.md": speed.page(tables.times, tables.strategies),
        **{
            f"{figure.STEM.as_posix()}.csv": figure.text(getattr(tables, field))
            for figure, field in _FIGURES.items()
        },
    }


def find_stale(root: Path, texts: Mapping[str, str]) -> list[str]:
    """Returns the paths of files that differ from `texts`, the result of `generate`."""
    names = [
        name
        for name, text in texts.items()
        if not (root / name).is_file() or (root / name).read_text() != text
    ]
    # The points are compared, because a picture's bytes depend on matplotlib's version.
    for stem in (figure.STEM.as_posix() for figure in _FIGURES):
        if f"{stem}.csv" in names or not (root / f"{stem}.png").is_file():
            names.append(f"{stem}.png")
    return names


def write(root: Path) -> None:
    """Writes the generated files that are out of date."""
    texts, tables = generate(root), measurements.read(root)
    names = find_stale(root, texts)
    for name in texts.keys() & set(names):
        files.write_bytes(root / name, texts[name].encode())
    for figure, field in _FIGURES.items():
        if f"{figure.STEM.as_posix()}.png" in names:
            figure.draw(getattr(tables, field), root / figure.STEM)


def main(argv: list[str]) -> None:
    if not _CHECK.value:
        write(_ROOT)
        return
    names = find_stale(_ROOT, generate(_ROOT))
    remedy = "Run python tools/results_table.py."
    sys.exit(f"Not up to date: {', '.join(names)}. {remedy}" if names else 0)


if __name__ == "__main__":
    app.run(main)
