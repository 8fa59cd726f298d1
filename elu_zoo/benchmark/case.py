"""A network and how it is trained in a benchmark: on noise, without dropout."""

import dataclasses
import functools

import keras
import numpy as np

from elu_zoo import registry, zoo
from elu_zoo.data.dataset import Split
from elu_zoo.models import cost

MODELS = ("mnist_mlp_8x128", "mnist_autoencoder", "elu_cifar_11")
# A step multiplies and adds thrice for each product of a prediction, and a call is to
# take long enough to be timed.
_FLOP_A_CALL = 2e10
_MOST_STEPS = 100


@functools.cache
def _multiply_accumulates(name: str) -> tuple[int, int]:
    """Returns those of a network and of its first layer, of one image."""
    model = zoo.get_model(name, preprocessing=False)
    kernels = (keras.layers.Dense, keras.layers.Conv2D)
    first = next(i for i, x in enumerate(model.layers) if isinstance(x, kernels))
    start = keras.Model(model.input, model.layers[first].output)
    return cost.multiply_accumulates(model), cost.multiply_accumulates(start)


@dataclasses.dataclass(frozen=True)
class Case:
    """What is trained.

    Attributes:
        model: name of a network.
        activation: its activation.
        batch_norm: with batch normalisation.
        batch_size: images a step; None for 64 of a dense network and 100 of a
            convolutional one, as the paper has them on MNIST and CIFAR.
        steps: in a call; None for as many as take long enough to be timed.
        rate: the learning rate.
    """

    model: str
    activation: str = "elu"
    batch_norm: bool = False
    batch_size: int | None = None
    steps: int | None = None
    rate: float = 1e-3

    def __post_init__(self):
        images = 100 if self.is_convolutional else 64
        object.__setattr__(self, "batch_size", self.batch_size or images)
        fitting = int(_FLOP_A_CALL / self.flop)
        steps = self.steps or min(max(fitting, 1), _MOST_STEPS)
        object.__setattr__(self, "steps", steps)

    @property
    def is_convolutional(self) -> bool:
        """Whether the network has an argument for the dtype of convolutions."""
        return registry.entry(self.model).takes("conv_dtype")

    @property
    def is_autoencoder(self) -> bool:
        """Whether images are their own targets."""
        return registry.entry(self.model).is_autoencoder

    @property
    def momentum(self) -> float:
        """Of the updates, as in the paper's runs."""
        return 0.9 if self.is_convolutional else 0.0

    @property
    def flop(self) -> int:
        """Floating-point operations in a step's matrix products and convolutions.

        Backward there are two for each forward, but for the first layer, of which
        nobody needs the gradient by the images.
        """
        total, first = _multiply_accumulates(self.model)
        return 2 * self.batch_size * (3 * total - first)

    def create(self) -> keras.Model:
        """Returns the network, without dropout: other libraries draw other masks."""
        registered = registry.entry(self.model)
        still = {}
        if registered.takes("dropout"):
            rates = registered.default("dropout")
            one = isinstance(rates, float)
            still = {"dropout": 0.0 if one else [0.0] * len(rates)}
        return zoo.get_model(
            self.model,
            preprocessing=False,  # which is no part of a step
            activation=self.activation,
            batch_norm=self.batch_norm,
            **still,
        )

    def data(self) -> tuple[Split, np.ndarray]:
        """Returns preprocessed images with labels, and the batches' indices."""
        registered = registry.entry(self.model)
        generator = np.random.Generator(np.random.Philox(0))
        count = self.batch_size * self.steps
        shape = count, *registered.default("input_shape")
        classes = 10 if self.is_autoencoder else registered.default("num_classes")
        labels = generator.integers(0, classes, count).astype("int32")
        batches = generator.permutation(count).astype("int32")
        images = generator.random(shape, "float32")
        return Split(images, labels), batches.reshape(self.steps, self.batch_size)
