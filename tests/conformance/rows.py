"""The table of the conformance tests: one row for each layer or network.

A new network needs a row of NETS, and its number of parameters in
tests/models/test_parameter_counts.py; a new layer, activation or kind of preprocessing a row
of LAYERS. Every row is a model from raw 0..255 images to logits of classes or pixels. Layers
are tested on noise, networks on real digits.
"""

import dataclasses
from collections.abc import Callable

import keras
import numpy as np
import pytest

from elu_zoo import activations, files, registry, zoo
from elu_zoo.activations.table import KERAS
from elu_zoo.data import load
from elu_zoo.data.dataset import Split
from elu_zoo.evaluation.loss import Objective
from elu_zoo.initializers import HeUniform, layer_seed
from elu_zoo.layers import (
    AffineRecolor,
    CeilMaxPooling2D,
    DeepSupervision,
    FeatureMapDropout,
    FractionalMaxPooling2D,
    Highway,
    Maxout,
    PadCropFlip,
    SpatialPyramidPooling,
    WithinChannelNormalization,
    image_input,
    statistics_file,
)

CLASSES = 3
JAX_STEPS = slice(0, 10)
COLOUR = (32, 32, 3)
LARGER = (36, 36, 3)
RESCALE = {"kind": "rescale", "scale": 1 / 255}
MEAN_CROP = {"kind": "mean_crop", "statistics": "conformance", "crop": COLOUR[:2]}


@dataclasses.dataclass(frozen=True)
class Row:
    """A model to test.

    Attributes:
        covers: registered names of the network, activations and preprocessing that
            the model contains.
        make: a function that returns a new model, with equal weights at each call. For
            a network, the argument `activation` replaces the row's.
        random: whether training draws numbers that differ between replicas.
        updates: whether training updates variables that have no gradient.
        registered: the registered name of a network; "" for a layer.
        rate: the learning rate.
        padded: number of zeros on each side of images before random crops.
        recolored: whether training stretches, rotates and recolours images.
    """

    name: str
    covers: tuple[str, ...]
    make: Callable[..., keras.Model]
    image_shape: tuple[int, int, int]
    random: bool = False
    updates: bool = False
    registered: str = ""
    rate: float = 0.01
    padded: int = 0
    recolored: bool = False

    @property
    def autoencoder(self) -> bool:
        """Whether the model returns images instead of class scores."""
        return bool(self.registered and registry.entry(self.registered).code)

    @property
    def objective(self) -> Objective:
        """The training loss."""
        loss = "sigmoid_cross_entropy" if self.autoencoder else "softmax_cross_entropy"
        return Objective(loss, RESCALE)

    @property
    def augmentation(self) -> keras.layers.Layer | None:
        """The layer that augments images in training."""
        if self.recolored:
            return AffineRecolor(self.image_shape[0], name="augment")
        return PadCropFlip(self.padded, name="augment") if self.padded else None


def _between(name, build, shape, covers=(), **properties) -> Row:
    """Returns the row of a model: centred images, then `build`, then a classifier."""

    def make():
        image = keras.Input(shape, name="image")
        x = keras.layers.Rescaling(1 / 64, offset=-2, name="centre")(image)
        return keras.Model(image, _classifier(build(_dense(x, 3, "before"))), name="layer")

    return Row(f"layer-{name}", covers, make, shape, **properties)


def layer(*names, arguments=None, **properties) -> Row:
    """Returns the row of parallel activations."""

    def build(x):
        parts = [
            activations.make({"name": n, **(arguments or {})}, f"act_{n}", seed=1)(x) for n in names
        ]
        return keras.layers.Concatenate(name="all")(parts) if parts[1:] else parts[0]

    suffix = "-".join(f"{k}{v}" for k, v in (arguments or {}).items())
    name = "-".join(names if len(names) < 3 else ("keras",)) + suffix  # layer(*KERAS)
    return _between(name, build, (4, 3, 3), names, **properties)


def pyramid(*levels) -> Row:
    def build(x):
        return SpatialPyramidPooling(levels, name="pyramid")(x)

    return _between("pyramid", build, (7, 5, 3), rate=0.001)


def _dense(x, units, name):
    start = HeUniform(layer_seed(7, name))
    return keras.layers.Dense(units, kernel_initializer=start, name=name)(x)


def after_dense(cls, *arguments, inputs=1, **options) -> Row:
    """Returns the row of a layer `cls` after dense layers."""

    def build(x):
        parts = [_dense(x, 8, f"dense{i}") for i in range(inputs)]
        return cls(*arguments, name="unit", **options)(parts if inputs > 1 else parts[0])

    name = "_".join([cls.__name__, *map(str, arguments[1:])])
    return _between(name, build, (9, 7, 3), rate=0.001)


