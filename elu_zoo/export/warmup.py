"""Warm-up requests, which TensorFlow Serving runs before a model is ready.

Without them, the first requests of users wait until each signature is initialized. The
file is a TFRecord of messages tensorflow.serving.PredictionLog. This module encodes the
fields of a message, so that an export does not need tensorflow-serving-api.
"""

from collections.abc import Collection
from pathlib import Path

import numpy as np
import tensorflow as tf

FILE = "assets.extra/tf_serving_warmup_requests"
_BATCH = 2
# Protobuf fields in tensorflow_serving/apis/{prediction_log,predict,model}.proto.
_PREDICT_LOG = 6  # of PredictionLog
_REQUEST = 1  # of PredictLog
_MODEL_SPEC, _INPUTS = 1, 2  # of PredictRequest
_KEY, _VALUE = 1, 2  # of an entry of a map
_NAME, _SIGNATURE_NAME = 1, 3  # of ModelSpec


def write(path: Path, name: str, shape: tuple[int, int, int], signatures: Collection[str]) -> None:
    """Writes warm-up requests with seeded noise for each signature of a model."""
    noise = np.random.default_rng(0).integers(0, 256, (_BATCH, *shape), np.uint8)
    images = noise.astype(np.float32)
    png = np.array([tf.io.encode_png(noise[0]).numpy()], object)
    requests = [
        ("serving_default", "images", images[:1]),
        ("serving_default", "images", images),
        ("serve_bytes", "image_bytes", png),
        ("features", "images", images[:1]),
    ]
    path.parent.mkdir(exist_ok=True)
    try:
        with tf.io.TFRecordWriter(str(path)) as records:
            for signature, argument, value in requests:
                if signature in signatures:
                    records.write(_prediction_log(name, signature, argument, value))
    except tf.errors.OpError as error:
        raise OSError(error.message) from error


def _prediction_log(name: str, signature: str, argument: str, value: np.ndarray) -> bytes:
    tensor = tf.make_tensor_proto(value).SerializeToString()
    spec = _field(_NAME, name.encode()) + _field(_SIGNATURE_NAME, signature.encode())
    inputs = _field(_KEY, argument.encode()) + _field(_VALUE, tensor)
    request = _field(_MODEL_SPEC, spec) + _field(_INPUTS, inputs)
    return _field(_PREDICT_LOG, _field(_REQUEST, request))


def _field(number: int, content: bytes) -> bytes:
    """Returns the encoding of a length-delimited field: tag, length, content."""
    length, size = len(content), b""
    while length > 127:
        size += bytes([length & 127 | 128])
        length >>= 7
    return bytes([number << 3 | 2]) + size + bytes([length]) + content
