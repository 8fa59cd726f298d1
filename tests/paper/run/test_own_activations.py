"""Activations that a user's own module has: found, registered, refused."""

import sys

import numpy as np
import pytest

from elu_zoo import activations, errors
from elu_zoo.activations import table
from elu_zoo.paper.run.own_activations import register

MODULE = """
import keras
import elu_zoo

def {name}(x):
    return x * x * x

@elu_zoo.register_activation("{name}_two")
def two(x):
    return 2 * x

class {title}Three(keras.layers.Layer):
    def call(self, x):
        return 3 * x

_private = no_function = 3
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty current folder; what is registered or found there is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(table, "_table", dict(table._table))
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("own_units_"):
            del sys.modules[name]


def write(name, text=MODULE):
    """Writes the module `own_units_<name>`; a name of its own for each test."""
    text = text.format(name=name, title=name.title())
    with open(f"own_units_{name}.py", "w") as file:
        file.write(text)


def values(name):
    layer = activations.make(name, "layer")
    return np.asarray(layer(np.array([[-1.0, 2.0]], "float32"))).tolist()


def test_names_of_the_zoo():
    assert register(["relu", "elu", "tanh"]) == ["relu", "elu", "tanh"]
    assert register([]) == []


def test_functions_of_a_module():
    write("cube")
    names = ["elu", "own_units_cube:cube", "own_units_cube:two"]
    assert register(names) == ["elu", "cube", "cube_two"]
    assert values("cube") == [[-1, 8]] and values("cube_two") == [[-2, 4]]
    assert activations.describe("cube") == {"name": "cube"}


def test_a_layer_of_a_module():
    write("layer")
    (name,) = register(["own_units_layer:LayerThree"])
    assert name == "layer_three" and values(name) == [[-3, 6]]


def test_twice_the_same_changes_nothing():
    """A process may begin to train in another that has registered it."""
    write("again")
    for _ in range(2):
        assert register(["own_units_again:again"]) == ["again"]
    assert activations.names().count("again") == 1
    assert register(["again"]) == ["again"]


def test_the_current_folder_is_looked_at_first_and_once(folder):
    write("here")
    register(["own_units_here:here", "own_units_here:two"])
    assert sys.path[0] == "" and sys.path.count("") == 1


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["rleu"], "Unknown activation 'rleu'. Did you mean 'relu'"),
        (["softmax"], "'softmax' does not act on each element"),
        (["relu", "elu", "relu"], "The activation relu is named twice"),
        (["shifted_relu", "srelu"], "The activation shifted_relu is named twice"),
        (["own_units_no:cube"], "own_units_no:cube: importing own_units_no raises "
         "ModuleNotFoundError: No module named 'own_units_no'"),
        ([":cube"], "The activation :cube: importing  raises ValueError"),
    ],
)  # fmt: skip
def test_refusals(names, words):
    with pytest.raises(errors.UsageError, match=words):
        register(names)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("sqare", "Unknown function of own_units_square 'sqare'. Did you mean 'squ"),
        ("", "Unknown function of own_units_square ''"),
        ("no_function", "own_units_square|an activation"),
        ("keras", "register_activation takes a keras Layer class or a function"),
    ],
)
def test_no_function_of_a_module(function, words):
    write("square")
    with pytest.raises(errors.UsageError, match=words) as caught:
        register([f"own_units_square:{function}"])
    assert "_private" not in str(caught.value)


def test_named_twice_by_two_names():
    write("both")
    with pytest.raises(errors.UsageError, match="The activation both is named twice"):
        register(["own_units_both:both", "both"])


def test_a_name_of_the_zoo():
    write("elu")
    with pytest.raises(errors.UsageError, match="The activation 'elu' exists"):
        register(["own_units_elu:elu"])
    assert activations.describe("elu")["alpha"] == 1


def test_a_module_that_raises():
    write("broken", "import nothing_of_this_name")
    with pytest.raises(errors.UsageError, match="raises ModuleNotFoundError.*nothing"):
        register(["own_units_broken:cube"])
    write("syntax", "def")
    with pytest.raises(errors.UsageError, match="own_units_syntax raises SyntaxError"):
        register(["own_units_syntax:cube"])