def heads() -> Row:
    """Returns the row of three dense layers, then DeepSupervision."""

    def build(x):
        x = keras.layers.Flatten(name="flat")(x)
        scores = [_dense(x, CLASSES, name) for name in ("scores", "head1", "head2")]
        return DeepSupervision(name="heads")(scores)

    return _between("heads", build, (4, 3, 3))


def preprocessing(description, shape=(4, 3, 3), raw=None, **properties) -> Row:
    """Returns the row of a model: preprocessing layers, then a classifier."""

    def make():
        _write_mean()
        image, x = image_input(shape, description)
        return keras.Model(image, _classifier(x), name="preprocessing")

    kind = description["kind"]
    return Row(f"preprocessing-{kind}", (kind,), make, raw or shape, **properties)


def net(name, activation, image_shape=(28, 28, 1), **arguments) -> Row:
    """Returns the row of a registered network of reduced width."""
    row_keys = arguments.keys() & {"random", "rate", "padded", "recolored"}
    properties = {key: arguments.pop(key) for key in row_keys}
    arguments = {"input_shape": image_shape, "preprocessing": True, **arguments}
    if registry.entry(name).takes("num_classes"):
        arguments["num_classes"] = CLASSES

    def make(activation=activation):
        _write_mean()
        return zoo.get_model(name, activation=activation, **arguments)

    updates = bool(arguments.get("batch_norm"))
    row_name = f"{name}-{activation}" + "-bn" * updates
    return Row(
        row_name, (name, activation), make, image_shape,
        updates=updates, registered=name, **properties
    )  # fmt: skip


def _write_mean() -> None:
    """Writes the mean image of MEAN_CROP."""
    mean = np.random.default_rng(2).uniform(90, 160, LARGER)
    statistics_file.write_mean(files.home() / "statistics", "conformance", mean)


def _classifier(x):
    initializer = HeUniform(layer_seed(7, "classifier"))
    x = keras.layers.Flatten(name="flatten")(x)
    return keras.layers.Dense(
        CLASSES, kernel_initializer=initializer, dtype="float32", name="classifier"
    )(x)


LAYERS = (
    layer("elu"),
    layer("elu", arguments={"alpha": 0.5}),
    layer("elu_xla", arguments={"alpha": 0.5}),
    layer("relu"),
    layer("leaky_relu"),
    layer("very_leaky_relu"),
    layer("shifted_relu"),
    layer("prelu"),
    layer("rrelu", random=True),
    layer("tanh"),
    layer(*KERAS),
    pyramid(1, 3, 2),
    after_dense(WithinChannelNormalization),
    after_dense(Maxout),
    after_dense(Highway, inputs=3),
    after_dense(CeilMaxPooling2D, 4, 2),
    after_dense(FractionalMaxPooling2D, (7, 5), seed=3),
    after_dense(FractionalMaxPooling2D, (7, 5), "random", seed=3),
    after_dense(FeatureMapDropout, 0.3, seed=3),
    heads(),
    preprocessing(RESCALE),
    preprocessing({"kind": "gcn"}, rate=0.001),
    preprocessing({"kind": "mean", "statistics": "cifar10"}, COLOUR, rate=1e-6),
    preprocessing({"kind": "gcn_mean", "statistics": "cifar10"}, COLOUR, rate=0.001),
    preprocessing({"kind": "gcn_zca", "statistics": "cifar100"}, COLOUR, rate=0.001),
    preprocessing(MEAN_CROP, COLOUR, LARGER, rate=1e-6),
)
NETS = (
    net("mnist_mlp_8x128", "elu", width=0.125),
    net("mnist_mlp_8x128", "elu", width=0.125, batch_norm=True, rate=0.001),
    net("mnist_mlp_8x128", "leaky_relu", width=0.125),
    net("mnist_mlp_8x128", "prelu", width=0.125, batch_norm=True, rate=0.001),
    net("mnist_mlp_8x128", "rrelu", width=0.125, random=True),
    net("mnist_mlp_5x256", "elu", width=0.0625),
    net("mnist_autoencoder", "elu", width=0.05, rate=1e-4),
    net("mnist_autoencoder", "relu", width=0.05, batch_norm=True, rate=1e-5),
    net("elu_cifar_11", "elu", COLOUR, width=0.04, kernel_decay=0.0005, padded=4),
    net(
        "elu_cifar_11", "relu", COLOUR, width=0.04, batch_norm=True, rate=0.001,
        padding="same", dropout_placement="all"
    ),
    net("elu_cifar_18", "relu", COLOUR, width=0.02),
    net("alexnet_cifar", "elu", COLOUR, width=0.1, kernel_decay=0.004, rate=1e-4),
    net(
        "nin", "relu", COLOUR, width=0.04, rate=0.001, padded=4,
        deviations=(0.1, 0.5, 0.3)
    ),
    net("dsn", "elu", COLOUR, width=0.04),
    net("maxout", "maxout", COLOUR, width=0.02, constrained=True),
    net("allcnn_c", "elu", COLOUR, width=0.05, rate=0.001),
    net("highway_19", "relu", COLOUR, width=0.1, rate=0.001, first_deviation=0.05),
    net("fmp", "very_leaky_relu", COLOUR, width=0.0125, rate=0.001, recolored=True),
    net(
        "elu_imagenet_15", "elu", LARGER, width=0.02, rate=1e-4, kernel_decay=0.0005,
        input_shape=COLOUR, stem_stride=1, spp_levels=(1, 2), preprocessing=MEAN_CROP
    ),
)  # fmt: skip
ROWS = LAYERS + NETS
# elu_cifar_18 is not trained: it takes long to compile, and elu_cifar_11 has the same
# builder. dsn is trained with auxiliary heads.
_WITH_HEADS = net("dsn", "elu", COLOUR, width=0.04, rate=0.001, auxiliary_heads=True)
TRAINED = (
    *(r for r in ROWS if r.registered not in ("elu_cifar_18", "dsn")),
    _WITH_HEADS,
)
# A test that takes seconds for each row runs these rows by default. The other rows are
# marked slow.
QUICK = ("layer-FeatureMapDropout", "mnist_mlp_8x128-prelu-bn", "nin-relu")
# These networks take longest to compile; elu_cifar_11 and the layers have all their parts.
# Tests that compile them are marked nightly.
LARGE = ("elu_cifar_18", "elu_imagenet_15", "fmp", "highway_19")
NIGHTLY = pytest.mark.slow, pytest.mark.nightly
# A test that is fast for layers runs these rows by default.
QUICK_LAYERS = (*QUICK, *(row.name for row in LAYERS))


