"""The scores of a network and of its auxiliary heads, for losses of their own."""

from typing import Any

import keras

from elu_zoo import errors


@keras.saving.register_keras_serializable("elu_zoo")
class DeepSupervision(keras.layers.Layer):
    """Stacks scores of a network's output and of auxiliary heads (Lee et al., 2015).

    When the heads are dropped, in the course of the training, `active` is set to
    False before the layer is traced again: then they have no loss, and no gradient
    but zeros reaches them.

    Args:
        active: whether the heads learn.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: a list of two or more `(batch, classes)`, the output's scores first.
    Output shape: `(batch, inputs, classes)`, without heads `(batch, 1, classes)`.

    Raises:
        UsageError: `active` is neither True nor False.

    Reference: [Lee et al., 2015](https://arxiv.org/abs/1409.5185).
    """

    def __init__(self, active: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(active, bool):
            raise errors.UsageError(f"active is True or False. Received: {active!r}.")
        self.active = active

    def build(self, input_shape: Any) -> None:
        pass

    def call(self, inputs: Any) -> Any:
        scores, *heads = inputs
        if not self.active:
            # A gradient of zero, not none: the optimizer's variables stay the same.
            scores, heads = scores + 0 * sum(heads), []
        return keras.ops.stack([scores, *heads], axis=1)

    def compute_output_shape(self, input_shape: Any) -> Any:
        batch, classes = input_shape[0]
        return batch, len(input_shape) if self.active else 1, classes

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "active": self.active}
