"""Tests that need GPUs. Run them with `pytest -m gpu`."""

import signal

import numpy as np
import pytest
import tensorflow as tf

import elu_zoo
from elu_zoo import errors, training
from elu_zoo.activations import elu_xla
from elu_zoo.configs import quickstart
from elu_zoo.export.saved_model import export_saved_model, load_saved_model
from elu_zoo.training.record import signals

pytestmark = pytest.mark.gpu


def smoke(**entries):
    config = quickstart.get_config("smoke=True")
    config.update(entries)
    return config


def arrays(workdir):
    newest = max((workdir / "checkpoints").glob("step-*"))
    with np.load(newest, allow_pickle=False) as stored:
        return [stored[name] for name in stored.files if name != "state"]


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_elu_xla_and_its_gradient_equal_float64(alpha):
    x = np.linspace(-20, 5, 100_001).astype(np.float32)
    with tf.device("GPU:0"), tf.GradientTape() as tape:
        inputs = tf.constant(x)
        tape.watch(inputs)
        y = elu_xla(inputs, alpha)
    x64 = x.astype(np.float64)
    curve = alpha * np.exp(np.minimum(x64, 0))
    exact = np.where(x64 > 0, x64, alpha * np.expm1(np.minimum(x64, 0)))
    np.testing.assert_allclose(y, exact, 3e-7)
    slope = np.where(x64 > 0, 1, curve)
    np.testing.assert_allclose(tape.gradient(y, inputs), slope, 1e-5, 1.2e-7)


def test_all_gpus_train_the_same_as_one(tmp_path):
    gpus = tf.config.list_physical_devices("GPU")
    if len(gpus) < 2:
        pytest.skip("TensorFlow sees one GPU")
    # TF32 would round the factors of products to 10 bits.
    tf.config.experimental.enable_tensor_float_32_execution(False)
    config = smoke()
    config.train.batch_size = 8 * len(gpus)
    training.train(config, tmp_path / "one", strategy="one")
    training.train(config, tmp_path / "all", strategy="mirrored")
    pairs = zip(arrays(tmp_path / "one"), arrays(tmp_path / "all"), strict=True)
    for single, several in pairs:
        np.testing.assert_allclose(several, single, 1e-4, 1e-5)


def test_a_resumed_run_equals_a_run_without_stops_up_to_rounding(tmp_path, monkeypatch):
    """GPUs may add in another order in each run, which changes the last bits."""
    training.train(smoke(), tmp_path / "unstopped")
    with monkeypatch.context() as patch, pytest.raises(errors.Interrupted):
        patch.setattr(signals, "stop_requested", Stopping)
        training.train(smoke(), tmp_path / "cut", steps_per_call=3)
    training.train(smoke(), tmp_path / "cut")
    for array, expected in zip(
        arrays(tmp_path / "cut"), arrays(tmp_path / "unstopped"), strict=True
    ):
        np.testing.assert_allclose(array, expected, 1e-4, 1e-5)


class Stopping:
    """A fake of `stop_requested` that stops a run after the first call of the step."""

    def __enter__(self):
        return lambda: signal.SIGTERM

    def __exit__(self, *_):
        return False


def test_an_export_equals_the_model(tmp_path):
    model = elu_zoo.get_model("elu_cifar_11", weights="cifar100")
    names = [str(i) for i in range(100)]
    export_saved_model(model, tmp_path, name="elu_cifar_11", class_names=names)
    images = np.random.default_rng(0).integers(0, 256, (16, 32, 32, 3), "uint8")
    outputs = load_saved_model(tmp_path / "elu_cifar_11" / "1").predict(images)
    expected = np.asarray(model(images))
    np.testing.assert_allclose(outputs["logits"], expected, 1e-2, 1e-2)
