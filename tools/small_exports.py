"""Writes configs/results/small_exports.csv: quantized LiteRT files.

python tools/small_exports.py

Errors are of all test images. Times are of one image; each round runs all files of a
network in random order. Needs elu-zoo[litert], MNIST and CIFAR-100.
"""

import tempfile
from pathlib import Path

import numpy as np

from elu_zoo import results, zoo
from elu_zoo.benchmark import rounds
from elu_zoo.bin import flags as binary
from elu_zoo.data import load
from elu_zoo.data.dataset import Split
from elu_zoo.export import interchange, predictor, versions
from elu_zoo.layers import ZCAWhitening
from elu_zoo.weights import pretrained

FILE = Path(__file__).parents[1] / "configs/results/small_exports.csv"
NETWORKS = {"mnist_mlp_8x128": "mnist", "mnist_mlp_5x256": "mnist", "elu_cifar_11": "cifar100"}


def rows(name: str, test: Split, weights: pretrained.Pretrained, folder: Path) -> list[dict]:
    """Returns a row for each kind of file of a network."""
    model = zoo.get_model(name, weights=weights)
    described = predictor.description(model, name, weights)
    del described["classifier"]  # not an argument of export_interchange
    calls, sizes = {}, {}
    for kind in (None, *versions.QUANTIZATIONS):
        label = kind or "float32"
        path = interchange.export_interchange(
            model, folder, name=label, format="litert", quantize=kind, **described
        )
        calls[label] = interchange.load_litert(path / versions.LITERT)
        sizes[label] = (path / versions.LITERT).stat().st_size
    timed = {label: lambda call=call: call(test.images[:1]) for label, call in calls.items()}
    seconds = rounds.time_interleaved(timed, 20, warm=True)
    # The mean and the matrix of whitening.
    pixels = [np.prod(x.output.shape[1:]) for x in model.layers if isinstance(x, ZCAWhitening)]
    table = []
    for label, call in calls.items():
        whitening = sum(n * (n + 1) * (4 if label == "float32" else 2) for n in pixels)
        ratio, low, high = rounds.ratio(seconds[label], seconds["float32"])
        time = "1" if label == "float32" else f"{ratio:.2f} ({low:.2f} to {high:.2f})"
        logits = np.concatenate([call(part.images)["logits"] for part in test.parts(100)])
        table.append({
            "weights": weights.name,
            "kind": label,
            "test error (%)": f"{100 * np.mean(logits.argmax(1) != test.labels):.2f}",
            "network (MB)": f"{(sizes[label] - whitening) / 1e6:.2f}",
            "whitening (MB)": f"{whitening / 1e6:.2f}",
            "time of an image": time,
        })  # fmt: skip
    return table


def main(argv: list[str]) -> None:
    table = []
    for name, dataset in NETWORKS.items():
        weights, test = pretrained.find(name, dataset), load.load(dataset).test
        with tempfile.TemporaryDirectory() as folder:
            table += rows(name, test, weights, Path(folder))
    results.write(FILE, table[0], table)


if __name__ == "__main__":
    binary.binary(main, lambda argv: None)()
