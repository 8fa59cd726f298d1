"""Training case of the benchmark: a network that trains on noise, without dropout."""

import dataclasses
import functools

import keras
import numpy as np

from elu_zoo import registry, zoo
from elu_zoo.data.dataset import Split
from elu_zoo.models import cost

MODELS = ("mnist_mlp_8x128", "mnist_autoencoder", "elu_cifar_11")
_FLOP_PER_CALL = 8e10  # makes a call long enough that its start does not count
_LEAST_STEPS, _MOST_STEPS = 4, 400  # per call


@functools.cache
def _multiply_accumulates(name: str) -> tuple[int, int]:
    """Returns the multiply-accumulates per image of a network and its first layer."""
    model = zoo.get_model(name, preprocessing=False)
    kernels = (keras.layers.Dense, keras.layers.Conv2D)
    first = next(i for i, x in enumerate(model.layers) if isinstance(x, kernels))
    start = keras.Model(model.input, model.layers[first].output)
    return cost.multiply_accumulates(model), cost.multiply_accumulates(start)


@dataclasses.dataclass(frozen=True)
class Case:
    """A network and its training, by default in the paper's batches.

    Attributes:
        steps: training steps per call; 0 for a call long enough to be timed.
    """

    model: str
    activation: str = "elu"
    batch_norm: bool = False
    batch_size: int = 0
    steps: int = 0
    rate: float = 1e-3

    def __post_init__(self):
        images = 100 if self.is_convolutional else 64
        object.__setattr__(self, "batch_size", self.batch_size or images)
        fitting = min(max(int(_FLOP_PER_CALL / self.flop), _LEAST_STEPS), _MOST_STEPS)
        object.__setattr__(self, "steps", self.steps or fitting)

    @property
    def is_convolutional(self) -> bool:
        """Whether the network is for colour images: all such networks have convolutions."""
        return registry.entry(self.model).default("input_shape")[-1] == 3

    @property
    def is_autoencoder(self) -> bool:
        return registry.entry(self.model).is_autoencoder

    @property
    def momentum(self) -> float:
        """The optimizer's momentum, as in the paper."""
        return 0.9 if self.is_convolutional else 0.0

    @property
    def flop(self) -> int:
        """Floating-point operations in a step's matrix products and convolutions."""
        # Backward has twice as many as forward, but no gradient of the images.
        total, first = _multiply_accumulates(self.model)
        return 2 * self.batch_size * (3 * total - first)

    def create(self) -> keras.Model:
        """Returns the network without dropout, whose masks differ between libraries."""
        registered = registry.entry(self.model)
        no_dropout: dict = {}
        if registered.takes("dropout"):
            rates = registered.default("dropout")
            no_dropout["dropout"] = 0.0 if isinstance(rates, float) else [0.0] * len(rates)
        return zoo.get_model(
            self.model,
            preprocessing=False,  # preprocessing is not part of a step
            activation=self.activation,
            batch_norm=self.batch_norm,
            **no_dropout,
        )

    def data(self) -> tuple[Split, np.ndarray]:
        """Returns noise images and random labels, and the indices of each batch."""
        registered = registry.entry(self.model)
        generator = np.random.Generator(np.random.Philox(0))
        count = self.batch_size * self.steps
        shape = count, *registered.default("input_shape")
        classes = 10 if self.is_autoencoder else registered.default("num_classes")
        labels = generator.integers(0, classes, count).astype("int32")
        batches = generator.permutation(count).astype("int32")
        images = generator.random(shape, "float32")
        return Split(images, labels), batches.reshape(self.steps, self.batch_size)
