"""The exponential linear unit: the plain function and the layer."""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import keras

from elu_zoo import errors

FORMS = ("plain", "polynomial", "nested")

_form = contextvars.ContextVar("elu_zoo_form", default="plain")


@contextlib.contextmanager
def form(name: str) -> Iterator[None]:
    """Chooses how the `ELU` layers called in this context compute.

    A context variable does not reach other threads: under a distribution
    strategy enter it inside the replica function. It acts on the TensorFlow
    backend only; elsewhere a layer is always plain.

    Args:
        name: `"plain"`, stock operations, the only form that is exported;
            `"polynomial"`, for calls inside a program that XLA compiles;
            `"nested"`, for calls inside a step that is not compiled: the unit
            alone is an XLA program.
    """
    if name not in FORMS:
        raise errors.unknown("form", name, FORMS)
    token = _form.set(name)
    try:
        yield
    finally:
        _form.reset(token)


@keras.saving.register_keras_serializable("elu_zoo")
def elu(x: Any, alpha: float = 1.0) -> Any:
    """Exponential linear unit (Clevert et al., 2016, section 3, equation 15).

    Formula:

    ```
    f(x) = x                      for x > 0
    f(x) = alpha * (exp(x) - 1)   for x <= 0
    ```

    In half precision it is computed in float32. A traced TensorFlow graph gets
    stock operations, which every exporter knows. There `tf.nn.elu` computes
    `exp(x) - 1` unless XLA compiles it, so that values near -0 differ from the
    eager ones, by 1e-7 at most.

    Args:
        x: A floating-point tensor of any shape.
        alpha: Finite and > 0; the unit saturates to `-alpha`.

    Returns:
        A tensor of the shape and dtype of `x`.

    Reference: https://arxiv.org/abs/1511.07289
    """
    alpha = errors.positive_float32("alpha", alpha)
    if keras.backend.is_keras_tensor(x):
        return ELU(alpha)(x)
    x = _floating(x)
    dtype = keras.backend.standardize_dtype(x.dtype)
    if dtype in ("bfloat16", "float16"):
        return keras.ops.cast(elu(keras.ops.cast(x, "float32"), alpha), dtype)
    if keras.backend.backend() == "tensorflow":
        return _elu_tensorflow(x, alpha)
    # The unused branch gets 0, or its derivative at +inf would be 0 * inf. JAX
    # and PyTorch differentiate expm1 from its output.
    negative = keras.ops.expm1(keras.ops.where(x > 0, keras.ops.zeros_like(x), x))
    return keras.ops.where(x > 0, x, negative * alpha)


def _elu_tensorflow(x: Any, alpha: float) -> Any:
    import tensorflow as tf

    if tf.executing_eagerly():
        from elu_zoo.activations import xla

        y = tf.math.expm1(x)
        y = tf.where(x > 0, x, y if alpha == 1 else alpha * y)
        return xla.differentiable(x, y, alpha)
    y = tf.nn.elu(x)
    return y if alpha == 1 else tf.where(x > 0, x, alpha * y)


def elu_xla(x: Any, alpha: float = 1.0) -> Any:
    """Exponential linear unit as one XLA program (Clevert et al., 2016, equation 15).

    Formula:

    ```
    f(x) = x                      for x > 0
    f(x) = alpha * (exp(x) - 1)   for x <= 0
    ```

    In float32 and with alpha = 1 the result is within 1 unit in the last place.
    The derivative is taken from the output, `f(x) + alpha`; it is `alpha` at 0
    and can itself be differentiated.

    Args:
        x: A floating-point tensor of any shape.
        alpha: Finite and > 0; the unit saturates to `-alpha`.

    Returns:
        A tensor of the shape and dtype of `x`.

    Reference: https://arxiv.org/abs/1511.07289
    """
    if keras.backend.backend() != "tensorflow":
        raise errors.UsageError(
            "elu_xla needs the TensorFlow backend. Received: "
            f"backend {keras.backend.backend()!r}. Use elu_zoo.elu."
        )
    from elu_zoo.activations import xla

    return xla.elu_compiled(_floating(x), errors.positive_float32("alpha", alpha))


def _floating(x: Any) -> Any:
    """Returns `x` as a tensor; integers and booleans become `floatx`.

    Raises:
        UsageError: complex numbers.
    """
    x = keras.ops.convert_to_tensor(x)
    if keras.backend.is_float_dtype(x.dtype):
        return x
    dtype = keras.backend.standardize_dtype(x.dtype)
    if dtype.startswith("complex"):
        raise errors.UsageError(
            f"ELU is a function of real numbers. Received: a tensor of {dtype}. Take "
            "its real part first."
        )
    return keras.ops.cast(x, keras.backend.floatx())


@keras.saving.register_keras_serializable("elu_zoo")
class ELU(keras.layers.Layer):
    """Exponential linear unit layer (Clevert et al., 2016, section 3, equation 15).

    Formula:

    ```
    f(x) = x                      for x > 0
    f(x) = alpha * (exp(x) - 1)   for x <= 0
    ```

    Example:

    >>> ELU()(np.array([-1.0, 0.0, 2.0]))
    [-0.63212055  0.          2.        ]

    Args:
        alpha: Finite and > 0; the unit saturates to `-alpha` for very negative
            inputs. Defaults to `1.0`.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Input shape: any. Output shape: that of the input.

    Reference: https://arxiv.org/abs/1511.07289
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = errors.positive_float32("alpha", alpha)
        self.supports_masking = True
        # Without weights it is built now, and takes inputs of unknown rank.
        self.built = type(self).build is keras.layers.Layer.build

    def call(self, inputs: Any) -> Any:
        name = _form.get()
        if name == "plain" or keras.backend.backend() != "tensorflow":
            return elu(inputs, self.alpha)
        from elu_zoo.activations import xla

        if name == "polynomial":
            return xla.elu_polynomial(inputs, self.alpha)
        return xla.elu_compiled(inputs, self.alpha)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alpha": self.alpha}
