"""Training steps on image files, compared with steps on images in memory."""

import types

import keras
import numpy as np
import pytest
import small_step as small
import tensorflow as tf
from small_step import draw_batches, make_step, run

from elu_zoo import errors
from elu_zoo.data.dataset import Split
from elu_zoo.data.encoded import EncodedSplit
from elu_zoo.data.folder import FilesOfSplit
from elu_zoo.layers import PadCropFlip
from elu_zoo.training.step.compilation import Compilation
from elu_zoo.training.step.resident import ResidentStep
from elu_zoo.training.step.stream import StreamStep
from elu_zoo.training.workers import cluster


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """{class of the step: split}, with the same examples in memory or in files."""
    root = tmp_path_factory.mktemp("images")
    images, labels = small.draw_images(small.COUNT + 5)
    paths = tuple(f"{index}.png" for index in range(len(images)))
    for path, image in zip(paths, images, strict=True):
        (root / path).write_bytes(tf.io.encode_png(image).numpy())
    chosen = np.random.default_rng(2).permutation(small.COUNT + 5)[: small.COUNT]
    files = FilesOfSplit(root, paths, labels)
    return {
        ResidentStep: Split(images[chosen], labels[chosen]),
        StreamStep: EncodedSplit(files, chosen, small.SIDE),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [{"augmented": False}, {"devices": 2, "accumulate": 2}, {"compiled": True}],
    ids=str,
)
def test_training_on_files_equals_training_in_memory(data, arguments, assert_same_bits):
    losses, arrays = run(ResidentStep, data[ResidentStep], **arguments)
    result = run(StreamStep, data[StreamStep], **arguments)
    assert result[0].dtype == np.float32 and len(set(losses)) == small.STEPS
    if arguments.get("compiled"):  # XLA adds in another order
        np.testing.assert_allclose(result[0], losses, 1e-5)
        for a, b in zip(result[1], arrays, strict=True):
            np.testing.assert_allclose(a, b, 0, 1e-6)
    else:
        assert_same_bits([result[0], *result[1]], [losses, *arrays])


def test_results_do_not_depend_on_calls_and_starts(data, assert_same_bits):
    losses, arrays = run(StreamStep, data[StreamStep])
    result = run(StreamStep, data[StreamStep], cut=(2, 1, 3), starts=(2,))
    assert_same_bits([result[0], *result[1]], [losses, *arrays])


@pytest.mark.parametrize("kind", [ResidentStep, StreamStep])
def test_a_changed_dropout_rate_takes_effect_after_compile(data, kind):
    model, sgd, strategy = small.build(), keras.optimizers.SGD(), tf.distribute.get_strategy()
    sgd.build(model.trainable_variables)
    step = make_step(kind, data[kind], strategy, Compilation(False, 1), model, sgd)
    zero, losses = np.zeros(1, np.float32), []  # a learning rate that keeps the weights
    for rate, recompile in ((small.DROPPED, False), (0.0, False), (0.0, True)):
        model.get_layer("drop").rate = rate
        if recompile:
            step.compile()
        step.start(draw_batches()[0])
        losses.append(float(step.run(draw_batches()[0][:1], zero)[0]))
    assert losses[0] == losses[1] != losses[2]


def test_the_error_names_a_missing_image(tmp_path):
    files = FilesOfSplit(tmp_path, ("gone.png",) * small.COUNT, np.zeros(small.COUNT, "int32"))
    with pytest.raises(errors.DataError, match="gone.png"):
        run(StreamStep, EncodedSplit(files, np.arange(small.COUNT), small.SIDE))


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


def sum_gradients(kind, data, strategy):
    """Returns the losses of all iterations at fixed weights, and summed gradients."""
    model, (order, crops) = small.build(), draw_batches()
    summing, compilation = (
        Summing(model.trainable_variables),
        Compilation(False, small.STEPS, accumulate=2),
    )
    augmentation = PadCropFlip(small.PADDING)
    step = make_step(kind, data[kind], strategy, compilation, model, summing, augmentation)
    return step.run(order, small.RATES, small.FIRST, crops), [v.numpy() for v in summing.sums]


@pytest.mark.slow
def test_each_machine_reads_its_part_of_a_batch(data, monkeypatch):
    strategy = tf.distribute.get_strategy()
    losses, sums = sum_gradients(ResidentStep, data, strategy)
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
        monkeypatch.setattr(cluster, "machine_index", lambda i=index: (i, 2))
        parts.append(sum_gradients(StreamStep, data, Machine()))
    order = draw_batches()[0]
    halves = order[:, : small.BATCH // 2], order[:, small.BATCH // 2 :]
    assert read == [(half.ravel().tolist(), small.BATCH // 2) for half in halves]
    np.testing.assert_allclose(parts[0][0] + parts[1][0], losses, 1e-5)
    for first, second, total in zip(parts[0][1], parts[1][1], sums, strict=True):
        np.testing.assert_allclose(first + second, total, 1e-5, 1e-6)
    assert (np.abs(parts[0][0] / losses - 0.5) > 1e-3).all()  # the halves differ