def each(rows, quick=QUICK, nightly=()):
    """Parametrizes a test with rows, slow but for `quick` names, and networks of `nightly`."""
    slow = {row.name: NIGHTLY if row.registered in nightly else pytest.mark.slow for row in rows}
    parameters = [
        pytest.param(row, marks=() if row.name in quick else slow[row.name]) for row in rows
    ]
    return pytest.mark.parametrize("row", parameters, ids=lambda row: row.name)


def examples(row: Row, count: int = 16) -> Split:
    """Returns digits in a frame of zeros for a network, and noise for a layer."""
    if row.registered:
        digits = load.load("mnist_5k").train
        chosen = np.flatnonzero(digits.labels < CLASSES)[:count]
        images, (height, width, channels) = digits.images[chosen], row.image_shape
        zeros = [((n - 28) // 2,) * 2 for n in (height, width)]
        images = np.pad(images, [(0, 0), *zeros, (0, 0)])
        return Split(np.repeat(images, channels, axis=-1), digits.labels[chosen])
    draws = np.random.default_rng(3)
    images = draws.integers(0, 256, (count, *row.image_shape), np.uint8)
    return Split(images, draws.integers(0, CLASSES, count).astype(np.int32))


def schedule(row: Row, steps: slice) -> tuple:
    """Returns arguments of a training step's `run`, for a slice of ten iterations.

    Returns:
        Batches of 8 of the 16 examples, learning rates, the number of the first
        iteration, and the random numbers of the augmentation.
    """
    draws = np.random.default_rng(1)
    batches = draws.permutation(np.repeat(np.arange(16), 5)).reshape(10, 8)
    rates = np.linspace(row.rate, row.rate / 2, 10)
    if row.recolored:
        numbers = draws.integers(0, 2**31, (10, 8, AffineRecolor.draws(3)))
    else:
        numbers = draws.integers(0, [2 * row.padded + 1] * 2 + [2], (10, 8, 3))
    return (
        batches[steps].astype(np.int32),
        rates[steps].astype(np.float32),
        steps.start,
        numbers[steps].astype(np.int32) if row.augmentation else None,
    )


def logits(model, images) -> np.ndarray:
    """Returns the logits of raw images at inference."""
    return np.asarray(model(images.astype(np.float32), training=False))


def scramble(model) -> None:
    """Sets every weight to a random value that is exact in float16."""
    draws = np.random.default_rng(5)
    for each in model.layers:
        for variable in each.weights:
            value = draws.uniform(-0.3, 0.3, variable.shape).astype(np.float16)
            positive = "variance" in variable.path or "gamma" in variable.path
            variable.assign(value + np.float16(1) if positive else value)
