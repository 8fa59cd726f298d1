"""Sizes of functions and constructors; test_import_ranks checks sizes of files."""

import ast
from pathlib import Path

import pytest

import elu_zoo

ROOT = Path(elu_zoo.__file__).parent
FUNCTION_LINES = 60  # without the docstring
CONSTRUCTOR_ARGUMENTS = 7  # without self; dataclasses are not checked


def too_large(name: str, source: str) -> set[str]:
    """Returns `<file> <function>` for each function of a file above a limit."""
    functions = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        lines = node.end_lineno - node.lineno + 1
        if ast.get_docstring(node) is not None:
            lines -= node.body[0].end_lineno - node.body[0].lineno + 1
        parameters = node.args
        arguments = [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]
        too_many = node.name == "__init__" and len(arguments) - 1 > CONSTRUCTOR_ARGUMENTS
        if lines > FUNCTION_LINES or too_many:
            functions.add(f"{name} {node.name}")
    return functions


def test_functions_and_constructors_are_small():
    large = set()
    for path in ROOT.rglob("*.py"):
        large |= too_large(path.relative_to(ROOT).as_posix(), path.read_text())
    assert large == set()


def test_functions_above_a_limit_are_found():
    body = "    x = 1\n"
    docstring = '    """Text.\n\n' + "    More.\n" * 70 + '    """\n'
    assert too_large("a", "def f():\n" + body * 60) == {"a f"}
    assert too_large("a", "def f():\n" + docstring + body * 59) == set()
    arguments = ", ".join("abcdefgh")
    method = f"class A:\n    def __init__(self, {arguments}): ..."
    assert too_large("a", method) == {"a __init__"}
    assert too_large("a", method.replace(", h", "")) == set()


# Folders (or files) of elu_zoo/ and of tests/, and the most lines of Python of each. Growth
# pays by a cut; what CONTRIBUTING.md names raises its row and both sums below.
BUDGETS = (
    ("*.py", 1500, 2750),
    ("data", 2650, 2800),
    ("weights", 1450, 1650),
    ("training evaluation configs", 4850, 6700),
    ("pairs paper", 4400, 3300),
    ("compare", 1300, 500),
    ("benchmark", 1350, 350),
    ("bin", 1060, 1520),
    ("export", 1900, 2130),
    ("models", 1720, 1920),
    ("serving serving_conformance", 2120, 3830),
    ("activations layers", 2650, 2650),
    ("conformance bad_inputs gpu tools", 0, 2500),
)


def lines(root: Path, names: str) -> int:
    """Returns the number of lines of Python in folders and files, by names or patterns."""
    paths = [path for name in names.split() for path in root.glob(name) if not path.is_symlink()]
    files = (file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py")))
    return sum(len(file.read_text().splitlines()) for file in files)


@pytest.mark.parametrize(("names", "package", "tests"), BUDGETS)
def test_redrawn_folders_are_within_their_budgets(names, package, tests):
    for root, limit in ((ROOT, package), (ROOT.parent / "tests", tests)):
        assert lines(root, names) <= limit, f"{names}: cut lines, or see CONTRIBUTING.md"


def test_every_folder_has_a_budget():
    named = {name for names, *_ in BUDGETS for name in names.split()}
    for root in ROOT, ROOT.parent / "tests":
        assert {path.parent.name for path in root.glob("*/*.py")} <= named


@pytest.mark.parametrize(
    ("folder", "limit"), [("elu_zoo", 27_000), ("tests", 32_600), ("tools", 1_900)]
)
def test_all_files_together_do_not_grow(folder, limit):
    assert lines(ROOT.parent, folder) <= limit
