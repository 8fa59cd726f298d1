"""Fine-tuning on images of another size than that of the weights."""

import types

import numpy as np
import pytest

from elu_zoo import errors, zoo
from elu_zoo.configs import finetune
from elu_zoo.data import load, statistics
from elu_zoo.training import build, finetuning

NET = "elu_cifar_11"


@pytest.mark.parametrize(
    ("arg", "words"),
    [
        ("model=mnist_mlp_8x128,weights=mnist,image_size=64", "28 x 28 .*: allcnn_c"),
        ("image_size=7", "at least 8 pixels"),
        ("model=allcnn_c,weights=none,image_size=8", "too small for .*allcnn_c"),
        ("model=fmp,weights=none,image_size=95", "at most 94 x 94"),
        ("model=elu_cifar_11,weights=none,image_size=20", "too small for"),
    ],
)
def test_a_size_that_does_not_fit_is_refused(train, tmp_path, arg, words):
    config = finetune.get_config(arg)
    config.data.name = str(tmp_path / "noise.npz")
    images = np.random.default_rng(0).integers(0, 256, (40, 16, 16, 3), "uint8")
    np.savez(config.data.name, x_train=images, y_train=np.arange(40) % 3)
    if "padding" in config.model and "none" in arg:
        config.model.padding = "valid"
    with pytest.raises(errors.UsageError, match=words):
        train(config, tmp_path / "run")


@pytest.mark.parametrize(("size", "kind"), [(12, "rescale"), (9, "gcn")])
def test_another_size_replaces_contrast_normalisation_of_weights(size, kind):
    images = np.random.default_rng(0).integers(0, 256, (5, size, size, 3), "uint8")
    arguments = {"input_shape": [9, 9, 3]}
    parent = types.SimpleNamespace(preprocessing={"kind": "gcn"}, arguments=arguments)
    data = types.SimpleNamespace(image_shape=images.shape[1:])
    split = types.SimpleNamespace(images=images)
    config = finetune.get_config("image_size=12")
    found = build._preprocessing(config, data, split, parent, None)
    assert (found["kind"], finetuning._resolve_shape(config, parent)) == (kind, (9, 9, 3))


@pytest.mark.slow
def test_another_size_replaces_whitening_by_a_fitted_mean_and_scale(
    train, tmp_path, stop_after, last_arrays, assert_same_bits, caplog
):
    data = str(tmp_path / "noise.npz")
    images = np.random.default_rng(0).integers(0, 99, (40, 9, 14, 3), "uint8")
    np.savez(data, x_train=images, y_train=np.arange(40) % 3)

    def config(weights, **entries):
        config = finetune.get_config(f"weights={weights},epochs=2")
        small = {"train.batch_size": 8, "train.checkpoint_every": 3, "train.precision": "float32"}
        config.update_from_flattened_dict({"data.name": data, **small, **entries})
        return config

    first = {"data.image_shape": (8, 8, 3), "model.width": 0.02}
    assert "zca" in str(train(config("none", **first), tmp_path / "8")["preprocessing"])
    caplog.set_level("INFO", logger="absl")
    larger = config(tmp_path / "8", **{"data.image_shape": (12, 10)})
    entry = train(larger, tmp_path / "12")
    images = load.load(data, image_shape=(12, 10, 3)).train.images
    assert entry["preprocessing"] == statistics.fit_scale("gcn_zca", images)
    assert f"scale of {len(images)} training images" in caplog.text
    assert "Images of 12 x 10 pixels do not fit" in caplog.text
    assert "are kept. --config=finetune:keep_best=True keeps" in caplog.text
    assert entry["arguments"]["input_shape"] == [12, 10, 3]
    body, trained = (zoo.get_model(NET, weights=str(tmp_path / x)) for x in ("8", "12"))
    for layer in body.layers[:-2]:
        if layer.weights and layer.name != "classifier":
            before, after = layer.get_weights()[0], trained.get_layer(layer.name)
            change = np.linalg.norm(after.get_weights()[0] - before)
            assert 0 < change < 0.5 * np.linalg.norm(before)  # it began with the body

    stop_after(4, lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(larger, tmp_path / "cut")
    train(larger, tmp_path / "cut")
    assert_same_bits(last_arrays(tmp_path / "cut"), last_arrays(tmp_path / "12"))
