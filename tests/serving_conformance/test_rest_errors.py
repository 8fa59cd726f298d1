"""Wrong REST requests fail with the messages of TensorFlow Serving."""

import contextlib
import http.client
import json

import numpy as np
import pytest

served = pytest.importorskip("served")


@pytest.fixture(scope="module")
def send(server, model):
    """Returns a function that sends a body to the path `:predict` of the model."""
    return lambda body: server.post(f"{model.path}:predict", body)


def replace_pixel(value):
    """Returns a function that makes a body whose first pixel is the JSON `value`."""

    def body(x):
        x[0][0][0][0] = "@"
        return json.dumps({"instances": x[:1]}).replace('"@"', value).encode()

    return body


def ragged(x):
    return {"instances": [x[0], x[1][:-1]]}


def larger(x):
    return {"instances": [x[0], x[1] + x[1][:1]]}


def other_channels(x):
    return {"instances": np.array(x)[..., :1].repeat(4, -1).tolist()}


# case: (function from images to a body, text in the message).
BAD_BODIES = {
    "not JSON": (lambda x: b"hello", "JSON Parse error"),
    "not UTF-8": (lambda x: b'{"instances": ["\xff\xfe"]}', ""),
    "cut": (lambda x: json.dumps({"instances": x}).encode()[:-9], "JSON Parse error"),
    "empty body": (lambda x: b"", "JSON Parse error: The document is empty"),
    "no keys": (lambda x: {}, "Missing 'inputs' or 'instances' key"),
    "a list": (lambda x: b"[]", "Is not object"),
    "both keys": (
        lambda x: {"instances": x, "inputs": x},
        "ot formatted correctly expecting only one of 'inputs' or 'instances' keys",
    ),
    "instances a number": (lambda x: {"instances": 1}, "to be an list/array"),
    "instances an object": (
        lambda x: {"instances": {"images": x}},
        "to be an list/array",
    ),
    "no instances": (lambda x: {"instances": []}, "No values in 'instances' array"),
    "object, then list": (
        lambda x: {"instances": [{"images": x[0]}, x[1]]},
        "Expecting object but got list at item 1",
    ),
    "list, then object": (
        lambda x: {"instances": [x[0], {"images": x[1]}]},
        "Expecting value/list but got object at item 1",
    ),
    "another name": (
        lambda x: {"instances": [{"pixels": x[0]}]},
        "does not have named input: pixels",
    ),
    "no name": (lambda x: {"instances": [{}]}, "keys must be equal to: images"),
    "one name too many": (
        lambda x: {"instances": [{"images": x[0], "pixels": 1}]},
        "does not have named input: pixels",
    ),
    "no column": (
        lambda x: {"inputs": {"pixels": x}},
        "Missing named input: images in 'inputs' object.",
    ),
    "ragged": (ragged, "Failed to process element: 1 of 'instances' list."),
    "a larger image": (larger, "Expecting tensor size: "),
    "a string": (replace_pixel('"1"'), "not of expected type: float"),
    "null": (replace_pixel("null"), "not of expected type: float"),
    "true": (replace_pixel("true"), "not of expected type: float"),
    "an object": (replace_pixel('{"a": 1}'), "not of expected type: float"),
    "base64": (replace_pixel('{"b64": "AA=="}'), "not of expected type: float"),
    "over float32": (replace_pixel("1e39"), "without loss of precision"),
    "under float32": (replace_pixel("-1e39"), "without loss of precision"),
    "rank 2": (lambda x: {"instances": [[1, 2]]}, ""),
    "other size": (lambda x: {"instances": [x[0][:-1]]}, ""),
    "other channels": (other_channels, ""),
    "empty images": (lambda x: {"instances": [[], []]}, ""),
    "signature a number": (
        lambda x: {"signature_name": 1, "instances": x},
        "'signature_name' key must be a string value",
    ),
    "unknown signature": (
        lambda x: {"signature_name": "nope", "instances": x},
        "not found",
    ),
    "bad base64": (
        lambda x: {"signature_name": "serve_bytes", "instances": [{"b64": "%"}]},
        "base64 decode",
    ),
    "numbers for bytes": (
        lambda x: {"signature_name": "serve_bytes", "instances": [1]},
        "not of expected type: string",
    ),
}


