"""The server implements the paths and formats of TensorFlow Serving's REST API."""

import base64
import contextlib
import json

import numpy as np
import png_files
import pytest

served = pytest.importorskip("served")


def columns(response):
    """Returns the outputs in a response of the row or column format, as arrays."""
    assert response.status == 200, response.content
    document = response.json
    if "outputs" in document:
        return {name: np.array(x) for name, x in document["outputs"].items()}
    rows = document["predictions"]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


@pytest.fixture(scope="module")
def by_grpc(server, model, images):
    """Returns the outputs for `images` over gRPC."""
    request = served.predict_request(model.name, {"images": images})
    return served.arrays(server.predict(request, timeout=60))


@pytest.fixture(scope="module")
def send(server, model):
    """Returns a function that sends a body to the path `:predict` of the model."""

    def post(body, path=""):
        return server.post(f"{model.path}{path}:predict", body)

    return post


FORMATS = {
    "rows": lambda x: {"instances": x},
    "named rows": lambda x: {"instances": [{"images": image} for image in x]},
    "columns": lambda x: {"inputs": x},
    "named columns": lambda x: {"inputs": {"images": x}},
    "signature": lambda x: {"signature_name": "serving_default", "instances": x},
    "another key": lambda x: {"instances": x, "more": [None]},
}


@pytest.mark.parametrize("form", FORMATS)
def test_outputs_equal_the_outputs_over_grpc(send, images, by_grpc, form):
    served.assert_equal(columns(send(FORMATS[form](images.tolist()))), by_grpc)


def test_outputs_equal_outputs_of_the_export(send, models_folder, model, images):
    from elu_zoo.export.saved_model import load_saved_model

    expected = load_saved_model(models_folder / model.name).predict(images)
    served.assert_equal(columns(send({"instances": images.tolist()})), expected)


@pytest.mark.parametrize(("form", "key"), [("rows", "predictions"), ("columns", "outputs")])
def test_single_output_is_a_list_without_names(server, model, send, images, form, key):
    if "features" not in model.outputs:
        pytest.skip(f'{model.name} was exported without the signature "features"')
    body = FORMATS[form](images.tolist()) | {"signature_name": "features"}
    features = np.array(send(body).json[key])
    request = served.predict_request(model.name, {"images": images}, "features")
    expected = served.arrays(server.predict(request, timeout=60))["features"]
    np.testing.assert_allclose(features, expected, 1e-5, 1e-5)


@pytest.mark.parametrize("padding", ["=", ""])
@pytest.mark.parametrize("form", ["rows", "named columns"])
def test_images_as_base64_are_accepted(send, images, by_grpc, form, padding):
    # Bytes after the end of a PNG file are ignored; they change the base64 padding.
    contents = [png_files.png(image) + bytes(2 * i) for i, image in enumerate(images)]
    texts = [base64.b64encode(content).decode() for content in contents]
    files = [{"b64": text if padding else text.rstrip("=")} for text in texts]
    key, value = ("instances", files) if form == "rows" else ("inputs", {"image_bytes": files})
    body = {"signature_name": "serve_bytes", key: value}
    served.assert_equal(columns(send(body)), by_grpc)


def encoded(name):
    return "".join(f"%{ord(character):02x}" for character in name)


PATHS = {
    "version": "/v1/models/{name}/versions/{version}:predict",
    "upper case": "/V1/MODELS/{name}:predict",
    "percent-encoded": "/v1/models/{encoded}:predict",
}


@pytest.mark.parametrize("path", PATHS)
def test_forms_of_the_path_are_accepted(server, model, images, by_grpc, path):
    names = {"name": model.name, "version": model.version}
    path = PATHS[path].format(encoded=encoded(model.name), **names)
    served.assert_equal(columns(server.post(path, {"instances": images.tolist()})), by_grpc)


STATUS_PATHS = {
    "model": "/v1/models/{name}",
    "upper case": "/V1/Models/{name}/Versions/{version}",
    "percent-encoded": "/v1/models/{encoded}",
}


@pytest.mark.parametrize("path", STATUS_PATHS)
def test_status_is_available(server, model, path):
    names = {"name": model.name, "version": model.version}
    path = STATUS_PATHS[path].format(encoded=encoded(model.name), **names)
    response = server.get(path)
    assert response.status == 200
    assert response.headers["Content-Type"].startswith("application/json")
    assert {
        "version": str(model.version),
        "state": "AVAILABLE",
        "status": {"error_code": "OK", "error_message": ""},
    } in response.json["model_version_status"]


@pytest.mark.parametrize("suffix", ["", "/versions/{version}"])
def test_metadata_has_the_signatures(server, model, suffix):
    path = f"{model.path}{suffix.format(version=model.version)}/metadata"
    document = server.get(path).json
    assert document["model_spec"] == {
        "name": model.name,
        "signature_name": "",
        "version": str(model.version),
    }
    signatures = document["metadata"]["signature_def"]["signature_def"]
    images = signatures["serving_default"]["inputs"]["images"]
    assert images["dtype"] == "DT_FLOAT"
    assert [dim["size"] for dim in images["tensor_shape"]["dim"]] == ["-1", *map(str, model.shape)]
    assert images["tensor_shape"]["unknown_rank"] is False
    assert signatures["serving_default"]["method_name"] == "tensorflow/serving/predict"
    assert set(signatures["serving_default"]["outputs"]) == set(model.outputs["serving_default"])
    assert signatures["serve_bytes"]["inputs"]["image_bytes"]["dtype"] == "DT_STRING"


def test_connection_survives_a_bad_request(server, model, images, by_grpc):
    body = json.dumps({"instances": images.tolist()})
    with contextlib.closing(server.connect()) as connection:
        for sent in (body, "{}", body):
            connection.request("POST", f"{model.path}:predict", sent)
            response = served.read_response(connection)
            assert response.status == (400 if sent == "{}" else 200)
        served.assert_equal(columns(response), by_grpc)


def test_chunked_body_is_accepted(server, model, images, by_grpc):
    body = json.dumps({"instances": images.tolist()}).encode()
    chunks = iter([body[:1000], body[1000:]])
    served.assert_equal(columns(server.post(f"{model.path}:predict", chunks)), by_grpc)
