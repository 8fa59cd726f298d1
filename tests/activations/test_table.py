"""The table: every name, every way to give an activation, every refusal."""

import functools
import json
import subprocess
import sys

import keras
import ml_collections
import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.activations import (
    ELU,
    describe,
    elu,
    make,
    names,
    register_activation,
    table,
)
from elu_zoo.activations.prelu import PReLU
from elu_zoo.activations.rectifiers import LeakyReLU, ShiftedReLU, VeryLeakyReLU
from elu_zoo.activations.rrelu import RReLU

# Keras 3.15.1 converts variables to NumPy 2 arrays in a deprecated way.
pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept:DeprecationWarning"
)

DESCRIPTIONS = [
    ("elu", {"name": "elu", "alpha": 1.0}),
    ({"name": "elu"}, {"name": "elu", "alpha": 1.0}),
    ({"name": "elu", "alpha": None}, {"name": "elu", "alpha": 1.0}),
    ({"name": "elu", "alpha": 2}, {"name": "elu", "alpha": 2.0}),
    (ml_collections.ConfigDict({"name": "elu", "alpha": 0.5}), ("elu", 0.5)),
    (ELU, {"name": "elu", "alpha": 1.0}),
    (elu, {"name": "elu", "alpha": 1.0}),
    (keras.activations.elu, {"name": "elu", "alpha": 1.0}),
    (functools.partial(ELU, alpha=0.5), {"name": "elu", "alpha": 0.5}),
    (lambda: ELU(0.5), {"name": "elu", "alpha": 0.5}),
    ("relu", {"name": "relu"}),
    ({"name": "relu", "alpha": None}, {"name": "relu"}),
    (keras.activations.relu, {"name": "relu"}),
    (lambda: keras.layers.Activation("relu"), {"name": "relu"}),
    ("leaky_relu", {"name": "leaky_relu", "alpha": 0.1}),
    ("very_leaky_relu", {"name": "very_leaky_relu", "alpha": 1 / 3}),
    (VeryLeakyReLU, {"name": "very_leaky_relu", "alpha": 1 / 3}),
    (
        {"name": "very_leaky_relu", "alpha": 0.25},
        {"name": "very_leaky_relu", "alpha": 0.25},
    ),
    ("shifted_relu", {"name": "shifted_relu"}),
    ("srelu", {"name": "shifted_relu"}),
    ({"name": "srelu"}, {"name": "shifted_relu"}),
    ("prelu", {"name": "prelu"}),
    ("rrelu", {"name": "rrelu", "lower": 1 / 8, "upper": 1 / 3}),
    ({"name": "rrelu", "upper": 0.5}, {"name": "rrelu", "lower": 1 / 8, "upper": 0.5}),
    ("tanh", {"name": "tanh"}),
    ("swish", {"name": "silu"}),
    (keras.layers.LeakyReLU, {"name": "LeakyReLU", "negative_slope": 0.3}),
]


@pytest.fixture(autouse=True)
def restored_table(monkeypatch):
    monkeypatch.setattr(table, "_table", dict(table._table))


@pytest.mark.parametrize("activation, expected", DESCRIPTIONS)
def test_descriptions(activation, expected):
    if isinstance(expected, tuple):
        expected = dict(zip(("name", "alpha"), expected, strict=True))
    assert describe(activation) == expected
    assert json.loads(json.dumps(expected)) == expected
    first, second = make(activation, "act_a"), make(activation, "act_b")
    assert (first.name, second.name) == ("act_a", "act_b") and first is not second


@pytest.mark.parametrize("name", names())
def test_every_name_acts_on_each_element(name, tmp_path):
    layer = make(name, "act", seed=1)
    x = np.linspace(-4, 4, 24).astype(np.float32)
    y = np.asarray(layer(x.reshape(2, 3, 4)))
    assert y.shape == (2, 3, 4)
    np.testing.assert_allclose(
        np.ravel(y),
        [float(np.ravel(layer(np.full((2, 3, 4), v, np.float32)))[0]) for v in x],
        rtol=1e-5,
        atol=1e-6,
    )
    assert describe(describe(name)) == describe(name)
    model = keras.Sequential([keras.Input([3, 4]), layer])
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_array_equal(loaded(x.reshape(2, 3, 4)), y)
    assert loaded.layers[0].name == "act"