def assert_error(response, text):
    assert response.status == 400
    assert response.headers["Content-Type"].startswith("application/json")
    assert text in response.error


@pytest.mark.parametrize("case", BAD_BODIES)
def test_bad_body_is_rejected(send, images, case):
    body, text = BAD_BODIES[case]
    assert_error(send(body(images.tolist())), text)


def test_batch_over_the_maximum_is_rejected(server, model, models_folder):
    response = server.post(f"{model.path}:predict", {"instances": model.images(65).tolist()})
    assert_error(response, "larger than maximum input batch size 64")


NOT_FOUND = "Servable not found for request: "
# (method, path, HTTP status, text in the message).
PATH_ERRORS = [
    ("POST", "/v1/models/nope:predict", 404, f"{NOT_FOUND}Latest(nope)"),
    (
        "POST",
        "{path}/versions/7777:predict",
        404,
        f"{NOT_FOUND}Specific({{name}}, 7777)",
    ),
    ("GET", "/v1/models/nope", 404, "Could not find any versions of model nope"),
    ("GET", "{path}/versions/7777", 404, "Could not find version 7777 of model {name}"),
    ("GET", "/v1/models/nope/metadata", 404, f"{NOT_FOUND}Latest(nope)"),
    ("POST", "{path}/labels/nope:predict", 400, "Unrecognized servable version label"),
    ("POST", "{path}/versions/" + "9" * 30 + ":predict", 400, "to numeric"),
    ("POST", "/v1/unknown", 400, "Malformed request: POST /v1/unknown"),
    ("GET", "{path}:predict", 400, "Malformed request: GET"),
    ("POST", "{path}", 400, "Malformed request: POST"),
    ("POST", "{path}/versions/x:predict", 400, "Malformed request: POST"),
    ("DELETE", "{path}", 400, "Malformed request: DELETE"),
]


@pytest.mark.parametrize(
    ("method", "path", "status", "text"), PATH_ERRORS, ids=lambda value: str(value)[:40]
)
def test_bad_path_is_rejected(server, model, images, method, path, status, text):
    body = {"instances": images.tolist()} if method != "GET" else None
    response = server.send(method, path.format(path=model.path), body)
    assert response.status == status
    assert text.format(name=model.name) in response.error


# case: (path, name in the list of available names).
AVAILABLE = {
    "model": ("/v1/models/nope:predict", "{name}"),
    "version": ("{path}/versions/7777:predict", "{name}/versions/{version}"),
    "signature": ("{path}:predict", "serve_bytes"),
}


@pytest.mark.parametrize("case", AVAILABLE)
def test_errors_list_available_names(server, model, needs_our_server, case):
    path, name = AVAILABLE[case]
    body = {"signature_name": "nope", "instances": [1]}
    response = server.post(path.format(path=model.path), body)
    expected = name.format(name=model.name, version=model.version)
    assert expected in response.json["available"]


@pytest.mark.parametrize("method", ["classify", "regress"])
def test_unsupported_methods_are_unimplemented(server, model, needs_our_server, method):
    response = server.post(f"{model.path}:{method}", {"examples": [{"a": 1}]})
    assert response.status == 501 and method in response.error


def test_bad_chunk_is_rejected(server, model, needs_our_server):
    head = f"POST {model.path}:predict HTTP/1.1\r\nHost: localhost\r\n"
    with contextlib.closing(server.connect(10)) as connection:
        connection.connect()
        chunk = "Transfer-Encoding: chunked\r\n\r\nzz\r\n"
        connection.sock.sendall((head + chunk).encode())
        with contextlib.closing(http.client.HTTPResponse(connection.sock)) as response:
            response.begin()
            assert response.status == 400
