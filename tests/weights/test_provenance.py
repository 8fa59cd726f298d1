"""Origins of exported models: comparison and description."""

import pytest

from elu_zoo.weights import provenance

A, B = "a" * 64, "b" * 64
TAG = "mnist_mlp_8x128.mnist_elu-aaaaaaaa"


def made(sha256=A, tag=None, **fields):
    weights = {"tag": tag, "sha256": sha256}
    return {"model": "net", "activation": "elu", "weights": weights, **fields}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (made(), made(), True),
        (made(), made(tag=TAG, dataset="mnist"), True),  # from an earlier version
        (made(), made(B), False),
        (made(), made(activation="relu"), False),
        (made(alpha=1.0), made(alpha=0.5), False),
        (made(), made(model="other"), False),
        (made(), None, False),
        (None, None, False),
        (made(None), made(None), False),
        ({"weights": 3}, {"weights": 3}, False),
    ],
)
def test_origins_are_compared_by_model_activation_and_hash(one, other, same):
    assert provenance.is_same(one, other) is same


@pytest.mark.parametrize(
    ("origin", "text"),
    [
        (made(tag=TAG, dataset="mnist", alpha=1.0), f"mnist, elu (alpha 1), {TAG}"),
        (made(tag=TAG, activation="relu", alpha=None), f"relu, {TAG}"),
        (made(), "elu, weights aaaaaaaa without a tag"),
        (made(None), "elu, weights of unknown origin"),
        ({}, "weights of unknown origin"),
        (None, "weights of unknown origin"),
        # Other software may have written any value.
        (
            {"dataset": ["x\n"], "activation": 1, "alpha": "y", "weights": []},
            "['x\\n'], 1, weights of unknown origin",
        ),
        (made(tag="a\nb\x1b[31m"), "elu, a\N{REPLACEMENT CHARACTER}b"
         "\N{REPLACEMENT CHARACTER}[31m"),
    ],
)  # fmt: skip
def test_the_text_of_an_origin(origin, text):
    assert provenance.text(origin) == text


@pytest.mark.parametrize(
    ("origin", "label"),
    [
        (made(tag=TAG, dataset="mnist"), TAG),
        (made(tag="a\n"), "a\N{REPLACEMENT CHARACTER}"),
        (made(dataset=None), "elu, weights aaaaaaaa without a tag"),
        (None, "weights of unknown origin"),
    ],
)
def test_the_label_of_an_origin(origin, label):
    assert provenance.label(origin) == label
