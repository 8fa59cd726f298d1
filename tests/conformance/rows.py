"""The table of what the conformance tests drive: one row a layer or network.

To add a network, add a row to NETS; to add a layer, one to LAYERS. Every row is a model
from raw 0..255 images to logits, so that each test drives all of them alike.
"""

import dataclasses
from collections.abc import Callable

import keras
import numpy as np

from elu_zoo import activations, zoo
from elu_zoo.activations.table import KERAS
from elu_zoo.data.sources import Split
from elu_zoo.layers import preprocessing_layers

CLASSES = 3


@dataclasses.dataclass(frozen=True)
class Row:
    """A model to test.

    Attributes:
        name: of the test's id.
        covers: names of the registries, and kinds of preprocessing, that it holds.
        make: returns a new model, with equal weights each time.
        image_shape: of its input.
        random: in training it draws numbers of its own, which differ by replica.
        updates: in training it updates variables that no gradient reaches.
    """

    name: str
    covers: tuple[str, ...]
    make: Callable[[], keras.Model]
    image_shape: tuple[int, int, int]
    random: bool = False
    updates: bool = False


def layer(*names, arguments=None, **properties) -> Row:
    """A row of activations side by side, between a scaling and a classifier."""
    shape = (4, 3, 3)

    def make():
        image = keras.Input(shape, name="image")
        x = keras.layers.Rescaling(1 / 64, offset=-2, name="centre")(image)
        units = [
            activations.make({"name": n, **(arguments or {})}, f"act_{n}", seed=1)(x)
            for n in names
        ]
        x = keras.layers.Concatenate(name="all")(units) if units[1:] else units[0]
        return keras.Model(image, _classifier(x), name="layer")

    suffix = "-".join(f"{k}{v}" for k, v in (arguments or {}).items())
    name = "-".join(names if len(names) < 3 else ("keras",)) + suffix
    return Row(f"layer-{name}", names, make, shape, **properties)


def preprocessing(description) -> Row:
    """A row of preprocessing layers before a classifier."""
    shape = (4, 3, 3)

    def make():
        image = x = keras.Input(shape, name="image")
        for each in preprocessing_layers(description):
            x = each(x)
        return keras.Model(image, _classifier(x), name="preprocessing")

    kind = description["kind"]
    return Row(f"preprocessing-{kind}", (kind,), make, shape)


def net(name, activation, image_shape, *, random=False, **arguments) -> Row:
    """A row of a registered network at reduced width."""

    def make():
        return zoo.get_model(
            name,
            activation=activation,
            num_classes=CLASSES,
            input_shape=image_shape,
            preprocessing=True,
            **arguments,
        )

    updates = bool(arguments.get("batch_norm"))
    row_name = f"{name}-{activation}" + "-bn" * updates
    return Row(row_name, (name, activation), make, image_shape, random, updates)


def _classifier(x):
    initializer = keras.initializers.RandomUniform(-0.1, 0.1, seed=7)
    x = keras.layers.Flatten(name="flatten")(x)
    return keras.layers.Dense(
        CLASSES, kernel_initializer=initializer, dtype="float32", name="classifier"
    )(x)


LAYERS = (
    layer("elu"),
    layer("elu", arguments={"alpha": 0.5}),
    layer("relu"),
    layer("leaky_relu"),
    layer("shifted_relu"),
    layer("prelu"),
    layer("rrelu", random=True),
    layer("tanh"),
    layer(*KERAS),
    preprocessing({"kind": "rescale", "scale": 1 / 255}),
)
NETS = (
    net("mnist_mlp_8x128", "elu", (28, 28, 1), width=0.125),
    net("mnist_mlp_8x128", "elu", (28, 28, 1), width=0.125, batch_norm=True),
    net("mnist_mlp_8x128", "leaky_relu", (28, 28, 1), width=0.125),
    net("mnist_mlp_8x128", "prelu", (28, 28, 1), width=0.125, batch_norm=True),
    net("mnist_mlp_8x128", "rrelu", (28, 28, 1), width=0.125, random=True),
)
ROWS = LAYERS + NETS


def examples(row: Row, count: int = 16) -> Split:
    """Returns seeded noise images and labels for a row's model."""
    draws = np.random.default_rng(3)
    images = draws.integers(0, 256, (count, *row.image_shape), np.uint8)
    return Split(images, draws.integers(0, CLASSES, count).astype(np.int32))


def logits(model, images) -> np.ndarray:
    """Returns what a model says of raw images, outside of training."""
    return np.asarray(model(images.astype(np.float32), training=False))


def scramble(model) -> None:
    """Gives every weight another value, exact in float16; variances stay positive."""
    draws = np.random.default_rng(5)
    for each in model.layers:
        for variable in each.weights:
            value = draws.uniform(-0.3, 0.3, variable.shape).astype(np.float16)
            positive = "variance" in variable.path or "gamma" in variable.path
            variable.assign(value + np.float16(1) if positive else value)
