"""Functions that write small weight files, their entries and a manifest, for tests."""

import json
from pathlib import Path

import elu_zoo
from elu_zoo import activations, files, registry
from elu_zoo.models import cost
from elu_zoo.weights import hdf5, manifest

MODEL = "mnist_mlp_8x128"
WIDTH = 0.1
CLASSES = [f"digit {i}" for i in range(10)]


def make(dataset="mnist", *, activation="elu", batch_norm=False, seed=3, **changes):
    """Returns the entry, the content of the weight file, and the model, a small MLP."""
    arguments = {
        "activation": activations.describe(activation),
        "batch_norm": batch_norm,
        "num_classes": 10,
        "input_shape": [28, 28, 1],
        "width": WIDTH,
    }
    model = elu_zoo.get_model(MODEL, seed=seed, **arguments, preprocessing=True)
    fields = {"preprocessing": registry.entry(MODEL).preprocessing, "seed": seed, **changes}
    return *describe(model, dataset, arguments, **{"classes": CLASSES, **fields}), model


def describe(model, dataset, arguments, /, **changes):
    """Returns the entry and the content of the weight file of a model."""
    content = hdf5.write(model)
    sha256 = files.sha256(content)
    entry = dict.fromkeys(manifest.FIELDS, "")
    entry |= {
        "format": manifest.FORMAT,
        "tag": manifest.tag(changes.get("model", model.name), dataset, arguments, sha256),
        "model": model.name,
        "dataset": dataset,
        "arguments": arguments,
        "sha256": sha256,
        "bytes": len(content),
        "parameters": cost.parameters(model),
        "schedule": "paper",
        "schedule_share": 1.0,
        "epochs": 300,
        "config": {"train": {"loss": "softmax_cross_entropy"}},
        "metrics": {"test_error_percent": 2.0},
        "sources": [],
        **changes,
    }
    return signed(entry), content


def signed(entry):
    """Returns a copy of an entry with the hash of its fields."""
    return {**entry, manifest.MEANING_HASH: manifest.meaning_hash(entry)}


def write(folder: Path, entry, content) -> Path:
    """Writes the weight file and the entry beside it, with the hash of its fields."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (entry["tag"] + manifest.SUFFIX)
    path.write_bytes(content)
    path.with_name(entry["tag"] + ".json").write_text(json.dumps(signed(entry)))
    return path


def publish(monkeypatch, home: Path, *made) -> None:
    """Replaces the manifest by results of `make`, and writes them to `home`/weights."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(home))
    for entry, content, _ in made:
        write(home / "weights", entry, content)
    table = {entry["tag"]: entry for entry, _, _ in made}
    monkeypatch.setattr(manifest, "published", lambda: table)


def read(path: Path, model, sha256: str | None = None) -> hdf5.Arrays:
    """Reads a weight file for a model; by default the hash is not checked."""
    return hdf5.read(path, hdf5.shapes(model), sha256)
