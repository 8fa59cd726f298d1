"""The web page inverts images on request, and warns about wrong backgrounds."""

import base64

import numpy as np
import pytest
import tensorflow as tf
from image_files import jpeg, with_exif
from page_stand_in import ANSWERED, SHOWN, model, replace_fetch, success

from elu_zoo.data import images

CAPTION = 'document.getElementById("caption").innerText'
# JavaScript that appends [path, image file in base64] of each request to `sent`.
RECORDING = """window.sent = [];
const stubbed = window.fetch;
window.fetch = async (path, options) => {
    const isAsked = path.endsWith(":predict");
    if (isAsked) sent.push([path, JSON.parse(options.body).instances[0].b64]);
    return stubbed(path, options);
};"""
INK = np.zeros((30, 20, 1), np.uint8)
INK[10:20, 8:12] = 200  # light on black, like the digits of MNIST


def test_invert_applies_to_grey_models_only(page, surface):
    grey, colour = (model(n, input_shape=[28, 28, c]) for n, c in (("g", 1), ("c", 3)))
    answer = success({"probabilities": [0, 1]})
    page.open(surface, replace_fetch([grey, colour], g=answer, c=answer) + RECORDING)
    page.wait_for('document.getElementById("choice").offsetHeight > 0')
    paper = tf.io.encode_png(255 - INK).numpy()
    page.drop(("paper.png", paper))
    page.wait_for(ANSWERED, 2)
    assert [base64.b64decode(b64) for _, b64 in page.evaluate("sent")] == [paper] * 2
    grey_shown, colour_shown = page.evaluate(SHOWN)
    assert "light digits on black: tick “Digit”." in grey_shown["text"]
    assert "Dark on light" not in colour_shown["text"]

    page.evaluate("sent.length = 0; document.getElementById('invert').click()")
    page.wait_for("sent.length === 2 && " + ANSWERED, 2)
    by_path = {path: base64.b64decode(b64) for path, b64 in page.evaluate("sent")}
    assert by_path["/v1/models/c:predict"] == paper
    inverted = images.decode(by_path["/v1/models/g:predict"], INK.shape)
    np.testing.assert_array_equal(inverted, INK)
    assert all("Dark on light" not in shown["text"] for shown in page.evaluate(SHOWN))
    assert page.complaints == []


def test_digit_applies_to_models_of_mnist_only(page, surface):
    nets = [model(n, input_shape=[28, 28, c]) for n, c in (("g", 1), ("c", 3))]
    answer = success({"probabilities": [0, 1]})
    served = {"/digit": (200, '{"b64": "bWFkZQ==", "warning": "two shapes"}')}
    page.open(surface, replace_fetch(nets, g=answer, c=answer, **served) + RECORDING)
    page.wait_for('document.getElementById("choice").offsetHeight > 0')
    page.evaluate("document.getElementById('digit').click()")
    paper = tf.io.encode_png(255 - INK).numpy()
    page.drop(("paper.png", paper))
    page.wait_for(ANSWERED, 2)
    grey_shown, colour_shown = page.evaluate(SHOWN)
    sent = [base64.b64decode(b64) for path, b64 in page.evaluate("sent") if b64]
    assert sent == [b"made", paper] and page.complaints == []
    assert "two shapes" in grey_shown["text"]
    assert "two shapes" not in colour_shown["text"]


def test_inverted_photograph_is_upright_and_on_white(page, surface):
    answer = success({"probabilities": [0, 1]})
    net = model("g", input_shape=[28, 28, 1])
    page.open(surface, replace_fetch([net], g=answer) + RECORDING)
    page.wait_for('document.getElementById("choice").offsetHeight > 0')
    page.evaluate("document.getElementById('invert').click()")
    turned = with_exif(jpeg(np.repeat(INK, 3, -1)), 6)  # by 90 degrees
    transparent = tf.io.encode_png(np.zeros((9, 9, 2), np.uint8)).numpy()
    for name, content in (("turned.jpg", turned), ("clear.png", transparent)):
        page.evaluate("sent.length = 0")
        page.drop((name, content))
        page.wait_for("sent.length === 1 && " + ANSWERED, 1)
        ((_, b64),) = page.evaluate("sent")
        height, width = (20, 30) if content is turned else (9, 9)
        expected = 255 - images.decode(content, (height, width, 1)).numpy().astype(int)
        sent = tf.io.decode_png(base64.b64decode(b64), channels=1)
        np.testing.assert_allclose(sent, expected, atol=2)


@pytest.mark.parametrize(
    ("fields", "warns"),
    [
        ({"input_shape": [28, 28, 1], "dataset": "mnist"}, True),
        ({"input_shape": [28, 28, 1], "dataset": "mnist_own"}, False),
        ({"input_shape": [32, 32, 1]}, False),
    ],
)
def test_only_models_of_digits_get_warnings(page, surface, fields, warns):
    net = model(**fields)
    page.open(surface, replace_fetch([net], net=success({"probabilities": [0, 1]})))
    page.drop(("paper.png", tf.io.encode_png(255 - INK).numpy()))
    page.wait_for(ANSWERED, 1)
    assert ("Dark on light" in page.evaluate(SHOWN)[0]["text"]) == warns
    page.drop(("slate.png", tf.io.encode_png(INK).numpy()))
    page.wait_for(f"{CAPTION}.includes('slate') && {ANSWERED}", 1)
    assert "Dark on light" not in page.evaluate(SHOWN)[0]["text"]


@pytest.mark.parametrize(
    ("image", "before", "after"),  # warnings before and after the inversion
    {
        "paper": (255 - INK, "Dark on light; this network was trained on light", ""),
        "slate": (INK, "", "Light on dark already: leave “Invert” out."),
        "grey_paper": (
            170 - INK // 2,
            "Dark on light; this network was trained on light",
            "A grey background (85 of 255 around the digit); this network was trained "
            "on black: tick “Digit” in place of “Invert”.",
        ),
        "chalk_on_grey": (
            85 + INK // 2,
            "A grey background (85 of 255 around the digit); this network was trained "
            "on black: tick “Digit”.",
            "Light on dark already: leave “Invert” out.",
        ),
    }.values(),
)
def test_warnings_describe_the_background(page, surface, image, before, after):
    net = model(input_shape=[28, 28, 1])
    page.open(surface, replace_fetch([net], net=success({"probabilities": [0, 1]})) + RECORDING)
    page.wait_for('document.getElementById("choice").offsetHeight > 0')
    page.drop(("image.png", tf.io.encode_png(image).numpy()))
    for count, expected in ((1, before), (2, after)):
        page.wait_for(f"sent.length === {count} && {ANSWERED}", 1)
        text = page.evaluate("document.querySelector('.warning')?.textContent ?? ''")
        assert text.startswith(expected) and bool(text) == bool(expected)
        page.evaluate("document.getElementById('invert').click()")
