"""Export of a Keras model to ONNX or LiteRT by the exporters of Keras."""

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elu_zoo import errors, quiet
from elu_zoo.export import checks, named_outputs, origin, quantization, versions
from elu_zoo.export.named_outputs import Autoencoder, NamedOutputs
from elu_zoo.export.target import Target
from elu_zoo.layers.constant import embed_constants
from elu_zoo.models.cost import all_layers

INPUT = "images"

Outputs = dict[str, np.ndarray]


def load_onnx(path: str | os.PathLike) -> Callable[[np.ndarray], Outputs]:
    """Returns a function from images to the named outputs of a model.onnx."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]

    def call(images):
        images = np.asarray(images, np.float32)
        return dict(zip(names, session.run(None, {INPUT: images}), strict=True))

    return call


def load_litert(path: str | os.PathLike) -> Callable[[np.ndarray], Outputs]:
    """Returns a function from images to the named outputs of a model.tflite."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path))
    with quiet.native():  # The interpreter prints the name of its delegate.
        interpreter.allocate_tensors()
    runner = interpreter.get_signature_runner("serving_default")
    return lambda images: runner(**{INPUT: np.asarray(images, np.float32)})


# The function that loads a format's file, and the tolerance of `checks.compare`.
_FORMATS = {
    # ONNX Runtime adds numbers in another order than TensorFlow, and whitening cancels
    # large sums. The logits differ by up to 9.2e-5 of the largest logit of an image on
    # the CIFAR test sets, and by up to 2e-6 on noise.
    "onnx": (load_onnx, 2e-4),
    "litert": (load_litert, checks.TOLERANCE),
}


def export_interchange(
    model: keras.Model,
    directory: str | os.PathLike,
    *,
    name: str,
    format: str,
    class_names: Sequence[str] | None = None,
    autoencoder: Autoencoder | None = None,
    temperature: float = 1.0,
    source: Mapping[str, Any] | None = None,
    version: int | None = None,
    replace: bool = False,
    quantize: str | None = None,
) -> Path:
    """Writes a model as ONNX or LiteRT to <directory>/<name>/<version>/, atomically.

    The file model.onnx or model.tflite maps `images`, raw 0..255, float32, of any batch size, to
    `logits`, or to `reconstructions` and `codes`. labels.txt and elu_zoo.json are beside it. The
    outputs of the format's runtime are compared with those of `model` before the folder gets its
    number. Unlike a SavedModel, the file does not refuse NaN. All layers of `model` must compute
    in float32, and all versions of a name have one format. Other arguments, the result and the
    other errors are those of `export_saved_model`.

    Args:
        format: `onnx` or `litert`.
        quantize: `dynamic` or `float16` for a smaller LiteRT file; None for float32.
    """
    errors.check_choice("format", format, _FORMATS)
    (load, tolerance), file_name = _FORMATS[format], versions.FILES[format]
    versions.check_format(format, quantize)
    function = named_outputs.make(model, class_names, autoencoder, None, temperature)
    if any(x.compute_dtype != "float32" for x in all_layers(function.model)):
        raise errors.UsageError(
            f"{file_name} needs a model of float32 layers, but the model has other "
            "layers. Build the model in float32, with the same weights."
        )
    if quantize is not None:
        quantization.check(function)
    target = Target(directory, name, file_name, version, source, replace)
    with target.write_version() as (path, temporary):
        file = temporary / file_name
        with tf.device("CPU:0"):
            pixels = checks.noise(function.image_shape)
            expected = checks.expected_outputs(function, pixels)
            with _converter_errors(format):
                _write(function, format, file, quantize)
                call = load(file)
                outputs = call(pixels)
                single = call(pixels[:1])
        bound = quantization.TOLERANCE.get(quantize, tolerance)
        parity = checks.compare(expected, outputs, file_name, bound)
        expected_single = {key: values[:1] for key, values in expected.items()}
        checks.compare(expected_single, single, f"{file_name}, for one image,", bound)
        if function.class_names:
            versions.write_labels(temporary / "labels.txt", function.class_names)
        origin.write(
            temporary / Path(origin.FILE).name,
            function,
            source=source,
            parity=parity,
            outputs={"serving_default": sorted(function.compared)},
            quantization=quantize,
        )
    return path


class _Named(keras.Model):
    """A model from images to the compared outputs by name."""

    def __init__(self, function: NamedOutputs) -> None:
        super().__init__(name="exported")
        self.network = function.model
        self._function = function

    def call(self, images: Any, training: bool = False) -> dict[str, tf.Tensor]:
        outputs = self._function.read(self.network(images, training=False))
        return {name: outputs[name] for name in self._function.compared}


def _write(function: NamedOutputs, format: str, file: Path, quantize: str | None) -> None:
    def convert(part: NamedOutputs, **options: Any) -> bytes:
        _convert(part, format, file, options)
        return file.read_bytes()

    if quantize is None:
        convert(function)
    else:
        file.write_bytes(quantization.write(function, quantize, convert))


def _convert(function: NamedOutputs, format: str, file: Path, options: dict[str, Any]) -> None:
    named = _Named(function)
    shape = function.image_shape
    spec = tf.TensorSpec((None, *shape), tf.float32, INPUT)
    named(tf.zeros((1, *shape)))
    constants = embed_constants() if format == "onnx" else contextlib.nullcontext()
    # The converters use deprecated parts of NumPy and TensorFlow. The quantizer prints
    # its options.
    with warnings.catch_warnings(), constants, quiet.native():
        warnings.simplefilter("ignore")
        named.export(str(file), format=format, verbose=False, input_signature=[spec], **options)


@contextlib.contextmanager
def _converter_errors(format: str) -> Iterator[None]:
    """Raises any error of a converter or runtime as an `EluZooError` of one line."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise errors.EluZooError(
            f"The model cannot be written as {format} and run: {type(error).__name__}: {reason}"
        ) from error
