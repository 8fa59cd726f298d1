"""How many files a reader reaches by imports, and which docstrings list errors."""

import ast
import re
import subprocess
import sys

import pytest
from readmes import TEXTS
from test_import_ranks import at_module_level, sources

import elu_zoo
from elu_zoo import activations, layers, training

SOURCES = sources()


def reach(first: str, texts: dict[str, str]) -> set[str]:
    """Returns the modules that the import of a module imports, with their packages."""
    reached, pending = set(), {first}
    while pending:
        parts = pending.pop().split(".")
        parts = elu_zoo._PUBLIC.get(".".join(parts[1:2]), ".".join(parts)).split(".")
        packages = {".".join(parts[: i + 1]) for i in range(len(parts))} & texts.keys()
        for module in packages - reached:
            reached.add(module)
            pending |= at_module_level(texts[module])
    return reached


@pytest.mark.parametrize(("module", "limit"), [("elu_zoo.zoo", 15), ("elu_zoo.training.loop", 60)])
def test_few_files_are_reached_by_imports(module, limit):
    reached = reach(module, SOURCES)
    assert len(reached) <= limit, sorted(reached)


LOADED = """
import sys, elu_zoo
from elu_zoo import registry
registry.check_name("nin")
assert dir(elu_zoo) and not {"numpy", "keras"} & sys.modules.keys()
import elu_zoo.layers.preprocessing as first
assert first.image_input
elu_zoo.get_model("mnist_mlp_8x128")
print(*(name for name in sys.modules if name.partition(".")[0] == "elu_zoo"))
"""


@pytest.mark.slow
def test_names_are_known_without_keras_and_few_files_are_loaded_for_a_network():
    command = [sys.executable, "-c", LOADED]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = result.stdout.split()
    assert "elu_zoo.models.mnist" in loaded and "elu_zoo.models.fmp" not in loaded
    # Keras must know all activations and layers; there are 16 files of these.
    others = [n for n in loaded if not n.startswith(("elu_zoo.activations", "elu_zoo.layers"))]
    assert len(others) <= 19, sorted(others)


def test_reach_follows_imports_at_module_level_and_counts_packages():
    texts = {
        "elu_zoo": "",
        "elu_zoo.a": "",
        "elu_zoo.a.b": "if TYPE_CHECKING:\n    from elu_zoo import e\nfrom elu_zoo import c",
        "elu_zoo.c": "class C:\n    import elu_zoo.d\ndef f():\n    import elu_zoo.e",
        "elu_zoo.d": "from elu_zoo.a.b import f, get_model",
        "elu_zoo.e": "",
    }
    assert reach("elu_zoo.a.b", texts) == texts.keys() - {"elu_zoo.e"}


# Docstrings of these names have the sections that Keras' docstrings have: what the package
# exports, and what a guide imports. So have those of classes that are registered with Keras.
PUBLIC = {*elu_zoo.__all__, *training.__all__, *layers.__all__, *activations.__all__}
for text in TEXTS.values():
    for names in re.findall(r"from elu_zoo[\w.]* import ([\w, ]+)", text):
        PUBLIC |= set(names.split(", "))


def listing_errors(source: str) -> list[str]:
    """Returns the names of internal definitions whose docstrings list errors."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            is_public = node.name in PUBLIC or "register_keras_serializable" in decorators
            docstring = ast.get_docstring(node) or ""
            if not is_public and re.search(r"^Raises:", docstring, re.MULTILINE):
                found.append(node.name)
    return found


def test_docstrings_of_internal_definitions_do_not_list_errors():
    assert [name for source in SOURCES.values() for name in listing_errors(source)] == []


def test_internal_docstrings_that_list_errors_are_found():
    text = '"""A.\n\nRaises:\n    E: x."""'
    registered = "@keras.saving.register_keras_serializable('elu_zoo')\nclass D: "
    source = f"def f(): {text}\ndef get_model(): {text}\nclass C: {text}\n{registered}{text}"
    assert listing_errors(source) == ["f", "C"]
