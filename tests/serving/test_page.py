"""Tests of the server's web page in Chromium, skipped without Chromium."""

import json
import re
import subprocess
import sys
import threading

import aiohttp
import numpy as np
import pytest
import tensorflow as tf
from page_stand_in import ANSWERED, SHOWN, model, replace_fetch, success

import elu_zoo
from elu_zoo.data import load
from elu_zoo.export import predictor
from elu_zoo.export.saved_model import export_saved_model, load_saved_model
from elu_zoo.weights import pretrained

CLASSIFIER, AUTOENCODER = "mnist_mlp_8x128", "mnist_autoencoder"
PNG = tf.io.encode_png(np.zeros((3, 3, 1), np.uint8)).numpy()


def text_of(element):
    return f'document.getElementById("{element}").innerText'


def test_the_page_loads_no_other_file_and_inserts_no_html(runner, surface):
    async def get():
        async with aiohttp.request("GET", surface) as response:
            return response.headers, await response.text()

    headers, text = runner.run(get())
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["Content-Security-Policy"].startswith("default-src 'none';")
    assert not re.search(r'(?:src|href)="(?!data:)|url\(|@import', text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write", text)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ("new Response('[]')", "This server has no model now"),
        ("Promise.reject(Error('hung up'))", "The server cannot be reached: hung up"),
        ("new Response('<html>')", "cannot be listed. .* is not JSON"),
        ('new Response(\'{"error": "stops"}\', {status: 503})', "status 503: stops"),
    ],
)
def test_page_reports_that_no_model_is_listed(page, surface, response, message):
    page.open(surface, f"window.fetch = async () => {response};")
    page.wait_for(f"{text_of('models-error')} !== ''")
    page.drop(("image.png", PNG))
    page.wait_for(f"{text_of('caption')}.includes('3\xa0×\xa03\xa0pixels')")
    page.wait_for(f"/{message}/.test({text_of('models-error')})")
    assert page.evaluate(text_of("file-error")) == ""


