"""Training and evaluation preprocess images alike, also where a run preprocesses them once."""

import keras
import numpy as np
import pytest

from elu_zoo import registry, training
from elu_zoo.configs import quickstart
from elu_zoo.layers import image_input


def linear(
    activation="elu", *, batch_norm=False, num_classes=10, input_shape=(8, 8, 1),
    width=1.0, seed=0, preprocessing=None,
):  # fmt: skip
    image, x = image_input(input_shape, preprocessing)
    x = keras.layers.Dense(num_classes, name="classifier")(keras.layers.Flatten()(x))
    return keras.Model(image, x)


@pytest.mark.parametrize("kind", ["gcn", "mean", "gcn_mean", "gcn_zca"])
def test_the_loss_of_training_equals_that_of_an_evaluation(restored_models, tmp_path, kind):
    fitted = {} if kind == "gcn" else {"statistics": "cifar10"}
    registry.register_model(preprocessing={"kind": kind, **fitted})(linear)
    images = np.random.default_rng(0).integers(0, 256, (64, 8, 8, 1), "uint8")
    parts = {f"x_{part}": images for part in ("train", "val", "test")}
    parts |= {f"y_{part}": np.arange(64) % 10 for part in ("train", "val", "test")}
    np.savez(tmp_path / "own.npz", **parts)
    rows, config = [], quickstart.get_config("smoke=True")
    config.data.name = str(tmp_path / "own.npz")
    config.model.name = "linear"
    config.train.update({"batch_size": 32, "epochs": 1, "learning_rates": (1e-9,)})
    run = tmp_path / "run"
    entry = training.train(config, run, compile="off", on_row=rows.append)
    assert entry["preprocessing"]["kind"] == kind
    assert rows[0]["train_loss"] == pytest.approx(rows[0]["validation_loss"], rel=1e-5)
