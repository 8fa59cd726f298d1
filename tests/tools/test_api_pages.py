"""Pages of the public API are made without a warning."""

import subprocess
import sys
from pathlib import Path

import pytest

import elu_zoo

SCRIPT = Path(__file__).parents[2] / "tools" / "api_pages.py"


@pytest.mark.slow
def test_every_public_name_is_on_a_page(tmp_path):
    pytest.importorskip("pdoc")
    command = [sys.executable, "-W", "error", SCRIPT, tmp_path]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Warn" not in process.stdout + process.stderr
    page = (tmp_path / "elu_zoo.html").read_text()
    assert [name for name in elu_zoo._PUBLIC if f'id="{name}"' not in page] == []
    assert (tmp_path / "elu_zoo" / "layers.html").is_file()
