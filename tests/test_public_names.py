"""Public names of elu_zoo, and packages that `import elu_zoo` imports."""

import ast
import importlib
import inspect

import pytest

import elu_zoo
import elu_zoo.layers

NAMES = """ELU elu elu_xla register_activation register_model get_model list_models
    model_info model_card load_image preprocess_input decode_predictions list_weights
    fetch_weights push_weights""".split()
MODULES = {"errors": "EluZooError", "training": "train"}


def test_all_lists_the_public_names():
    assert set(elu_zoo.__all__) == {"__version__", *NAMES, *MODULES}
    assert set(elu_zoo.__all__) <= set(dir(elu_zoo))
    for module, name in MODULES.items():
        assert callable(getattr(getattr(elu_zoo, module), name))


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_a_documented_function_or_class(name):
    value = getattr(elu_zoo, name)
    assert callable(value) and value.__name__ == name
    assert value.__doc__ and value.__module__.startswith("elu_zoo.")


@pytest.mark.parametrize("package", [elu_zoo, elu_zoo.layers, elu_zoo.training])
def test_type_checkers_see_the_names_that_are_imported_on_first_use(package):
    tree = ast.parse(inspect.getsource(package))
    block = next(x for x in tree.body if isinstance(x, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    typed = {alias.name: node.module for node in block.body for alias in node.names}
    for name, module in typed.items():
        assert getattr(importlib.import_module(module), name) is getattr(package, name)
    assert {*package.__all__} - {*typed} <= {"__version__", *MODULES}