@pytest.mark.parametrize(
    ("facts", "message"),
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
def test_page_shows_the_facts_of_a_model(page, surface, facts, message):
    page.open(surface, replace_fetch([model(**facts)]))
    page.wait_for('document.querySelectorAll(".model").length', 1)
    assert message in page.evaluate(SHOWN)[0]["text"].splitlines()


# (prediction, text of the error that the page shows).
WRONG_OUTPUTS = (
    ({"probabilities": [None, 1]}, "not numbers"),
    ({"reconstructions": [[[None]]], "codes": [1]}, "not numbers"),
    ({"logits": [1, 2]}, "neither probabilities nor"),
    (None, "neither probabilities nor"),
)


def test_wrong_outputs_are_reported(page, surface):
    responses = {f"net{i}": success(p) for i, (p, _) in enumerate(WRONG_OUTPUTS)}
    page.open(surface, replace_fetch([model(name) for name in responses], **responses))
    page.drop(("image.png", PNG))
    page.wait_for(ANSWERED, len(WRONG_OUTPUTS))
    for shown, (_, message) in zip(page.evaluate(SHOWN), WRONG_OUTPUTS, strict=True):
        assert message in shown["errors"][0]


def test_an_error_is_shown_below_the_model_that_failed(page, surface):
    responses = {
        "good": success({"probabilities": [0.25, 0.75]}),
        "missing": (404, json.dumps({"error": "Servable not found"})),
    }
    models = [model(name) for name in ("good", "silent", "missing")]
    page.open(surface, replace_fetch(models, **responses))
    page.drop(("image.png", PNG))
    page.wait_for(ANSWERED, 3)
    good, silent, missing = page.evaluate(SHOWN)
    assert (good["names"], good["percents"]) == (["b", "a"], ["75.0 %", "25.0 %"])
    assert "cannot be reached: it hung up" in silent["errors"][0]
    assert "status 404: Servable not found" in missing["errors"][0]


def test_names_that_contain_html_are_shown_as_text(page, surface):
    hostile = "<img src=x onerror=alert(1)>"
    names = (hostile, "crane", "crane", "w" * 200, "</script>", "")
    probabilities = [0.4, 0.3, 0.2, 0.0999, 0.0001, 0]
    name = "n" * 100
    facts = {"activation": "<b>", "dataset": "<i>", "network": "<u>", "tag": "<s>"}
    net = model(name, class_names=names, input_shape=[9, 8, 3], **facts)
    responses = {name: success({"probabilities": probabilities})}
    page.open(surface, replace_fetch([net], **responses))
    page.drop((f"{hostile}.png", PNG))
    page.wait_for(ANSWERED, 1)
    (shown,) = page.evaluate(SHOWN)
    distinct = ["crane (class 1)", "crane (class 2)"]
    assert shown["names"] == [hostile, *distinct, *names[3:5]]
    assert shown["percents"] == ["40.0 %", "30.0 %", "20.0 %", "10.0 %", "< 0.1 %"]
    facts = "version 3 · network <u>", "trained on <i> · <b>", "weights <s>"
    assert set(facts) <= set(shown["text"].splitlines())
    assert hostile in page.evaluate(text_of("caption"))
    assert page.evaluate('document.querySelectorAll("#results img").length') == 0
    for width in (320, 900, 1200):
        page.resize(width, 800)
        overflow = "document.documentElement.scrollWidth - window.innerWidth"
        assert page.evaluate(overflow) <= 0, width
    assert page.complaints == []


def test_models_without_class_names_or_file_input(page, surface):
    models = [model("a/b?c", class_names=()), model("raw", ["serving_default"])]
    responses = {"a%2Fb%3Fc": success({"probabilities": [0, 1]})}
    page.open(surface, replace_fetch(models, **responses))
    page.drop(("image.png", PNG))
    page.wait_for(ANSWERED, 1)
    unnamed, raw = page.evaluate(SHOWN)
    assert unnamed["names"] == ["class 1", "class 0"]
    assert "Takes no image files" in raw["text"] and not raw["errors"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "is not a file"),
        ([("words.png", b"no image")], "words.png is neither PNG nor JPEG."),
        ([("my.png", b"GIF89a...")], "my.png is a GIF; expected PNG or JPEG."),
        ([("a.heic", b"....ftypheic")], "a.heic is a HEIC; expected PNG or JPEG."),
        ([("cut.png", PNG[:40])], "cannot show the file as an image"),
        ([("1.png", PNG), ("2.png", PNG)], "Only the first of 2 files is used."),
    ],
)
def test_wrong_files_are_reported(page, surface, files, message):
    page.open(surface, replace_fetch([model()], net=success({"probabilities": [0, 1]})))
    page.drop(*files)
    page.wait_for(f"{text_of('file-error')}.includes({message!r})")
    is_preview_shown = "document.getElementById('preview').offsetHeight > 0"
    page.wait_for(is_preview_shown, len(files) == 2)
    page.drop(("image.png", PNG))
    page.wait_for(f"{ANSWERED} && {text_of('file-error')}", "")
    assert page.evaluate(SHOWN)[0]["names"] == ["b", "a"]


def test_older_response_does_not_overwrite_a_newer_response(page, surface):
    answers = [success({"probabilities": p})[1] for p in ([0, 1], [1, 0])]
    page.open(
        surface,
        f"""let count = 0;
        window.fetch = async (path) => {{
            if (path === "/models") return new Response({json.dumps([model()])!r});
            const text = {answers}[count++];
            if (count === 1) await new Promise((go) => {{ window.answerFirst = go; }});
            return new Response(text);
        }};""",
    )
    page.drop(("first.png", PNG))
    page.wait_for("'answerFirst' in window")
    page.drop(("second.png", PNG))
    page.wait_for(ANSWERED, 1)
    page.evaluate("answerFirst() ?? new Promise((done) => setTimeout(done, 50))")
    assert page.evaluate(SHOWN)[0]["names"] == ["a", "b"]
    assert "second.png" in page.evaluate(text_of("caption"))
    assert page.evaluate('document.querySelectorAll("#heard p").length') == 1


