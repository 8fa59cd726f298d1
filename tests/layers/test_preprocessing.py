"""Descriptions of preprocessing become layers."""

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.layers import preprocessing_layers


@pytest.mark.parametrize("scale", [1 / 255, 2.0])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_rescale(scale, dtype):
    images = np.random.default_rng(0).integers(0, 256, (2, 3, 4, 1)).astype(dtype)
    (layer,) = preprocessing_layers({"kind": "rescale", "scale": scale})
    assert layer.name == "rescale"
    y = np.asarray(layer(images))
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, images.astype(np.float64) * scale, rtol=1e-6)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"kind": "rescal"}, "Unknown preprocessing 'rescal'.*mean 'rescale'"),
        ({}, "Unknown preprocessing None.*Known: rescale"),
        ({"kind": "rescale"}, "'scale', the factor of every pixel. Received: {'kind"),
    ],
)
def test_unknown(description, message):
    with pytest.raises(errors.UsageError, match=message):
        preprocessing_layers(description)
