"""Strategies, the chief of a cluster, and the choice of the compilation."""

import json
import logging
import types

import keras
import pytest
import tensorflow as tf

from elu_zoo import errors, zoo
from elu_zoo.training.step import compilation, devices
from elu_zoo.training.workers import cluster

WORKERS = ["a:1", "b:1"]


def tf_config(cluster, kind="worker", index=0):
    return json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})


ONE, TWO = tf_config({"worker": ["a:1"]}), tf_config({"worker": WORKERS})


@pytest.fixture
def gpus(monkeypatch):
    """A function that makes TensorFlow list a number of GPUs."""

    def fake(count):
        names = [f"GPU:{i}" for i in range(count)]
        monkeypatch.setattr(tf.config, "get_visible_devices", lambda kind: names)
        monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda _: {})

    return fake


@pytest.fixture
def created(monkeypatch):
    """Names and arguments of strategies, which are recorded instead of created."""
    calls = []
    for name in ("MirroredStrategy", "MultiWorkerMirroredStrategy"):

        def create(*arguments, name=name, **_):
            calls.append((name, *arguments))
            return tf.distribute.get_strategy()

        monkeypatch.setattr(tf.distribute, name, create)
    return calls


@pytest.mark.parametrize(
    ("name", "num_devices", "gpu_count", "config", "words"),
    [
        ("one", 2, 0, "", "--strategy=mirrored"),
        ("mirrored", 3, 0, "", "started with 2"),
        ("mirrored", 3, 2, "", "only 2 GPU"),
        ("multi_worker", None, 0, "", "TF_CONFIG"),
        ("multi_worker", 2, 0, TWO, "CUDA_VISIBLE_DEVICES"),
    ],
)
def test_strategies_that_do_not_fit_the_devices_are_refused(
    monkeypatch, gpus, name, num_devices, gpu_count, config, words
):
    monkeypatch.setenv("TF_CONFIG", config)
    if gpu_count:
        gpus(gpu_count)
    with pytest.raises(errors.UsageError, match=words):
        devices.create_strategy(name, num_devices)


@pytest.mark.parametrize(
    "name, num_devices, gpu_count, config, expected",
    [
        ("auto", None, 0, "", []),
        ("auto", None, 1, "", []),
        ("one", None, 4, "", []),
        ("auto", None, 3, "", [("MirroredStrategy", ["GPU:0", "GPU:1"])]),
        ("mirrored", 1, 2, "", [("MirroredStrategy", ["GPU:0"])]),
        ("auto", None, 0, ONE, []),
        ("auto", None, 0, TWO, [("MultiWorkerMirroredStrategy",)]),
        ("multi_worker", None, 0, ONE, [("MultiWorkerMirroredStrategy",)]),
    ],
)
def test_flags_gpus_and_tf_config_choose_the_strategy(
    monkeypatch, gpus, created, name, num_devices, gpu_count, config, expected
):
    monkeypatch.setenv("TF_CONFIG", config)
    gpus(gpu_count)
    devices.create_strategy(name, num_devices, batch=20)
    assert created == expected


@pytest.mark.parametrize("name", ["auto", "mirrored"])
def test_two_logical_cpu_devices_are_mirrored(name, caplog):
    with caplog.at_level(logging.INFO, "absl"):
        strategy = devices.create_strategy(name, 2)
    assert isinstance(strategy, tf.distribute.MirroredStrategy)
    assert strategy.num_replicas_in_sync == 2
    assert "Strategy mirrored with 2 replica(s)" in caplog.text


@pytest.mark.parametrize(("strategy", "count"), [("one", None), ("mirrored", 2)])
def test_strategies_of_one_machine_have_no_peers(monkeypatch, strategy, count):
    monkeypatch.setenv("TF_CONFIG", tf_config({"worker": WORKERS}, index=1))
    peers = devices.peers(devices.create_strategy(strategy, count))
    assert isinstance(peers, cluster.OneMachine)
    assert (peers.index, peers.count) == (0, 1)
    assert peers.any_signal(15) == 15 and peers.any_signal(0) == 0


@pytest.mark.parametrize(("driver", "count", "logged"), [(1, 0, 1), (1, 1, 0), (0, 0, 0)])
def test_an_unused_gpu_is_logged(monkeypatch, gpus, caplog, driver, count, logged):
    path = types.SimpleNamespace(exists=lambda: bool(driver))
    monkeypatch.setattr(devices, "Path", lambda _: path)
    gpus(count)
    with caplog.at_level(logging.WARNING, "absl"):
        devices.create_strategy("one", None)
    assert ('pip install "elu-zoo[gpu]"' in caplog.text) == logged


def dense(batch_norm=False):
    return zoo.get_model("mnist_mlp_8x128", width=0.02, batch_norm=batch_norm, preprocessing=False)


def frozen():
    model = dense(batch_norm=True)
    model.trainable = False
    return model


def convolutional():
    return keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Conv2D(2, 3)])


def nested():
    draws = keras.layers.Dropout(0.5, seed=1)  # not keyed
    base = keras.Sequential([keras.layers.Dense(2), draws], name="base")
    base.trainable = False
    return keras.Sequential([keras.Input((3,)), base, keras.layers.Dense(2)])


POLICIES = [
    # network, replicas, GPUs, compile; expected: compiled, iterations per call
    (dense, 1, 0, "auto", True, 100),
    (dense, 1, 0, "off", False, 10),
    (dense, 2, 0, "auto", True, 100),
    (dense, 1, 1, "auto", True, 100),
    (convolutional, 1, 0, "on", True, 1),
    (convolutional, 2, 0, "auto", False, 10),
    (convolutional, 1, 1, "auto", True, 100),
    (lambda: dense(batch_norm=True), 1, 0, "auto", True, 100),
    (lambda: dense(batch_norm=True), 2, 0, "auto", False, 10),
    (frozen, 2, 0, "auto", True, 100),  # frozen batch normalisation updates no variable
    (nested, 2, 0, "auto", False, 10),  # a frozen layer draws all the same
]


@pytest.mark.parametrize(("build", "replicas", "count", "compile_", "compiled", "steps"), POLICIES)
def test_network_devices_and_flag_choose_the_compilation(
    gpus, build, replicas, count, compile_, compiled, steps
):
    gpus(count)
    model = build()
    chosen = compilation.choose(model, replicas, compile_, None)
    assert chosen == compilation.Compilation(compiled, steps)
    parts = 1 if replicas > 1 and not compiled else 3
    chosen = compilation.choose(model, replicas, compile_, 7, parts)
    assert chosen == compilation.Compilation(compiled, 7, parts)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((2, "on", None), "--compile=auto"), ((2, "auto", None, 4), "accumulate must be 1")],
)
def test_flags_that_do_not_fit_the_network_and_devices_are_refused(arguments, words):
    with pytest.raises(errors.UsageError, match=words):
        compilation.choose(dense(batch_norm=True), *arguments)
