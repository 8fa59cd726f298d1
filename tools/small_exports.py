"""Measures quantized LiteRT files: error, size, and time per image.

python tools/small_exports.py                 measures all networks
python tools/small_exports.py elu_cifar_11    measures one network, keeps other rows

Writes configs/results/small_exports.csv. Errors are of all test images. Times are of
one image; each round runs all files of a network in random order. Needs
elu-zoo[litert], and MNIST and CIFAR-100 in $TFDS_DATA_DIR.
"""

import concurrent.futures
import csv
import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import elu_zoo
from elu_zoo import errors, files, results
from elu_zoo.benchmark import machine, rounds
from elu_zoo.bin import flags as binary
from elu_zoo.data import load
from elu_zoo.data.dataset import Split
from elu_zoo.export import interchange, predictor, versions
from elu_zoo.layers import ZCAWhitening
from elu_zoo.weights import pretrained

_ROOT = Path(__file__).resolve().parent.parent
_CSV = _ROOT / "configs" / "results" / "small_exports.csv"
_NETWORKS = (
    ("mnist_mlp_8x128", "mnist"),
    ("mnist_mlp_5x256", "mnist"),
    ("elu_cifar_11", "cifar100"),
)
_KINDS = (None, *versions.QUANTIZATIONS)
_BATCH = 100
_SECONDS = 20


def measured(name: str, dataset: str, folder: Path) -> list[dict[str, Any]]:
    """Returns a row for each kind of quantization of a network."""
    weights = pretrained.find(name, dataset)
    model = elu_zoo.get_model(name, weights=weights)
    described = predictor.description(model, name, weights)
    del described["classifier"]  # not an argument of export_interchange
    test = load.load(dataset).test
    paths, calls = {}, {}
    for kind in _KINDS:
        label = kind or "float32"
        path = interchange.export_interchange(
            model,
            folder,
            name=f"{name}_{dataset}_{label}",
            format="litert",
            **described,
            quantize=kind,
        )
        paths[label] = path / versions.LITERT
        calls[label] = interchange.load_litert(paths[label])
    image = test.images[:1]
    timed = {label: lambda call=call: call(image) for label, call in calls.items()}
    seconds = rounds.time_interleaved(timed, _SECONDS, warm=True)
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        wrong = pool.map(lambda call: _error_percent(call, test), calls.values())
        error_percent = dict(zip(calls, wrong, strict=True))
    rows = []
    for label, path in paths.items():
        whitening = _whitening_bytes(model, label)
        ratio, low, high = rounds.ratio(seconds[label], seconds["float32"])
        row = {
            "model": name,
            "dataset": dataset,
            "weights": weights.name,
            "quantization": label,
            "images": len(test),
            "error_percent": round(error_percent[label], 2),
            "network_bytes": path.stat().st_size - whitening,
            "whitening_bytes": whitening,
            "milliseconds": float(f"{1e3 * np.median(seconds[label]):.3g}"),
            "rounds": len(seconds[label]),
            "ratio": round(ratio, 3),
            "ratio_low": round(low, 3),
            "ratio_high": round(high, 3),
            "machine": machine.line(),
        }
        print(row, flush=True)
        rows.append(row)
    return rows


def _whitening_bytes(model: Any, label: str) -> int:
    """Returns the bytes of the mean and matrix of a model's whitening; 0 without it."""
    sizes = [
        int(np.prod(layer.output.shape[1:]))
        for layer in model.layers
        if isinstance(layer, ZCAWhitening)
    ]
    width = 4 if label == "float32" else 2  # bytes per value
    return sum(n * (n + 1) * width for n in sizes)


def _error_percent(call: Any, split: Split) -> float:
    wrong = sum(
        np.count_nonzero(call(part.images)["logits"].argmax(1) != part.labels)
        for part in split.parts(_BATCH)
    )
    return 100 * float(wrong) / len(split)


def main(argv: list[str]) -> None:
    names = argv[1:] or [name for name, _ in _NETWORKS]
    for name in names:
        errors.check_choice("network", name, dict(_NETWORKS))
    rows = [row for row in results.read_file(_CSV) if row["model"] not in names]
    for name, dataset in _NETWORKS:
        if name in names:
            with tempfile.TemporaryDirectory() as folder:
                rows += measured(name, dataset, Path(folder))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    files.write_bytes(_CSV, buffer.getvalue().encode())


if __name__ == "__main__":
    binary.binary(main, lambda argv: None)()
