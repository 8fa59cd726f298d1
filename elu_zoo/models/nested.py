"""Layers of a model, including those of the models in it."""

from collections.abc import Iterator

import keras


def all_layers(model: keras.Model) -> Iterator[keras.layers.Layer]:
    """Yields the layers of a model; a model in it is replaced by its own layers.

    Subclassed models are not replaced, because their layers have no outputs.
    """
    for layer in model.layers:
        if isinstance(layer, keras.Sequential | keras.Function):
            yield from all_layers(layer)
        else:
            yield layer
