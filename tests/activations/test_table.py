"""The table of activations makes, describes and registers activations by name."""

import functools
import json

import keras
import ml_collections
import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.activations import ELU, describe, elu, make, names, register_activation, table
from elu_zoo.activations.rectifiers import RReLU


class Unnamed(keras.layers.Layer):
    def __init__(self):
        super().__init__()


# (activation, its description)
DESCRIPTIONS = [
    ("elu", {"name": "elu", "alpha": 1.0}),
    ("elu_xla", {"name": "elu", "alpha": 1.0}),
    ({"name": "elu_xla", "alpha": 0.5}, {"name": "elu", "alpha": 0.5}),
    ({"name": "elu", "alpha": None}, {"name": "elu", "alpha": 1.0}),
    (ml_collections.ConfigDict({"name": "elu", "alpha": 0.5}), {"name": "elu", "alpha": 0.5}),
    (ELU, {"name": "elu", "alpha": 1.0}),
    (elu, {"name": "elu", "alpha": 1.0}),
    (keras.activations.elu, {"name": "elu", "alpha": 1.0}),
    (functools.partial(ELU, alpha=0.5), {"name": "elu", "alpha": 0.5}),
    (lambda: ELU(0.5), {"name": "elu", "alpha": 0.5}),
    ("relu", {"name": "relu"}),
    (lambda: keras.layers.Activation("relu"), {"name": "relu"}),
    ("leaky_relu", {"name": "leaky_relu", "alpha": 0.1}),
    ("very_leaky_relu", {"name": "very_leaky_relu", "alpha": 1 / 3}),
    ("shifted_relu", {"name": "shifted_relu"}),
    ("srelu", {"name": "shifted_relu"}),
    ("prelu", {"name": "prelu"}),
    ("rrelu", {"name": "rrelu", "lower": 1 / 8, "upper": 1 / 3}),
    ({"name": "rrelu", "upper": 0.5}, {"name": "rrelu", "lower": 1 / 8, "upper": 0.5}),
    ("swish", {"name": "silu"}),
    (keras.layers.LeakyReLU, {"name": "LeakyReLU", "negative_slope": 0.3}),
]


@pytest.fixture(autouse=True)
def restore_table(monkeypatch):
    monkeypatch.setattr(table, "_table", dict(table._table))


@pytest.mark.parametrize("activation, expected", DESCRIPTIONS)
def test_describe_returns_the_name_and_all_arguments(activation, expected):
    assert describe(activation) == expected
    assert json.loads(json.dumps(expected)) == expected
    layers = make(activation, "act_a"), make(activation, "act_b")
    assert [layer.name for layer in layers] == ["act_a", "act_b"]
    assert layers[0] is not layers[1] and layers[0].supports_masking


@pytest.mark.parametrize("name", names())
def test_every_name_acts_on_each_element(name):
    layer = make(name, "act", seed=1)
    x = np.linspace(-4, 4, 24).astype(np.float32)
    y = np.asarray(layer(x.reshape(2, 3, 4)))
    assert y.shape == (2, 3, 4)
    rolled = np.asarray(layer(np.roll(x, 1).reshape(2, 3, 4)))
    np.testing.assert_allclose(np.ravel(rolled), np.roll(np.ravel(y), 1), 1e-5, 1e-6)
    assert describe(describe(name)) == describe(name)


def test_the_seed_of_make_determines_the_draws():
    x = -np.ones([20], np.float32)
    draws = [np.asarray(make("rrelu", "act", seed)(x, training=True)) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])
    assert describe({"name": "rrelu"}) == describe(RReLU)


# (argument of `make` and `describe`, part of the message)
REFUSED = [
    ("eluu", "Unknown activation 'eluu'. Did you mean 'elu'"),
    ("softmax", "'softmax' .* does not act on each element"),
    ("threshold", "'threshold' needs arguments"),
    ("mine", "with elu_zoo.register_activation. In a command, .* --module"),
    ({}, "needs a 'name'"),
    ({"name": "elu", "alhpa": 1}, "Did you mean 'alpha'"),
    ({"name": "elu", "beta": None}, "of the activation 'elu' 'beta'. Known: alpha"),
    (ELU(), "needs a new layer for each of its .* Pass the class ELU or `lambda: ELU"),
    (lambda x: x, "is not registered.*register_activation"),
    (lambda: 3, "must return a Keras layer. Received: 3"),
    (lambda layer=ELU(): layer, "the same layer twice"),  # noqa: B008
    (keras.layers.Dense, "Dense needs arguments: units. .* pass `lambda: Dense"),
    (Unnamed, "Unnamed needs an argument name"),
    (None, "of type NoneType"),
]


