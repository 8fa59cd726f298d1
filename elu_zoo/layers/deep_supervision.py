"""Stacking of the scores of a network and of its auxiliary heads."""

from typing import Any

import keras

from elu_zoo import errors


@keras.saving.register_keras_serializable("elu_zoo")
class DeepSupervision(keras.layers.Layer):
    """Stacks the scores of a network and of its auxiliary heads (Lee et al., 2015).

    To stop the training of the heads, set `active` to False before the layer is traced
    again. The output then has no scores of the heads, so that the gradients of the
    heads are zero.

    Args:
        active: whether the heads are trained.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: a list of two or more `(batch, classes)`, the network's scores first.
    Output shape: `(batch, inputs, classes)`, or `(batch, 1, classes)` if not active.

    Raises:
        UsageError: `active` is neither True nor False.

    Reference: [Lee et al., 2015](https://arxiv.org/abs/1409.5185).
    """

    def __init__(self, active: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        errors.check_bool("active", active)
        self.active = active
        self.built = True

    def call(self, inputs: Any) -> Any:
        scores, *heads = inputs
        if not self.active:
            # The optimizer needs a gradient, here of zero, for every variable.
            scores, heads = scores + 0 * sum(heads), []
        return keras.ops.stack([scores, *heads], axis=1)

    def compute_output_shape(self, input_shape: Any) -> Any:
        batch, classes = input_shape[0]
        return batch, len(input_shape) if self.active else 1, classes

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "active": self.active}
