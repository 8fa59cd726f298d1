"""The config mnist_depth sets the number of hidden layers of mnist_mlp_8x128."""

import pytest

from elu_zoo import errors, zoo


@pytest.mark.parametrize("layers", [0, -1, 2.0, "8"])
def test_a_wrong_number_of_layers_raises_a_usage_error(layers):
    words = f"hidden_layers must be an integer >= 1. Received: {layers!r}"
    with pytest.raises(errors.UsageError, match=words):
        zoo.get_model("mnist_mlp_8x128", hidden_layers=layers)
