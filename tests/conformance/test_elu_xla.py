"""Every network trains with the activation `elu_xla` as with `elu`, in Keras' fit."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from rows import LARGE, NETS, NIGHTLY, RESCALE, examples, logits

from elu_zoo import zoo
from elu_zoo.training.step import devices

NETWORKS = {row.registered: row for row in NETS}
# For each mode: arguments of `compile`, and the number of replicas.
MODES = {
    "fit": ({}, 1),
    "jit_compile": ({"jit_compile": True}, 1),
    "steps_per_execution": ({"steps_per_execution": 2}, 1),
    "mirrored": ({}, 2),  # Keras' fit cannot compile a step of two replicas
}
KINDS = "mnist_mlp_8x128", "elu_cifar_11"  # run by .ci/run in all modes but one


def _cases():
    for name in NETWORKS:
        for mode in MODES:
            repeated = mode == "steps_per_execution" or mode != "fit" and name not in KINDS
            marks = NIGHTLY if repeated or name in LARGE else [pytest.mark.slow]
            yield pytest.param(name, mode, marks=marks)


def fit(row, activation, mode):
    """Returns the losses of two epochs, and the operations of the training graph."""
    arguments, replicas = MODES[mode]
    strategy = devices.create_strategy("mirrored" if replicas > 1 else "one", replicas)
    data, graphs = examples(row), []
    loss, targets = keras.losses.MeanSquaredError(), data.images * RESCALE["scale"]
    if not row.autoencoder:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        targets = data.labels
    with strategy.scope():
        model = row.make(activation=activation)
        model.compile(keras.optimizers.SGD(row.rate), loss, **arguments)
    train_step = model.train_step

    def traced(batch):
        graphs.append(tf.compat.v1.get_default_graph())
        return train_step(batch)

    model.train_step = traced
    options = {"batch_size": 8, "epochs": 2, "shuffle": False, "verbose": 0}
    losses = model.fit(data.images.astype(np.float32), targets, **options)
    operations = set()
    for graph in (graph.as_graph_def() for graph in graphs):
        inner = [n for f in graph.library.function for n in f.node_def]
        operations |= {node.op for node in (*graph.node, *inner)}
    return losses.history["loss"], operations


@pytest.mark.parametrize("name, mode", list(_cases()))
def test_losses_equal_those_of_elu_and_no_stock_elu_is_traced(name, mode):
    row, stock = NETWORKS[name], {"Elu", "EluGrad"}
    expected, operations = fit(row, "elu", mode)
    assert stock <= operations
    losses, operations = fit(row, "elu_xla", mode)
    assert not stock & operations
    assert losses[0] != losses[1]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)


def assert_close(model, expected, images):
    expected = logits(expected, images)
    limit = 1e-5 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(logits(model, images), expected, rtol=0, atol=limit)


def test_the_weights_of_elu_are_loaded_cloned_saved_and_exported(tmp_path):
    network, images = "mnist_mlp_8x128", examples(NETWORKS["mnist_mlp_8x128"]).images
    elu = zoo.get_model(network, weights="mnist", activation="elu")
    model = zoo.get_model(network, weights="mnist", activation="elu_xla")
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    model.save(tmp_path / "model.keras")
    for each in (model, clone, keras.models.load_model(tmp_path / "model.keras")):
        assert each.get_layer("act_dense1").jit_compile
        assert_close(each, elu, images)
    exports = tmp_path / "keras", tmp_path / "tensorflow"
    model.export(exports[0], verbose=False)
    tf.saved_model.save(model, str(exports[1]))
    for path in exports:
        assert b"_XlaMustCompile" not in (path / "saved_model.pb").read_bytes()
