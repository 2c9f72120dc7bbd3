"""Models of TensorFlow and Keras out of tf2onnx: channels last turned to channels first, recurrent layers, einsum attention."""

import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

import numpy as np
import tensorflow as tf
import tf2onnx

from zoo.exported import record

layers = tf.keras.layers


def cnn():
    x = tf.keras.Input((12, 12, 3), batch_size=1, name="x")
    y = layers.Conv2D(6, 3, 2, "same", activation="relu")(x)
    y = layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same")(y))
    y = layers.SeparableConv2D(8, 3, padding="same", activation="swish")(y)
    y = layers.UpSampling2D(2, interpolation="bilinear")(layers.MaxPool2D(2)(y))
    y = layers.Conv2DTranspose(4, 3, 2, "same")(y)
    y = layers.Concatenate()([layers.GlobalAveragePooling2D()(y), layers.Flatten()(layers.AveragePooling2D(6)(y))])
    return tf.keras.Model(x, layers.Dense(5, "softmax")(y))


def gelu(x):
    """With tanh: the other form has an Erfc, which tf2onnx leaves as it is and which is no operator of ONNX."""
    return tf.keras.activations.gelu(x, approximate=True)


def attention():
    x = tf.keras.Input((5, 12), batch_size=2, name="x")
    y = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 6)(x, x))
    y = layers.LayerNormalization()(y + layers.Dense(12)(layers.Dense(20, gelu)(y)))
    return tf.keras.Model(x, y)


def recurrent():
    x = tf.keras.Input((4,), batch_size=2, dtype=tf.int32, name="x")
    y = layers.Embedding(12, 6)(x)
    y = layers.Bidirectional(layers.LSTM(5, return_sequences=True))(y)
    return tf.keras.Model(x, layers.Dense(3)(layers.GRU(4)(y)))


def main():
    _, folder = record.target()
    random = np.random.default_rng(8)
    for name, make, feed in (("tf_cnn", cnn, record.numbers(random, 1, 12, 12, 3)),
                             ("tf_attention", attention, record.numbers(random, 2, 5, 12)),
                             ("tf_recurrent", recurrent, random.integers(0, 12, (2, 4)).astype(np.int32))):
        tf.keras.utils.set_random_seed(1)
        module = make()
        module.set_weights([value + 0.1 * random.standard_normal(value.shape).astype(value.dtype)
                            if "variance" not in weight.path else value
                            for weight, value in zip(module.weights, module.get_weights())])
        signature = [tf.TensorSpec(feed.shape, feed.dtype, name="x")]
        call = tf.function(lambda x: module(x, training=False), input_signature=signature)
        model, _ = tf2onnx.convert.from_function(call, input_signature=signature, opset=18)
        record.save(folder, name, model, {"x": feed}, original=[module(feed, training=False).numpy()])


if __name__ == "__main__":
    main()
