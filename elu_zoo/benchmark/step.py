"""Implementations of a training step: ours, Keras' `fit`, PyTorch and JAX."""

import importlib.util
from collections.abc import Callable

import keras
import numpy as np

from elu_zoo import registry
from elu_zoo.benchmark.case import MODELS, Case
from elu_zoo.evaluation.loss import Objective
from elu_zoo.training import backends
from elu_zoo.training.run import Learner
from elu_zoo.training.step import precision
from elu_zoo.training.step.pool_before_activation import pool_before_activation

BASELINE = "ours"
_NO_SCALING = {"kind": "rescale", "scale": 1.0}  # images are preprocessed already


def forms(case: Case) -> dict[str, Callable[[], object]]:
    """Returns functions that take `case.steps` steps, by name, in installed libraries."""
    calls: dict[str, Callable[[], object]] = {BASELINE: ours(case)}
    if case.is_convolutional:
        calls[f"{BASELINE}, float32"] = ours(case, "float32")
    for how, arguments in fit_arguments(case).items():
        name = "Keras fit" if how == "default" else f"Keras fit, {how}"
        calls[name] = keras_fit(case, **arguments)
    calls["Keras fit, mixed_bfloat16"] = keras_fit(case, "mixed_bfloat16")
    if case.model in MODELS and importlib.util.find_spec("torch"):
        calls["PyTorch"] = pytorch(case)
        calls["PyTorch, bfloat16"] = pytorch(case, bfloat16=True)
    if case.model in MODELS and importlib.util.find_spec("jax"):
        calls["JAX"] = pure_jax(case)
    return calls


def fit_arguments(case: Case) -> dict[str, dict]:
    """Returns the arguments of `compile` that decide how `fit` runs steps, by name."""
    return {
        "default": {},
        "jit_compile": {"jit_compile": True},
        "steps_per_execution": {"steps_per_execution": min(case.steps, 50)},
    }


def ours(
    case: Case, dtype: str | None = None, devices: int | None = None
) -> Callable[[], np.ndarray]:
    """Returns a function that trains on all batches, by default in our configs' precision."""
    place = backends.choose_devices(False, "mirrored" if devices else "one", devices)
    data, batches = case.data()
    with place.strategy.scope():
        model = case.create()
        default = "bfloat16_conv" if case.is_convolutional else "float32"
        precision.apply(model, dtype or default)
        optimizer = keras.optimizers.SGD(momentum=case.momentum)
        optimizer.build(model.trainable_variables)
    objective = Objective(registry.entry(case.model).loss, _NO_SCALING)
    policy = place.choose_compilation(model, place.replicas, "auto", None)
    faster = pool_before_activation(model, place.pooling)
    learner = Learner(faster, optimizer, objective, case.batch_size)
    step = place.step(learner, data, place.strategy, policy)
    rates = np.full(len(batches), case.rate, np.float32)
    size = policy.steps_per_call

    def call():
        parts = [slice(i, i + size) for i in range(0, len(batches), size)]
        return np.concatenate([step.run(batches[p], rates[p]) for p in parts])

    return call


def keras_fit(
    case: Case, dtype: str = "float32", devices: int | None = None, **compiled
) -> Callable[[], object]:
    """Returns a function that runs Keras' `fit`, after `compile` with more arguments."""
    place = backends.choose_devices(False, "mirrored" if devices else "one", devices)
    data, batches = case.data()
    images, labels = data.images[batches.ravel()], data.labels[batches.ravel()]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    if case.is_autoencoder:
        objective = Objective(registry.entry(case.model).loss, _NO_SCALING)
        labels = images

        def loss(images, outputs):
            return objective(images, None, outputs)

    with place.strategy.scope():
        keras.config.set_dtype_policy(dtype)
        model = case.create()
        keras.config.set_dtype_policy("float32")
        optimizer = keras.optimizers.SGD(case.rate, momentum=case.momentum)
        model.compile(optimizer, loss, **compiled)
    size = case.batch_size
    return lambda: model.fit(images, labels, size, shuffle=False, verbose=0)


def pytorch(case: Case, bfloat16: bool = False, device: str = "cpu") -> Callable[[], list[float]]:
    """Returns a function that runs the same training in PyTorch."""
    from elu_zoo.benchmark.peers import pytorch as peer

    return peer.trainer(case, _weights(case), bfloat16, device)


def pure_jax(case: Case) -> Callable[[], list[float]]:
    """Returns a function that runs the same training in JAX."""
    from elu_zoo.benchmark.peers import pure_jax as peer

    return peer.trainer(case, _weights(case))


def _weights(case: Case) -> dict[str, np.ndarray]:
    return {v.path: keras.ops.convert_to_numpy(v) for v in case.create().weights}
