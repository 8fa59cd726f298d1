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
        (origin(), origin(tag=TAG, dataset="mnist"), True),
        (origin(), origin(B), False),
        (None, None, False),
        (origin(None), origin(None), False),
        ({"weights": 3}, {"weights": 3}, False),
    ],
)
def test_origins_are_compared_by_the_hash_of_the_weights(first, second, expected):
    assert provenance.is_same(first, second) is expected


@pytest.mark.parametrize(
    ("origin", "text"),
    [
        (origin(tag=TAG, dataset="mnist", alpha=1.0), f"mnist, elu (alpha 1), {TAG}"),
        (origin(), "elu, weights aaaaaaaa without a tag"),
        (origin(None), "elu, weights of unknown origin"),
        (None, "weights of unknown origin"),
        # Other software may have written any value.
        (
            {"dataset": ["x\n"], "activation": 1, "alpha": "y", "weights": []},
            "['x\\n'], 1, weights of unknown origin",
        ),
        (origin(tag="a\n"), "elu, a\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_an_origin_is_described_by_its_known_facts(origin, text):
    assert provenance.text(origin) == text
