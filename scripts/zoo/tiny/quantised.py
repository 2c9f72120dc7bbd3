"""Quantised models of ONNX's own operators: QDQ form, QLinear operators, integer products, dynamic quantisation.

Weights take 7 bits, so that runtimes whose 8-bit products saturate in 16 bits compute the same. Where results are
rounded, inputs are drawn until no value lies near a tie.
"""

import numpy as np

from zoo.tiny.writer import TinyGraph


def scale_of(g, value):
    """One scale, or one per channel where `value` is a list."""
    return g.initializer(f"scale_{len(g.initializers)}", np.array(value, np.float32))


def zero_of(g, value, dtype):
    return g.initializer(f"zero_{len(g.initializers)}", np.array(value, dtype))


def weights_of(g, name, shape, dtype=np.int8):
    low, high = (-64, 64) if dtype == np.int8 else (0, 128)
    return g.initializer(name, g.random.integers(low, high, shape).astype(dtype))


def quantize(g, x, scale, zero, axis=None, shape=None):
    """`shape`: that of the scales beside x, where there is one per index of `axis`."""
    g.rounds(x, g.shadow("Reshape", [scale, g.ints(*shape)]) if shape else scale)
    return g.op("QuantizeLinear", [x, scale, zero], **({"axis": axis} if axis is not None else {}))


def through(g, x, scale, zero):
    """Quantises x and dequantises it again, as every activation of a QDQ model is."""
    scale = scale_of(g, scale)
    return g.op("DequantizeLinear", [quantize(g, x, scale, zero), scale, zero])


def channel_scales(g, count, low=0.005, high=0.02):
    return [float(value) for value in np.round(g.random.uniform(low, high, count), 4)]


def quantize_forms():
    """Per tensor and per axis, u8 and i8, with and without a zero point, saturating, i32 back to f32."""
    g = TinyGraph("quantize_forms", 13)
    x = g.input("x", "f32", [2, 3, 4])
    n = g.input("n", "i32", [3, 4])
    g.ranges["n"] = (-5000, 5000)
    bytes_ = quantize(g, x, scale_of(g, 0.02), zero_of(g, 120, np.uint8))
    signed = quantize(g, x, scale_of(g, 0.01), zero_of(g, -7, np.int8))
    scales, zeros = scale_of(g, [0.02, 0.03, 0.015]), zero_of(g, [100, 128, 140], np.uint8)
    rows = quantize(g, x, scales, zeros, 1, [3, 1])
    bare = scale_of(g, 0.05)
    g.rounds(x, bare)
    g.outputs_of([bytes_, signed, rows, g.op("QuantizeLinear", [g.op("Abs", [x]), bare]),
                  g.op("DequantizeLinear", [signed, scale_of(g, 0.01), zero_of(g, -7, np.int8)]),
                  g.op("DequantizeLinear", [rows, scales, zeros], axis=1),
                  g.op("DequantizeLinear", [n, scale_of(g, [0.001, 0.002, 0.003])], axis=0)])
    return g


def quantize_blocked():
    """Opset 21: a scale for each block of an axis, and a type without a zero point."""
    g = TinyGraph("quantize_blocked", 21)
    x = g.input("x", "f32", [2, 6])
    table = g.random.uniform(0.01, 0.04, [2, 3]).round(4)
    scales, zeros = scale_of(g, table), zero_of(g, [[1, -2, 3], [0, 5, -6]], np.int8)
    g.rounds(x, scale_of(g, np.repeat(table, 2, axis=1)))
    y = g.op("QuantizeLinear", [x, scales, zeros], axis=1, block_size=2)
    step = scale_of(g, 0.02)
    g.rounds(x, step)
    g.outputs_of([y, g.op("DequantizeLinear", [y, scales, zeros], axis=1, block_size=2),
                  g.op("QuantizeLinear", [x, step], output_dtype=3)])
    return g


def qdq_conv():
    """Per-channel i8 weights, u8 activations whose zero point is not 0, i32 bias, padding, Relu, pooling."""
    g = TinyGraph("qdq_conv", 13)
    x = g.input("x", "f32", [1, 3, 6, 6])

    def conv(x, name, filters, channels, kernel, input_scale, **attributes):
        table = channel_scales(g, filters)
        scales, zeros = scale_of(g, table), zero_of(g, [0] * filters, np.int8)
        weight = g.op("DequantizeLinear", [weights_of(g, name, [filters, channels, kernel, kernel]), scales, zeros],
                      axis=0)
        bias = g.initializer(f"{name}_bias", g.random.integers(-500, 500, [filters]).astype(np.int32))
        bias = g.op("DequantizeLinear", [bias, scale_of(g, [input_scale * value for value in table]),
                                         zero_of(g, [0] * filters, np.int32)], axis=0)
        return g.op("Conv", [x, weight, bias], **attributes)

    x = through(g, x, 0.025, zero_of(g, 120, np.uint8))
    y = g.op("Relu", [conv(x, "wa", 4, 3, 3, 0.025, pads=[1, 1, 1, 1])])
    y = through(g, y, 0.02, zero_of(g, 3, np.uint8))
    z = conv(y, "wb", 4, 1, 3, 0.02, pads=[0, 0, 1, 1], strides=[2, 2], group=4)
    z = through(g, z, 0.03, zero_of(g, 131, np.uint8))
    y = through(g, g.op("MaxPool", [y], kernel_shape=[2, 2], strides=[2, 2]), 0.02, zero_of(g, 3, np.uint8))
    z = through(g, g.op("Add", [z, y]), 0.037, zero_of(g, 90, np.uint8))
    g.outputs_of([z, through(g, g.op("GlobalAveragePool", [z]), 0.021, zero_of(g, 60, np.uint8))])
    return g


