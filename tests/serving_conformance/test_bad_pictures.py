"""A request with a file that is not an image fails, and other requests do not."""

import base64
import concurrent.futures

import grpc
import numpy as np
import pytest
from png_files import blank, png

served = pytest.importorskip("served")

_PNG = png(np.random.default_rng(0).integers(0, 256, (20, 20, 1)))
# description: content of the file.
BAD_FILES = {
    "nothing": b"",
    "text": b"hello",
    "half": _PNG[: len(_PNG) // 2],
    "without its end": _PNG[:-40],
    "a changed pixel": _PNG[:60] + b"\xff" + _PNG[61:],
    "the header of a JPEG": b"\xff\xd8\xff\xe0" + bytes(100),
    "the header of a GIF": b"GIF89a" + bytes(20),
    "the header of a BMP": b"BM" + bytes(60),
    "a header of 9e8 pixels": blank(8, header_side=30_000),
    "a header of 2e8 pixels": blank(8, header_side=15_000),
}
THREADS = 16


def body(*files):
    objects = [{"b64": base64.b64encode(content).decode()} for content in files]
    return {"signature_name": "serve_bytes", "instances": objects}


def request(model, *files):
    array = np.array(files, object)
    return served.predict_request(model.name, {"image_bytes": array}, "serve_bytes")


@pytest.mark.parametrize("file", BAD_FILES.values(), ids=BAD_FILES)
def test_bad_file_is_rejected(server, model, file):
    response = server.post(f"{model.path}:predict", body(file))
    assert response.status == 400 and response.error
    with pytest.raises(grpc.RpcError) as caught:
        server.predict(request(model, file), timeout=60)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details()


def test_request_with_one_bad_file_is_rejected(server, model, images):
    response = server.post(f"{model.path}:predict", body(png(images[0]), b"hello"))
    assert response.status == 400


def test_decompression_bomb_is_rejected(server, model, needs_our_server):
    """The small file has 1.4e8 pixels, which would need 600 MB per channel."""
    response = server.post(f"{model.path}:predict", body(blank(12_000)))
    assert 400 <= response.status < 500


def test_bad_files_do_not_change_other_responses(server, model):
    images = model.images(60)
    inputs = served.predict_request(model.name, {"images": images})
    expected = served.arrays(server.predict(inputs))["logits"]
    bad = [content for name, content in BAD_FILES.items() if "pixels" not in name]

    def send(index):
        """Returns the logits, or the gRPC status code of an error."""
        file = png(images[index]) if index % 3 else bad[index // 3 % len(bad)]
        try:
            response = server.predict(request(model, file), timeout=60)
        except grpc.RpcError as error:
            return error.code()
        return served.arrays(response)["logits"][0]

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(send, range(len(images))))
    for index, response in enumerate(results):
        if index % 3:
            np.testing.assert_allclose(response, expected[index], 1e-4, 1e-4)
        else:
            assert response == grpc.StatusCode.INVALID_ARGUMENT
