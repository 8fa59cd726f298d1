"""Building blocks of networks: linear layers, normalisation, dropout, classifiers."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import keras

from elu_zoo import activations, errors
from elu_zoo.initializers import FanInNormal, Normal, layer_seed
from elu_zoo.layers.dropout import Dropout

HEADS = "heads"  # the layer that stacks the scores of the auxiliary heads

Kernel = Callable[[int], keras.initializers.Initializer]  # of a layer's seed


def normal(deviation: float, init_scale: float | None) -> Kernel:
    """Returns normal kernels of this deviation, or of the variance `init_scale` / fan-in."""
    if init_scale is None:
        return functools.partial(Normal, deviation)
    return functools.partial(FanInNormal, init_scale)


@dataclasses.dataclass(frozen=True)
class Blocks:
    """The layers of one network, with the arguments that they share, see `elu_zoo.get_model`."""

    activation: Any
    batch_norm: bool
    width: float
    seed: int
    kernel_decay: float = 0.0

    def units(self, units: int) -> int:
        """Returns the number of units of a layer at this width."""
        return max(1, round(units * self.width))

    def convolution(
        self,
        x,
        units: int,
        size: int,
        name: str,
        kernel: Kernel,
        *,
        zeros: int | None = None,
        dtype: str | None = None,
        **arguments: Any,
    ):
        """Returns the output of a convolution.

        Args:
            zeros: number of rows and columns of zeros that a layer `<name>_pad` adds on
                each side; None for "same" padding.
            dtype: dtype policy of the layer; None for the global one.
        """
        if zeros:
            # Explicit padding inside the convolution is far slower in bfloat16.
            x = keras.layers.ZeroPadding2D(zeros, name=f"{name}_pad", dtype=dtype)(x)
        arguments = {**self._kernel(name, kernel, self.kernel_decay), **arguments}
        padding = "same" if zeros is None else "valid"
        layer = keras.layers.Conv2D(
            units, size, padding=padding, dtype=dtype, name=name, **arguments
        )
        return layer(x)

    def dense(self, x, units: int, name: str, kernel: Kernel, *, decay=None, **arguments: Any):
        """Returns the output of a dense layer; `decay` replaces `kernel_decay`."""
        decay = self.kernel_decay if decay is None else decay
        arguments = {**self._kernel(name, kernel, decay), **arguments}
        return keras.layers.Dense(units, name=name, **arguments)(x)

    def _kernel(self, name: str, kernel: Kernel, decay: float) -> dict[str, Any]:
        return {
            "kernel_initializer": kernel(layer_seed(self.seed, name)),
            "kernel_regularizer": keras.regularizers.L2(decay / 2) if decay else None,
        }

    def norm_act(self, x, name: str, dtype: str | None = None):
        """Returns the output of `norm_act` with the arguments of the network."""
        return norm_act(x, name, self.activation, self.batch_norm, self.seed, dtype)

    def dropout(self, x, rate: float, name: str, **arguments: Any):
        """Returns the output of a `Dropout` layer.

        The layer exists even at a rate of 0, because a later phase may change the rate.
        """
        return Dropout(rate, seed=layer_seed(self.seed, name), name=name, **arguments)(x)

    def classifier(self, x, num_classes: int, kernel: Kernel, **arguments: Any):
        """Returns float32 logits, the output of the dense layer `classifier`."""
        return self.dense(x, num_classes, "classifier", kernel, dtype="float32", **arguments)

    def class_maps(self, x, num_classes: int, kernel: Kernel):
        """Returns float32 maps, the output of the 1 x 1 convolution `classifier`."""
        return self.convolution(x, num_classes, 1, "classifier", kernel, dtype="float32")


def norm_act(x, name: str, activation: Any, batch_norm: bool, seed: int, dtype: str | None = None):
    """Returns the output of the layer `act_<name>`, after `norm_<name>` with `batch_norm`."""
    x = norm(x, name, batch_norm)
    act_name = f"act_{name}"
    layer = activations.make(activation, act_name, seed=layer_seed(seed, act_name))
    if dtype:
        layer.dtype_policy = dtype
    y = layer(x)
    shape = y.shape
    if isinstance(layer, keras.layers.Activation):  # of a function, which Keras has not called
        try:
            shape = getattr(keras.Operation.compute_output_spec(layer, x), "shape", None)
        except Exception as error:
            raise errors.UsageError(
                f"The activation of the layer {layer.name} fails, or has no known shape: {error}"
            ) from error
    if shape != x.shape:
        kind = getattr(getattr(layer, "activation", None), "__name__", type(layer).__name__)
        raise errors.UsageError(
            f"An activation must keep the shape of its input. {kind} in the layer {layer.name} "
            f"turned {x.shape} into {shape}. Pass another activation."
        )
    return y


def norm(x, name: str, batch_norm: bool):
    """Returns the output of the layer `norm_<name>`, or `x` without `batch_norm`.

    On TensorFlow the batch statistics are computed over all replicas.
    """
    if not batch_norm:
        return x
    # Keras raises an error for synchronized=True on other backends.
    return keras.layers.BatchNormalization(
        momentum=0.9,
        epsilon=1e-5,
        synchronized=keras.backend.backend() == "tensorflow",
        name=f"norm_{name}",
    )(x)


def average(maps):
    """Returns the float32 mean of each map, the output of the layer `average`."""
    return keras.layers.GlobalAveragePooling2D(name="average", dtype="float32")(maps)


def remove_heads(model: keras.Model) -> keras.Model:
    """Returns the network without its auxiliary heads, or `model` if it has none."""
    last = model.layers[-1]
    if last.name != HEADS:
        return model
    scores, *_ = last.input
    return keras.Model(model.input, scores, name=model.name)
