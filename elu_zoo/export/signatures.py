"""The signatures of an exported model, with the checks of their inputs."""

import tensorflow as tf

from elu_zoo.data import formats
from elu_zoo.data.images import MAX_PIXELS, decode
from elu_zoo.data.shapes import Shape
from elu_zoo.export.named_outputs import FEATURES, NamedOutputs

_PARALLEL_IMAGES = 2
_NOT_FINITE = (
    "The images hold NaN or infinite pixels, expected finite numbers 0..255. Fix or "
    "remove these images"
)
_BIG_ENDIAN = [2.0**24, 2.0**16, 2.0**8, 1.0]


def endpoints(function: NamedOutputs) -> dict:
    """Returns the traced signatures of a model by name.

    - `serving_default` maps `images`, float32 (batch, height, width, channels), 0..255,
      to the outputs of `named_outputs.make`.
    - `serve_bytes` maps `image_bytes`, string (batch,), PNG or JPEG files of any size,
      to the outputs of `named_outputs.make`. The REST API of TensorFlow Serving takes an
      input whose name ends in `_bytes` as {"b64": ...}.
    - `features` maps `images` to `features`, if the function has features.

    A wrong shape, an empty batch, NaN or infinite pixels, bytes that are not an image,
    and images that are too large fail the request with an InvalidArgumentError, never
    the process.
    """
    shape = function.image_shape

    # All signatures call one function, so that the graph is stored once. TensorFlow
    # inlines the function and drops unused outputs.
    @tf.function(input_signature=[tf.TensorSpec((None, *shape), tf.float32)])
    def network(images):
        return function.all_outputs(images)

    def outputs_without_features(images):
        outputs = network(images)
        return {name: outputs[name] for name in outputs if name != FEATURES}

    # Max-pooling on a CPU drops NaN. Without this check, an image with NaN pixels would
    # get finite outputs.
    def checked(images):
        images = _check_not_empty(tf.ensure_shape(images, (None, *shape)), shape)
        return tf.debugging.assert_all_finite(images, _NOT_FINITE)

    images_spec = tf.TensorSpec((None, *shape), tf.float32, "images")

    # TensorFlow does not enforce the shape of a signature. Without ensure_shape, images
    # of a wrong rank would reach kernels that crash the process.
    @tf.function(input_signature=[images_spec])
    def serving_default(images):
        return outputs_without_features(checked(images))

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, "image_bytes")])
    def serve_bytes(image_bytes):
        files = _check_not_empty(tf.ensure_shape(image_bytes, (None,)), shape)
        return outputs_without_features(tf.cast(decode_images(files, shape), tf.float32))

    @tf.function(input_signature=[images_spec])
    def features(images):
        return {FEATURES: network(checked(images))[FEATURES]}

    functions = {"serving_default": serving_default, "serve_bytes": serve_bytes}
    if function.has_features:
        functions[FEATURES] = features
    return {name: f.get_concrete_function() for name, f in functions.items()}


def decode_images(files: tf.Tensor, shape: Shape) -> tf.Tensor:
    """Decodes PNG or JPEG files, string (batch,), to uint8 (batch, *shape).

    The images are resized as in `images.decode`; `check_sizes` checks their sizes.
    """
    return tf.map_fn(
        lambda encoded: decode(encoded, shape),
        check_sizes(files),
        fn_output_signature=tf.TensorSpec(shape, tf.uint8),
        parallel_iterations=_PARALLEL_IMAGES,
    )


def _pixels(encoded: tf.Tensor) -> tf.Tensor:
    """Returns the number of pixels that the header of a PNG or JPEG file states."""
    # Zeros replace missing bytes; the decoder then refuses the file.
    header = tf.strings.join([tf.strings.substr(encoded, 0, 24), bytes(24)])

    def png():
        numbers = tf.io.decode_raw(tf.strings.substr(header, 16, 8), tf.uint8)
        numbers = tf.reshape(tf.cast(numbers, tf.float64), (2, 4))
        return tf.reduce_prod(tf.reduce_sum(numbers * _BIG_ENDIAN, axis=1))

    def jpeg():
        shape = tf.io.extract_jpeg_shape(encoded)
        return tf.reduce_prod(tf.cast(shape[:2], tf.float64))

    def starts_with(magic):
        return tf.equal(tf.strings.substr(header, 0, len(magic)), magic)

    is_png, is_jpeg = starts_with(formats.PNG), starts_with(formats.JPEG)
    guard = tf.debugging.Assert(is_png | is_jpeg, ["The file is neither PNG nor JPEG"])
    with tf.control_dependencies([guard]):
        return tf.cond(is_png, png, jpeg)


def check_sizes(encoded: tf.Tensor) -> tf.Tensor:
    """Returns PNG or JPEG files, string (batch,), after a check of their headers.

    Decoding a file of 12 kB can take gigabytes, so the limit holds for all together.
    """
    total = tf.reduce_sum(tf.map_fn(_pixels, encoded, fn_output_signature=tf.float64))
    words = (
        f"The images of a request have more than {MAX_PIXELS} pixels. Send smaller or fewer ones"
    )
    with tf.control_dependencies([tf.debugging.Assert(total <= MAX_PIXELS, [words])]):
        return tf.identity(encoded)


def _check_not_empty(batch: tf.Tensor, shape: tuple[int, int, int]) -> tf.Tensor:
    size = "x".join(map(str, shape))
    guard = tf.debugging.Assert(
        tf.shape(batch)[0] > 0, [f"The batch is empty, expected at least one image of {size}"]
    )
    # The images depend on the guard, so that no optimization drops the guard.
    with tf.control_dependencies([guard]):
        return tf.identity(batch)
