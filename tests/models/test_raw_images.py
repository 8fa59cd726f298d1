"""Raw images: the argument `preprocessing` of `get_model`."""

import keras
import numpy as np
import pytest

import elu_zoo
from elu_zoo import errors, registry
from elu_zoo.models import preprocessing

CNN = "elu_cifar_11"
OWN = registry.entry(CNN).preprocessing
OF_WEIGHTS = {
    "tag": "a tag",
    "preprocessing": {"kind": "gcn_zca", "statistics": "letters_zca-1"},
    "arguments": {"input_shape": [24, 40, 3]},
}


@pytest.mark.parametrize(
    ("asked", "entry", "shape", "expected"),
    [
        (False, None, (48, 48, 3), None),
        (False, OF_WEIGHTS, None, None),
        (True, None, None, OWN),
        (True, None, [32, 32, 3], OWN),
        (True, OF_WEIGHTS, (24, 40, 3), OF_WEIGHTS["preprocessing"]),
        ("cifar10", None, None, {**OWN, "statistics": "cifar10"}),
        # The layers check the size for other statistics.
        ("letters", None, (48, 48, 3), {**OWN, "statistics": "letters"}),
        ({"kind": "gcn"}, None, (48, 48, 3), {"kind": "gcn"}),
        ({"crop": (8, 8)}, None, None, {"crop": [8, 8]}),
    ],
)
def test_chosen(asked, entry, shape, expected):
    assert preprocessing.resolve(registry.entry(CNN), asked, entry, shape) == expected


def test_networks_without_statistics_take_any_size():
    entry = registry.entry("mnist_mlp_8x128")
    found = preprocessing.resolve(entry, True, None, (5, 5, 1))
    assert found == {"kind": "rescale", "scale": 1 / 255}


@pytest.mark.parametrize(
    ("name", "entry", "shape", "message"),
    [
        *(
            (name, None, shape, r"fit images of 32 x 32 pixels with 3 channels. Rec")
            for name, shape in [
                (CNN, (48, 48, 3)),
                ("nin", (16, 64, 3)),  # as many values as 32 x 32 x 3
                ("alexnet_cifar", (32, 32, 1)),
            ]
        ),
        (CNN, OF_WEIGHTS, (32, 32, 3), "letters_zca-1 fit images of 24 x 40 pixels"),
        ("elu_imagenet_15", None, (256, 256, 3), "imagenet2012 fit crops of 224 x 224"),
        (CNN, None, (3, 32, 32), "channels first"),
    ],
)
def test_refused_sizes(name, entry, shape, message):
    with pytest.raises(errors.UsageError, match=message) as caught:
        preprocessing.resolve(registry.entry(name), True, entry, shape)
    if shape[0] > 3:
        assert f"Received: input_shape={shape}" in str(caught.value)
        assert "preprocessing=False" in str(caught.value)


def fitted(images, **arguments):
    """Returns the losses of a few steps of Keras' own training."""
    model = elu_zoo.get_model(CNN, width=0.1, num_classes=10, **arguments)
    model.compile(
        keras.optimizers.SGD(0.05, momentum=0.9),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )
    labels = np.arange(len(images)) % 10
    return model.fit(images, labels, batch_size=8, epochs=2, verbose=0).history["loss"]


def test_fit_on_raw_pixels():
    """Without preprocessing the loss becomes infinite at a usual learning rate."""
    images = np.random.default_rng(0).integers(0, 256, (16, 32, 32, 3), "uint8")
    assert np.isfinite(fitted(images)).all()
    assert not np.isfinite(fitted(images, preprocessing=False)).all()
