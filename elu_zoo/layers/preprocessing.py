"""How raw 0..255 images become a network's input, as layers of the model."""

from typing import Any

import keras

from elu_zoo import errors


def preprocessing_layers(preprocessing: dict[str, Any]) -> list[keras.layers.Layer]:
    """Returns the layers of a preprocessing description, in order.

    Args:
        preprocessing: `{"kind": "rescale", "scale": s}` multiplies every pixel by
            s; 1 / 255 for the MNIST networks, which are not centred.

    Raises:
        UsageError: the kind is not known, or lacks an entry.
    """
    kind = preprocessing.get("kind")
    if kind == "rescale":
        if "scale" not in preprocessing:
            raise errors.UsageError(
                "The preprocessing 'rescale' has an entry 'scale', the factor of every "
                f"pixel. Received: {preprocessing}."
            )
        return [keras.layers.Rescaling(preprocessing["scale"], name="rescale")]
    raise errors.unknown("preprocessing", kind, ["rescale"])
