"""Checks of the ops and the outputs of a written SavedModel."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from elu_zoo import errors
from elu_zoo.export import checks, named_outputs


def write(directory, op="Relu", compiled=False, in_function=True):
    """Writes a graph with one op, inside or outside of a function."""
    saved = saved_model_pb2.SavedModel()
    graph = saved.meta_graphs.add().graph_def
    graph.node.add(name="outer", op="StatefulPartitionedCall" if in_function else op)
    function = graph.library.function.add()
    function.signature.name = "inner"
    function.attr["_XlaMustCompile"].b = compiled
    function.node_def.add(name="node", op=op if in_function else "NoOp")
    (directory / "saved_model.pb").write_bytes(saved.SerializeToString())


def test_check_graph_refuses_what_servers_lack(tmp_path):
    write(tmp_path)
    checks.check_graph(tmp_path)
    for op in "PyFunc", "PyFuncStateless", "EagerPyFunc", "MyElu":
        for in_function in True, False:
            write(tmp_path, op, in_function=in_function)
            with pytest.raises(errors.EluZooError, match=op):
                checks.check_graph(tmp_path)
    write(tmp_path, compiled=True)
    with pytest.raises(errors.EluZooError, match="XLA"):
        checks.check_graph(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"\xff not a protocol buffer")
    with pytest.raises(errors.CorruptError, match="saved_model.pb"):
        checks.check_graph(tmp_path)


def signatures(function, output, error=0.0, bytes_error=0.0):
    """Returns signatures that add an error to one output."""

    def add(images, error):
        outputs = function(images)
        return {**outputs, output: outputs[output] + error}

    def decode(image_bytes):
        images = [tf.io.decode_png(image) for image in image_bytes]
        return tf.cast(tf.stack(images), tf.float32)

    return {
        "serving_default": lambda images: add(images, error),
        "serve_bytes": lambda image_bytes: add(decode(image_bytes), bytes_error),
    }


def classifier(scale):
    """Returns an NamedOutputs whose largest |logit| on noise is about `scale`."""
    model = keras.Sequential(
        [
            keras.Input((4, 4, 1)),
            keras.layers.Rescaling(scale / 255),
            keras.layers.GlobalMaxPooling2D(),
            keras.layers.Dense(2, kernel_initializer="ones"),
        ]
    )
    return named_outputs.make(model, ["a", "b"], None)


def autoencoder(scale, readout="linear", units=2):
    """Returns an NamedOutputs with |pixels| and |codes| up to about `scale` on noise."""
    model = keras.Sequential(
        [
            keras.Input((4, 4, 1)),
            keras.layers.Rescaling(scale / 255),
            keras.layers.GlobalMaxPooling2D(),
            keras.layers.Dense(units, kernel_initializer="ones", name="code"),
            keras.layers.Dense(16, kernel_initializer="ones", name="pixels"),
            keras.layers.Rescaling(1 / units),
            keras.layers.Reshape((4, 4, 1)),
        ]
    )
    return named_outputs.make(model, None, named_outputs.Autoencoder("code", readout, 1))


# The largest allowed difference is 1e-5 * max(1, largest |value|).
@pytest.mark.parametrize(
    ("scale", "error", "passes"),
    [(0.1, 0.9e-5, True), (0.1, 1.2e-5, False), (1000, 0.8e-2, True), (0.1, np.nan, False)],
)
@pytest.mark.parametrize(
    ("make", "output"),
    [(classifier, "logits"), (autoencoder, "reconstructions"), (autoencoder, "codes")],
)
@pytest.mark.parametrize("argument", ["error", "bytes_error"])
def test_only_small_differences_pass(make, output, scale, error, passes, argument):
    function = make(scale)
    served = signatures(function, output, **{argument: error})
    if passes:
        parity = checks.check_parity(function, served)[output]
        assert parity["allowed"] == pytest.approx(1e-5 * max(1, scale), rel=0.1)
        assert parity["difference"] == pytest.approx(error, rel=0.1)
    else:
        with pytest.raises(errors.EluZooError, match=f"{output} .* differ"):
            checks.check_parity(function, served)


# Without this check, an export would apply a second sigmoid to pixels in [0, 1].
@pytest.mark.parametrize(
    ("scale", "readout", "passes"),
    [(0.9, "sigmoid", False), (0.9, "linear", True), (1.2, "sigmoid", True)],
)
def test_pixels_instead_of_logits_are_refused(scale, readout, passes):
    function = autoencoder(scale, readout)
    served = signatures(function, "codes")
    if passes:
        checks.check_parity(function, served)
    else:
        with pytest.raises(errors.UsageError, match="logits"):
            checks.check_parity(function, served)


# Codes are checked too, because a sigmoid maps an infinite code to finite pixels.
@pytest.mark.parametrize(
    ("readout", "layer", "output"),
    [("linear", "pixels", "reconstructions"), ("sigmoid", "code", "codes")],
)
def test_values_that_are_not_finite_are_refused(readout, layer, output):
    function = autoencoder(1.0, readout)
    bias = function.model.get_layer(layer).bias
    bias.assign(np.full(bias.shape, np.inf))
    with pytest.raises(errors.EluZooError, match=f"{output} .* finite"):
        checks.check_parity(function, signatures(function, "codes"))
