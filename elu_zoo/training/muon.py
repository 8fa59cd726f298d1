"""Muon: momentum whose steps are orthogonalised, on kernels that keep their norm."""

import math
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from elu_zoo import errors

_COEFFICIENTS = 3.4445, -4.7750, 2.0315  # Jordan et al., 2024
_TINY = 1e-30  # keeps 0 / 0 from being NaN where nothing is to move


@keras.saving.register_keras_serializable("elu_zoo")
class Muon(keras.optimizers.Optimizer):
    """Muon for kernels, Nesterov's SGD for everything else.

    Every variable has the momentum `m = momentum * m + g` of its gradients and the
    direction `u = g + momentum * m`. A kernel W, taken as a matrix of
    `(inputs, outputs)`, moves by a share of its norm, and keeps its norm:

    ``` python
    x = u / |u|
    x = a * x + (b * x @ x.T + c * (x @ x.T) @ (x @ x.T)) @ x      # several times
    W = W - learning_rate * |W| * x / sqrt(min(W.shape))
    W = W / |W| * (its norm before)
    ```

    The Newton-Schulz steps of the third line bring all singular values of x near 1.
    Norms are Frobenius'. Biases, other variables and the kernels of `sgd_layers` move
    by `-learning_rate * sgd_factor * u`.

    Args:
        learning_rate: of kernels, a share of their norm; a float or a schedule.
        momentum: in [0, 1).
        newton_schulz_steps: >= 1.
        compute_dtype: of the Newton-Schulz steps.
        sgd_layers: names of layers whose kernels are not orthogonalised, such as the
            classifier.
        sgd_factor: on the learning rate of what is not orthogonalised, > 0.
        sgd_decay: L2 decay of kernels of `sgd_layers`: gradient += decay * kernel.
        **kwargs: of `keras.optimizers.Optimizer`, but `weight_decay`: a kernel that
            keeps its norm has none.

    Raises:
        UsageError: an argument is out of its range, or weight_decay is given.

    Reference:
        Jordan et al., Muon: an optimizer for hidden layers in neural networks, 2024.
        The constant norm is that of the authors' CIFAR-10 speed runs.
    """

    def __init__(
        self,
        learning_rate: Any = 0.02,
        *,
        momentum: float = 0.9,
        newton_schulz_steps: int = 3,
        compute_dtype: str = "bfloat16",
        sgd_layers: Sequence[str] = ("classifier",),
        sgd_factor: float = 2.5,
        sgd_decay: float = 0.0,
        **kwargs: Any,
    ):
        if kwargs.get("weight_decay"):
            raise errors.UsageError(
                "Muon keeps the norm of kernels, which therefore have no decay. "
                f"Received: weight_decay={kwargs['weight_decay']}. Leave it out; "
                "sgd_decay is of the kernels of sgd_layers."
            )
        _check("momentum", momentum, "in [0, 1)", 0 <= momentum < 1)
        steps = newton_schulz_steps
        whole = isinstance(steps, int) and not isinstance(steps, bool)
        _check("newton_schulz_steps", steps, "a whole number >= 1", whole and steps > 0)
        _check("sgd_factor", sgd_factor, "> 0", 0 < sgd_factor < math.inf)
        _check("sgd_decay", sgd_decay, ">= 0", 0 <= sgd_decay < math.inf)
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.newton_schulz_steps = newton_schulz_steps
        self.compute_dtype = compute_dtype
        self.sgd_layers = tuple(sgd_layers)
        self.sgd_factor = sgd_factor
        self.sgd_decay = sgd_decay

    def build(self, variables: Sequence[Any]) -> None:
        if self.built:
            return
        super().build(variables)
        self.momentums = self.add_optimizer_variables(variables, "momentum")
        # By index: a step sees TensorFlow's variables, which do not have Keras' names.
        kernels = [v.name == "kernel" and len(v.shape) > 1 for v in variables]
        excluded = [
            not set(v.path.split("/")).isdisjoint(self.sgd_layers) for v in variables
        ]
        pairs = list(zip(kernels, excluded, strict=True))
        self._turns = [kernel and not other for kernel, other in pairs]
        self._decays = [self.sgd_decay * (kernel and other) for kernel, other in pairs]

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        index = self._get_variable_index(variable)
        rate = ops.cast(learning_rate, variable.dtype)
        gradient = ops.cast(gradient, variable.dtype)
        if self._decays[index]:
            gradient = gradient + self._decays[index] * variable
        average = self.momentum * self.momentums[index] + gradient
        direction = gradient + self.momentum * average
        self.assign(self.momentums[index], average)
        if self._turns[index]:
            self.assign(variable, self._turned(variable, direction, rate))
        else:
            self.assign_sub(variable, rate * self.sgd_factor * direction)

    def _turned(self, kernel: Any, direction: Any, rate: Any) -> Any:
        """Returns a kernel after its step, at the norm it had."""
        shape = math.prod(kernel.shape[:-1]), kernel.shape[-1]
        matrix, u = ops.reshape(kernel, shape), ops.reshape(direction, shape)
        norm, length = _norm(matrix), _norm(u)
        x = self._orthogonalised(u / ops.maximum(length, _TINY))
        moved = matrix - rate * norm * x / math.sqrt(min(shape))
        moved = moved * (norm / ops.maximum(_norm(moved), _TINY))
        # Rescaled for nothing, a kernel would change by rounding.
        moved = ops.where(length > 0, moved, matrix)
        return ops.reshape(moved, kernel.shape)

    def _orthogonalised(self, x: Any) -> Any:
        """Returns a matrix of Frobenius norm 1 with its singular values near 1."""
        a, b, c = _COEFFICIENTS
        wide = x.shape[0] <= x.shape[1]
        dtype = x.dtype
        x = ops.cast(x if wide else ops.transpose(x), self.compute_dtype)
        for _ in range(self.newton_schulz_steps):
            square = x @ ops.transpose(x)
            x = a * x + (b * square + c * (square @ square)) @ x
        return ops.cast(x if wide else ops.transpose(x), dtype)

    def get_config(self) -> dict[str, Any]:
        own = {
            "momentum": self.momentum,
            "newton_schulz_steps": self.newton_schulz_steps,
            "compute_dtype": self.compute_dtype,
            "sgd_layers": list(self.sgd_layers),
            "sgd_factor": self.sgd_factor,
            "sgd_decay": self.sgd_decay,
        }
        return {**super().get_config(), **own}


def _norm(matrix: Any) -> Any:
    return ops.sqrt(ops.sum(ops.square(matrix)))


def _check(name: str, value: Any, expected: str, fits: bool) -> None:
    if not fits:
        raise errors.UsageError(f"{name} is {expected}. Received: {value!r}.")
