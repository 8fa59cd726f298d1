"""Flags of files and folders, whose values may begin with `~`."""

from pathlib import Path

import binaries
import pytest
from absl import flags


@pytest.mark.parametrize(
    ("binary", "names"),
    [
        ("train", ("workdir", "data_dir")),
        ("compare", ("output",)),
        ("reproduce", ("output", "workdir", "imagenet")),
        ("export", ("export_dir",)),
        ("predict", ("saved_model", "picture")),
        ("benchmark", ("csv", "chart")),
        ("serve", ("model_base_path",)),
    ],
)
def test_a_tilde_is_the_home_folder(binary, names):
    binaries.load(binary)
    for name in names:
        parse = flags.FLAGS[name].parser.parse
        assert (parse("~/a"), parse("a~b")) == (str(Path.home() / "a"), "a~b")
