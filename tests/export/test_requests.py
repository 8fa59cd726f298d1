"""Requests to an export in a process without elu_zoo and Keras."""

import json
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.slow  # a process of its own

# A program that prints [signature, request, outputs or error] for each request.
SERVER = """
import json, sys
sys.modules["elu_zoo"] = sys.modules["keras"] = None
import numpy as np
import tensorflow as tf

ramp = np.arange(2 * 12 * 12 * 3).reshape(2, 12, 12, 3) % 256
png = [tf.io.encode_png(image.astype("uint8")).numpy() for image in ramp]
jpeg = tf.io.encode_jpeg(ramp[0].astype("uint8")).numpy()
blank = lambda *shape: tf.io.encode_png(np.zeros(shape, "uint8")).numpy()
one_nan = ramp.astype("float32")
one_nan[1, 3, 4, 2] = np.nan
float32 = lambda value: tf.constant(value, tf.float32)
strings = lambda value, shape=None: tf.constant(value, tf.string, shape)
requests = {
    "serving_default": {
        "good": float32(ramp),
        "nan": float32(one_nan),
        "inf": tf.fill((1, 12, 12, 3), np.inf),
        "scalar": float32(0),
        "one image": tf.zeros((12, 12, 3)),
        "size": tf.zeros((4, 5, 12, 3)),
        "channels": tf.zeros((1, 12, 12, 4)),
        "empty": tf.zeros((0, 12, 12, 3)),
        "dtype": tf.zeros((1, 12, 12, 3), tf.int32),
    },
    "serve_bytes": {
        "good": strings(png),
        "other size": strings([blank(40, 7, 3)]),
        "grey": strings([blank(12, 12, 1)]),
        "alpha": strings([blank(12, 12, 4)]),
        "scalar": strings(png[0]),
        "rank 2": strings(png, (1, 2)),
        "empty": strings([], (0,)),
        "no image": strings(["hello"]),
        "no bytes": strings([""]),
        "header only": strings([png[0][:8]]),
        "truncated": strings([png[0][:-40]]),
        "truncated jpeg": strings([jpeg[: len(jpeg) // 2]]),
        "one of two": strings([png[0], png[1][:-40]]),
        "dtype": tf.zeros((1,)),
    },
}

def report(signature, request, ask):
    try:
        function = {name: np.asarray(value).tolist() for name, value in ask().items()}
    except Exception as error:
        function = {"error": type(error).__name__, "message": str(error)}
    print(json.dumps([signature, request, function], default=bytes.decode), flush=True)

saved = tf.saved_model.load(sys.argv[1])
for signature, table in requests.items():
    for request, value in table.items():
        name = "images" if signature == "serving_default" else "image_bytes"
        report(signature, request, lambda: saved.signatures[signature](**{name: value}))

# TensorFlow Serving runs a session that fetches only the requested outputs.
v1 = tf.compat.v1
with v1.Session(graph=tf.Graph()) as session:
    meta = v1.saved_model.load(session, ["serve"], sys.argv[1])
    for signature, request, value in (
        ("serving_default", "empty", np.zeros((0, 12, 12, 3))),
        ("serving_default", "nan", one_nan),
        ("serve_bytes", "empty", np.zeros(0, "S")),
    ):
        (feed,) = meta.signature_def[signature].inputs.values()
        fetch = meta.signature_def[signature].outputs["classes"]
        report(signature, f"{request}, session",
               lambda: {"classes": session.run(fetch.name, {feed.name: value})})
"""
ANSWERED = [
    ("serving_default", "good"),
    ("serve_bytes", "good"),
    ("serve_bytes", "other size"),
    ("serve_bytes", "grey"),
    ("serve_bytes", "alpha"),
]
SHAPE = "expected shape [?,12,12,3]"
EMPTY = "empty"
REFUSED = {
    ("serving_default", "scalar"): SHAPE,
    ("serving_default", "one image"): SHAPE,
    ("serving_default", "size"): SHAPE,
    ("serving_default", "channels"): SHAPE,
    ("serving_default", "empty"): EMPTY,
    ("serving_default", "empty, session"): EMPTY,
    ("serving_default", "nan"): "NaN",
    ("serving_default", "nan, session"): "NaN",
    ("serving_default", "inf"): "NaN",
    ("serving_default", "dtype"): "float",
    ("serve_bytes", "scalar"): "expected shape [?]",
    ("serve_bytes", "rank 2"): "expected shape [?]",
    ("serve_bytes", "empty"): EMPTY,
    ("serve_bytes", "empty, session"): EMPTY,
    ("serve_bytes", "no image"): "neither",
    ("serve_bytes", "no bytes"): "neither",
    ("serve_bytes", "header only"): "PNG",
    ("serve_bytes", "truncated"): "PNG",
    ("serve_bytes", "truncated jpeg"): "JPEG",
    ("serve_bytes", "one of two"): "PNG",
    ("serve_bytes", "dtype"): "string",
}


@pytest.fixture(scope="module")
def named_outputs(exports):
    process = subprocess.run(
        [sys.executable, "-c", SERVER, str(exports / "colour" / "1")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    return {tuple(request): function for *request, function in lines}


def test_every_request_has_an_expectation(named_outputs):
    assert set(named_outputs) == {*ANSWERED, *REFUSED}


@pytest.mark.parametrize("request_", ANSWERED, ids=" ".join)
def test_good_request_is_answered(named_outputs, request_):
    assert "error" not in named_outputs[request_], named_outputs[request_]


@pytest.mark.parametrize("request_", REFUSED, ids=" ".join)
def test_bad_request_is_refused(named_outputs, request_):
    function = named_outputs[request_]
    assert function["error"] == "InvalidArgumentError"
    assert REFUSED[request_] in function["message"]


@pytest.mark.parametrize("signature", ["serving_default", "serve_bytes"])
def test_answers_are_those_of_the_keras_model(named_outputs, models, signature):
    ramp = np.arange(2 * 12 * 12 * 3).reshape(2, 12, 12, 3) % 256
    np.testing.assert_allclose(
        named_outputs[signature, "good"]["logits"],
        models["colour"](ramp.astype("float32")),
        rtol=1e-5,
        atol=1e-5,
    )
