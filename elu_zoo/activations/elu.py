"""The exponential linear unit, as functions and as a layer."""

import contextlib
import contextvars
import reprlib
from collections.abc import Iterator
from typing import Any

import keras

from elu_zoo import errors

FORMS = ("plain", "polynomial")
_FLOATS = ("float32", "bfloat16", "float16", "float64")

_form = contextvars.ContextVar("elu_zoo_form", default="plain")


@contextlib.contextmanager
def form(name: str) -> Iterator[None]:
    """Selects the implementation of `ELU` layers that are called in this context.

    The selection is stored in a context variable, which other threads do not see. Under
    a distribution strategy, enter the context inside the replica function. On backends
    other than TensorFlow all layers are plain.

    Args:
        name: `"plain"` for stock operations, the only form that can be exported;
            `"polynomial"` for calls inside a function that XLA compiles.
    """
    errors.check_choice("form", name, FORMS)
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

    On TensorFlow this is `tf.nn.elu`, or one `where` around it, which every exporter
    supports. Half precision is computed in float32. Without XLA, `tf.nn.elu` computes
    `exp(x) - 1`: values near 0 are off by up to `alpha * 1.2e-7`, the derivative at NaN
    is `alpha`, and the second derivative at 0 is 0. `elu_xla` has no such limits.

    Args:
        x: a floating-point tensor of any shape.
        alpha: `f(x)` tends to -alpha for x to -infinity; a number > 0, finite, no tensor.

    Returns:
        A tensor of the shape and dtype of `x`; integers become `keras.config.floatx()`.

    Raises:
        UsageError: `alpha` is not finite and > 0, or `x` has no real numbers.

    Reference: https://arxiv.org/abs/1511.07289
    """
    alpha = errors.positive_float32("alpha", alpha)
    if keras.backend.is_keras_tensor(x):
        return ELU(alpha, dtype=keras.backend.result_type(x.dtype, float))(x)
    return _stock(_floating(x), alpha)


def _stock(x: Any, alpha: float) -> Any:
    """Returns the ELU of a tensor of floats, from stock operations of the backend."""
    if keras.backend.backend() == "jax":
        from elu_zoo.activations import jax_elu

        return jax_elu.elu(x, alpha)
    dtype = keras.backend.standardize_dtype(x.dtype)
    if dtype in ("bfloat16", "float16"):
        return keras.ops.cast(_stock(keras.ops.cast(x, "float32"), alpha), dtype)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        y = tf.nn.elu(x)
        return y if alpha == 1 else tf.where(x > 0, x, alpha * y)
    # expm1(x) for x > 0 would be unused, but its derivative at +inf is inf * 0.
    negative = keras.ops.expm1(keras.ops.where(x > 0, keras.ops.zeros_like(x), x))
    return keras.ops.where(x > 0, x, negative * alpha)


@keras.saving.register_keras_serializable("elu_zoo")
def elu_xla(x: Any, alpha: float = 1.0) -> Any:
    """The function `elu`, compiled by XLA on TensorFlow.

    In float32 and with alpha = 1 the error is at most 1 unit in the last place. For
    x <= 0 the derivative is computed from the output, as `f(x) + alpha`, so that a tape
    keeps only the output. Derivatives of every order are defined, except in a branch of
    `tf.cond` under a tape outside of the function; use `elu` there.

    XLA compiles a program for each new shape, in about 0.04 s for the function and as
    long for its derivative. Another `alpha` is an input of the same programs. As the
    activation of a network, pass `"elu_xla"` or `lambda: ELU(jit_compile=True)`, which,
    unlike this function, is exported as stock operations.

    Args:
        x: a floating-point tensor of any shape.
        alpha: `f(x)` tends to -alpha for x to -infinity; a number > 0, finite, no tensor.

    Returns:
        A tensor of the shape and dtype of `x`; integers become `keras.config.floatx()`.

    Raises:
        UsageError: the backend is not TensorFlow or has no XLA, or an argument is wrong.
    """
    if keras.backend.backend() != "tensorflow":
        raise errors.UsageError(
            "elu_xla needs the TensorFlow backend. Received: "
            f"backend {keras.backend.backend()!r}. Use elu_zoo.elu."
        )
    alpha = errors.positive_float32("alpha", alpha)
    if keras.backend.is_keras_tensor(x):
        return ELU(alpha, True, dtype=keras.backend.result_type(x.dtype, float))(x)
    from elu_zoo.activations import xla

    return xla.elu_compiled(_floating(x), alpha)


def _floating(x: Any, default: str | None = None) -> Any:
    """Returns `x` as a floating-point tensor; what is no real number is refused."""
    try:
        tensor = keras.ops.convert_to_tensor(x)
        dtype = keras.backend.standardize_dtype(tensor.dtype)
    except (TypeError, ValueError):
        tensor, dtype = None, "string"
    if dtype in _FLOATS or keras.backend.is_float_dtype(dtype):
        return tensor
    if dtype == "string":
        raise errors.UsageTypeError(
            f"ELU needs a tensor of real numbers. Received: {reprlib.repr(x)} of type "
            f"{type(x).__name__}."
        )
    if dtype.startswith("complex"):
        raise errors.UsageError(
            f"ELU needs a tensor of real numbers. Received: a tensor of {dtype}. Pass "
            "the real part."
        )
    return keras.ops.cast(tensor, default or keras.backend.floatx())


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
        alpha: `f(x)` tends to -alpha for x to -infinity; must be finite and > 0. Defaults to `1.0`.
        jit_compile: whether the layer computes `elu_xla` on TensorFlow, eagerly and in
            graphs with `training=True`. Other graphs, and thus exports, have stock
            operations, whose values differ by up to alpha * 1.2e-7. A subclass with its own
            `call` is not compiled. Defaults to `False`.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: any. Output shape: the shape of the input.

    Raises:
        UsageError: an argument is wrong, or the input has no real numbers.

    Reference: https://arxiv.org/abs/1511.07289
    """

    def __init__(self, alpha: float = 1.0, jit_compile: bool = False, **kwargs: Any) -> None:
        errors.check_bool("jit_compile", jit_compile)
        if jit_compile and type(self).call is ELU.call:
            # Keras passes `training` to every `call` that takes it, which costs as much
            # as a small ELU; so only a compiled layer takes it.
            self.call = self._call_compiled  # type: ignore[method-assign]
        super().__init__(**kwargs)
        self.alpha = errors.positive_float32("alpha", alpha)
        self.jit_compile = jit_compile
        self.supports_masking = True
        # A built layer accepts inputs of unknown rank; a subclass's `build` must run.
        self.built = type(self).build is keras.layers.Layer.build

    def call(self, inputs: Any) -> Any:
        # Keras passes tensors; another conversion would take as long as a small ELU.
        is_float = keras.backend.standardize_dtype(inputs.dtype) in _FLOATS
        x = inputs if is_float else _floating(inputs, self.compute_dtype)
        if _form.get() == "plain" or keras.backend.backend() != "tensorflow":
            return _stock(x, self.alpha)
        from elu_zoo.activations import xla

        return xla.elu_polynomial(x, self.alpha)

    def _call_compiled(self, inputs: Any, training: bool | None = None) -> Any:
        if _form.get() == "plain" and keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            # XLA must not compile a part of an exported graph: servers may lack XLA.
            if training or tf.executing_eagerly():
                from elu_zoo.activations import xla

                return xla.elu_compiled(_floating(inputs, self.compute_dtype), self.alpha)
        return ELU.call(self, inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        own = {"alpha": self.alpha, "jit_compile": self.jit_compile}
        return {**super().get_config(), **own}
