"""Training steps on image files, compared with steps on images in memory."""

import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors, initializers
from elu_zoo.data.dataset import Split
from elu_zoo.data.encoded import EncodedSplit
from elu_zoo.data.folder import FilesOfSplit
from elu_zoo.evaluation.loss import Objective
from elu_zoo.layers import Dropout, PadCropFlip
from elu_zoo.training.step.compilation import Compilation
from elu_zoo.training.step.devices import create_strategy
from elu_zoo.training.step.learner import Learner
from elu_zoo.training.step.resident import ResidentStep
from elu_zoo.training.step.stream import StreamStep
from elu_zoo.training.workers import cluster

COUNT, BATCH, STEPS, SIDE, CROP, CLASSES = 24, 8, 5, 10, 8, 3
RATES = np.linspace(0.5, 0.1, STEPS).astype(np.float32)
FIRST = 7_000


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """{class of the step: split}, with the same examples in memory or in files."""
    root = tmp_path_factory.mktemp("images")
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (COUNT + 5, SIDE, SIDE, 3), "uint8")
    labels = generator.integers(0, CLASSES, COUNT + 5, "int32")
    paths = tuple(f"{index}.png" for index in range(len(images)))
    for path, image in zip(paths, images, strict=True):
        (root / path).write_bytes(tf.io.encode_png(image).numpy())
    chosen = generator.permutation(COUNT + 5)[:COUNT]
    files = FilesOfSplit(root, paths, labels)
    return {
        ResidentStep: Split(images[chosen], labels[chosen]),
        StreamStep: EncodedSplit(files, chosen, SIDE),
    }


def make_inputs():
    """Returns batches of indices, and random numbers for crops."""
    generator = np.random.default_rng(1)
    order = [generator.permutation(COUNT)[:BATCH] for _ in range(STEPS)]
    high = (SIDE - CROP + 1, SIDE - CROP + 1, 2)
    crops = generator.integers(0, high, (STEPS, BATCH, 3)).astype("int32")
    return np.array(order, "int32"), crops


def build(side, dropped=0.4):
    def kernel(name):
        return {
            "kernel_initializer": initializers.FanInNormal(1.0, len(name)),
            "kernel_regularizer": keras.regularizers.L2(0.05),
            "name": name,
        }

    return keras.Sequential(
        [
            keras.Input((side, side, 3)),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Conv2D(4, 3, **kernel("conv")),
            keras.layers.Flatten(),
            Dropout(dropped, seed=11),
            keras.layers.Dense(CLASSES, **kernel("classifier")),
        ]
    )


def make_step(kind, data, strategy, compilation, augmented=True):
    """Returns a step, and the variables that it trains."""
    with strategy.scope():
        model = build(CROP if augmented else SIDE)
        optimizer = keras.optimizers.SGD(momentum=0.9)
        optimizer.build(model.trainable_variables)
    objective = Objective("softmax_cross_entropy", {"kind": "none"})
    augmentation = PadCropFlip(0, (CROP, CROP)) if augmented else None
    learner = Learner(model, optimizer, objective, BATCH, augmentation)
    step = kind(learner, data[kind], strategy, compilation)
    return step, [*model.weights, *optimizer.variables[2:]]


def run(
    kind, data, *, devices=1, compiled=False, accumulate=1, augmented=True,
    cut=(STEPS,), starts=(0,)
):  # fmt: skip
    """Trains STEPS iterations in calls of `cut` iterations each.

    Before each iteration of `starts`, the step gets the list of all later batches.
    Returns losses, and [*weights, *slots].
    """
    strategy = create_strategy("one" if devices == 1 else "auto", devices)
    compilation = Compilation(compiled, STEPS, accumulate)
    step, variables = make_step(kind, data, strategy, compilation, augmented)
    (order, crops), losses, done = make_inputs(), [], 0
    for count in cut:
        if done in starts:
            step.start(order[done:])
        part = slice(done, done + count)
        draws = crops[part] if augmented else None
        losses.append(step.run(order[part], RATES[part], FIRST + done, draws))
        done += count
    return np.concatenate(losses), [np.array(v) for v in variables]


ARGUMENTS = [
    {},
    {"augmented": False},
    {"devices": 2, "accumulate": 2},
    {"compiled": True},
]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_training_on_files_equals_training_in_memory(data, arguments, assert_same_bits):
    losses, arrays = run(ResidentStep, data, **arguments)
    result = run(StreamStep, data, **arguments)
    assert result[0].dtype == np.float32 and len(set(losses)) == STEPS
    if arguments.get("compiled"):  # XLA adds in another order
        np.testing.assert_allclose(result[0], losses, 1e-5)
        for a, b in zip(result[1], arrays, strict=True):
            np.testing.assert_allclose(a, b, 0, 1e-6)
    else:
        assert_same_bits([result[0], *result[1]], [losses, *arrays])


