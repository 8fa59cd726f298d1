"""Keras model -> ONNX or LiteRT file, by Keras' own exporters."""

import contextlib
import dataclasses
import importlib.util
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elu_zoo import errors, quiet
from elu_zoo.export import answers, checks, origin, versions
from elu_zoo.export.answers import Answer, Autoencoder
from elu_zoo.export.target import Target
from elu_zoo.layers.constant import in_graphs

INPUT = "images"

Outputs = dict[str, np.ndarray]


def load_onnx(path: str | os.PathLike) -> Callable[[np.ndarray], Outputs]:
    """Returns what ONNX Runtime answers for images, by the name of the output.

    Args:
        path: of a model.onnx that `export_interchange` wrote.
    """
    import onnxruntime

    session = onnxruntime.InferenceSession(
        str(path), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]

    def call(images):
        images = np.asarray(images, np.float32)
        return dict(zip(names, session.run(None, {INPUT: images}), strict=True))

    return call


def load_litert(path: str | os.PathLike) -> Callable[[np.ndarray], Outputs]:
    """Returns what LiteRT answers for images, by the name of the output.

    Args:
        path: of a model.tflite that `export_interchange` wrote.
    """
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path))
    with quiet.native():  # it names its delegate, once
        interpreter.allocate_tensors()
    runner = interpreter.get_signature_runner("serving_default")
    return lambda images: runner(**{INPUT: np.asarray(images, np.float32)})


@dataclasses.dataclass(frozen=True)
class Format:
    """A format, which is also the name of its extra.

    Attributes:
        file: the name of the model's file.
        packages: what writes and runs it.
        load: from the file to what it answers.
        tolerance: the largest |difference| of an image's outputs from the Keras
            model's, relative to the largest |value| of that output, or to 1.
    """

    file: str
    packages: tuple[str, ...]
    load: Callable[[Path], Callable[[np.ndarray], Outputs]]
    tolerance: float = checks.TOLERANCE


FORMATS = {
    # Whitening real images cancels large sums, and ONNX Runtime adds in another order:
    # over the CIFAR test sets up to 9.2e-5 of an image's largest logit, on noise 2e-6.
    "onnx": Format(versions.ONNX, ("tf2onnx", "onnxruntime"), load_onnx, 2e-4),
    "litert": Format(versions.LITERT, ("ai_edge_litert",), load_litert),
}


def export_interchange(
    model: keras.Model,
    directory: str | os.PathLike,
    *,
    name: str,
    format: str,
    class_names: Sequence[str] | None = None,
    autoencoder: Autoencoder | None = None,
    source: Mapping[str, Any] | None = None,
    version: int | None = None,
    replace: bool = False,
) -> Path:
    """Writes `model` into <directory>/<name>/<version>/, whole or not at all.

    The file is model.onnx or model.tflite, from `images`, raw ones, float32 of any
    batch size, to `logits`, of an autoencoder to `reconstructions` and `codes`, as
    of `answers.make`. Beside it lie labels.txt with the names of the classes, one a
    line, and elu_zoo.json, see `origin.write`. Before the folder gets its number, the
    format's runtime answers for the file, and is held against `model`, within the
    tolerance of `FORMATS`. Unlike a SavedModel the file does not refuse NaN.

    Args:
        model: as of `export_saved_model`, of float32 layers.
        directory: as of `export_saved_model`; no model's folder in it may hold
            versions of a SavedModel as well.
        name: the model's name.
        format: `onnx` or `litert`.
        class_names: of a classifier, one for each class, in the order of the outputs.
        autoencoder: of an autoencoder, instead of `class_names`.
        source: where the model comes from, for elu_zoo.json; see `origin.of_weights`.
        version: as of `export_saved_model`, and so `replace`.

    Returns:
        The version's folder.

    Raises:
        UsageError: the format's packages are not installed, the model is not of this
            form, the version exists already, or the name has another model's and
            `replace` is false.
        ResourceError: the disk refused.
        EluZooError: Keras cannot write the model in this format, or what was written
            answers otherwise.
    """
    if format not in FORMATS:
        raise errors.unknown("format", format, FORMATS)
    chosen = FORMATS[format]
    _check_installed(format)
    if keras.config.backend() != "tensorflow":
        raise errors.UsageError(
            f"{chosen.file} is written with KERAS_BACKEND=tensorflow, not "
            f"{keras.config.backend()}. Load the weights there; they are the same file."
        )
    answer = answers.make(model, class_names, autoencoder)
    if any(layer.compute_dtype != "float32" for layer in answer.model.layers):
        raise errors.UsageError(
            f"{chosen.file} is written of float32 layers, but the model has others. "
            "Build it in float32; the weights are the same."
        )
    target = Target(directory, name, chosen.file, version, source, replace)
    with target.written() as (path, temporary):
        file = temporary / chosen.file
        with tf.device("CPU:0"):
            pixels = checks.noise(answer.image_shape)
            expected = checks.expected_outputs(answer, pixels)
            with _failures(format):
                _write(answer, format, file)
                call = chosen.load(file)
                found = call(pixels)
                single = call(pixels[:1])
        bound = chosen.tolerance
        parity = checks.compare(expected, found, chosen.file, bound)
        first = {key: values[:1] for key, values in expected.items()}
        checks.compare(first, single, f"{chosen.file}, for one image,", bound)
        if answer.class_names:
            versions.write_labels(temporary / "labels.txt", answer.class_names)
        origin.write(
            temporary / Path(origin.FILE).name,
            answer,
            source=source,
            parity=parity,
            outputs={"serving_default": sorted(answer.compared)},
        )
    return path


class _Named(keras.Model):
    """From images to the compared outputs, by name."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(name="exported")
        self.network = answer.model
        self._answer = answer

    def call(self, images: Any, training: bool = False) -> dict[str, tf.Tensor]:
        outputs = self._answer.read(self.network(images, training=False))
        return {name: outputs[name] for name in self._answer.compared}


def _write(answer: Answer, format: str, file: Path) -> None:
    named = _Named(answer)
    spec = tf.TensorSpec((None, *answer.image_shape), tf.float32, INPUT)
    named(tf.zeros((1, *answer.image_shape)))
    constants = in_graphs() if format == "onnx" else contextlib.nullcontext()
    with warnings.catch_warnings(), constants:
        # Of what the converters use of NumPy and TensorFlow.
        warnings.simplefilter("ignore")
        named.export(str(file), format=format, verbose=False, input_signature=[spec])


def _check_installed(format: str) -> None:
    packages = FORMATS[format].packages
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise errors.UsageError(
            f"The format {format} needs {' and '.join(packages)}; not installed: "
            f'{", ".join(missing)}. Run: pip install "elu-zoo[{format}]"'
        )


@contextlib.contextmanager
def _failures(format: str) -> Iterator[None]:
    """Turns whatever converters and runtimes raise into one line."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise errors.EluZooError(
            f"The model cannot be written as {format} and run: "
            f"{type(error).__name__}: {reason}"
        ) from error