@pytest.mark.parametrize("activation, message", REFUSED)
def test_make_and_describe_refuse_invalid_activations(activation, message):
    with pytest.raises(errors.UsageError, match=message):
        make(activation, "act")
    with pytest.raises(errors.UsageError, match=message):
        describe(activation)


def check_saved_model(activation, path):
    model = keras.Sequential([keras.Input([4]), make(activation, "act")])
    model.save(path)
    loaded = keras.models.load_model(path)
    x = np.linspace(-2, 2, 4, dtype=np.float32)[None]
    np.testing.assert_array_equal(model(x), loaded(x))
    assert loaded.layers[0].get_config() == model.layers[0].get_config()


def test_models_with_registered_functions_can_be_saved(tmp_path):
    @register_activation
    def table_cube(x):
        return x**3

    assert "table_cube" in names()
    assert describe(table_cube) == describe("table_cube") == {"name": "table_cube"}
    assert register_activation("table_sine", keras.ops.sin) is keras.ops.sin
    check_saved_model("table_cube", tmp_path / "a.keras")
    check_saved_model(table_cube, tmp_path / "b.keras")
    check_saved_model("table_sine", tmp_path / "c.keras")


def test_models_with_registered_classes_can_be_saved(tmp_path):
    @register_activation
    class TableScale(keras.layers.Layer):
        def __init__(self, beta=2.0, seed=None, **kwargs):
            super().__init__(**kwargs)
            self.beta, self.seed = beta, seed

        def call(self, inputs):
            return self.beta * inputs

        def get_config(self):
            return {**super().get_config(), "beta": self.beta, "seed": self.seed}

    assert describe("table_scale") == {"name": "table_scale", "beta": 2.0}
    assert describe({"name": "table_scale", "beta": (1, 2)})["beta"] == [1, 2]  # as in JSON
    assert make("table_scale", "act", seed=5).seed == 5
    check_saved_model({"name": "table_scale", "beta": 3.0}, tmp_path / "a.keras")

    # Models with our ELU and with another class named ELU can both be loaded.
    register_activation("table_elu", type("ELU", (TableScale,), {}))
    check_saved_model("table_elu", tmp_path / "b.keras")
    check_saved_model("elu", tmp_path / "c.keras")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("elu", keras.layers.ReLU), "'elu' exists"),
        (("Sine", keras.ops.sin), "lower-case"),
        ((3, keras.ops.sin), "must be a string"),
        (("three", 3), "layer class or a function"),
        ((lambda x: x**3,), "a function with a name"),
        ((keras.layers.Dense,), "arguments: units. Give them defaults"),
    ],
)
def test_wrong_registrations_are_refused(arguments, message):
    before = names()
    with pytest.raises(errors.UsageError, match=message):
        register_activation(*arguments)
    assert names() == before


def test_a_repeated_definition_replaces_the_old_definition():
    source = (
        "def again(x):\n    return x * {}\n"
        "class Again(keras.layers.Layer):\n"
        "    def call(self, x):\n        return x * {}\n"
    )

    def run(factor, module):
        scope = {"__name__": module, "keras": keras}
        exec(source.format(factor, factor), scope)
        register_activation("again", scope["again"])
        register_activation("again_layer", scope["Again"])

    run(3, "config_config")
    run(4, "config_config")
    for name in ("again", "again_layer"):
        assert float(make(name, "act")(np.float32(1))) == 4
    with pytest.raises(errors.UsageError, match="'again' exists"):
        run(5, "other")


@pytest.mark.parametrize("activation", ["maxout", {"name": "maxout", "alpha": None}])
def test_maxout_is_described_but_not_made(activation):
    assert describe(activation) == {"name": "maxout"}
    assert table.is_maxout(activation)
    with pytest.raises(errors.UsageError, match="exists already"):
        table.register_activation("maxout", keras.ops.tanh)
    with pytest.raises(errors.UsageError, match="in the network maxout"):
        make(activation, "act")
