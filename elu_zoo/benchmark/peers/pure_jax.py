"""Three networks in JAX without a library of layers.

All steps are one program, except where there are convolutions: in a loop XLA runs them
on a CPU a hundred times as slowly.
"""

import functools
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from elu_zoo.models.elu_cifar_11 import STACKS

_UNITS = {"elu": jax.nn.elu, "relu": jax.nn.relu}
Weights = Mapping[str, np.ndarray]


def dense(
    layers: list[str], weights: Weights, images: jax.Array, unit: Callable
) -> jax.Array:
    """Returns the outputs of the layers in their order; a code has no unit."""
    x = images.reshape(len(images), -1)
    for layer in layers:
        x = x @ weights[f"{layer}/kernel"] + weights[f"{layer}/bias"]
        x = x if layer in ("code", layers[-1]) else unit(x)
    return x


def convolutional(weights: Weights, images: jax.Array, unit: Callable) -> jax.Array:
    """Returns the logits of `elu_cifar_11`."""

    def convolved(x, layer):
        kernel = weights[f"{layer}/kernel"]
        pad = kernel.shape[0] // 2
        x = jax.lax.conv_general_dilated(
            x,
            kernel,
            (1, 1),
            [(pad, pad)] * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        return x + weights[f"{layer}/bias"]

    x = images
    for i, stack in enumerate(STACKS, 1):
        for j in range(1, len(stack) + 1):
            x = unit(convolved(x, f"stack{i}_conv{j}"))
        x = jax.lax.reduce_window(
            x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME"
        )
    return convolved(x, "classifier").mean((1, 2))


def loss(outputs: jax.Array, x: jax.Array, labels: jax.Array | None) -> jax.Array:
    """Returns the mean loss of classes, or of images that are reconstructed."""
    if labels is not None:
        of_labels = jnp.take_along_axis(jax.nn.log_softmax(outputs), labels[:, None], 1)
        return -of_labels.mean()
    targets = x.reshape(len(x), -1)
    return (jax.nn.softplus(outputs) - targets * outputs).sum(1).mean()


def trainer(
    name: str,
    weights: Weights,
    activation: str,
    images: np.ndarray,
    labels: np.ndarray | None,
    batches: np.ndarray,
    *,
    rate: float,
    momentum: float = 0.0,
) -> Callable[[], list[float]]:
    """Returns what trains a network on all batches, and gives their losses before.

    Args:
        name: of `case.MODELS`.
        weights: arrays of our model by `layer/kernel` and `layer/bias`, in its order.
        activation: `elu` or `relu`.
        images: preprocessed, float32 `(n, height, width, channels)`.
        labels: classes; None where images are to be reconstructed, by the sigmoid
            cross-entropy summed over their pixels.
        batches: indices, `(steps, batch)`.
        rate: the learning rate.
        momentum: of the updates.
    """
    # JAX sorts the keys of what it traces.
    layers = list(dict.fromkeys(key.partition("/")[0] for key in weights))
    of_layers = functools.partial(dense, layers)
    forward = convolutional if name == "elu_cifar_11" else of_layers
    unit = _UNITS[activation]

    def loss_of(weights, batch):
        x = images_on_device[batch]
        own = None if labels is None else labels_on_device[batch]
        return loss(forward(weights, x, unit), x, own)

    def step(state, batch):
        weights, velocities = state
        found, gradients = jax.value_and_grad(loss_of)(weights, batch)
        velocities = jax.tree.map(
            lambda v, g: momentum * v - rate * g, velocities, gradients
        )
        return (jax.tree.map(jnp.add, weights, velocities), velocities), found

    @functools.partial(jax.jit, donate_argnums=0)
    def scanned(state, batches):
        return jax.lax.scan(step, state, batches)

    compiled = jax.jit(step, donate_argnums=0)

    def one_by_one(state, batches):
        losses = []
        for batch in batches:
            state, found = compiled(state, batch)
            losses.append(found)
        return state, jnp.stack(losses)

    steps = one_by_one if name == "elu_cifar_11" else scanned

    images_on_device = jnp.asarray(images)
    labels_on_device = None if labels is None else jnp.asarray(labels)
    start = {key: jnp.array(value) for key, value in weights.items()}
    state = [(start, jax.tree.map(jnp.zeros_like, start))]
    chosen = jnp.asarray(batches)

    def call():
        state[0], losses = steps(state[0], chosen)
        return losses.tolist()

    return call
