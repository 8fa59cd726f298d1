"""Public names of elu_zoo, and packages that `import elu_zoo` imports."""

import pytest

import elu_zoo

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
    assert getattr(elu_zoo, name) is value
