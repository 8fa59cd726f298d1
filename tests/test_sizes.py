"""Sizes of functions and constructors; those of files are in test_import_ranks."""

import ast
from pathlib import Path

import pytest

import elu_zoo

ROOT = Path(elu_zoo.__file__).parent
FUNCTION_LINES = 60  # without the docstring
CONSTRUCTOR_ARGUMENTS = 7  # without self; those of dataclasses are no code


def too_large(name: str, source: str) -> set[str]:
    """Returns the functions of a file that are above a limit: `<file> <function>`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        lines = node.end_lineno - node.lineno + 1
        if ast.get_docstring(node) is not None:
            lines -= node.body[0].end_lineno - node.body[0].lineno + 1
        given = node.args
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs][1:]
        wide = node.name == "__init__" and len(arguments) > CONSTRUCTOR_ARGUMENTS
        if lines > FUNCTION_LINES or wide:
            found.add(f"{name} {node.name}")
    return found


def test_functions_and_constructors_are_small():
    found = set()
    for path in ROOT.rglob("*.py"):
        found |= too_large(path.relative_to(ROOT).as_posix(), path.read_text())
    assert found == set()


def test_what_is_too_large_is_found():
    body = "    x = 1\n"
    docstring = '    """Text.\n\n' + "    More.\n" * 70 + '    """\n'
    assert too_large("a", "def f():\n" + body * 60) == {"a f"}
    assert too_large("a", "def f():\n" + docstring + body * 59) == set()
    arguments = ", ".join("abcdefgh")
    method = f"class A:\n    def __init__(self, {arguments}): ..."
    assert too_large("a", method) == {"a __init__"}
    assert too_large("a", method.replace(", h", "")) == set()


@pytest.mark.parametrize(("folder", "most"), [("elu_zoo", 31_400), ("tests", 42_520)])
def test_the_whole_does_not_grow(folder, most):
    """Whoever raises a limit says in the commit what the lines are worth."""
    files = (ROOT.parent / folder).rglob("*.py")
    assert sum(len(path.read_text().splitlines()) for path in files) <= most
