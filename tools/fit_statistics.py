"""Fits the whitening statistics of the package.

python tools/fit_statistics.py cifar10 cifar100

The script writes one file per data set to elu_zoo/weights, and reports older files of
the same images. A data set takes about 15 s on two cores. The name of the file has a
hash of the content. The hash may differ between machines, because the last digits of
float64 eigenvectors do.
"""

from pathlib import Path

from absl import app

from elu_zoo.data import load, statistics
from elu_zoo.layers import statistics_file as stored

_WEIGHTS = Path(__file__).resolve().parent.parent / "elu_zoo" / "weights"


def main(argv: list[str]) -> None:
    for name in argv[1:]:
        data = load.load(name)
        fitted = statistics.fit(data.train.images, data.validation.images)
        path = stored.write(_WEIGHTS, data.fingerprint, fitted)
        others = {*_WEIGHTS.glob(f"{data.fingerprint}_zca-*.npz")} - {path}
        print(path)
        if others:
            print(f"Other files have the same images: {sorted(others)}. Keep one file.")


if __name__ == "__main__":
    app.run(main)
