"""What a SavedModel has to pass before it gets its version number."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from elu_zoo import errors
from elu_zoo.export.answers import FEATURES, Answer

# They call back into the Python process that made them.
_PYTHON_OPS = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
TOLERANCE = 1e-5

Parity = dict[str, dict[str, float]]


def check(directory: Path, answer: Answer) -> Parity:
    """Checks a written SavedModel: its graph, that it loads, and its parity.

    Returns:
        As `check_parity`.

    Raises:
        EluZooError: see `check_graph` and `check_parity`; or it does not run.
    """
    check_graph(directory)
    # An accelerator may choose its kernels, and with them the precision, differently
    # for the model and for its export.
    with tf.device("CPU:0"):
        try:
            saved = tf.saved_model.load(str(directory))
            return check_parity(answer, saved.signatures)
        except tf.errors.OpError as error:
            raise errors.EluZooError(
                f"The written SavedModel does not run: {error.message}"
            ) from error


def check_graph(directory: Path) -> None:
    """Checks that stock TensorFlow, without an XLA compiler, can run every node.

    Args:
        directory: the folder with saved_model.pb.

    Raises:
        EluZooError: a function must be compiled by XLA, or an op is a Python
            callback or not among TensorFlow's own.
        CorruptError: saved_model.pb cannot be parsed.
    """
    saved = saved_model_pb2.SavedModel()
    try:
        saved.ParseFromString((directory / "saved_model.pb").read_bytes())
    except DecodeError as error:
        raise errors.CorruptError(f"{directory}/saved_model.pb: {error}.") from error
    for graph in (meta.graph_def for meta in saved.meta_graphs):
        nodes = list(graph.node)
        for function in graph.library.function:
            if function.attr["_XlaMustCompile"].b:
                raise errors.EluZooError(
                    f"The function {function.signature.name} of the graph must be "
                    "compiled by XLA, which a server may lack. Export the plain form "
                    "of the layer, without jit_compile=True."
                )
            nodes.extend(function.node_def)
        for node in nodes:
            if node.op in _PYTHON_OPS or not hasattr(tf.raw_ops, node.op):
                raise errors.EluZooError(
                    f"The node {node.name} is a {node.op}, which a server does not "
                    "have. Use TensorFlow's own ops in every layer."
                )


def check_parity(answer: Answer, signatures: Any) -> Parity:
    """Checks that every signature gives the answer of the Keras model, see `compare`.

    Args:
        answer: of the Keras model.
        signatures: of the loaded SavedModel.

    Returns:
        As `compare`, of each output the signature that differs most.

    Raises:
        As `expected_outputs` and `compare`.
    """
    pixels = noise(answer.image_shape)
    expected = expected_outputs(answer, pixels)
    images = tf.constant(pixels, tf.float32)
    encoded = tf.stack([tf.io.encode_png(image) for image in pixels])
    batches = [
        ("serving_default", {"images": images}, answer.compared),
        ("serve_bytes", {"image_bytes": encoded}, answer.compared),
    ]
    if answer.has_features:
        batches.append((FEATURES, {"images": images}, (FEATURES,)))
    parity = {}
    for signature, batch, names in batches:
        found = {k: v.numpy() for k, v in signatures[signature](**batch).items()}
        wanted = {name: expected[name] for name in names}
        for name, row in compare(wanted, found, f"the signature {signature}").items():
            worst = parity.setdefault(name, row)
            if row["difference"] > worst["difference"]:
                parity[name] = row
    return parity


def noise(shape: tuple[int, int, int]) -> np.ndarray:
    """Returns the batch of a check: three images of seeded noise and a black one."""
    images = np.random.default_rng(0).integers(0, 256, (3, *shape), np.uint8)
    return np.concatenate([images, np.zeros((1, *shape), np.uint8)])


def expected_outputs(answer: Answer, pixels: np.ndarray) -> dict[str, np.ndarray]:
    """Returns what the Keras model answers, those outputs that are compared.

    Raises:
        UsageError: the model's output is read out already: it is probabilities, or
            pixels, where logits are expected.
        EluZooError: values that are not finite.
    """
    call = functools.partial(answer.model, training=False)
    if any(layer.compute_dtype != "float32" for layer in answer.model.layers):
        # Of reduced precision a graph rounds less often than eager layers do; an
        # export can agree with the model's own graph only.
        call = tf.function(call)
    outputs = call(tf.constant(pixels, tf.float32))
    answered = answer.read(outputs)
    names = (*answer.compared, *([FEATURES] if answer.has_features else []))
    expected = {name: answered[name].numpy() for name in names}
    for name, values in expected.items():
        if not np.isfinite(values).all():
            raise errors.EluZooError(
                f"The model's {name} for noise images are not finite."
            )
    _check_not_read_out(answer.readout, keras.tree.flatten(outputs)[0])
    return expected


def compare(
    expected: Mapping[str, np.ndarray],
    found: Mapping[str, np.ndarray],
    source: str,
    tolerance: float = TOLERANCE,
) -> Parity:
    """Checks outputs by the rule for exports.

    The largest |difference| is at most tolerance * max(1, largest |value|).

    Args:
        expected: outputs of the Keras model by name.
        found: outputs of its export.
        source: what of the export gave them.
        tolerance: relative to the largest value.

    Returns:
        The largest `difference` and how much was `allowed`, for each of `expected`.

    Raises:
        EluZooError: a difference is too large.
    """
    parity = {}
    for name, values in expected.items():
        limit = tolerance * max(1.0, float(np.abs(values).max()))
        difference = float(np.abs(found[name] - values).max())
        # Written so that a NaN fails.
        if not difference <= limit:
            raise errors.EluZooError(
                f"The {name} of {source} differ by {difference:.3g} from the Keras "
                f"model's; at most {limit:.3g} is allowed."
            )
        parity[name] = {"difference": difference, "allowed": limit}
    return parity


def _check_not_read_out(readout: str, output: Any) -> None:
    values = keras.ops.convert_to_numpy(output).astype(np.float32)
    if readout == "softmax":
        done = np.all(values >= 0) and np.allclose(values.sum(-1), 1, atol=1e-3)
    else:
        done = readout == "sigmoid" and 0 <= values.min() < values.max() <= 1
    if done:
        kind = "probabilities" if readout == "softmax" else "pixels in [0, 1]"
        raise errors.UsageError(
            f"The model returns {kind}; an export takes logits. Build it with "
            "classifier_activation=None."
        )
