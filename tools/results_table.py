"""Writes results into Markdown: tables in README.md files, and whole pages.

python tools/results_table.py           writes the files that are out of date
python tools/results_table.py --check   exits with 1 if a file is out of date

Tables of a README.md are between marks, see pages/marks.py. runs.md, speed.md and
cards.md of configs/results/ are written whole. overview.png and image_changes.png of
figures/ are drawn again if their points have changed.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from absl import app, flags
from pages import (
    cards,
    changes,
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
# A figure of a module is drawn from a field of the measurements.
_FIGURES = {overview: "runs", changes: "changes"}
_CHECK = flags.DEFINE_bool("check", False, "Write nothing; exit 1 if out of date.")


def contents(found: measurements.Measurements) -> Mapping[str, marks.Content]:
    """Returns the function that makes the text of a mark, by the name of the mark."""
    published = [manifest.published()[tag] for tag in manifest.list_weights()]
    networks = zoo.list_models()
    return {
        "weights": lambda link: weights.table(
            published, found.runs, found.paper, networks, link
        ),
        "tally": lambda link: counts.tally(found.claims, link),
        "finetune": lambda link: runs.finetuning_table(found.runs),
        "reliability": lambda link: counts.reliability(found.faults),
        "small_exports": lambda link: small_exports.table(found.small_exports),
        "speed": lambda link: speed.summary(found.times, link),
    }


def generate(root: Path) -> dict[str, str]:
    """Returns the contents of the generated files of a repository, by path.

    Raises:
        UsageError: the marks of a README.md are wrong, or a measurement is missing.
        CorruptError: an entry lacks a field of its card.
    """
    found = measurements.read(root)
    readmes = {p.relative_to(root).as_posix(): p for p in marks.readmes(root)}
    texts = {name: path.read_text() for name, path in readmes.items()}
    folder = measurements.FOLDER.as_posix()
    return {
        **marks.fill(texts, contents(found)),
        f"{folder}/cards.md": cards.page(found.runs, found.paper, found.changes),
        f"{folder}/runs.md": runs.page(found.runs, found.paper),
        f"{folder}/speed.md": speed.page(found.times),
        **{
            f"{figure.STEM.as_posix()}.csv": figure.text(getattr(found, field))
            for figure, field in _FIGURES.items()
        },
    }


def find_stale(root: Path, texts: Mapping[str, str]) -> list[str]:
    """Returns the paths of generated files that differ from `texts`, see `generate`."""
    names = [
        name
        for name, text in texts.items()
        if not (root / name).is_file() or (root / name).read_text() != text
    ]
    # The points decide: the bytes of a figure depend on matplotlib's version.
    for stem in (figure.STEM.as_posix() for figure in _FIGURES):
        if f"{stem}.csv" in names or not (root / f"{stem}.png").is_file():
            names.append(f"{stem}.png")
    return names


def write(root: Path) -> None:
    """Writes the generated files that are out of date."""
    texts, found = generate(root), measurements.read(root)
    names = find_stale(root, texts)
    for name in texts.keys() & set(names):
        files.write_bytes(root / name, texts[name].encode())
    for figure, field in _FIGURES.items():
        if f"{figure.STEM.as_posix()}.png" in names:
            figure.draw(getattr(found, field), root / figure.STEM)


def main(argv: list[str]) -> None:
    if not _CHECK.value:
        write(_ROOT)
        return
    names = find_stale(_ROOT, generate(_ROOT))
    remedy = "Run python tools/results_table.py."
    sys.exit(f"Not up to date: {', '.join(names)}. {remedy}" if names else 0)


if __name__ == "__main__":
    app.run(main)
