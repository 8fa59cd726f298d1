"""Fine-tuning: runs that start from trained weights."""

import dataclasses
import logging
import shutil
import signal
from pathlib import Path

import h5py
import numpy as np
import pytest
from ml_collections import ConfigDict

from elu_zoo import errors, images, training, zoo
from elu_zoo.configs import finetune, quickstart
from elu_zoo.data import load
from elu_zoo.layers import statistics_file
from elu_zoo.training import backends, build, config_checks, finetuning
from elu_zoo.training.config import resolve
from elu_zoo.weights import pretrained

MLP = "mnist_mlp_8x128"


@pytest.fixture(scope="module")
def npz(tmp_path_factory):
    """A user's .npz file of forty coloured images, 10 x 12 pixels, in three classes."""
    generator = np.random.default_rng(0)
    labels = np.arange(40) % 3
    images = generator.integers(0, 120, (40, 10, 12, 3)) + 60 * labels[:, None, None, None]
    path = tmp_path_factory.mktemp("own") / "shades.npz"
    names = np.array(["dark", "grey", "light"])
    np.savez(path, x_train=images.astype("uint8"), y_train=labels, class_names=names)
    return str(path)


def parent_config(seed=0):
    """The config of a small network with ReLU and batch normalisation."""
    config = quickstart.get_config("smoke=True,activation=relu,batch_norm=True")
    config.model.width, config.train.epochs, config.seed = 0.1, 1, seed
    with config.unlocked():
        config.model.hidden_layers = 3  # make_config has no such field
    return config


@pytest.fixture(scope="module")
def parent(tmp_path_factory):
    """The folder of a run of `parent_config`."""
    folder = tmp_path_factory.mktemp("parent") / "relu"
    training.train(parent_config(), folder, compile="off")
    return str(folder)


def make_config(weights, data, arg="", entries=()):
    config = finetune.get_config(f"model={MLP},weights={weights},epochs=2,{arg}")
    small = {"data.name": data, "train.batch_size": 8, "train.checkpoint_every": 3}
    config.update_from_flattened_dict({**small, **dict(entries)})
    return config


def read_layers(folder):
    """Returns {layer: float16 arrays} of the weight file of a run."""
    (path,) = folder.glob("*.weights.h5")
    with h5py.File(path) as file:
        return {
            group.attrs["name"]: [group["vars"][k][...] for k in sorted(group["vars"])]
            for group in file["layers"].values()
            if len(group["vars"])
        }


@pytest.fixture(scope="module")
def tuned(parent, npz, tmp_path_factory):
    """The folder and the entry of a finished run that fine-tunes the parent."""
    folder = tmp_path_factory.mktemp("tuned") / "run"
    return folder, training.train(make_config(parent, npz), folder, compile="off")


def test_the_entry_has_the_arguments_of_the_weights(parent, npz, tuned):
    folder, entry = tuned
    first = pretrained.find(MLP, parent).entry
    assert entry["arguments"] == {**first["arguments"], "num_classes": 3}
    assert entry["arguments"]["hidden_layers"] == 3
    assert entry["preprocessing"] == first["preprocessing"]
    assert (entry["parent"], entry["dataset"]) == (first["tag"], "shades")
    assert entry["classes"] == ["dark", "grey", "light"]
    for words in ("shades.npz: the terms of its images", "The weights it began with, MNIST"):
        assert words in entry["data_terms"]
    model = zoo.get_model(MLP, weights=str(folder))
    assert model.input_shape == (None, 28, 28, 1) and model.output_shape == (None, 3)
    test = load.load(npz, image_shape=(28, 28, 1)).test
    wrong = (np.argmax(model(test.images), 1) != test.labels).mean()
    assert entry["metrics"]["test_error_percent"] == pytest.approx(100 * wrong)
    named = images.decode_predictions(model(test.images), MLP, str(folder))
    assert {name for name, _ in named[0]} == {"dark", "grey", "light"}


def test_only_layers_that_are_not_frozen_change(parent, npz, train, tuned, tmp_path):
    train(make_config(parent, npz, "freeze=dense1+dense2"), tmp_path / "run")
    before = read_layers(Path(parent))
    body = before.keys() - {"classifier"}
    frozen = {name for name in body if name.endswith(("dense1", "dense2"))}
    for folder, names in ((tuned[0], set()), (tmp_path / "run", frozen)):
        after = read_layers(folder)
        assert before.keys() == after.keys()
        for name in body:
            pairs = zip(before[name], after[name], strict=True)
            assert all((a == b).all() for a, b in pairs) == (name in names)


