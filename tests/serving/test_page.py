"""The server's web page, in headless Chromium; skipped without Chromium."""

import base64
import queue
import re
import shutil
import subprocess
import urllib.request

import numpy as np
import pytest
import tensorflow as tf
from aiohttp import web

import elu_zoo
from elu_zoo.data import digits, load
from elu_zoo.export import predictor
from elu_zoo.export.saved_model import export_saved_model, load_saved_model
from elu_zoo.serving.rest_api import RestApi
from elu_zoo.weights import pretrained

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
CLASSIFIER, AUTOENCODER = "mnist_mlp_8x128", "mnist_autoencoder"
HOSTILE = "<img src=x onerror=alert(1)>"
# Drops an image and reports what the page shows; then ticks "Digit", and reports again.
SCRIPT = """
const until = async (condition) => {
    while (!condition()) await new Promise((go) => setTimeout(go, 20));
};
const answers = () => [...document.querySelectorAll(".answer")];
const shown = async () => {
    await until(() => answers().length === 3 && answers().every((a) => a.childNodes.length));
    const canvas = document.querySelector("canvas");
    return {
        error: byId("error").textContent,
        heads: [...document.querySelectorAll("h2")].map((e) => e.textContent),
        answers: answers().map((a) => a.innerText),
        rows: [...document.querySelectorAll("td")].map((e) => e.textContent),
        pixels: [...canvas.getContext("2d").getImageData(0, 0, 28, 28).data],
    };
};
const drop = (bytes) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], "image.png"));
    const options = {dataTransfer, bubbles: true, cancelable: true};
    document.body.dispatchEvent(new DragEvent("drop", options));
};
(async () => {
    const bytes = Uint8Array.from(atob("%s"), (c) => c.charCodeAt(0));
    const reports = [];
    drop(bytes);
    reports.push(await shown());
    byId("digit").click();
    await until(() => !answers().some((a) => a.childNodes.length));
    reports.push(await shown());
    byId("digit").click();
    drop(bytes.subarray(0, 60));
    await until(() => document.querySelectorAll(".answer .error").length === 3);
    reports.push({answers: answers().map((a) => a.innerText)});
    await fetch("/report", {method: "POST", body: JSON.stringify(reports)});
})();
"""


@pytest.fixture
def models(folder):
    """Adds an autoencoder and a classifier to the model `net`, which takes no files."""
    for name in (CLASSIFIER, AUTOENCODER):
        weights = pretrained.find(name, "mnist")
        net = elu_zoo.get_model(name, weights=weights)
        description = predictor.description(net, name, weights)
        if description["class_names"]:
            description["class_names"] = [HOSTILE, *"123456789"]
        export_saved_model(net, folder, name=name, **description)
    return folder


def reports_of_browser(run, monkeypatch, tmp_path, script):
    """Opens the page with a script in Chromium, and returns what the script reports."""
    reports = queue.Queue()
    original = RestApi.application

    def application(rest):
        async def page(request):
            response = await rest._page(request)
            response.text += f"<script>{script}</script>"
            return response

        async def report(request):
            reports.put(await request.json())
            return web.Response()

        result = original(rest)
        result.router.add_get("/test", page)
        result.router.add_post("/report", report)
        return result

    monkeypatch.setattr(RestApi, "application", application)
    address = f"http://{run().server.rest_address}/test"
    switches = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'p'}"]
    with subprocess.Popen(
        [CHROMIUM, *switches, "--remote-debugging-port=0", address], stderr=subprocess.DEVNULL
    ) as process:
        try:
            return reports.get(timeout=60)
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_page_shows_the_answers_of_all_models(run, models, monkeypatch, tmp_path):
    image = 255 - load.load("mnist_5k").test.images[3]  # dark on light
    png = tf.io.encode_png(image).numpy()
    script = SCRIPT % base64.b64encode(png).decode()
    reports = reports_of_browser(run, monkeypatch, tmp_path, script)
    normalized = tf.io.encode_png(digits.normalize(image)[0]).numpy()
    for report, sent in zip(reports[:2], (png, normalized), strict=True):
        assert not report["error"] and report["heads"] == [AUTOENCODER, CLASSIFIER, "net"]
        assert "serve_bytes" in report["answers"][2]
        sent = {"image_bytes": tf.constant([sent])}
        classifier = load_saved_model(models / CLASSIFIER)
        (expected,) = classifier.run("serve_bytes", **sent)["probabilities"]
        best = np.argsort(-expected, kind="stable")[:5]
        names = [HOSTILE if index == 0 else str(index) for index in best]
        assert report["rows"][::2] == names
        assert report["rows"][1::2] == [f"{100 * expected[index]:.1f} %" for index in best]
        autoencoder = load_saved_model(models / AUTOENCODER)
        (expected,) = autoencoder.run("serve_bytes", **sent)["reconstructions"]
        pixels = np.reshape(report["pixels"], (28, 28, 4))
        np.testing.assert_allclose(pixels[..., :3], np.repeat(expected, 3, -1), atol=1)
    for answer in reports[2]["answers"][:2]:
        assert "status 400" in answer and "\n" not in answer


def test_page_loads_no_other_file_and_inserts_no_html(run):
    with urllib.request.urlopen(f"http://{run().server.rest_address}/") as response:
        text = response.read().decode()
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none';")
    assert not re.search(r'(?:src|href)="(?!data:)|url\(|@import', text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write", text)
