"""Wrong REST requests fail with the status of TensorFlow Serving and a JSON error."""

import base64
import contextlib
import http.client
import json

import numpy as np
import png_files
import pytest

served = pytest.importorskip("served")


def pixel(value):
    """Returns a function that makes a body whose first pixel is the JSON `value`."""

    def body(x):
        x[0][0][0][0] = "@"
        return json.dumps({"instances": x[:1]}).replace('"@"', value).encode()

    return body


def image_file(content):
    """Returns a function that makes a body with an image file."""
    files = [{"b64": base64.b64encode(content).decode()}]
    return lambda x: {"signature_name": "serve_bytes", "instances": files}


# Functions from images, as nested lists, to a body with status 400.
BAD_BODIES = {
    "not UTF-8": lambda x: b'{"instances": ["\xff\xfe"]}',
    "cut": lambda x: json.dumps({"instances": x}).encode()[:-9],
    "empty body": lambda x: b"",
    "no keys": lambda x: {},
    "a list": lambda x: b"[]",
    "both keys": lambda x: {"instances": x, "inputs": x},
    "instances a number": lambda x: {"instances": 1},
    "no instances": lambda x: {"instances": []},
    "list, then object": lambda x: {"instances": [x[0], {"images": x[1]}]},
    "one name too many": lambda x: {"instances": [{"images": x[0], "pixels": 1}]},
    "no column": lambda x: {"inputs": {"pixels": x}},
    "ragged": lambda x: {"instances": [x[0], x[1][:-1]]},
    "a string": pixel('"1"'),
    "null": pixel("null"),
    "true": pixel("true"),
    "base64": pixel('{"b64": "AA=="}'),
    "over float32": pixel("1e39"),
    "other channels": lambda x: {"instances": np.array(x)[..., :1].repeat(4, -1).tolist()},
    "signature a number": lambda x: {"signature_name": 1, "instances": x},
    "unknown signature": lambda x: {"signature_name": "nope", "instances": x},
    "bad base64": lambda x: {"signature_name": "serve_bytes", "instances": [{"b64": "%"}]},
    "not an image": image_file(b"hello"),
    "half an image": image_file(png_files.png(np.eye(20)[..., None])[:60]),
    "12 kB of 1.4e8 pixels": image_file(png_files.blank(12_000)),
}


@pytest.mark.parametrize("case", BAD_BODIES)
def test_bad_body_is_rejected(server, model, images, case):
    response = server.post(f"{model.path}:predict", BAD_BODIES[case](images.tolist()))
    assert response.status == 400 and response.error
    assert response.headers["Content-Type"].startswith("application/json")


# (method, path, HTTP status, word of the message).
BAD_PATHS = [
    ("POST", "/v1/models/nope:predict", 404, "nope"),
    ("POST", "{path}/versions/7777:predict", 404, "7777"),
    ("GET", "/v1/models/nope", 404, "nope"),
    ("GET", "{path}/versions/7777", 404, "7777"),
    ("GET", "/v1/models/nope/metadata", 404, "nope"),
    ("POST", "{path}/labels/nope:predict", 400, "nope"),
    ("POST", "{path}/versions/" + "9" * 30 + ":predict", 400, "999"),
    ("POST", "/v1/unknown", 400, "/v1/unknown"),
    ("GET", "{path}:predict", 400, "GET"),
    ("POST", "{path}", 400, "POST"),
    ("POST", "{path}/versions/x:predict", 400, "POST"),
    ("DELETE", "{path}", 400, "DELETE"),
]


@pytest.mark.parametrize(("method", "path", "status", "word"), BAD_PATHS, ids=lambda x: str(x)[:40])
def test_bad_path_is_rejected(server, model, images, method, path, status, word):
    body = {"instances": images.tolist()} if method == "POST" else None
    response = server.send(method, path.format(path=model.path), body)
    assert response.status == status and word in response.error


def test_unsupported_methods_are_unimplemented(server, model, needs_our_server):
    for method in "classify", "regress":
        assert server.post(f"{model.path}:{method}", {"examples": [{"a": 1}]}).status == 501


def test_bad_chunk_is_rejected(server, model, needs_our_server):
    head = f"POST {model.path}:predict HTTP/1.1\r\nHost: localhost\r\n"
    with contextlib.closing(server.connect(10)) as connection:
        connection.connect()
        chunk = "Transfer-Encoding: chunked\r\n\r\nzz\r\n"
        connection.sock.sendall((head + chunk).encode())
        with contextlib.closing(http.client.HTTPResponse(connection.sock)) as response:
            response.begin()
            assert response.status == 400
