"""Layout of the repository: imports between modules, sizes of files, packages."""

import ast
import graphlib
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import elu_zoo

ROOT = Path(__file__).parents[1]
# A module may import its own package and packages on the lines above.
RANKS = (
    "errors",
    "files initializers quiet registry user_module",
    "activations results",
    "layers weights",
    "models data",
    "zoo images",
    "evaluation",
    "export training serving",
    "pairs",
    "benchmark compare paper",
    "bin",
)
RANK = {name: rank for rank, names in enumerate(RANKS) for name in names.split()}
# These modules import from all ranks, to export or to register names.
UNRANKED = ("elu_zoo", "elu_zoo.__main__", "elu_zoo.keras_registration")
# Names of elu_zoo that all modules may use.
FREE = ("keras_registration", "__version__", "__file__", "configs")
# A config may import these packages, the first two ranks and the standard library.
CONFIG_IMPORTS = ("elu_zoo.configs", "ml_collections")
# A module that another one runs in a process of its own, and a folder of CSV files.
EXCEPTIONS = {
    ("elu_zoo.paper.figures.timing", "elu_zoo.bin.benchmark"),
    ("elu_zoo.results", "elu_zoo.configs"),
}


def modules(*folders) -> list[Path]:
    return sorted(path for name in folders for path in (ROOT / name).rglob("*.py"))


def sources() -> dict[str, str]:
    """Returns the texts of all modules of the package by name."""
    return {module_name(path): path.read_text() for path in modules("elu_zoo", "configs")}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = ("elu_zoo", *parts) if parts[0] == "configs" else parts
    return ".".join(parts).removesuffix(".__init__")


def imports(tree: ast.AST) -> Iterator[str]:
    """Yields names imported by statements, attributes or strings, in functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            # `from elu_zoo import errors` imports a module, as does elu_zoo.errors.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == "elu_zoo":
                yield f"elu_zoo.{node.attr}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"elu_zoo(\.\w+)+", node.value):  # import_module("...")
                yield node.value


def wrong_imports(name: str, source: str) -> list[str]:
    """Returns the imports that the module `name` must not have."""
    if name in UNRANKED:
        return []
    wrong = []
    package = name.split(".")[1]
    for imported in imports(ast.parse(source)):
        top, *parts = imported.split(".")
        if package == "configs":
            is_config_import = imported.startswith(CONFIG_IMPORTS)
            is_low_rank = top == "elu_zoo" and parts and RANK.get(parts[0], 9) < 2
            allowed = is_config_import or is_low_rank or top in sys.stdlib_module_names
        elif top in ("tools", "tests", "configs"):
            allowed = False
        elif top != "elu_zoo" or not parts or parts[0] in (package, *FREE):
            allowed = parts[:1] != ["configs"] or package in ("bin", "paper")
        elif parts[0] in elu_zoo._PUBLIC:
            other = elu_zoo._PUBLIC[parts[0]].split(".")[1]
            allowed = RANK[other] < RANK[package]
        else:
            allowed = RANK.get(parts[0], 99) < RANK.get(package, 0)  # RANKS lacks a new package
        if not allowed and (name, imported) not in EXCEPTIONS:
            wrong.append(imported)
    return wrong


def test_modules_import_their_own_package_and_lower_ranks():
    wrong = {name: wrong_imports(name, source) for name, source in sources().items()}
    assert {name: imported for name, imported in wrong.items() if imported} == {}


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("elu_zoo.errors", "def f():\n    from elu_zoo import files"),
        ("elu_zoo.models.mnist", "from elu_zoo import get_model"),
        ("elu_zoo.weights.pretrained", "import elu_zoo\nelu_zoo.zoo.get_model('x')"),
        ("elu_zoo.layers.dropout", "importlib.import_module('elu_zoo.training.loop')"),
        ("elu_zoo.results", "from elu_zoo.configs import quickstart"),
        ("elu_zoo.zoo", "import tools.release_weights"),
        ("elu_zoo.paper.claims", "from elu_zoo.compare import trials"),
        ("elu_zoo.configs.quickstart", "import numpy"),
    ],
)
def test_a_wrong_import_is_found(name, source):
    assert wrong_imports(name, source)


def circle(texts: dict[str, str]) -> list[str]:
    """Returns modules, of texts by name, that import each other in a circle, or [].

    Imports in functions and under TYPE_CHECKING count.
    """
    graph = {name: set() for name in texts}
    for name, text in texts.items():
        text = re.sub(r"resources\.files\(.*?\)", "None", text)  # its argument names a folder
        for imported in imports(ast.parse(text)):
            top, *parts = imported.split(".")
            if top == "elu_zoo" and parts and parts[0] in elu_zoo._PUBLIC:
                imported = elu_zoo._PUBLIC[parts[0]]
            # In `from a.b import c`, c is a module, or a name in the module a.b. The
            # package elu_zoo is left out, because it is imported before its modules.
            names = {imported, imported.rpartition(".")[0]} & texts.keys()
            graph[name] |= {max(names, key=len)} - {name, "elu_zoo"} if names else set()
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_no_modules_import_each_other():
    assert circle(sources()) == []


@pytest.mark.parametrize(
    ("first", "second", "is_circle"),
    [
        ("import elu_zoo.b", "from elu_zoo.a import f", True),
        ("from elu_zoo import b", "def f():\n    from elu_zoo import a", True),
        ("from elu_zoo import b", "if TYPE_CHECKING:\n    import elu_zoo.a", True),
        ("from elu_zoo import b", "resources.files('elu_zoo.a')", False),
        ("from elu_zoo import b", "import elu_zoo.c", False),
    ],
)
def test_a_circle_is_found(first, second, is_circle):
    texts = {"elu_zoo.a": first, "elu_zoo.b": second, "elu_zoo.c": ""}
    assert bool(circle(texts)) == is_circle


def at_module_level(source: str) -> set[str]:
    """Returns what a module imports outside of functions and of TYPE_CHECKING."""
    names, pending = set(), list(ast.parse(source).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            pending += node.orelse
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        pending += ast.iter_child_nodes(node)
    return names


SHARED_BY_BINARIES = "__init__ config early flags streams table".split()
BINARIES = [p for p in modules("elu_zoo/bin") if p.stem not in SHARED_BY_BINARIES]


def test_files_have_at_most_the_allowed_lines():
    for path in modules("elu_zoo", "configs", "tools", "tests"):
        assert len(path.read_text().splitlines()) <= (85 if path in BINARIES else 350), path


def test_every_package_and_command_is_in_the_wheel():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folders = {path.parent for path in modules("elu_zoo", "configs")}
    packages = {module_name(folder / "__init__.py") for folder in folders}
    packages.add("elu_zoo.configs.results")  # a package of data files only
    assert set(settings["tool"]["setuptools"]["packages"]) == packages
    assert settings["project"]["scripts"] == {
        f"elu-zoo-{path.stem}": f"elu_zoo.bin.{path.stem}:run" for path in BINARIES
    }
