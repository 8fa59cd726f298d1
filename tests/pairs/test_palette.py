"""Activations have labels, colours and markers that differ."""

import itertools

import numpy as np
import pytest

from elu_zoo.pairs import palette

NAMES = "elu", "relu", "leaky_relu", "shifted_relu", "prelu", "rrelu", "tanh"


def test_labels_state_the_name_and_batch_norm():
    assert [palette.label(name) for name in ("leaky_relu", "tanh")] == ["LReLU", "tanh"]
    assert palette.label("my_own", batch_norm=True) == "my_own + BN"


def test_looks_differ_and_looks_of_the_papers_activations_are_fixed():
    others = [f"own_{i}" for i in range(20)]
    found = palette.looks([*others, "tanh"])
    assert len({found[name] for name in (*NAMES, *others)}) == len(NAMES) + 20
    assert all(palette.looks([])[name] == found[name] for name in NAMES)
    assert len(palette.looks([*others, "own_20"])) == len(NAMES) + 21  # the colours repeat


# Linear RGB as protanopes and deuteranopes see it (Machado et al., 2009).
SEEN = {
    "all": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
}  # fmt: skip
XYZ = np.array([[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722],
                [0.0177, 0.1095, 0.8728]])  # fmt: skip


def lab(colour, seen):
    """Returns the CIELAB coordinates of a colour, as a reader sees the colour."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(XYZ @ np.clip(np.array(seen) @ linear, 0, 1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("reader", SEEN)
def test_colours_can_be_distinguished(reader):
    looks = palette.looks([*NAMES, *"abcd"]).values()
    seen = [lab(look.colour, SEEN[reader]) for look in looks]
    distances = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)]
    assert min(distances) > 16  # a distance of 2 is just visible
