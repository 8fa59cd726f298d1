"""A version is loaded with its signatures and warm-up requests, or raises an error."""

import os
import shutil
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

from elu_zoo import errors
from elu_zoo.serving import servable
from elu_zoo.serving.signature import Signature
from elu_zoo.serving.status_errors import StatusError

WARM_UP = "assets.extra/tf_serving_warmup_requests"
DATA = "variables/variables.data-00000-of-00001"
INDEX = "variables/variables.index"
NAMES = "any_shape doubling fixed lengths roots scaled serving_default".split()


@pytest.fixture
def copy(saved, tmp_path):
    """Returns a copy of the folder `saved`, which a test may change."""
    return shutil.copytree(saved, tmp_path / "net" / "1")


def load(path, batcher=lambda name, signature: None):
    return servable.load("net", 1, path, batcher)


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


def predict_log(signature, **inputs):
    request = predict_pb2.PredictRequest()
    request.model_spec.signature_name = signature
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    log = prediction_log_pb2.PredictLog(request=request)
    return prediction_log_pb2.PredictionLog(predict_log=log)


def write_warm_up(version, *logs):
    (version / WARM_UP).parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(version / WARM_UP)) as records:
        for log in logs:
            records.write(log.SerializeToString())


@pytest.fixture
def runs(monkeypatch):
    """Returns the list of executed requests, tuples (name of the signature, inputs)."""
    runs, original_run = [], Signature.run

    def record_run(self, requests):
        runs.extend((self.name, request) for request in requests)
        return original_run(self, requests)

    monkeypatch.setattr(Signature, "run", record_run)
    return runs


def test_load_returns_all_signatures_with_their_queues(saved):
    loaded = load(saved, lambda name, signature: f"queue of {name} {signature.name}")
    assert (loaded.name, loaded.version) == ("net", 1)
    assert sorted(loaded.signatures) == NAMES
    assert loaded.batchers == {name: f"queue of net {name}" for name in NAMES}
    assert set(NAMES) <= set(loaded.definitions)
    assert loaded.class_names == () and loaded.origin == {}
    batched = {name for name, signature in loaded.signatures.items() if signature.is_batched}
    assert batched == set(NAMES) - {"any_shape", "fixed"}


def test_signature_is_found_by_name(loaded):
    assert loaded.signature("") is loaded.signatures["serving_default"]
    assert loaded.signature("scaled") is loaded.signatures["scaled"]
    with pytest.raises(StatusError, match="not found") as raised:
        loaded.signature("x" * 999)
    assert len(raised.value.message) < 300
    assert raised.value.code.name == "FAILED_PRECONDITION"
    assert raised.value.message.endswith(f" Available: {', '.join(NAMES)}.")


def test_model_without_signatures_is_loaded(tmp_path):
    tf.saved_model.save(tf.Module(), str(tmp_path / "1"))
    loaded = load(tmp_path / "1")
    assert loaded.signatures == loaded.batchers == {}


def test_labels_and_origin_are_read(copy):
    write(copy / "assets/labels.txt", "plane\ncañon\n\nbird\n".encode())
    write(copy / "assets.extra/elu_zoo.json", b'{"activation": "elu"}')
    loaded = load(copy)
    assert loaded.class_names == ("plane", "cañon", "", "bird")
    assert loaded.origin == {"activation": "elu"}


def flip_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def replace_tag(path):
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    saved.meta_graphs[0].meta_info_def.tags[:] = ["train"]
    path.write_bytes(saved.SerializeToString())


def overwrite(path):
    write(path, b"\xff{" * 20)


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("saved_model.pb", Path.unlink),
        ("saved_model.pb", lambda path: write(path, b"")),
        ("saved_model.pb", replace_tag),
        ("saved_model.pb", lambda path: os.truncate(path, 1 << 40)),
        (DATA, flip_bit),
        (INDEX, flip_bit),
        (WARM_UP, overwrite),
        ("assets/labels.txt", overwrite),
        ("assets.extra/elu_zoo.json", lambda path: write(path, b"[]")),
    ],
)
def test_a_damaged_or_missing_file_raises_a_corrupt_error(copy, file, damage):
    damage(copy / file)
    with pytest.raises(errors.CorruptError) as raised:
        load(copy)
    message = str(raised.value)
    assert message.startswith(f"{copy} ") and not message.endswith(": ")
    assert "\n" not in message and len(message) < 600


def test_warm_up_requests_of_existing_signatures_run_at_the_load(copy, runs):
    write_warm_up(
        copy,
        predict_log("scaled", values=[1.0, 2.0]),
        predict_log("of another version", values=[1.0]),
        prediction_log_pb2.PredictionLog(classify_log=prediction_log_pb2.ClassifyLog()),
        predict_log("lengths", texts=[[b"a", b"b"]]),
    )
    loaded = load(copy)
    assert [name for name, _ in runs] == ["scaled", "lengths"]
    assert runs[0][1]["values"].tolist() == [1, 2]
    assert sorted(loaded.signatures) == NAMES


def test_the_number_of_warm_up_requests_is_limited(copy, runs, monkeypatch):
    monkeypatch.setattr(servable, "_MAX_WARM_UP_REQUESTS", 3)
    write_warm_up(copy, *[predict_log("scaled", values=[float(i)]) for i in range(5)])
    load(copy)
    assert [request["values"].tolist() for _, request in runs] == [[0], [1], [2]]


@pytest.mark.parametrize(
    "log",
    [
        predict_log("scaled", values=[[1.0]]),
        predict_log("roots", values=[-1.0]),
        predict_log("", wrong=1.0),  # serving_default
    ],
)
def test_wrong_warm_up_request_fails_the_load(copy, log):
    write_warm_up(copy, predict_log("scaled", values=[1.0]), log)
    with pytest.raises(errors.CorruptError, match="values|inputs"):
        load(copy)
