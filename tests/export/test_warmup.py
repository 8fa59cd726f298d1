"""Warm-up requests, parsed with TensorFlow Serving's protocol buffers."""

import resource
import warnings

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo.export import warmup


@pytest.fixture(scope="module")
def log():
    """The class of the message PredictionLog."""
    pytest.importorskip("tensorflow_serving")
    with warnings.catch_warnings():
        # The code was generated for an earlier protobuf, which causes a warning.
        warnings.simplefilter("ignore")
        from tensorflow_serving.apis import prediction_log_pb2
    return prediction_log_pb2.PredictionLog


def requests(path, log):
    file = path / "assets.extra" / "tf_serving_warmup_requests"
    for record in tf.data.TFRecordDataset(str(file)).as_numpy_iterator():
        yield log.FromString(record).predict_log.request


CLASSIFIER = [  # (signature, shape of the input) of each request
    ("serving_default", (1, 12, 12, 3)),
    ("serving_default", (2, 12, 12, 3)),
    ("serve_bytes", (1,)),
    ("features", (1, 12, 12, 3)),
]


@pytest.mark.parametrize(
    ("directory", "name", "expected"),
    [("exports", "colour", CLASSIFIER), ("autoencoder_exports", "sigmoid", CLASSIFIER[:3])],
)
def test_requests_run_on_every_signature(request, log, directory, name, expected):
    path = request.getfixturevalue(directory) / name / "1"
    saved, inputs = tf.saved_model.load(str(path)), []
    for warm_up in requests(path, log):
        assert warm_up.model_spec.name == name
        signature = warm_up.model_spec.signature_name
        ((argument, tensor),) = warm_up.inputs.items()
        values = tf.make_ndarray(tensor)
        if argument == "images":
            assert 0 <= values.min() < 100 and 155 < values.max() <= 255
        inputs.append((signature, values.shape))
        outputs = saved.signatures[signature](**{argument: tf.constant(values)})
        for output_name, output in outputs.items():
            assert len(output) == len(values)
            assert output_name == "labels" or np.isfinite(output).all()
    assert inputs == expected


def test_full_disk_raises(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            warmup.write(tmp_path / "w" / "x", "a", (28, 28, 1), {"serving_default"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_requests_are_reproducible(exports, tmp_path):
    signatures = {signature for signature, _ in CLASSIFIER}
    warmup.write(tmp_path / "w" / "x", "colour", (12, 12, 3), signatures)
    written = (exports / "colour" / "1" / warmup.FILE).read_bytes()
    assert (tmp_path / "w" / "x").read_bytes() == written
