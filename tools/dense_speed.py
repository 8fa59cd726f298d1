"""Times training steps of the dense networks beside what Keras users write.

    python tools/dense_speed.py --model=mnist_autoencoder --rounds=9

All forms are timed in turn, round by round, in one process, on noise of the size of
MNIST's training set, with batches of 64 and SGD. A line is the median over the rounds
in milliseconds a step, its ratio to the resident XLA loop of the same activation with
the quartiles, and the ratio of ELU to ReLU:

- resident XLA loop: the trainer's step, many iterations in one program;
- resident loop, bfloat16 ...: the same with `train.precision=bfloat16_matmuls`,
  compiled and not;
- step in tf.function(jit_compile=True): a program for each step, fed from the host;
- keras fit: `compile` and `fit` with their defaults, float32 and mixed_bfloat16.
"""

import time
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf
from absl import app, flags

from elu_zoo import registry, zoo
from elu_zoo.data.sources import Split
from elu_zoo.training import precision
from elu_zoo.training.objective import Objective
from elu_zoo.training.policy import Policy
from elu_zoo.training.tf_step import TFStep

_MODEL = flags.DEFINE_string("model", "mnist_mlp_8x128", "A dense network.")
_ROUNDS = flags.DEFINE_integer("rounds", 9, "Rounds.", lower_bound=1)
_STEPS = flags.DEFINE_integer("steps", 100, "Steps of a form a round.", lower_bound=1)

EXAMPLES, BATCH, RATE = 50_000, 64, 1e-4


def resident(model, objective, data, batches, *, compiled, reduced="float32"):
    """Returns the trainer's own step over all batches."""
    precision.apply(model, reduced)
    optimizer = keras.optimizers.SGD()
    optimizer.build(model.trainable_variables)
    place, policy = tf.distribute.get_strategy(), Policy(compiled, len(batches))
    step = TFStep(model, optimizer, objective, data, BATCH, place, policy)
    rates = np.full(len(batches), RATE, np.float32)
    return lambda: step.run(batches, rates)


def step_by_step(model, objective, data, batches):
    """Returns a loop over a jitted step that takes its images from the host."""
    optimizer = keras.optimizers.SGD(RATE)
    optimizer.build(model.trainable_variables)

    @tf.function(jit_compile=True)
    def step(images, labels):
        with tf.GradientTape() as tape:
            images = tf.cast(images, tf.float32)
            outputs = model(images, training=True)
            loss = tf.reduce_mean(objective(images, labels, outputs))
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, [w.value for w in weights]), weights)
        return loss

    def call():
        for batch in batches:
            loss = step(data.images[batch], data.labels[batch])
        return loss.numpy()

    return call


def keras_fit(model, objective, data, batches):
    """Returns `fit` over the examples of all batches, with Keras' defaults."""
    of_images = len(model.output_shape) > 2
    loss = (
        (lambda images, outputs: objective(images, None, outputs))
        if of_images
        else keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    model.compile(keras.optimizers.SGD(RATE), loss)
    images = data.images[batches.ravel()].astype(np.float32)
    targets = images if of_images else data.labels[batches.ravel()]
    return lambda: model.fit(images, targets, batch_size=BATCH, verbose=0)


def forms(activation: str) -> dict[str, Callable[[], object]]:
    """Returns what is timed, by name."""
    registered = registry.entry(_MODEL.value)
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (EXAMPLES, 28, 28, 1), "uint8")
    data = Split(images, generator.integers(0, 10, EXAMPLES).astype("int32"))
    shape = (_STEPS.value, BATCH)
    batches = generator.integers(0, EXAMPLES, shape).astype("int32")
    objective = Objective(registered.loss, registered.preprocessing)

    def make(form, **arguments):
        model = zoo.get_model(_MODEL.value, activation=activation, preprocessing=True)
        return form(model, objective, data, batches, **arguments)

    bfloat16 = {"reduced": "bfloat16_matmuls"}
    found = {
        "resident XLA loop": make(resident, compiled=True),
        "resident loop, plain": make(resident, compiled=False),
        "resident XLA loop, bfloat16": make(resident, compiled=True, **bfloat16),
        "resident loop, bfloat16, plain": make(resident, compiled=False, **bfloat16),
        "step in tf.function(jit_compile=True)": make(step_by_step),
        "keras fit": make(keras_fit),
    }
    keras.config.set_dtype_policy("mixed_bfloat16")
    found["keras fit, mixed_bfloat16"] = make(keras_fit)
    keras.config.set_dtype_policy("float32")
    return found


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"Unexpected arguments: {argv[1:]}")
    timed = {(a, n): f for a in ("elu", "relu") for n, f in forms(a).items()}
    times = {key: [] for key in timed}
    for function in timed.values():
        function()
    for _ in range(_ROUNDS.value):
        for key, function in timed.items():
            start = time.perf_counter()
            function()
            times[key].append(1e3 * (time.perf_counter() - start) / _STEPS.value)
    times = {key: np.array(values) for key, values in times.items()}
    print(f"{'form':<38} unit  {'ms':>6}  by the resident XLA loop  elu / relu")
    for (activation, name), values in times.items():
        ratios = values / times[activation, "resident XLA loop"]
        low, median, high = np.percentile(ratios, [25, 50, 75])
        paired = np.median(values / times["relu", name])
        print(
            f"{name:<38} {activation:<5} {np.median(values):6.3f}  "
            f"{median:5.2f} ({low:.2f}-{high:.2f})        {paired:5.2f}"
        )


if __name__ == "__main__":
    app.run(main)
