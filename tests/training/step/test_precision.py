"""Precisions: the layers that compute in bfloat16, and the changes of results."""

import keras
import numpy as np
import pytest

import elu_zoo
from elu_zoo import errors, zoo
from elu_zoo.configs import mnist_autoencoder, quickstart
from elu_zoo.data import load
from elu_zoo.evaluation.loss import Objective
from elu_zoo.training.step import precision

REDUCED = ("bfloat16_matmuls", "mixed_bfloat16")
MLP = [f"dense{i}" for i in range(1, 6)]
AUTOENCODER = [
    *("encoder1", "encoder2", "encoder3", "code"),
    *("decoder1", "decoder2", "decoder3"),
]
NETS = {"mnist_mlp_5x256": MLP, "mnist_autoencoder": AUTOENCODER}


def build(name="mnist_mlp_5x256", how=None, **arguments):
    arguments = {"width": 0.1, "seed": 3, "preprocessing": True, **arguments}
    model = zoo.get_model(name, **arguments)
    if how:
        precision.apply(model, how)
    return model


def layers_in(model, dtype="bfloat16"):
    """Returns the names of the layers that compute in a dtype."""
    return [layer.name for layer in model.layers if layer.compute_dtype == dtype]


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (32, 28, 28, 1), "uint8")


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("name", NETS)
def test_a_precision_changes_the_body_of_a_dense_network(name, batch_norm):
    """In the body, bfloat16_matmuls changes dense layers, mixed_bfloat16 all layers."""
    matmuls = NETS[name]
    model = build(name, "bfloat16_matmuls", batch_norm=batch_norm)
    assert layers_in(model) == matmuls
    body = []
    for layer in matmuls:
        norm = [f"norm_{layer}"] if batch_norm else []
        body += [layer] if layer == "code" else [layer, *norm, f"act_{layer}"]
    model = build(name, "mixed_bfloat16", batch_norm=batch_norm)
    assert layers_in(model) == body
    others = [layer.name for layer in model.layers if layer.name not in body]
    assert layers_in(model, "float32") == others
    assert others[:3] == ["image", "rescale", "flatten"] and len(others) > 3
    for how in ("float32", "bfloat16_conv"):
        assert layers_in(build(name, how, batch_norm=batch_norm)) == []


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("bfloat16_conv", ["conv", "pad", "conv2"]),
        ("bfloat16_matmuls", ["conv", "pad", "conv2", "dense1"]),
        (
            "mixed_bfloat16",
            ["conv", "act_conv", "pad", "conv2", "pool", "flatten", "dense1"],
        ),
    ],
)
def test_a_precision_changes_the_body_of_a_convolutional_network(how, expected):
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            # A layer whose weights are not trained counts as preprocessing.
            keras.layers.BatchNormalization(trainable=False, name="statistics"),
            keras.layers.Conv2D(2, 3, name="conv"),
            keras.layers.ReLU(name="act_conv"),
            keras.layers.ZeroPadding2D(name="pad"),
            keras.layers.Conv2D(2, 2, name="conv2"),
            keras.layers.MaxPooling2D(name="pool"),
            keras.layers.Flatten(name="flatten"),
            keras.layers.Dense(4, name="dense1"),
            keras.layers.Dense(2, name="classifier"),
            keras.layers.Softmax(name="softmax"),
        ]
    )
    precision.apply(model, how)
    assert layers_in(model) == expected


@pytest.mark.parametrize("name", ["elu_cifar_11", "elu_cifar_18"])
def test_bfloat16_conv_equals_the_argument_conv_dtype(name):
    """bfloat16_conv also converts activations and pools, which changes no logit."""
    arguments = {"width": 0.05, "num_classes": 4, "preprocessing": False}
    model = build(name, "bfloat16_conv", **arguments)
    expected = build(name, conv_dtype="bfloat16", **arguments)
    count = {"elu_cifar_11": 10 + 3, "elu_cifar_18": 18 + 11}[name]
    assert len(layers_in(expected)) == count  # convolutions and paddings
    between = set(layers_in(model)) - set(layers_in(expected))
    last = [x.name for x in model.layers if x.name.startswith("act_")][-1]
    acts = {x.name for x in model.layers if x.name.startswith("act_")} - {last}
    assert set(layers_in(expected)) < set(layers_in(model))
    assert acts == {x for x in between if x.startswith("act_")}
    assert all(x.startswith("act_") or x.endswith("_pool") for x in between)
    images = np.random.default_rng(0).normal(size=(2, 32, 32, 3)).astype("float32")
    models = model, expected, build(name, **arguments)
    logits = [np.asarray(m(images)) for m in models]
    np.testing.assert_array_equal(logits[0], logits[1])
    assert logits[0].dtype == np.float32
    error = np.abs(logits[0] - logits[2]).max() / np.abs(logits[2]).max()
    assert 1e-4 < error < 0.05


def test_dropout_computes_in_bfloat16_only_before_pooling():
    arguments = {"width": 0.05, "num_classes": 4, "preprocessing": False}
    for placement, reduced in (("last", False), ("before_pooling", True)):
        changed = {**arguments, "dropout_placement": placement}
        names = layers_in(build("elu_cifar_11", "bfloat16_conv", **changed))
        assert ("stack1_drop" in names) is reduced
        assert "stack1_pool" in names and "stack6_drop" not in names