@pytest.mark.parametrize(
    "arguments",
    [
        {"cut": (2, 1, 2)},
        {"cut": (2, 3), "starts": (0, 2)},
    ],
    ids=str,
)
def test_results_do_not_depend_on_calls_and_starts(data, arguments, assert_same_bits):
    losses, arrays = run(StreamStep, data)
    result = run(StreamStep, data, **arguments)
    assert_same_bits([result[0], *result[1]], [losses, *arrays])


def test_a_changed_dropout_rate_takes_effect_after_compile(data):
    order, crops = make_inputs()
    strategy, zero = tf.distribute.get_strategy(), np.zeros(1, np.float32)
    step, _ = make_step(StreamStep, data, strategy, Compilation(False, 1))
    (dropout,) = (x for x in step._update._model.layers if isinstance(x, Dropout))
    losses = []
    for rate, recompile in ((0.4, False), (0.0, False), (0.0, True)):
        dropout.rate = rate
        if recompile:
            step.compile()
        step.start(order)
        losses.append(float(step.run(order[:1], zero, 0, crops[:1])[0]))
    assert losses[0] == losses[1] != losses[2]


def test_the_error_names_a_missing_image(data, tmp_path):
    files = FilesOfSplit(tmp_path, ("gone.png",) * BATCH, np.zeros(BATCH, "int32"))
    encoded = {StreamStep: EncodedSplit(files, np.arange(BATCH), SIDE)}
    strategy = tf.distribute.get_strategy()
    step, _ = make_step(StreamStep, encoded, strategy, Compilation(False, 1))
    order, crops = np.arange(BATCH, dtype="int32")[None], make_inputs()[1]
    step.start(order)
    with pytest.raises(errors.DataError, match="Cannot read .*gone.png: No such file"):
        step.run(order, RATES[:1], 0, crops[:1])


class Summing:
    """A fake optimizer that adds all gradients and leaves the weights."""

    def __init__(self, variables):
        self.learning_rate = tf.Variable(0.0)
        self.sums = [tf.Variable(tf.zeros(v.shape)) for v in variables]

    def apply(self, gradients, _):
        for total, gradient in zip(self.sums, gradients, strict=True):
            total.assign_add(gradient)


class Machine:
    """A fake strategy: this process is one of two machines with one device each."""

    num_replicas_in_sync = 2

    def run(self, function, arguments):
        return function(*arguments)

    def reduce(self, how, value, axis):
        assert (how, axis) == ("SUM", None)
        return value


def sum_gradients(kind, data, strategy, accumulate):
    """Returns the losses of STEPS iterations at fixed weights, and summed gradients."""
    model, (order, crops) = build(CROP), make_inputs()
    optimizer = Summing(model.trainable_variables)
    objective = Objective("softmax_cross_entropy", {"kind": "none"})
    augmentation = PadCropFlip(0, (CROP, CROP))
    learner = Learner(model, optimizer, objective, BATCH, augmentation)
    compilation = Compilation(False, STEPS, accumulate)
    step = kind(learner, data[kind], strategy, compilation)
    step.start(order)
    return step.run(order, RATES, FIRST, crops), [v.numpy() for v in optimizer.sums]


@pytest.mark.parametrize("accumulate", [1, 2])
def test_each_machine_reads_its_part_of_a_batch(data, monkeypatch, accumulate):
    strategy = tf.distribute.get_strategy()
    losses, sums = sum_gradients(ResidentStep, data, strategy, accumulate)
    monkeypatch.setattr(tf.distribute, "MultiWorkerMirroredStrategy", Machine)
    read, batches = [], EncodedSplit.batches

    def recorded(self, indices, size):
        read.append((indices.tolist(), size))
        return batches(self, indices, size)

    monkeypatch.setattr(EncodedSplit, "batches", recorded)
    parts = []
    for index in (0, 1):
        context = types.SimpleNamespace(replica_id_in_sync_group=index)
        monkeypatch.setattr(tf.distribute, "get_replica_context", lambda c=context: c)
        monkeypatch.setattr(cluster, "place", lambda i=index: (i, 2))
        parts.append(sum_gradients(StreamStep, data, Machine(), accumulate))
    order = make_inputs()[0]
    halves = order[:, : BATCH // 2], order[:, BATCH // 2 :]
    assert read == [(half.ravel().tolist(), BATCH // 2) for half in halves]
    np.testing.assert_allclose(parts[0][0] + parts[1][0], losses, 1e-5)
    for first, second, total in zip(parts[0][1], parts[1][1], sums, strict=True):
        np.testing.assert_allclose(first + second, total, 1e-5, 1e-6)
    assert (np.abs(parts[0][0] / losses - 0.5) > 1e-3).all()  # the halves differ