def test_names():
    ours = ["elu", "relu", "leaky_relu", "shifted_relu", "prelu", "rrelu", "tanh"]
    assert names()[:8] == [*ours, "very_leaky_relu"]
    assert len(names()) == len(set(names())) and "softmax" not in names()


@pytest.mark.parametrize(
    "name, cls",
    [
        ("elu", ELU),
        ("leaky_relu", LeakyReLU),
        ("very_leaky_relu", VeryLeakyReLU),
        ("srelu", ShiftedReLU),
        ("prelu", PReLU),
        ("rrelu", RReLU),
        ("relu", keras.layers.Activation),
    ],
)
def test_layer_classes(name, cls):
    assert type(make(name, "act")) is cls


def test_seed():
    x = -np.ones([20], np.float32)
    draws = [
        np.asarray(make("rrelu", "act", seed)(x, training=True)) for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])
    assert describe({"name": "rrelu"}) == describe(RReLU)


REFUSED = [
    ("eluu", "Unknown activation 'eluu'. Did you mean 'elu'"),
    ("softmax", "'softmax' does not act on each element"),
    ("glu", "'glu' does not act on each element"),
    ("get", "Unknown activation 'get'"),
    ("mine", "registered before: elu_zoo.register_activation, in commands --module"),
    ({"name": "eluu"}, "Did you mean 'elu'"),
    ({}, "needs a 'name'"),
    ({"name": 3}, "needs a 'name'"),
    ({"name": "elu", "alhpa": 1}, "takes no 'alhpa'. Did you mean 'alpha'"),
    ({"name": "elu", "beta": None}, "takes no 'beta'. It takes: alpha"),
    ({"name": "relu", "alpha": 1.0}, "'relu' takes no 'alpha'. It takes: no arguments"),
    ({"name": "rrelu", "seed": 1}, "takes no 'seed'. It takes: lower, upper"),
    ({"name": "rrelu", "lower": 0.5}, "lower < upper"),
    *(
        ({"name": name, "alpha": alpha}, "alpha must be a finite number > 0")
        for name in ("elu", "leaky_relu", "very_leaky_relu")
        for alpha in (0, -1, float("nan"), float("inf"), True, "1")
    ),
    (ELU(), "Every site of a network needs its own .* Pass its class, ELU"),
    (lambda x: x, "is not registered.*register_activation"),
    (keras.ops.sin, "is not registered"),
    (keras.activations.softmax, "is not registered"),
    (lambda: 3, "must return a keras Layer. Received: 3"),
    (lambda layer=ELU(): layer, "the same layer twice"),  # noqa: B008
    (keras.layers.Dense, "Dense needs arguments: units. Pass `lambda: Dense"),
    (None, "of type NoneType. Pass a name"),
    (3, "of type int"),
    (["elu"], "of type list"),
    (int, "is not registered"),
]


@pytest.mark.parametrize("function", [lambda a: make(a, "act"), describe])
@pytest.mark.parametrize("activation, message", REFUSED)
def test_refusals(function, activation, message):
    with pytest.raises(errors.UsageError, match=message):
        function(activation)


def round_trip(activation, path):
    model = keras.Sequential([keras.Input([4]), make(activation, "act")])
    model.save(path)
    loaded = keras.models.load_model(path)
    x = np.linspace(-2, 2, 4, dtype=np.float32)[None]
    np.testing.assert_array_equal(model(x), loaded(x))
    assert loaded.layers[0].get_config() == model.layers[0].get_config()