def qdq_conv_signed():
    """i8 activations, one scale for all of a weight, a float bias."""
    g = TinyGraph("qdq_conv_signed", 13)
    x = through(g, g.input("x", "f32", [1, 3, 5, 5]), 0.025, zero_of(g, -10, np.int8))
    weight = g.op("DequantizeLinear", [weights_of(g, "w", [4, 3, 3, 3]), scale_of(g, 0.01), zero_of(g, 0, np.int8)])
    y = g.op("Conv", [x, weight, g.weight("b", [4])], pads=[1, 1, 1, 1])
    g.outputs_of([through(g, y, 0.04, zero_of(g, 20, np.int8))])
    return g


def qdq_matmul():
    """MatMul with a scale per column, Gemm with a transposed weight, a product of two activations, Softmax between."""
    g = TinyGraph("qdq_matmul", 13)
    x = through(g, g.input("x", "f32", [4, 6]), 0.025, zero_of(g, 120, np.uint8))
    columns = g.op("DequantizeLinear", [weights_of(g, "wa", [6, 5]), scale_of(g, channel_scales(g, 5)),
                                        zero_of(g, [0] * 5, np.int8)], axis=1)
    y = through(g, g.op("Add", [g.op("MatMul", [x, columns]), g.weight("ba", [5])]), 0.03, zero_of(g, 128, np.uint8))
    rows = g.op("DequantizeLinear", [weights_of(g, "wb", [5, 6]), scale_of(g, channel_scales(g, 5)),
                                     zero_of(g, [0] * 5, np.int8)], axis=0)
    z = through(g, g.op("Gemm", [x, rows, g.weight("bb", [5])], transB=1), 0.03, zero_of(g, 110, np.uint8))
    scores = through(g, g.op("MatMul", [y, g.op("Transpose", [z], perm=[1, 0])]), 0.05, zero_of(g, 128, np.uint8))
    g.outputs_of([y, z, through(g, g.op("Softmax", [scores], axis=-1), 1 / 256, zero_of(g, 0, np.uint8))])
    return g


def check_conv(g, x, scale, zero, weight, weight_scale, weight_zero, steps, bias=None, channels=None, **attributes):
    """What QLinearConv rounds, computed from dequantised operands."""
    inputs = [g.shadow("DequantizeLinear", [x, scale, zero]),
              g.shadow("DequantizeLinear", [weight, weight_scale, weight_zero], axis=0)]
    if bias:
        bias_scale = g.shadow("Mul", [scale, weight_scale])
        inputs.append(g.shadow("Mul", [g.shadow("Cast", [bias], to=1), bias_scale]))
    g.rounds(g.shadow("Conv", inputs, **attributes), steps)


def qlinear_conv():
    """u8 by i8 with a scale per channel and a bias; u8 by u8 with zero points; i8 by i8, depthwise, with stride."""
    g = TinyGraph("qlinear_conv", 13)
    x = g.input("x", "u8", [1, 4, 5, 5])
    s = g.input("s", "i8", [1, 4, 5, 5])
    g.ranges.update(x=(0, 256), s=(-128, 128))
    scale, zero = scale_of(g, 0.02), zero_of(g, 120, np.uint8)

    def conv(x, scale, zero, weight, weight_scale, weight_zero, steps, shift, *bias, **attributes):
        check_conv(g, x, scale, zero, weight, weight_scale, weight_zero, steps, *bias, **attributes)
        return g.op("QLinearConv", [x, scale, zero, weight, weight_scale, weight_zero, steps, shift, *bias],
                    **attributes)

    bias = g.initializer("bias", g.random.integers(-2000, 2000, [6]).astype(np.int32))
    a = conv(x, scale, zero, weights_of(g, "wa", [6, 4, 3, 3]), scale_of(g, channel_scales(g, 6)),
             zero_of(g, [0] * 6, np.int8), scale_of(g, 0.05), zero_of(g, 128, np.uint8), bias, pads=[1, 1, 1, 1])
    b = conv(x, scale, zero, weights_of(g, "wb", [3, 4, 2, 2], np.uint8), scale_of(g, 0.01), zero_of(g, 70, np.uint8),
             scale_of(g, 0.04), zero_of(g, 100, np.uint8), pads=[0, 1, 1, 0])
    c = conv(s, scale_of(g, 0.015), zero_of(g, -5, np.int8), weights_of(g, "wc", [4, 1, 3, 3]),
             scale_of(g, channel_scales(g, 4)), zero_of(g, [0] * 4, np.int8), scale_of(g, 0.03),
             zero_of(g, 4, np.int8), group=4, strides=[2, 2], pads=[1, 1, 1, 1])
    g.outputs_of([a, b, c])
    return g


