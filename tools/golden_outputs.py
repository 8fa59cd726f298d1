"""Adds the outputs of newly published weights to tests/weights/golden.json.

    python tools/golden_outputs.py

The outputs of a published tag must never change. Therefore existing rows are kept, and
tests compare the outputs of every version of the package with the rows.
"""

import json
from pathlib import Path

import numpy as np
from absl import app, flags

import elu_zoo
from elu_zoo import files
from elu_zoo.weights import manifest

_FILE = flags.DEFINE_string(
    "file",
    str(Path(__file__).parents[1] / "tests" / "weights" / "golden.json"),
    "The file to extend.",
)


def outputs(entry: manifest.Entry) -> list[list[float]]:
    """Returns the outputs of weights for four images of noise, to six digits."""
    shape = (4, *entry["arguments"]["input_shape"])
    images = np.random.default_rng(0).integers(0, 256, shape, "uint8")
    model = elu_zoo.get_model(entry["model"], weights=entry["tag"])
    flat = np.asarray(model(images)).reshape(len(images), -1)
    return [[float(f"{value:.6g}") for value in row] for row in flat]


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"Unexpected arguments: {argv[1:]}")
    path = Path(_FILE.value)
    golden = json.loads(path.read_text()) if path.exists() else {}
    missing = [tag for tag in manifest.list_weights() if tag not in golden]
    for tag in missing:
        golden[tag] = outputs(manifest.published()[tag])
        print(tag)
    if missing or not path.exists():
        files.write_json(path, golden)
    print(f"{len(missing)} tags added to {path}, {len(golden) - len(missing)} kept.")


if __name__ == "__main__":
    app.run(main)
