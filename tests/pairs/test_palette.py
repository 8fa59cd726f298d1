"""Activations have labels, and looks that differ."""

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