def test_the_classifier_is_new_and_the_body_is_loaded(parent, npz):
    for classes in (3, 10):  # the parent has ten classes
        config, weights = finetuning.fill_from_parent(make_config(parent, npz))
        arguments = {"width": 0.1, "activation": "relu", "batch_norm": True, "hidden_layers": 3}
        new = zoo.get_model(MLP, num_classes=classes, seed=config.seed, **arguments)
        arguments |= {"num_classes": classes, "weights": weights}
        model = zoo.get_model(MLP, seed=config.seed, **arguments)
        trained = read_layers(Path(parent))
        for layer in (x for x in model.layers if x.weights):
            is_new = layer.name == "classifier"
            expected = new.get_layer("classifier").get_weights() if is_new else trained[layer.name]
            for a, b in zip(layer.get_weights(), expected, strict=True):
                np.testing.assert_array_equal(a, b.astype("float32"))


def test_frozen_layers_keep_the_precision_of_the_config(parent, npz):
    config = make_config(parent, npz, "freeze=body")
    config.train.precision = "mixed_bfloat16"
    resolved, placement = resolve(config), backends.choose_devices(False, "one", None)
    run = build.build(resolved, build.load_data(resolved, None), placement, ("off", None, 1))
    reduced = [x.name for x in run.model.layers if x.compute_dtype == "bfloat16"]
    assert {"dense1", "dense2", "dense3"} <= {*reduced} and "classifier" not in reduced


def test_what_may_mislead_is_logged(npz, parent, caplog, monkeypatch):
    caplog.set_level(logging.INFO, "absl")
    resolved = resolve(make_config(parent, npz))
    data, began = build.load_data(resolved, None), resolved.parent
    config = finetune.get_config("weights=none")
    config.data.name, config.train.precision = npz, "bfloat16_conv"
    monkeypatch.setattr(Path, "read_text", lambda path: "flags : fma avx2")  # of /proc/cpuinfo
    for dataset, side, words in ("mnist", 20, []), ("shades", 28, []), ("shades", 20, ["some of"]):
        caplog.clear()
        shape = {"arguments": {"input_shape": [side, side, 1]}, "dataset": dataset}
        build._advise(config, data, 49, dataclasses.replace(began, **shape))
        for word in "precision=float32", "augmentation=none", "Only 49 iterations", *words:
            assert word in caplog.text
        assert len(caplog.records) == 3 + len(words)


def test_a_part_of_a_name_is_a_whole_word():
    model = zoo.get_model(MLP, hidden_layers=10, width=0.1, batch_norm=True)
    finetuning.freeze(model, ConfigDict({"model": {"name": MLP}, "train": {"freeze": ("dense1",)}}))
    frozen = {x.name for x in model.layers if x.weights and not x.trainable}
    assert frozen == {"dense1", "norm_dense1"}


def test_a_frozen_body_leaves_the_slopes_of_the_class_maps():
    model = zoo.get_model("nin", width=0.05, activation="prelu")
    finetuning.freeze(model, ConfigDict({"model": {"name": "nin"}, "train": {"freeze": ("body",)}}))
    assert {x.name for x in model.layers if x.trainable_weights} == {"classifier", "act_classifier"}


@pytest.mark.slow
def test_a_run_is_not_resumed_from_other_weights(parent, npz, train, tmp_path, stop_after):
    first = pretrained.find(MLP, shutil.copytree(parent, tmp_path / "parent")).name
    config = make_config(tmp_path / "parent", npz)
    train(config, tmp_path / "finished")
    stop_after(4, lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(errors.Interrupted):
        train(config, tmp_path / "run")
    shutil.rmtree(tmp_path / "parent")
    second = train(parent_config(seed=1), tmp_path / "parent")["tag"]
    for folder in ("run", "finished"):
        with pytest.raises(errors.DataError, match=f"{first}, but .* {second}"):
            train(config, tmp_path / folder)


@pytest.mark.parametrize(
    ("weights", "arg", "expected"),
    [
        ("none", "", ("elu", 1.0, False)),
        ("mnist", "activation=relu", ("relu", 1.0, False)),
        ("mnist", "activation=elu_xla", ("elu_xla", 1.0, False)),
        (None, "", ("relu", 0.1, True)),
    ],
)
def test_resolve_takes_arguments_from_the_weights(parent, caplog, weights, arg, expected):
    config = make_config(weights or parent, "mnist_5k", arg)
    resolved, _ = finetuning.fill_from_parent(config)
    config_checks.check_config(resolved)
    model = resolved.model
    assert (model.activation.name, model.width, model.batch_norm) == expected
    assert finetuning.fill_from_parent(resolved)[0] == resolved
    assert config.model.width is None  # `resolve` returned a copy
    with caplog.at_level(logging.WARNING, "absl"):
        build.load_data(resolve(config), None)
    assert ("part of MNIST's training set" in caplog.text) == (weights != "none")


@pytest.mark.parametrize(
    ("arg", "entries", "words"),
    [
        ("", {"model.width": 0.5}, "width=0.1"),
        ("activation=elu", {}, "activation"),
        ("", {"model.activation.alpha": 2.0}, "alpha"),
        ("freeze=dense9", {}, "Did you mean"),
        ("freeze=body+classifier", {}, "every layer"),
    ],
)
def test_configs_that_do_not_fit_the_weights_are_refused(
    parent, npz, train, tmp_path, arg, entries, words
):
    config = make_config(parent, npz, arg, entries)
    with pytest.raises(errors.UsageError, match=words):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arg", "entries", "expected"),
    [
        ("model=elu_cifar_11,image_size=40", {}, (40, 40, 3)),
        (f"model={MLP},weights=none,image_size=20", {}, (20, 20, 1)),
        ("model=elu_cifar_11", {}, (32, 32, 3)),
        ("model=elu_cifar_11,weights=none", {"data.name": "own.npz"}, (32, 32, 3)),
        ("model=elu_cifar_11,weights=none", {"data.name": "mnist_5k"}, None),
        (f"model={MLP},weights=mnist", {"data.name": "own.npz"}, (28, 28, 1)),
    ],
)
def test_image_shape_comes_from_config_or_weights_or_network(arg, entries, expected):
    config = finetune.get_config(arg)
    config.update_from_flattened_dict(dict(entries))
    assert build.image_shape(*finetuning.fill_from_parent(config)) == expected


