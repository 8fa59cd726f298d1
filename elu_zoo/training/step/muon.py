"""Muon, an optimizer with orthogonalised steps, for kernels of constant norm."""

import math
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from elu_zoo import errors

_COEFFICIENTS = 3.4445, -4.7750, 2.0315  # Jordan et al., 2024
_STEPS = 3  # of Newton-Schulz
_TINY = 1e-30  # avoids 0 / 0 for a gradient of zeros


@keras.saving.register_keras_serializable("elu_zoo")
class Muon(keras.optimizers.Optimizer):
    """Muon for kernels, Nesterov's SGD for other variables.

    Every variable with gradient g has the momentum `m = momentum * m + g` and the
    direction `u = g + momentum * m`. A kernel is reshaped to a matrix W,
    `(inputs, outputs)`. The length of its step is proportional to its norm, which stays
    constant:

    ``` python
    x = u / |u|
    x = a * x + (b * x @ x.T + c * (x @ x.T) @ (x @ x.T)) @ x      # repeated
    W = W - learning_rate * |W| * x / sqrt(min(W.shape))
    W = W / |W| * (norm of W before the step)
    ```

    The second line, the Newton-Schulz step, brings all singular values of x near 1.
    Norms are Frobenius norms. The kernels of `sgd_layers` and all variables that are
    not kernels change by `-learning_rate * sgd_factor * u`.

    Args:
        learning_rate: step length relative to the norm of a kernel; a float or a schedule.
        momentum: the momentum, in [0, 1).
        compute_dtype: the dtype of the Newton-Schulz steps.
        sgd_layers: names of layers whose kernels use SGD, such as the classifier.
        sgd_factor: factor on the learning rate for SGD, > 0.
        sgd_decay: L2 decay of the kernels of `sgd_layers`: gradient += decay * kernel.
        **kwargs: arguments of `keras.optimizers.Optimizer`, without `weight_decay`.

    Reference:
        Jordan et al., Muon: an optimizer for hidden layers in neural networks, 2024.
        The constant norm is from the CIFAR-10 speed runs of the same authors.
    """

    def __init__(
        self,
        learning_rate: Any = 0.02,
        *,
        momentum: float = 0.9,
        compute_dtype: str = "bfloat16",
        sgd_layers: Sequence[str] = ("classifier",),
        sgd_factor: float = 5.0,
        sgd_decay: float = 0.0,
        **kwargs: Any,
    ):
        if kwargs.get("weight_decay"):
            raise errors.UsageError("Muon has no weight_decay: norms are constant. Pass sgd_decay.")
        errors.check_number("momentum", momentum, errors.FRACTION)
        errors.check_number("sgd_factor", sgd_factor, errors.POSITIVE)
        errors.check_number("sgd_decay", sgd_decay, errors.NON_NEGATIVE)
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.compute_dtype = compute_dtype
        self.sgd_layers = tuple(sgd_layers)
        self.sgd_factor = sgd_factor
        self.sgd_decay = sgd_decay

    def build(self, variables: Sequence[Any]) -> None:
        if self.built:
            return
        super().build(variables)
        self.momentums = self.add_optimizer_variables(variables, "momentum")
        # Lists by index, because `update_step` gets TensorFlow's variables, which have
        # no Keras names.
        self._orthogonal, self._decays = [], []
        paths = [variable.path.split("/") for variable in variables]
        for variable, path in zip(variables, paths, strict=True):
            is_kernel = variable.name == "kernel" and len(variable.shape) > 1
            by_sgd = not set(path).isdisjoint(self.sgd_layers)
            self._orthogonal.append(is_kernel and not by_sgd)
            self._decays.append(self.sgd_decay * (is_kernel and by_sgd))

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        index = self._get_variable_index(variable)
        rate = ops.cast(learning_rate, variable.dtype)
        gradient = ops.cast(gradient, variable.dtype)
        if self._decays[index]:
            gradient = gradient + self._decays[index] * variable
        average = self.momentum * self.momentums[index] + gradient
        direction = gradient + self.momentum * average
        self.assign(self.momentums[index], average)
        if self._orthogonal[index]:
            self.assign(variable, self._moved(variable, direction, rate))
        else:
            self.assign_sub(variable, rate * self.sgd_factor * direction)

    def _moved(self, kernel: Any, direction: Any, rate: Any) -> Any:
        """Returns a kernel after a step that keeps the norm of the kernel."""
        shape = math.prod(kernel.shape[:-1]), kernel.shape[-1]
        matrix, u = ops.reshape(kernel, shape), ops.reshape(direction, shape)
        norm, length = _norm(matrix), _norm(u)
        x = self._orthogonalised(u / ops.maximum(length, _TINY))
        moved = matrix - rate * norm * x / math.sqrt(min(shape))
        moved = moved * (norm / ops.maximum(_norm(moved), _TINY))
        # For a direction of zeros, the rescaling would change the kernel by rounding.
        moved = ops.where(length > 0, moved, matrix)
        return ops.reshape(moved, kernel.shape)

    def _orthogonalised(self, x: Any) -> Any:
        """Moves the singular values of a matrix of Frobenius norm 1 near to 1."""
        a, b, c = _COEFFICIENTS
        wide = x.shape[0] <= x.shape[1]
        dtype = x.dtype
        x = ops.cast(x if wide else ops.transpose(x), self.compute_dtype)
        for _ in range(_STEPS):
            square = x @ ops.transpose(x)
            x = a * x + (b * square + c * (square @ square)) @ x
        return ops.cast(x if wide else ops.transpose(x), dtype)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "momentum": self.momentum,
            "compute_dtype": self.compute_dtype,
            "sgd_layers": list(self.sgd_layers),
            "sgd_factor": self.sgd_factor,
            "sgd_decay": self.sgd_decay,
        }


def _norm(matrix: Any) -> Any:
    return ops.sqrt(ops.sum(ops.square(matrix)))
