"""Times training steps of convolutional networks beside Keras' own `fit`.

    python tools/conv_speed.py --padding=same
    python tools/conv_speed.py --model=elu_cifar_18 --steps=1 --rounds=1
    python tools/conv_speed.py --model=elu_imagenet_15 --batch_size=2 --steps=1

The forms are timed in turn, round by round, in one process, on noise, with batches of
100, momentum, weight decay and the paper's dropout. A line is the median over the
rounds in milliseconds a step and its ratio to the first form with the quartiles; the
last line is the largest memory of the process.

- keras fit: `compile` and `fit` with their defaults, float32, without augmentation;
- float32 and bfloat16_conv: the trainer's step in that precision, its graph run by
  TensorFlow's kernels, crops and flips in it;
- XLA: the same compiled; it takes minutes and is left out unless named.

`--forms` names those to time, of one alone the memory is the form's own.
"""

import resource
import time
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf
from absl import app, flags

from elu_zoo import registry, zoo
from elu_zoo.data import order
from elu_zoo.data.sources import Split
from elu_zoo.layers import PadCropFlip
from elu_zoo.training import precision
from elu_zoo.training.objective import Objective
from elu_zoo.training.policy import Policy
from elu_zoo.training.tf_step import TFStep

_MODEL = flags.DEFINE_string("model", "elu_cifar_11", "A convolutional network.")
_ACTIVATION = flags.DEFINE_string("activation", "elu", "Its activation.")
_PADDING = flags.DEFINE_enum(
    "padding", "caffe", ["caffe", "same"], "Its padding, if it has one."
)
_BATCH = flags.DEFINE_integer("batch_size", 100, "Images a step.", lower_bound=1)
_ROUNDS = flags.DEFINE_integer("rounds", 7, "Rounds.", lower_bound=1)
_STEPS = flags.DEFINE_integer("steps", 5, "Steps of a form a round.", lower_bound=1)
_FORMS = flags.DEFINE_multi_enum(
    "forms",
    ["keras fit", "float32", "bfloat16_conv"],
    ["keras fit", "float32", "bfloat16_conv", "float32, XLA", "bfloat16_conv, XLA"],
    "What is timed; ratios are to the first.",
)

RATE = 1e-3


def build() -> tuple[keras.Model, keras.optimizers.Optimizer]:
    """Returns the network with the paper's dropout and decay, and its optimizer."""
    padded = registry.entry(_MODEL.value).takes("padding")
    model = zoo.get_model(
        _MODEL.value,
        activation=_ACTIVATION.value,
        kernel_decay=0.0005,
        **({"padding": _PADDING.value} if padded else {}),
    )
    return model, keras.optimizers.SGD(RATE, momentum=0.9)


def keras_fit(data: Split, batches: np.ndarray) -> Callable[[], object]:
    """Returns `fit` over the examples of all batches, with Keras' defaults."""
    model, optimizer = build()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss)
    examples = data.images[batches.ravel()], data.labels[batches.ravel()]
    return lambda: model.fit(*examples, batch_size=_BATCH.value, verbose=0)


def trainer(
    data: Split, batches: np.ndarray, reduced: str, compiled: bool
) -> Callable[[], object]:
    """Returns the trainer's own step over all batches."""
    model, optimizer = build()
    precision.apply(model, reduced)
    optimizer.build(model.trainable_variables)
    objective = Objective("softmax_cross_entropy", {"kind": "rescale", "scale": 1.0})
    layer = PadCropFlip()
    draws = order.crops_and_flips(0, 0, len(data), 2 * layer.padding + 1)[batches]
    place, policy = tf.distribute.get_strategy(), Policy(compiled, len(batches))
    arguments = model, optimizer, objective, data, _BATCH.value, place, policy, layer
    step = TFStep(*arguments)
    rates = np.full(len(batches), RATE, np.float32)
    return lambda: step.run(batches, rates, 0, draws)


def form(name: str, data: Split, batches: np.ndarray) -> Callable[[], object]:
    """Returns what is timed under this name."""
    if name == "keras fit":
        return keras_fit(data, batches)
    reduced, _, compiled = name.partition(", ")
    return trainer(data, batches, reduced, bool(compiled))


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"Unexpected arguments: {argv[1:]}")
    generator = np.random.default_rng(0)
    network, shape = registry.entry(_MODEL.value), (_STEPS.value, _BATCH.value)
    count, classes = _STEPS.value * _BATCH.value, network.default("num_classes")
    images = generator.normal(0, 0.5, (count, *network.default("input_shape")))
    labels = generator.integers(0, classes, count).astype("int32")
    data = Split(images.astype("float32"), labels)
    batches = generator.permutation(count).reshape(shape).astype("int32")
    timed = {name: form(name, data, batches) for name in _FORMS.value}
    times = {name: [] for name in timed}
    for function in timed.values():
        function()
    for _ in range(_ROUNDS.value):
        for name, function in timed.items():
            start = time.perf_counter()
            function()
            times[name].append(1e3 * (time.perf_counter() - start) / _STEPS.value)
    print(f"{_MODEL.value}, batches of {_BATCH.value}")
    for name, values in times.items():
        ratios = np.array(values) / np.array(times[_FORMS.value[0]])
        low, median, high = np.percentile(ratios, [25, 50, 75])
        print(
            f"{name:<20} {np.median(values):8.1f} ms   "
            f"{median:5.2f} ({low:.2f}-{high:.2f}) of {_FORMS.value[0]}"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"largest memory of the process: {peak:.1f} GiB")


if __name__ == "__main__":
    app.run(main)
