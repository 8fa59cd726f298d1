"""Fixtures: a SavedModel and servers. Without the extra `serving`, no test runs."""

import contextlib
import importlib.util
import shutil
import threading
import tracemalloc

import pytest
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import meta_graph_pb2

_EXTRA = "tensorflow_serving", "grpc_health", "aiohttp", "orjson", "prometheus_client"
if not all(importlib.util.find_spec(package) for package in _EXTRA):
    collect_ignore_glob = ["test_*.py"]


def _write_infos(table, infos):
    """Writes {name: (type, shape)} to `infos`, the TensorInfos of a SignatureDef."""
    for name, (data_type, shape) in table.items():
        infos[name].name = f"{name}:0"
        infos[name].dtype = types_pb2.DataType.Value(f"DT_{data_type.upper()}")
        infos[name].tensor_shape.unknown_rank = shape is None
        for size in shape or ():
            infos[name].tensor_shape.dim.add(size=-1 if size is None else size)


@pytest.fixture(scope="session")
def signature():
    """Returns a function that creates a Signature from inputs {name: (type, shape)}."""
    from elu_zoo.serving.signature import Signature

    def make(inputs, outputs=None, function=None):
        definition = meta_graph_pb2.SignatureDef()
        _write_infos(inputs, definition.inputs)
        _write_infos(outputs or {}, definition.outputs)
        return Signature("serving_default", definition, function)

    return make


@pytest.fixture(scope="session")
def little_memory():
    """Returns a context manager that fails if the block allocates a megabyte."""

    @contextlib.contextmanager
    def check():
        tracemalloc.start()
        try:
            yield
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 1_000_000

    return check


SPECS = {
    "reals": tf.TensorSpec((None, 2), tf.float32, "reals"),
    "longs": tf.TensorSpec((None,), tf.int64, "longs"),
    "ints": tf.TensorSpec((None, 2, 1), tf.int32, "ints"),
    "small": tf.TensorSpec((None,), tf.uint8, "small"),
    "flags": tf.TensorSpec((None,), tf.bool, "flags"),
    "texts": tf.TensorSpec((None,), tf.string, "texts"),
}


def _mixed(reals, longs, ints, small, flags, texts):
    return {
        "reals": reals * 2,
        "longs": longs + 1,
        "ints": ints - 1,
        "small": small // 2,
        "flags": ~flags,
        "texts": texts + "!",
        "texts_bytes": texts + b"\xff",
    }


def _roots(values):
    tf.debugging.assert_greater(values, 0.0, "values must be positive")
    return {"roots": tf.sqrt(values)}


def _fixed(numbers):
    return {"total": tf.reduce_sum(numbers), "word": tf.strings.as_string(numbers[0])}


def _save(path):
    module = tf.Module()
    module.scale = tf.Variable(2.0)
    vector = tf.TensorSpec((None,), tf.float32, "values")
    functions = {
        "serving_default": (_mixed, SPECS),
        "scaled": (lambda values: {"values": values * module.scale}, {"values": vector}),
        "roots": (_roots, {"values": vector}),
        "fixed": (_fixed, {"numbers": tf.TensorSpec((3,), tf.float32, "numbers")}),
        "any_shape": (
            lambda values: {"values": values * 2},
            {"values": tf.TensorSpec(None, tf.float32, "values")},
        ),
        "doubling": (
            lambda values: {"values": tf.concat([values, -values], 0)},
            {"values": vector},
        ),
        "lengths": (
            lambda texts: {"lengths": tf.reduce_sum(tf.strings.length(texts), 1)},
            {"texts": tf.TensorSpec((None, None), tf.string, "texts")},
        ),
    }
    signatures = {
        name: tf.function(function, autograph=False).get_concrete_function(**specs)
        for name, (function, specs) in functions.items()
    }
    tf.saved_model.save(module, str(path), signatures=signatures)


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """Returns the folder of a model version, which tests must not change."""
    path = tmp_path_factory.mktemp("saved") / "1"
    _save(path)
    return path


@pytest.fixture(scope="session")
def loaded(saved):
    """Returns the version in `saved` as a Servable without queues."""
    from elu_zoo.serving import servable

    return servable.load("net", 1, saved, lambda name, signature: None)


@pytest.fixture
def folder(tmp_path, saved):
    shutil.copytree(saved, tmp_path / "models" / "net" / "1")
    return tmp_path / "models"


@pytest.fixture
def run(folder, monkeypatch):
    """Returns a function that starts a server; the server is stopped after the test."""
    import running

    from elu_zoo.serving import server
    from elu_zoo.serving.settings import Settings

    monkeypatch.setattr(server, "_STOP_IDLE_SECONDS", 0.1)
    servers = []

    def start(**settings):
        settings = {"port": 0, "rest_api_port": 0, "drain_seconds": 5.0} | settings
        servers.append(running.Running(Settings(folder, **settings)))
        return servers[-1]

    yield start
    for server_ in servers:
        if not server_.server._rest_api.draining:
            server_.call(server_.server.stop())
        server_.close()


@pytest.fixture
def gate(monkeypatch):
    """Returns an event. Batches wait until a test sets the event."""
    from elu_zoo.serving.signature import Signature

    gate, run = threading.Event(), Signature.run

    def wait_and_run(self, requests):
        assert gate.wait(60)
        return run(self, requests)

    monkeypatch.setattr(Signature, "run", wait_and_run)
    yield gate
    gate.set()
