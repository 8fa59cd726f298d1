"""Fits the whitening statistics that ship with the package.

python tools/fit_statistics.py cifar10 cifar100

Each data set's file is written beside the weights under the name of its content. If
there is an older one of the same images, which weights may name, the tool says so. It
takes about 15 s
a data set on two cores. float64 eigenvectors differ between machines in their last
digits, so that another machine's file may have another name.
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
        path = stored.write(_WEIGHTS, data.images, fitted)
        others = {*_WEIGHTS.glob(f"{data.images}_zca-*.npz")} - {path}
        print(path)
        if others:
            print(f"There is another file of these images: {sorted(others)}. Keep one.")


if __name__ == "__main__":
    app.run(main)