def qlinear_matmul():
    """u8 by i8 with a scale per column, u8 by u8 in batches, i8 by i8."""
    g = TinyGraph("qlinear_matmul", 13)
    x = g.input("x", "u8", [4, 6])
    batch = g.input("batch", "u8", [2, 3, 6])
    s = g.input("s", "i8", [3, 6])
    g.ranges.update(x=(0, 256), batch=(0, 256), s=(-128, 128))

    def matmul(a, a_scale, a_zero, b, b_scale, b_zero, steps, shift, **axis):
        left = g.shadow("DequantizeLinear", [a, a_scale, a_zero])
        right = g.shadow("DequantizeLinear", [b, b_scale, b_zero], **axis)
        g.rounds(g.shadow("MatMul", [left, right]), steps)
        return g.op("QLinearMatMul", [a, a_scale, a_zero, b, b_scale, b_zero, steps, shift])

    scale, zero = scale_of(g, 0.02), zero_of(g, 120, np.uint8)
    a = matmul(x, scale, zero, weights_of(g, "wa", [6, 5]), scale_of(g, channel_scales(g, 5)),
               zero_of(g, [0] * 5, np.int8), scale_of(g, 0.04), zero_of(g, 128, np.uint8), axis=1)
    b = matmul(batch, scale, zero, weights_of(g, "wb", [2, 6, 3], np.uint8), scale_of(g, 0.01),
               zero_of(g, 60, np.uint8), scale_of(g, 0.05), zero_of(g, 110, np.uint8))
    c = matmul(s, scale_of(g, 0.015), zero_of(g, 3, np.int8), weights_of(g, "wc", [6, 4]), scale_of(g, 0.01),
               zero_of(g, 0, np.int8), scale_of(g, 0.03), zero_of(g, -6, np.int8))
    g.outputs_of([a, b, c])
    return g


def integer_products():
    """ConvInteger and MatMulInteger: i32 sums, with and without zero points."""
    g = TinyGraph("integer_products", 13)
    x = g.input("x", "u8", [1, 3, 4, 4])
    m = g.input("m", "u8", [4, 6])
    s = g.input("s", "i8", [2, 3, 6])
    g.ranges.update(x=(0, 256), m=(0, 256), s=(-128, 128))
    zero = zero_of(g, 117, np.uint8)
    g.outputs_of([
        g.op("ConvInteger", [x, weights_of(g, "wa", [2, 3, 3, 3]), zero], pads=[1, 1, 1, 1]),
        g.op("ConvInteger", [x, weights_of(g, "wb", [2, 3, 2, 2], np.uint8), "", zero_of(g, 60, np.uint8)],
             strides=[2, 2]),
        g.op("MatMulInteger", [m, weights_of(g, "wc", [6, 5]), zero]),
        g.op("MatMulInteger", [m, weights_of(g, "wd", [6, 3], np.uint8), zero, zero_of(g, [50, 60, 70], np.uint8)]),
        g.op("MatMulInteger", [s, weights_of(g, "we", [6, 2])]),
    ])
    return g


def dynamic_quantize():
    """As onnxruntime's dynamic quantisation writes a linear layer: the input's range becomes its scale, then i32 sums."""
    g = TinyGraph("dynamic_quantize", 13)
    x = g.input("x", "f32", [4, 6])
    for layer, (width, filters) in enumerate(((6, 8), (8, 3))):
        made, scale, zero = g.op("DynamicQuantizeLinear", [x], outputs=3)
        g.rounds(x, scale)
        g.rounds(g.shadow("ReduceMin", [x], keepdims=0), scale)
        sums = g.op("MatMulInteger", [made, weights_of(g, f"w{layer}", [width, filters]), zero,
                                      zero_of(g, [0] * filters, np.int8)])
        factor = g.op("Mul", [scale, scale_of(g, channel_scales(g, filters))])
        x = g.op("Mul", [g.op("Cast", [sums], to=1), factor])
        x = g.op("Relu", [g.op("Add", [x, g.weight(f"b{layer}", [filters])])])
    made, scale, zero = g.op("DynamicQuantizeLinear", [g.op("Add", [x, g.weight("shift", [3])])], outputs=3)
    g.outputs_of([x, made, scale, zero])
    return g


MODELS = [quantize_forms, quantize_blocked, qdq_conv, qdq_conv_signed, qdq_matmul, qlinear_conv, qlinear_matmul,
          integer_products, dynamic_quantize]