def test_an_autoencoder_starts_from_all_weights(npz, train, tmp_path):
    config = finetune.get_config("model=mnist_autoencoder,weights=mnist,epochs=1")
    config.data.name, config.train.batch_size = npz, 8
    config.train.learning_rates = (0.0, 1e-9, 0.0)  # the weights stay the same
    config.train.loss = "half_squared_error"  # of other outputs than those of the weights
    entry = train(config, tmp_path)
    assert (entry["classes"], entry["config"]["train"]["loss"]) == ([], "sigmoid_cross_entropy")
    loaded = zoo.get_model("mnist_autoencoder", weights="mnist").get_weights()
    trained = zoo.get_model("mnist_autoencoder", weights=tmp_path).get_weights()
    for a, b in zip(trained, loaded, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-3)


def test_a_users_network_with_dropout_is_fine_tuned(phased, npz, train, tmp_path):
    small = {"data.name": npz, "train.batch_size": 8}
    config = finetune.get_config("model=small_stacks,weights=none,epochs=1")
    config.update_from_flattened_dict(small)
    entry = train(config, tmp_path)
    assert entry["arguments"]["input_shape"] == [28, 28, 1]
    config = finetune.get_config(f"model=small_stacks,weights={tmp_path},epochs=1")
    small |= {"train.freeze": ("stack1",), "train.learning_rates": (0.0, 0.5, 0.0)}
    config.update_from_flattened_dict(small)
    assert train(config, tmp_path / "again")["parent"] == entry["tag"]
    before, after = read_layers(tmp_path), read_layers(tmp_path / "again")
    equal = {name for name in before if (before[name][0] == after[name][0]).all()}
    assert equal == {"stack1_conv1"}


@pytest.mark.slow
def test_runs_find_statistics_beside_the_weights(npz, train, tmp_path, monkeypatch, stop_after):
    """Each new $ELU_ZOO_HOME stands for another machine, without the statistics."""

    def move(home):
        monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / home))

    def run(workdir, weights, **arguments):
        config = finetune.get_config(f"model=elu_cifar_11,weights={weights},epochs=1")
        small = {"data.name": npz, "data.image_shape": (8, 8, 3), "train.batch_size": 8}
        config.update_from_flattened_dict(small)
        config.model.width, config.train.precision = 0.02, "float32"
        return train(config, tmp_path / workdir, **arguments)

    move("first")
    stop_after(2, lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(errors.Interrupted):
        run("run", "none", steps_per_call=1)
    (copied,) = (tmp_path / "run").glob("*_zca-*.npz")
    data = load.load(npz, image_shape=(8, 8, 3))
    move("resumed")  # a machine that has computed other statistics
    others = statistics_file.Statistics(np.zeros(192), np.eye(192))
    statistics_file.write(tmp_path / "resumed" / "statistics", data.fingerprint, others)
    assert run("run", "none")["preprocessing"]["statistics"] == copied.stem
    model = zoo.get_model("elu_cifar_11", weights=tmp_path / "run")
    expected = model(data.test.images)

    move("second")
    run("again", tmp_path / "run")
    assert (tmp_path / "again" / copied.name).is_file()
    move("third")
    model = zoo.get_model("elu_cifar_11", weights=tmp_path / "run")
    np.testing.assert_array_equal(model(data.test.images), expected)
    with pytest.raises(errors.NotFoundError):  # training fits its own
        statistics_file.find(data.fingerprint)
