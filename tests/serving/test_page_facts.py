"""What the page says of a model beside its answers."""

import pytest
from page_stand_in import SHOWN, model, stub


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"tag": "net.digits_elu-0", "sha256": "1" * 64}, "weights net.digits_elu-0"),
        ({"tag": None, "sha256": "1" * 64}, "weights 11111111 without a tag"),
        ({"tag": None, "sha256": None}, "weights of unknown origin"),
        ({"activation": "elu", "alpha": 1.0}, "elu (alpha 1)"),
        (
            {"activation": "very_leaky_relu", "alpha": 1 / 3},
            "very_leaky_relu (alpha 0.333333)",
        ),
        ({"activation": "relu", "alpha": None}, "relu"),
    ],
)
def test_facts_of_a_model(page, surface, facts, said):
    page.open(surface, stub([model(**facts)]))
    page.wait_for('document.querySelectorAll(".model").length', 1)
    assert said in page.evaluate(SHOWN)[0]["text"].splitlines()
