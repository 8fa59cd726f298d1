"""The checks of a SavedModel before it gets its version number."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from elu_zoo import errors
from elu_zoo.export.named_outputs import FEATURES, NamedOutputs
from elu_zoo.models.cost import all_layers

# Ops that call back into the Python process that traced them.
_PYTHON_OPS = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
TOLERANCE = 1e-5

Parity = dict[str, dict[str, float]]  # output -> {"difference": ..., "allowed": ...}


def check(directory: Path, function: NamedOutputs) -> Parity:
    """Checks the graph and the outputs of a written SavedModel."""
    check_graph(directory)
    # On an accelerator the model and the SavedModel may use kernels of different
    # precision.
    with tf.device("CPU:0"):
        try:
            saved = tf.saved_model.load(str(directory))
            return check_parity(function, saved.signatures)
        except tf.errors.OpError as error:
            raise errors.EluZooError(
                f"The written SavedModel does not run: {error.message}"
            ) from error


def check_graph(directory: Path) -> None:
    """Checks that stock TensorFlow can run every node without an XLA compiler."""
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
                    "compiled by XLA, which a server may lack. Use stock operations; "
                    "the layer elu_zoo.ELU instead of the function elu_xla."
                )
            nodes.extend(function.node_def)
        for node in nodes:
            if node.op in _PYTHON_OPS or not hasattr(tf.raw_ops, node.op):
                raise errors.EluZooError(
                    f"The node {node.name} is a {node.op}, which a server does not "
                    "have. Use stock TensorFlow ops in every layer."
                )


def check_parity(function: NamedOutputs, signatures: Any) -> Parity:
    """Compares the outputs of every signature, by name, with those of the Keras model."""
    pixels = noise(function.image_shape)
    expected = expected_outputs(function, pixels)
    images = tf.constant(pixels, tf.float32)
    encoded = tf.stack([tf.io.encode_png(image) for image in pixels])
    batches = [
        ("serving_default", {"images": images}, function.compared),
        ("serve_bytes", {"image_bytes": encoded}, function.compared),
    ]
    if function.has_features:
        batches.append((FEATURES, {"images": images}, (FEATURES,)))
    parity: dict[str, Any] = {}
    for signature, batch, names in batches:
        outputs = {k: v.numpy() for k, v in signatures[signature](**batch).items()}
        reference = {name: expected[name] for name in names}
        _check_labels(function.class_names, outputs)
        source = f"the signature {signature}"
        for name, row in compare(reference, outputs, source).items():
            worst = parity.setdefault(name, row)
            if row["difference"] > worst["difference"]:
                parity[name] = row
    return parity


def _check_labels(class_names: Sequence[str], outputs: Mapping[str, np.ndarray]) -> None:
    if "labels" in outputs:
        names = [class_names[index] for index in outputs["classes"]]
        if [label.decode() for label in outputs["labels"]] != names:
            raise errors.EluZooError("The labels are not the names of the classes.")


def noise(shape: tuple[int, int, int]) -> np.ndarray:
    """Returns the images of the parity check: three of seeded noise, one black."""
    images = np.random.default_rng(0).integers(0, 256, (3, *shape), np.uint8)
    return np.concatenate([images, np.zeros((1, *shape), np.uint8)])


def expected_outputs(function: NamedOutputs, pixels: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the compared outputs of the Keras model."""
    call = functools.partial(function.model, training=False)
    if any(x.compute_dtype != "float32" for x in all_layers(function.model)):
        # In reduced precision a graph rounds less often than eager layers, so an
        # export can only agree with a graph of the model.
        call = tf.function(call)
    outputs = call(tf.constant(pixels, tf.float32))
    names = function.compared
    if function.has_features:
        names += (FEATURES,)
    named = function.read(outputs)
    expected = {name: named[name].numpy() for name in names}
    for name, values in expected.items():
        if not np.isfinite(values).all():
            raise errors.EluZooError(f"The model's {name} for noise images are not finite.")
    _check_logits(function.readout, keras.tree.flatten(outputs)[0])
    return expected


def compare(
    expected: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    source: str,
    tolerance: float = TOLERANCE,
) -> Parity:
    """Checks that |difference| <= tolerance * max(1, largest |value|) for each output."""
    parity = {}
    for name, values in expected.items():
        limit = tolerance * max(1.0, float(np.abs(values).max()))
        difference = float(np.abs(outputs[name] - values).max())
        # A NaN fails this comparison.
        if not difference <= limit:
            raise errors.EluZooError(
                f"The {name} of {source} differ by {difference:.3g} from the "
                f"outputs of the Keras model; at most {limit:.3g} is allowed."
            )
        parity[name] = {"difference": difference, "allowed": limit}
    return parity


def _check_logits(readout: str, output: Any) -> None:
    """Checks that the model does not apply the readout, because the export does."""
    values = keras.ops.convert_to_numpy(output).astype(np.float32)
    if readout == "softmax":
        is_applied = np.all(values >= 0) and np.allclose(values.sum(-1), 1, atol=1e-3)
    else:
        is_applied = readout == "sigmoid" and 0 <= values.min() < values.max() <= 1
    if is_applied:
        kind = "probabilities" if readout == "softmax" else "pixels in [0, 1]"
        raise errors.UsageError(
            f"The model returns {kind}, but an export needs logits. Remove the last "
            "activation of the model, or build it with classifier_activation=None."
        )
