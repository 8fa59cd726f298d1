import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from elu_zoo import errors
from elu_zoo.export import checks


def write(directory, op="Relu", compiled=False, in_function=True):
    saved = saved_model_pb2.SavedModel()
    graph = saved.meta_graphs.add().graph_def
    graph.node.add(name="outer", op="StatefulPartitionedCall" if in_function else op)
    function = graph.library.function.add()
    function.signature.name = "inner"
    function.attr["_XlaMustCompile"].b = compiled
    function.node_def.add(name="node", op=op if in_function else "NoOp")
    (directory / "saved_model.pb").write_bytes(saved.SerializeToString())


def test_graph_of_stock_ops_passes(tmp_path):
    write(tmp_path)
    checks.check_graph(tmp_path)


@pytest.mark.parametrize("in_function", [True, False])
@pytest.mark.parametrize("op", ["PyFunc", "PyFuncStateless", "EagerPyFunc", "MyElu"])
def test_graph_refuses_op(tmp_path, op, in_function):
    write(tmp_path, op, in_function=in_function)
    with pytest.raises(errors.EluZooError, match=f"is a {op}"):
        checks.check_graph(tmp_path)


def test_graph_refuses_compiled_function(tmp_path):
    write(tmp_path, compiled=True)
    with pytest.raises(errors.EluZooError, match="inner .* compiled by XLA"):
        checks.check_graph(tmp_path)


def test_graph_refuses_damaged_file(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"\xff not a protocol buffer")
    with pytest.raises(errors.CorruptError, match="saved_model.pb"):
        checks.check_graph(tmp_path)


def signatures(model, error=0.0, bytes_error=0.0):
    def answer(images, error):
        return {"logits": model(images) + error}

    def decode(image_bytes):
        images = [tf.io.decode_png(image) for image in image_bytes]
        return tf.cast(tf.stack(images), tf.float32)

    return {
        "serving_default": lambda images: answer(images, error),
        "serve_bytes": lambda image_bytes: answer(decode(image_bytes), bytes_error),
    }


def linear(scale):
    """A model whose largest |logit| on noise is about `scale`."""
    return keras.Sequential(
        [
            keras.Input((4, 4, 1)),
            keras.layers.Rescaling(scale / 255),
            keras.layers.GlobalMaxPooling2D(),
            keras.layers.Dense(2, kernel_initializer="ones"),
        ]
    )


# The rule: at most 1e-5 * max(1, largest |logit|).
@pytest.mark.parametrize(
    ("scale", "error", "passes"),
    [
        (0.1, 0.9e-5, True),
        (0.1, 1.2e-5, False),
        (1000, 0.8e-2, True),
        (1000, 1.2e-2, False),
        (0.1, np.nan, False),
    ],
)
@pytest.mark.parametrize("which", ["error", "bytes_error"])
def test_parity_rule(scale, error, passes, which):
    model = linear(scale)
    arguments = (model, signatures(model, **{which: error}), (4, 4, 1))
    if passes:
        checks.check_parity(*arguments)
    else:
        with pytest.raises(errors.EluZooError, match="differ by"):
            checks.check_parity(*arguments)
