"""The networks of `case.MODELS` in JAX, without a library of layers."""

import functools
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from elu_zoo.benchmark.case import Case
from elu_zoo.models.elu_cifar import STACKS_11

_ACTIVATIONS = {"elu": jax.nn.elu, "relu": jax.nn.relu}
Weights = Mapping[str, np.ndarray]  # by `layer/kernel` and `layer/bias`, in layer order


def dense(
    layers: list[str], weights: Weights, images: jax.Array, activation: Callable
) -> jax.Array:
    """Returns the outputs of dense layers; the autoencoder's code is linear."""
    x = images.reshape(len(images), -1)
    for layer in layers:
        x = x @ weights[f"{layer}/kernel"] + weights[f"{layer}/bias"]
        x = x if layer in ("code", layers[-1]) else activation(x)
    return x


def convolutional(weights: Weights, images: jax.Array, activation: Callable) -> jax.Array:
    """Returns the logits of `elu_cifar_11`."""

    def convolve(x, layer):
        kernel = weights[f"{layer}/kernel"]
        pad = kernel.shape[0] // 2
        x = jax.lax.conv_general_dilated(
            x, kernel, (1, 1), [(pad, pad)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return x + weights[f"{layer}/bias"]

    x = images
    for i, stack in enumerate(STACKS_11, 1):
        for j in range(1, len(stack) + 1):
            x = activation(convolve(x, f"stack{i}_conv{j}"))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
    return convolve(x, "classifier").mean((1, 2))


def loss(outputs: jax.Array, x: jax.Array, labels: jax.Array | None) -> jax.Array:
    """Returns the mean loss of logits, or of reconstructions if `labels` is None."""
    if labels is not None:
        of_labels = jnp.take_along_axis(jax.nn.log_softmax(outputs), labels[:, None], 1)
        return -of_labels.mean()
    targets = x.reshape(len(x), -1)
    return (jax.nn.softplus(outputs) - targets * outputs).sum(1).mean()


def trainer(case: Case, weights: Weights) -> Callable[[], list[float]]:
    """Returns a function that trains on all batches and returns their losses."""
    data, batches = case.data()
    images_on_device = jnp.asarray(data.images)
    labels_on_device = None if case.is_autoencoder else jnp.asarray(data.labels)
    # Read before tracing, because JAX then sorts the keys of `weights`.
    layers = list(dict.fromkeys(key.partition("/")[0] for key in weights))
    forward = convolutional if case.is_convolutional else functools.partial(dense, layers)
    function = _ACTIVATIONS[case.activation]

    def loss_of(weights, batch):
        x = images_on_device[batch]
        y = None if case.is_autoencoder else labels_on_device[batch]
        return loss(forward(weights, x, function), x, y)

    def step(state, batch):
        weights, velocities = state
        value, gradients = jax.value_and_grad(loss_of)(weights, batch)
        velocities = jax.tree.map(
            lambda v, g: case.momentum * v - case.rate * g, velocities, gradients
        )
        return (jax.tree.map(jnp.add, weights, velocities), velocities), value

    @functools.partial(jax.jit, donate_argnums=0)
    def scan(state, batches):
        return jax.lax.scan(step, state, batches)

    compiled = jax.jit(step, donate_argnums=0)

    def one_by_one(state, batches):
        losses = []
        for batch in batches:
            state, value = compiled(state, batch)
            losses.append(value)
        return state, jnp.stack(losses)

    # On a CPU, XLA runs convolutions in a loop a hundred times as slowly.
    steps = one_by_one if case.is_convolutional else scan
    start = {key: jnp.array(value) for key, value in weights.items()}
    state = [(start, jax.tree.map(jnp.zeros_like, start))]
    indices = jnp.asarray(batches)

    def call():
        state[0], losses = steps(state[0], indices)
        return losses.tolist()

    return call
