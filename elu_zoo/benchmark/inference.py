"""Implementations of a prediction: our SavedModel, Keras and other runtimes."""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from elu_zoo import quiet, registry, zoo
from elu_zoo.benchmark import machine
from elu_zoo.export import predictor
from elu_zoo.export.saved_model import export_saved_model, load_saved_model
from elu_zoo.layers.constant import embed_constants

BASELINE = "SavedModel"


def export(name: str, batch_size: int, folder: Path) -> tuple[keras.Model, np.ndarray]:
    """Exports an untrained network of raw images to `folder`/<name>/1; returns it and noise."""
    registered, model = registry.entry(name), zoo.get_model(name)
    shape = batch_size, *registered.default("input_shape")
    images = np.floor(256 * np.random.Generator(np.random.Philox(0)).random(shape, "float32"))
    description: dict = {"class_names": [str(i) for i in range(model.output_shape[-1])]}
    if registered.is_autoencoder:
        description = predictor.description(model, name)
    export_saved_model(model, folder, name=name, **description)
    return model, images


def forms(name: str, batch_size: int, folder: Path) -> dict[str, Callable[[], object]]:
    """Returns functions that predict a batch, by name, for the installed runtimes."""
    model, images = export(name, batch_size, folder / "exports")
    loaded = load_saved_model(folder / "exports" / name / "1")
    graph = tf.function(lambda x: model(x, training=False), jit_compile=False)
    compiled = tf.function(lambda x: model(x, training=False), jit_compile=True)
    functions = {
        BASELINE: lambda: loaded.predict(images),
        "model.predict": lambda: model.predict(images, verbose=0),
        "model(x)": lambda: model(tf.constant(images), training=False).numpy(),
        "tf.function": lambda: graph(tf.constant(images)).numpy(),
        "tf.function, XLA": lambda: compiled(tf.constant(images)).numpy(),
    }
    for runtime, packages, make in (
        ("LiteRT", ["ai_edge_litert"], _litert),
        ("ONNX Runtime", ["onnxruntime", "tf2onnx"], _onnx),
    ):
        if all(map(importlib.util.find_spec, packages)):
            functions[runtime] = make(model, images, folder)
    return functions


def _litert(model: keras.Model, x: np.ndarray, folder: Path) -> Callable[[], object]:
    from ai_edge_litert.interpreter import Interpreter

    path = str(folder / "model.tflite")
    model.export(path, format="litert", verbose=False)
    interpreter = Interpreter(path, num_threads=machine.cores())
    (source,) = interpreter.get_input_details()
    interpreter.resize_tensor_input(source["index"], x.shape)
    with quiet.native():  # LiteRT prints the name of its delegate
        interpreter.allocate_tensors()
    (sink,) = interpreter.get_output_details()

    def call():
        interpreter.set_tensor(source["index"], x)
        interpreter.invoke()
        return interpreter.get_tensor(sink["index"])

    return call


def _onnx(model: keras.Model, x: np.ndarray, folder: Path) -> Callable[[], object]:
    import onnxruntime

    path = str(folder / "model.onnx")
    with embed_constants():
        model.export(path, format="onnx", verbose=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = machine.cores()
    # Spinning threads would disturb the timing of other forms.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    (source,) = session.get_inputs()
    return lambda: session.run(None, {source.name: x})
