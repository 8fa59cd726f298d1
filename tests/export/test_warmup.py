"""The warm-up requests, read by descriptions of the messages that are not ours."""

import importlib
import resource
import warnings

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorflow.core.framework import tensor_pb2

from elu_zoo.export import warmup

# TensorFlow Serving's messages, as its .proto files have them: field: (number, type).
MESSAGES = {
    "PredictionLog": {"predict_log": (6, "PredictLog")},
    "PredictLog": {"request": (1, "PredictRequest")},
    "PredictRequest": {"model_spec": (1, "ModelSpec"), "inputs": (2, "Inputs")},
    "ModelSpec": {"name": (1, "string"), "signature_name": (3, "string")},
    "Inputs": {"key": (1, "string"), "value": (2, "bytes")},
}


def described():
    """Returns the class of PredictionLog, made from `MESSAGES`."""
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="log.proto", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            repeated = field == "inputs"
            label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            added = message.field.add(name=field, number=number, label=label)
            if kind in MESSAGES:
                added.type, added.type_name = kinds.TYPE_MESSAGE, f".{kind}"
            else:
                added.type = getattr(kinds, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    log = pool.FindMessageTypeByName("PredictionLog")
    return message_factory.GetMessageClass(log)


def of_serving():
    with warnings.catch_warnings():
        # Of code that was generated for an earlier protobuf.
        warnings.simplefilter("ignore")
        name = "tensorflow_serving.apis.prediction_log_pb2"
        pytest.importorskip("tensorflow_serving")
        return importlib.import_module(name).PredictionLog


def inputs_of(request):
    if hasattr(request.inputs, "items"):
        return {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
    parsed = tensor_pb2.TensorProto.FromString
    return {x.key: tf.make_ndarray(parsed(x.value)) for x in request.inputs}


def requests(path, log):
    file = path / "assets.extra" / "tf_serving_warmup_requests"
    for record in tf.data.TFRecordDataset(str(file)).as_numpy_iterator():
        parsed = log.FromString(record)
        assert parsed.SerializeToString(deterministic=True)
        yield parsed.predict_log.request


CLASSIFIER = [
    ("serving_default", (1, 12, 12, 3)),
    ("serving_default", (2, 12, 12, 3)),
    ("serve_bytes", (1,)),
    ("features", (1, 12, 12, 3)),
]


@pytest.mark.parametrize("log", [described, of_serving])
@pytest.mark.parametrize(
    ("directory", "name", "expected"),
    [
        ("exports", "colour", CLASSIFIER),
        ("autoencoder_exports", "sigmoid", CLASSIFIER[:3]),
    ],
)
def test_requests(request, log, directory, name, expected):
    path = request.getfixturevalue(directory) / name / "1"
    saved, found = tf.saved_model.load(str(path)), []
    for asked in requests(path, log()):
        assert asked.model_spec.name == name
        signature = asked.model_spec.signature_name
        ((argument, values),) = inputs_of(asked).items()
        found.append((signature, values.shape))
        outputs = saved.signatures[signature](**{argument: tf.constant(values)})
        for output in outputs.values():
            assert len(output) == len(values)
            assert np.isfinite(output).all()
    assert found == expected


def test_a_full_disk(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            warmup.write(tmp_path / "w" / "x", "a", (28, 28, 1), {"serving_default"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_requests_are_equal_bytes(exports, tmp_path):
    warmup.write(
        tmp_path / "w" / "x", "colour", (12, 12, 3), {x for x, _ in CLASSIFIER}
    )
    written = (exports / "colour" / "1" / warmup.FILE).read_bytes()
    assert (tmp_path / "w" / "x").read_bytes() == written


def test_noise_is_of_pixels(exports):
    path = exports / "colour" / "1"
    of_images = [inputs_of(x) for x in requests(path, described())]
    values = np.concatenate([x["images"] for x in of_images if "images" in x])
    assert values.min() >= 0 and values.max() <= 255 and values.std() > 60
    np.testing.assert_array_equal(values, values.round())