@pytest.fixture(scope="module")
def models(page, tmp_path_factory):
    """Exports two models. The fixture `page` skips the test without a browser."""
    directory = tmp_path_factory.mktemp("models")
    for name in (CLASSIFIER, AUTOENCODER):
        weights = pretrained.find(name, "mnist")
        net = elu_zoo.get_model(name, weights=weights)
        description = predictor.description(net, name, weights)
        export_saved_model(net, directory, name=name, **description)
    return directory


@pytest.fixture(scope="module")
def address(models, tmp_path_factory):
    """Starts `elu-zoo-serve` in a process; yields the REST address."""
    command = [
        sys.executable,
        "-m",
        "elu_zoo.bin.serve",
        "--port=0",
        "--rest_api_port=0",
    ]
    log = tmp_path_factory.mktemp("server") / "stderr.txt"
    with (
        open(log, "w") as stderr,
        subprocess.Popen(
            [*command, f"--model_base_path={models}"],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process,
    ):
        deadline = threading.Timer(60, process.kill)
        deadline.start()
        try:
            match = re.search(r"REST (http://\S+)", process.stdout.readline())
            deadline.cancel()
            assert match, log.read_text()
            yield match[1]
        finally:
            deadline.cancel()
            process.kill()


@pytest.fixture(scope="module")
def images():
    """Returns PNG files: a digit, a mean of two digits, and a truncated file."""
    digits = load.load("mnist_5k").test.images
    blend = np.uint8(digits[3] * 0.55 + digits[1] * 0.45)
    encoded = [tf.io.encode_png(image).numpy() for image in (digits[3], blend)]
    return {"digit": encoded[0], "blend": encoded[1], "broken": encoded[0][:99]}


def upload(page, method, name, content, folder):
    """Sends a file from the page; returns the visible content of each model."""
    (folder / name).write_bytes(content)
    if method == "choose":
        page.choose("#file", folder / name)
    else:
        page.drop((name, content))
    page.wait_for(f"{text_of('caption')}.includes({name!r}) && {ANSWERED}", 2)
    return page.evaluate(SHOWN)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "name"), [("choose", "digit"), ("drop", "blend")])
def test_page_shows_the_outputs_of_the_models(
    page, address, models, images, tmp_path, method, name
):
    page.open(address)
    shown = upload(page, method, name, images[name], tmp_path)
    assert [model["title"] for model in shown] == [AUTOENCODER, CLASSIFIER]
    assert all("28\xa0×\xa028\xa0pixels, grey" in model["text"] for model in shown)
    assert all(re.search(r"in \d+ ms", *model["took"]) for model in shown)
    drawing, bars = shown
    expected = load_saved_model(models / CLASSIFIER).predict_bytes([images[name]])
    (probabilities,) = expected["probabilities"]
    best = np.argsort(-probabilities, kind="stable")[:5]
    assert bars["names"] == [str(index) for index in best]
    assert bars["percents"][0] == f"{100 * probabilities[best[0]]:.1f} %"
    assert bars["widths"] == sorted(bars["widths"], reverse=True)
    assert bars["widths"][0] > 0
    loaded = load_saved_model(models / AUTOENCODER)
    (expected,) = loaded.predict_bytes([images[name]])["reconstructions"]
    red, green, blue, alpha = np.reshape(drawing["pixels"], (28, 28, 4)).transpose(2, 0, 1)
    assert np.abs(red - expected[..., 0]).max() <= 1 and red.max() > 200 > 50 > red.min()
    assert (red == green).all() and (red == blue).all() and (alpha == 255).all()
    assert page.complaints == []


@pytest.mark.slow
def test_page_shows_outputs_after_an_error_for_a_truncated_file(page, address, images, tmp_path):
    page.open(address)
    for model_shown in upload(page, "drop", "broken", images["broken"], tmp_path):
        assert "status 400" in model_shown["errors"][0] and not model_shown["took"]
    assert page.complaints and all("status of 400" in c for c in page.complaints)
    for model_shown in upload(page, "choose", "digit", images["digit"], tmp_path):
        assert model_shown["took"] and not model_shown["errors"]
    assert page.evaluate(text_of("file-error")) == ""
