"""What a SavedModel has to pass before it gets its version number."""

import functools
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from elu_zoo import errors
from elu_zoo.export.answers import Answer

# They call back into the Python process that made them.
_PYTHON_OPS = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
_TOLERANCE = 1e-5


def check(directory: Path, answer: Answer) -> None:
    """Checks a written SavedModel: its graph, that it loads, and its parity.

    Raises:
        EluZooError: see `check_graph` and `check_parity`; or it does not run.
    """
    check_graph(directory)
    # An accelerator may choose its kernels, and with them the precision, differently
    # for the model and for its export.
    with tf.device("CPU:0"):
        try:
            saved = tf.saved_model.load(str(directory))
            check_parity(answer, saved.signatures)
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


def check_parity(answer: Answer, signatures: Any) -> None:
    """Checks that both signatures give the answer of the Keras model.

    The batch is three images of seeded noise and a black one. The rule, for each of
    `answer.compared`: the largest |difference| is at most 1e-5 * max(1, largest
    |value|).

    Args:
        answer: of the Keras model.
        signatures: of the loaded SavedModel.

    Raises:
        UsageError: the model's output is read out already: it is probabilities, or
            pixels, where logits are expected.
        EluZooError: values that are not finite, or too large a difference.
    """
    shape = answer.image_shape
    noise = np.random.default_rng(0).integers(0, 256, (3, *shape), np.uint8)
    pixels = np.concatenate([noise, np.zeros((1, *shape), np.uint8)])
    images = tf.constant(pixels, tf.float32)
    encoded = tf.stack([tf.io.encode_png(image) for image in pixels])
    call = functools.partial(answer.model, training=False)
    if any(layer.compute_dtype != "float32" for layer in answer.model.layers):
        # Of reduced precision a graph rounds less often than eager layers do; an
        # export can agree with the model's own graph only.
        call = tf.function(call)
    outputs = call(images)
    answered = answer.read(outputs)
    expected = {name: answered[name].numpy() for name in answer.compared}
    for name, values in expected.items():
        if not np.isfinite(values).all():
            raise errors.EluZooError(
                f"The model's {name} for noise images are not finite."
            )
    _check_not_read_out(answer.readout, keras.tree.flatten(outputs)[0])
    for signature, batch in (
        ("serving_default", {"images": images}),
        ("serve_bytes", {"image_bytes": encoded}),
    ):
        found = signatures[signature](**batch)
        for name, values in expected.items():
            limit = _TOLERANCE * max(1.0, float(np.abs(values).max()))
            difference = float(np.abs(found[name].numpy() - values).max())
            # Written so that a NaN fails.
            if not difference <= limit:
                raise errors.EluZooError(
                    f"The {name} of the signature {signature} differ by "
                    f"{difference:.3g} from the Keras model's; at most {limit:.3g} is "
                    "allowed."
                )


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
