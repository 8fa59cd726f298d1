"""Precisions: the layers that compute in bfloat16, and the changes of results."""

import keras
import numpy as np
import pytest

import elu_zoo
from elu_zoo import errors, zoo
from elu_zoo.training.step import precision

MLP = [f"dense{i}" for i in range(1, 6)]
AUTOENCODER = [*("encoder1", "encoder2", "encoder3", "code"), *("decoder1", "decoder2", "decoder3")]
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


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("name", NETS)
def test_a_precision_changes_the_body_of_a_dense_network(name, batch_norm):
    body = []
    for layer in NETS[name]:
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
        ("mixed_bfloat16", ["conv", "act_conv", "pad", "conv2", "pool", "flatten", "dense1"]),
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


def test_layers_of_nested_models_have_the_precision():
    block = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Conv2D(2, 3, name="conv")])
    top = keras.layers.Flatten(), keras.layers.Dense(2, name="classifier")
    model = keras.Sequential([keras.Input((8, 8, 1)), block, *top])
    precision.apply(model, "bfloat16_conv", "classifier")
    assert layers_in(block) == ["conv"] and model(np.ones((1, 8, 8, 1))).dtype == "float32"


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


@pytest.mark.parametrize("name", NETS)
def test_variables_and_outputs_are_float32_and_close_to_those_of_float32(name):
    images = np.random.default_rng(0).integers(0, 256, (32, 28, 28, 1), "uint8")
    exact, model = build(name), build(name, "mixed_bfloat16")
    assert {v.dtype for v in model.weights} == {"float32"}
    expected, outputs = np.asarray(exact(images)), model(images)
    assert outputs.dtype == "float32"
    error = np.abs(np.asarray(outputs) - expected).max() / np.abs(expected).max()
    # Rounding to 8 bits adds 2e-3 per layer. Errors of float32 are about 1e-6.
    assert 1e-4 < error < 0.03


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(errors.UsageError, match="Did you mean 'bfloat16_conv'"):
        precision.check_precision("bfloat16_con")


def test_a_global_dtype_policy_other_than_float32_is_refused():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        with pytest.raises(errors.UsageError, match="mixed_float16"):
            precision.check_precision("float32")
    finally:
        keras.config.set_dtype_policy("float32")


@pytest.mark.parametrize(
    ("name", "arguments"), [("dsn", {"auxiliary_heads": True}), ("nin", {"activation": "prelu"})]
)
def test_logits_are_float32_although_trained_layers_follow_them(name, arguments):
    model = zoo.get_model(name, width=0.05, **arguments, preprocessing=False)
    precision.apply(model, "bfloat16_conv", "classifier")
    assert model.get_layer("classifier").compute_dtype == "float32"
    assert len(layers_in(model)) > 5
