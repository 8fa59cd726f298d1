"""Import of the module that --module names, from a file or by its module name."""

import sys

import pytest

from elu_zoo import errors, user_module


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder. Modules imported from this folder are removed afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize("module", ["my_module", "my_module.py", "other/my_module.py"])
def test_a_module_is_imported_once(folder, module):
    (folder / "other").mkdir()
    for path in "my_module.py", "other/my_module.py":
        (folder / path).write_text("count = []")
    user_module.load(module)
    sys.modules["my_module"].count.append(1)
    user_module.load(module)
    assert sys.modules["my_module"].count == [1]
    expected = module if "/" in module else "my_module.py"
    assert sys.modules["my_module"].__file__ == str(folder / expected)


@pytest.mark.parametrize(
    ("module", "content", "message"),
    [
        ("my_none.py", None, r"There is no file my_none.py \(--module\)."),
        ("json.py", "", "another module is named json. Rename the file"),
        ("my_error.py", "1 / 0", "raises ZeroDivisionError: division by zero. Set --d"),
        ("my_exit.py", "raise SystemExit(3)", "raises SystemExit: 3"),
        ("my_missing", None, "raises ModuleNotFoundError: No module named 'my_missing"),
        ("my_name.py", "from elu_zoo.errors import *\nraise UsageError('wrong')", "^wrong$"),
    ],
)
def test_modules_that_cannot_be_imported_are_refused(folder, module, content, message):
    if content is not None:
        (folder / module).write_text(content)
    with pytest.raises(errors.UsageError, match=message):
        user_module.load(module)
