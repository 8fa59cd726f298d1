"""Old SavedModels and .keras files: made with one commit, checked with a later one.

    python tests/frozen/old_exports.py make FOLDER    # at the earlier commit
    python tests/frozen/old_exports.py check FOLDER   # at the later commit

The files hold megabytes, so they are not in the repository. `check` fails if a file does
not load, if its outputs differ by more than 1e-5 of the largest, or if a SavedModel holds
an operation that TensorFlow Serving does not have.
"""

import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import elu_zoo

TAGS = (
    "mnist_mlp_8x128.mnist_elu-7482e452",
    "mnist_autoencoder.mnist_elu-a7b9bf56",
    "elu_cifar_11.cifar100_elu-8cb788cb",
    "elu_cifar_11.cifar10_relu-b97ff377",
    "nin.cifar100_elu-9e36bb3f",
    "alexnet_cifar.cifar10_relu-992e8571",
)


def images(model: keras.Model) -> np.ndarray:
    """Returns eight raw images, the same at each call."""
    shape = (8, *model.input_shape[1:])
    return np.random.default_rng(0).integers(0, 256, shape).astype("uint8")


def make(folder: Path) -> None:
    for tag in TAGS:
        activation = tag.split("_")[-1].split("-")[0]
        model = elu_zoo.get_model(tag.split(".")[0], activation=activation, weights=tag)
        flags = f"--model={tag.split('.')[0]} --activation={activation} --weights={tag}"
        target = f"--export_dir={folder / 'saved_models' / tag}"
        command = [sys.executable, "-m", "elu_zoo.bin.export", *flags.split(), target]
        subprocess.run(command, check=True)
        model.save(folder / f"{tag}.keras")
        np.save(folder / f"{tag}.npy", model(images(model)))


def check(folder: Path) -> None:
    for tag in TAGS:
        expected = np.load(folder / f"{tag}.npy")
        model = keras.models.load_model(folder / f"{tag}.keras")
        versions = sorted((folder / "saved_models" / tag).glob("**/saved_model.pb"))
        loaded = tf.saved_model.load(versions[0].parent)
        serve = loaded.signatures["serving_default"]
        served = serve(images=tf.constant(images(model), tf.float32))
        outputs = {"keras": model(images(model)), "saved_model": served.get("logits")}
        operations = {op.type for op in serve.graph.get_operations()}
        assert not {name for name in operations if "Xla" in name}, operations
        for form, values in outputs.items():
            if values is not None:
                error = np.abs(np.asarray(values) - expected).max() / np.abs(expected).max()
                print(f"{tag} {form}: {error:.2g}")
                assert error <= 1e-5


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](Path(sys.argv[2]))
