"""Flags of files and folders, whose values may begin with `~`."""

from pathlib import Path

import binaries
import pytest
from absl import flags


@pytest.mark.parametrize(
    ("binary", "name"),
    [("train", "workdir"), ("train", "data_dir"), ("compare", "output"), ("predict", "picture")],
)
def test_a_tilde_is_the_home_folder(binary, name):
    binaries.load(binary)
    parse = flags.FLAGS[name].parser.parse
    assert (parse("~/a"), parse("a~b")) == (str(Path.home() / "a"), "a~b")
