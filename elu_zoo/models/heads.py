"""Networks with auxiliary heads, and what is left of them after training."""

import keras

HEADS = "heads"  # the layer that combines the scores of output and heads


def deployed(model: keras.Model) -> keras.Model:
    """Returns a network without its auxiliary heads; any other one as it is."""
    last = model.layers[-1]
    if last.name != HEADS:
        return model
    scores, *_ = last.input
    return keras.Model(model.input, scores, name=model.name)
