"""Layers that an export must refuse."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable("tests")
class Differs(keras.layers.Layer):
    """A layer with different outputs in a graph and in eager execution."""

    def call(self, inputs):
        return inputs if tf.executing_eagerly() else inputs + 1.0


@keras.saving.register_keras_serializable("tests")
class CallsPython(keras.layers.Layer):
    def call(self, inputs):
        outputs = tf.numpy_function(lambda x: x, [inputs], tf.float32)
        return tf.ensure_shape(outputs, inputs.shape)

    def compute_output_shape(self, input_shape):
        return input_shape
