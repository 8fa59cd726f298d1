"""Files that are no image: each is refused alone, whatever runs beside it."""

import base64
import concurrent.futures

import grpc
import numpy as np
import pytest
from pictures_to_send import blank, png

served = pytest.importorskip("served")

_NOISE = np.random.default_rng(0).integers(0, 256, (20, 20, 1))
_PNG = png(_NOISE)
BAD_FILES = {
    "nothing": b"",
    "text": b"hello",
    "a header alone": _PNG[:8],
    "half": _PNG[: len(_PNG) // 2],
    "without its end": _PNG[:-40],
    "a changed pixel": _PNG[:60] + b"\xff" + _PNG[61:],
    "the header of a JPEG": b"\xff\xd8\xff\xe0" + bytes(100),
    "the header of a GIF": b"GIF89a" + bytes(20),
    "the header of a BMP": b"BM" + bytes(60),
    "a claim of 9e8 pixels": blank(8, claimed=30_000),
    "a claim of 2e8 pixels": blank(8, claimed=15_000),
}
THREADS = 16


def body(*files):
    objects = [{"b64": base64.b64encode(content).decode()} for content in files]
    return {"signature_name": "serve_bytes", "instances": objects}


def request(model, *files):
    array = np.array(files, object)
    return served.predict_request(model.name, {"image_bytes": array}, "serve_bytes")


@pytest.mark.parametrize("file", BAD_FILES)
def test_rest(server, model, file):
    answer = server.post(f"{model.path}:predict", body(BAD_FILES[file]))
    assert answer.status == 400 and answer.error


@pytest.mark.parametrize("file", BAD_FILES)
def test_grpc(server, model, file):
    with pytest.raises(grpc.RpcError) as caught:
        server.predict(request(model, BAD_FILES[file]), timeout=60)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details()


def test_one_bad_file_of_a_request(server, model, images):
    answer = server.post(f"{model.path}:predict", body(png(images[0]), b"hello"))
    assert answer.status == 400


# 12 KB that become 100 MB of bytes and 400 MB of floats a channel.
def test_a_decompression_bomb(server, model, ours):
    answer = server.post(f"{model.path}:predict", body(blank(10_000)))
    assert 400 <= answer.status < 500


def outcome(server, model, index, file):
    """Asks over REST or gRPC; returns the logits, or the refusal."""
    if index % 2:
        answer = server.post(f"{model.path}:predict", body(file))
        if answer.status != 200:
            return f"REST {answer.status}"
        return np.array(answer.json["predictions"][0]["logits"])
    try:
        answer = server.predict(request(model, file), timeout=60)
    except grpc.RpcError as error:
        return f"gRPC {error.code().name}"
    return served.arrays(answer)["logits"][0]


def test_bad_files_harm_no_other_request_of_their_batch(server, model):
    images = model.images(240)
    inputs = [{"images": part} for part in np.split(images, 8)]
    requests = [served.predict_request(model.name, part) for part in inputs]
    expected = np.concatenate(
        [served.arrays(server.predict(part))["logits"] for part in requests]
    )
    bad = [file for name, file in BAD_FILES.items() if "claim" not in name]
    files = [
        bad[index // 3 % len(bad)] if index % 3 == 0 else png(image)
        for index, image in enumerate(images)
    ]
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        calls = [
            pool.submit(outcome, server, model, index, file)
            for index, file in enumerate(files)
        ]
        found = [call.result() for call in calls]
    for index, answer in enumerate(found):
        if index % 3 == 0:
            assert answer == ("REST 400" if index % 2 else "gRPC INVALID_ARGUMENT")
        else:
            np.testing.assert_allclose(answer, expected[index], 1e-4, 1e-4)
