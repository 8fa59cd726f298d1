"""Origins of exported models are compared and described."""

import pytest

from elu_zoo.weights import provenance

A, B = "a" * 64, "b" * 64
TAG = "mnist_mlp_8x128.mnist_elu-aaaaaaaa"


def origin(sha256=A, tag=None, **fields):
    weights = {"tag": tag, "sha256": sha256}
    return {"model": "net", "activation": "elu", "weights": weights, **fields}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (origin(), origin(), True),
        (origin(), origin(tag=TAG, dataset="mnist"), True),
        (origin(), origin(B), False),
        (origin(), origin(activation="relu"), False),
        (origin(alpha=1.0), origin(alpha=0.5), False),
        (origin(), origin(model="other"), False),
        (origin(), None, False),
        (None, None, False),
        (origin(None), origin(None), False),
        ({"weights": 3}, {"weights": 3}, False),
    ],
)
def test_origins_are_compared_by_model_activation_and_hash(first, second, expected):
    assert provenance.is_same(first, second) is expected


@pytest.mark.parametrize(
    ("origin", "text"),
    [
        (origin(tag=TAG, dataset="mnist", alpha=1.0), f"mnist, elu (alpha 1), {TAG}"),
        (origin(tag=TAG, activation="relu", alpha=None), f"relu, {TAG}"),
        (origin(), "elu, weights aaaaaaaa without a tag"),
        (origin(None), "elu, weights of unknown origin"),
        ({}, "weights of unknown origin"),
        (None, "weights of unknown origin"),
        # Other software may have written any value.
        (
            {"dataset": ["x\n"], "activation": 1, "alpha": "y", "weights": []},
            "['x\\n'], 1, weights of unknown origin",
        ),
        (origin(tag="a\nb\x1b[31m"), "elu, a\N{REPLACEMENT CHARACTER}b"
         "\N{REPLACEMENT CHARACTER}[31m"),
    ]
)  # fmt: skip
def test_the_text_states_the_known_facts_of_an_origin(origin, text):
    assert provenance.text(origin) == text


@pytest.mark.parametrize(
    ("origin", "label"),
    [
        (origin(tag=TAG, dataset="mnist"), TAG),
        (origin(tag="a\n"), "a\N{REPLACEMENT CHARACTER}"),
        (origin(dataset=None), "elu, weights aaaaaaaa without a tag"),
        (None, "weights of unknown origin"),
    ],
)
def test_the_label_is_the_tag_or_the_text(origin, label):
    assert provenance.label(origin) == label
