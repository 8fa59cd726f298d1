"""Fits the whitening statistics of the package.

python tools/fit_statistics.py cifar10 cifar100

Writes one file per data set to elu_zoo/weights/files, named by a hash of its content. The hash
may differ between machines, as the last digits of float64 eigenvectors do: keep one file
per data set.
"""

from pathlib import Path

from absl import app

from elu_zoo.data import load, statistics
from elu_zoo.layers import statistics_file as stored

WEIGHTS = Path(__file__).resolve().parent.parent / "elu_zoo/weights/files"


def main(argv: list[str]) -> None:
    for name in argv[1:]:
        data = load.load(name)
        fitted = statistics.fit(data.train.images, data.validation.images)
        print(stored.write(WEIGHTS, data.fingerprint, fitted))


if __name__ == "__main__":
    app.run(main)