@pytest.mark.parametrize(
    ("activation", "is_reduced"),
    [
        ("elu", True),
        ({"name": "elu", "alpha": 0.3}, True),
        ("relu", True),
        ("shifted_relu", True),
        # In bfloat16 these activations would round slopes or intermediate values.
        ("leaky_relu", False),
        ("prelu", False),
        ("tanh", False),
        (type("Own", (elu_zoo.ELU,), {}), False),
    ],
)
@pytest.mark.parametrize("batch_norm", [False, True])
def test_activations_that_do_not_round_compute_in_bfloat16_between_convolutions(
    activation, is_reduced, batch_norm
):
    """After batch normalisation, activations get float32 inputs and stay in float32."""
    arguments = {"width": 0.05, "num_classes": 4, "preprocessing": False}
    arguments |= {"activation": activation, "batch_norm": batch_norm}
    reduced = layers_in(build("elu_cifar_11", "bfloat16_conv", **arguments))
    assert ("act_stack1_conv1" in reduced) == (is_reduced and not batch_norm)
    assert ("stack1_pool" in reduced) == (is_reduced and not batch_norm)
    assert not {"norm_stack1_conv1", "stack1_drop", "act_stack6_conv1"} & {*reduced}


@pytest.mark.parametrize("how", REDUCED)
def test_variables_stay_float32(how):
    activation = "prelu"
    float32_model = build(activation=activation, batch_norm=True)
    model = build(how=how, activation=activation, batch_norm=True)
    assert len(model.weights) == len(float32_model.weights) > 30
    for variable, expected in zip(model.weights, float32_model.weights, strict=True):
        assert variable.dtype == "float32"
        np.testing.assert_array_equal(np.asarray(variable), np.asarray(expected))


@pytest.mark.parametrize("how", REDUCED)
@pytest.mark.parametrize("name", NETS)
def test_outputs_are_float32_and_close_to_those_of_float32(name, how, images):
    expected = np.asarray(build(name)(images))
    outputs = build(name, how)(images)
    assert outputs.dtype == "float32"
    error = np.abs(np.asarray(outputs) - expected).max() / np.abs(expected).max()
    # Rounding to 8 bits adds 2e-3 per layer. Errors of float32 are about 1e-6.
    assert 1e-4 < error < 0.02


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("bfloat16_convs", "'bfloat16_conv'"),
        ("bfloat16_matmul", "'bfloat16_matmuls'"),
        ("float23", "'float32'"),
    ],
)
def test_unknown_name_suggests_the_nearest(name, suggestion):
    words = f"Unknown precision '{name}'. Did you mean ({suggestion})"
    with pytest.raises(errors.UsageError, match=words):
        precision.check_precision(name)


def test_a_global_dtype_policy_other_than_float32_is_refused():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        with pytest.raises(errors.UsageError, match="policy is mixed_float16, but mu"):
            precision.check_precision("float32")
    finally:
        keras.config.set_dtype_policy("float32")


def run(train, workdir, module, how):
    config = module.get_config("smoke=True")
    config.train.precision = how
    config.data.name = "mnist_5k"
    config.data.train_examples = 640
    config.model.width = 0.1
    return train(config, workdir)


def check_measures(entry, workdir, loss):
    """Checks metrics of an entry against a float32 network with the run's weights."""
    model = elu_zoo.get_model(entry["model"], weights=workdir)
    assert layers_in(model) == []
    for split in ("test", "validation"):
        part = getattr(load.load("mnist_5k"), split)
        outputs = model.predict(part.images, batch_size=500, verbose=0)
        measures = Objective(loss, entry["preprocessing"]).measure([(part, outputs)])
        for key, value in measures.items():
            assert entry["metrics"][f"{split}_{key}"] == pytest.approx(value, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "loss", "reduced"),
    [
        (quickstart, "softmax_cross_entropy", "bfloat16_matmuls"),
        (mnist_autoencoder, "sigmoid_cross_entropy", "mixed_bfloat16"),
    ],
)
def test_runs_in_reduced_precision_have_close_losses_and_exact_metrics(
    train, tmp_path, rows, module, loss, reduced
):
    losses = {}
    for how in ("float32", reduced):
        entry = run(train, tmp_path / how, module, how)
        assert entry["config"]["train"]["precision"] == how
        check_measures(entry, tmp_path / how, loss)
        metrics = rows(tmp_path / how / "metrics.jsonl")
        losses[how] = np.array([row["train_loss"] for row in metrics])
        assert losses[how][1] < losses[how][0]
    error = np.abs(losses[reduced] / losses["float32"] - 1)
    assert (0 < error).all() and (error < 0.03).all()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("dsn", {"auxiliary_heads": True}),
        ("nin", {"activation": "prelu"}),
    ],
)
def test_logits_are_float32_although_trained_layers_follow_them(name, arguments):
    model = zoo.get_model(name, width=0.05, **arguments, preprocessing=False)
    precision.apply(model, "bfloat16_conv", "classifier")
    assert model.get_layer("classifier").compute_dtype == "float32"
    assert len(layers_in(model)) > 5
