"""Writes errors of published classifiers on changed images to image_changes.csv.

    python tools/change_images.py                         all published classifiers
    python tools/change_images.py --images=1000 TAG ...   the first 1000 test images

elu_zoo/data/image_changes.py defines the changes. Older rows of the measured tags are
replaced, and rows of unpublished tags removed. Run tools/results_table.py afterwards.
"""

from pathlib import Path

from absl import flags

from elu_zoo import errors, results, zoo
from elu_zoo.bin import flags as binary
from elu_zoo.data import load
from elu_zoo.evaluation import corruptions
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.evaluation.loss import Objective
from elu_zoo.weights import cards_measures, manifest

_FILE = flags.DEFINE_string(
    "file",
    str(Path(__file__).parents[1] / "configs" / "results" / "image_changes.csv"),
    "The CSV file to update.",
)
_IMAGES = flags.DEFINE_integer(
    "images", None, "Number of test images, from the first; by default all.", 1
)


def measure(entry: manifest.Entry, images: int | None) -> list[results.Row]:
    """Returns a classifier's rows, on its first `images` test images; None is all."""
    test = load.load(entry["dataset"]).test
    test = test if images is None else test.first(images)
    model = zoo.get_model(entry["model"], weights=entry["tag"])
    objective = Objective(manifest.loss(entry), entry["preprocessing"])
    described = {
        **{key: entry[key] for key in ("tag", "model", "dataset", "seed")},
        "config": entry["config"]["name"],
        "activation": manifest.variant(entry["arguments"]),
    }
    rows = corruptions.measure(Evaluator(model, objective), test)
    return [{k: str(v) for k, v in {**described, **row}.items()} for row in rows]


def main(argv: list[str]) -> None:
    published = manifest.published()
    classifiers = [t for t in manifest.list_weights() if published[t]["classes"]]
    path = Path(_FILE.value)
    tags = argv[1:] or classifiers
    for tag in tags:
        errors.check_choice("classifier", tag, classifiers)
    for tag in tags:
        others = set(classifiers) - {tag}
        rows = [row for row in results.read_file(path) if row["tag"] in others]
        rows += measure(published[tag], _IMAGES.value)
        rows.sort(key=lambda row: classifiers.index(row["tag"]))
        results.write(path, cards_measures.COLUMNS, rows)
        print(tag, cards_measures.means([r for r in rows if r["tag"] == tag]))


if __name__ == "__main__":
    binary.binary(main, lambda argv: None)()