def test_register_functions(tmp_path):
    @register_activation
    def table_cube(x):
        return x**3

    assert "table_cube" in names()
    assert describe(table_cube) == describe("table_cube") == {"name": "table_cube"}
    assert register_activation("table_sine", keras.ops.sin) is keras.ops.sin
    round_trip("table_cube", tmp_path / "a.keras")
    round_trip(table_cube, tmp_path / "b.keras")
    round_trip("table_sine", tmp_path / "c.keras")


def test_register_classes(tmp_path):
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
    assert make("table_scale", "act", seed=5).seed == 5
    round_trip({"name": "table_scale", "beta": 3.0}, tmp_path / "a.keras")

    # A class of the name of one of ours does not replace it when a model is loaded.
    register_activation("table_elu", type("ELU", (TableScale,), {}))
    round_trip("table_elu", tmp_path / "b.keras")
    round_trip("elu", tmp_path / "c.keras")


def test_a_function_registered_with_keras_only():
    @keras.saving.register_keras_serializable("test_table")
    def double(x):
        return 2 * x

    assert describe(double) == {"name": "test_table>double"}
    assert float(make(double, "act")(np.float32(3))) == 6


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("elu", keras.layers.ReLU), "'elu' exists"),
        (("srelu", keras.ops.sin), "'srelu' exists"),
        (("Sine", keras.ops.sin), "lower-case"),
        (("", keras.ops.sin), "lower-case"),
        ((3, keras.ops.sin), "must be a string"),
        (("three", 3), "Layer class or a function"),
        (("nothing", int), "Layer class or a function"),
        (("cube", lambda x: x**3), "a function with a name"),
        ((lambda x: x**3,), "lower-case"),
    ],
)
def test_refused_registrations(arguments, message):
    before = names()
    with pytest.raises(errors.UsageError, match=message):
        register_activation(*arguments)
    assert names() == before


def test_code_that_is_run_again_registers_again():
    source = (
        "def again(x):\n    return x * {}\n"
        "class Again(keras.layers.Layer):\n"
        "    def call(self, x):\n        return x * {}\n"
    )

    def run(factor, file, module):
        scope = {"__name__": module, "keras": keras}
        exec(compile(source.format(factor, factor), file, "exec"), scope)
        register_activation("again", scope["again"])
        register_activation("again_layer", scope["Again"])

    run(2, "config.py", "loaded")
    run(3, "config.py", "loaded_again")
    run(4, "cell 2", "loaded_again")
    for name in ("again", "again_layer"):
        assert float(make(name, "act")(np.float32(1))) == 4
    with pytest.raises(errors.UsageError, match="'again' exists"):
        run(5, "other.py", "other")


@pytest.mark.slow
def test_another_process_loads_a_saved_model(tmp_path):
    ours = ["elu", "leaky_relu", "srelu", "prelu", "rrelu", "relu", "tanh"]
    layers = [make(name, f"act_{name}") for name in ours]
    model = keras.Sequential([keras.Input([4]), *layers])
    model.save(tmp_path / "m.keras")
    code = (
        "import sys, elu_zoo.activations, keras\n"
        "model = keras.models.load_model(sys.argv[1])\n"
        "print(*(layer.name for layer in model.layers))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m.keras")],
        check=True,
        capture_output=True,
        text=True,
    )
    assert result.stdout.split() == [layer.name for layer in layers]


@pytest.mark.parametrize("given", ["maxout", {"name": "maxout", "alpha": None}])
def test_what_only_a_network_has(given):
    assert table.describe(given) == {"name": "maxout"}
    assert table.of_network(given) == "maxout"
    with pytest.raises(errors.UsageError, match="only the network 'maxout' has it"):
        table.make(given, "act")


@pytest.mark.parametrize("given", ["elu", {"name": "relu"}, keras.layers.ReLU, abs])
def test_what_any_network_has(given):
    assert table.of_network(given) == ""


def test_it_takes_no_arguments():
    with pytest.raises(errors.UsageError, match="'maxout' takes no arguments.*pieces"):
        table.describe({"name": "maxout", "pieces": 3})
