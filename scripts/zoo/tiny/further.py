"""Further reductions, normalisations, pools and arithmetic, half precision, and what has no static form at all."""

import numpy as np

from zoo.tiny.writer import TinyGraph


def reduce_opset18():
    """Axes as an input, none of them, noop_with_empty_axes."""
    g = TinyGraph("reduce_opset18", 18)
    x = g.input("x", "f32", [2, 3, 4])
    none = g.initializer("none", np.array([], np.int64))
    g.outputs_of([g.op("ReduceMean", [x, g.ints(1)]), g.op("ReduceMax", [x, g.ints(0, -1)], keepdims=0),
                  g.op("ReduceMin", [x, g.ints(2)]), g.op("ReduceProd", [x, g.ints(1, 2)], keepdims=0),
                  g.op("ReduceL2", [x, g.ints(-1)]), g.op("ReduceMean", [x], keepdims=0),
                  g.op("ReduceSum", [x, none], noop_with_empty_axes=1), g.op("ReduceSum", [x, none]),
                  g.op("ReduceL1", [x, g.ints(1)]), g.op("ReduceSumSquare", [x, g.ints(2)], keepdims=0)])
    return g


def reductions_further():
    g = TinyGraph("reductions_further", 13)
    x = g.input("x", "f32", [2, 3, 4])
    positive = g.op("Exp", [x])
    n = g.input("n", "i32", [2, 5])
    g.ranges["n"] = (-9, 10)
    g.outputs_of([g.op("ReduceLogSumExp", [x], axes=[1]), g.op("ReduceLogSum", [positive], axes=[-1], keepdims=0),
                  g.op("ReduceL1", [x], axes=[1, 2]), g.op("ReduceSumSquare", [x], axes=[0], keepdims=0),
                  g.op("ArgMin", [x], axis=-1), g.op("ArgMax", [x], axis=0, keepdims=1),
                  g.op("Hardmax", [x], axis=1), g.op("ReduceMax", [n], axes=[1]),
                  g.op("ReduceSum", [n, g.ints(1)], keepdims=0)])
    return g


def arg_last():
    """select_last_index among equal values."""
    g = TinyGraph("arg_last", 13)
    x = g.op("Round", [g.input("x", "f32", [3, 9])])
    g.outputs_of([g.op("ArgMax", [x], axis=1, select_last_index=1), g.op("ArgMin", [x], axis=1, select_last_index=1),
                  g.op("ArgMax", [x], axis=1, keepdims=0)])
    return g


def norms_further():
    g = TinyGraph("norms_further", 13)
    x = g.input("x", "f32", [2, 3, 4, 2])
    g.outputs_of([g.op("LpNormalization", [x], axis=1), g.op("LpNormalization", [x], axis=-1, p=1),
                  g.op("MeanVarianceNormalization", [x], axes=[0, 2, 3]),
                  g.op("MeanVarianceNormalization", [x], axes=[1, 2, 3]),
                  g.op("InstanceNormalization", [x, g.weight("scale", [3], (0.5, 1.5)), g.weight("shift", [3])]),
                  g.op("LRN", [x], size=3)])
    return g


def pools_further():
    """LpPool, dilated windows, one and three spatial dimensions, SAME_LOWER, a ceiling in AveragePool."""
    g = TinyGraph("pools_further", 19)
    x, row = g.input("x", "f32", [1, 2, 7, 6]), g.input("row", "f32", [1, 2, 8])
    cube = g.input("cube", "f32", [1, 2, 4, 4, 5])
    g.outputs_of([g.op("LpPool", [x], kernel_shape=[2, 2], strides=[2, 2]), g.op("GlobalLpPool", [x], p=1),
                  g.op("LpPool", [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1], p=1),
                  g.op("MaxPool", [x], kernel_shape=[2, 3], dilations=[2, 2]),
                  g.op("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_LOWER"),
                  g.op("AveragePool", [x], kernel_shape=[2, 2], dilations=[2, 1]),
                  g.op("AveragePool", [x], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
                  g.op("AveragePool", [x], kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
                  g.op("MaxPool", [row], kernel_shape=[3], strides=[2], pads=[1, 0]),
                  g.op("AveragePool", [row], kernel_shape=[2], strides=[2]),
                  g.op("MaxPool", [cube], kernel_shape=[2, 2, 2], strides=[2, 2, 2]),
                  g.op("AveragePool", [cube], kernel_shape=[2, 2, 3], pads=[0, 1, 1, 0, 1, 1], count_include_pad=1)])
    return g


def arithmetic():
    """Integers, Mod of both kinds, bits, comparisons, what tests for infinities, several operands."""
    g = TinyGraph("arithmetic", 18)
    n, m = g.input("n", "i32", [3, 4]), g.input("m", "i32", [3, 4])
    x, y = g.input("x", "f32", [3, 4]), g.input("y", "f32", [4])
    g.ranges.update(n=(-20, 20), m=(1, 7))
    zero = g.constant(0.0)
    parts = g.op("Div", [x, g.op("Max", [x, zero])])
    known = g.op("Or", [g.op("IsInf", [parts]), g.op("IsNaN", [parts])])
    g.outputs_of([g.op("Mod", [n, m]), g.op("Mod", [n, m], fmod=1), g.op("Mod", [x, g.constant(0.7)], fmod=1),
                  g.op("Div", [n, m]), g.op("BitwiseNot", [n]), g.op("Min", [x, y, zero]), g.op("Max", [n, m]), g.op("Mean", [x, y, zero]),
                  g.op("Where", [known, zero, parts]), g.op("LessOrEqual", [n, m]), g.op("GreaterOrEqual", [x, y]),
                  g.op("Xor", [g.op("Less", [n, m]), g.op("Greater", [x, y])]), g.op("Abs", [n]), g.op("Neg", [n]),
                  g.op("Sign", [n]), g.op("Cast", [n], to=1), g.op("Cast", [g.op("Round", [x])], to=9),
                  g.op("Cast", [x], to=6), g.op("Pow", [g.op("Abs", [x]), g.op("Abs", [y])]),
                  g.op("Clip", [n, g.constant(-5, np.int32), g.constant(5, np.int32)])])
    return g


def bit_shift():
    """Bytes shifted to both sides."""
    g = TinyGraph("bit_shift", 11)
    x = g.input("x", "u8", [2, 6])
    g.ranges["x"] = (0, 256)
    by = g.initializer("by", np.array([0, 1, 2, 3, 4, 7], np.uint8))
    g.outputs_of([g.op("BitShift", [x, by], direction="LEFT"), g.op("BitShift", [x, by], direction="RIGHT")])
    return g


def half_precision():
    """f16 weights and arithmetic between casts, as converters to half precision leave the inputs and outputs."""
    g = TinyGraph("half_precision", 17)
    g.tolerance = 1e-3
    x = g.op("Cast", [g.input("x", "f32", [3, 8])], to=10)
    half = [g.initializer(name, (g.random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float16))
            for name, shape in (("w1", [8, 6]), ("b1", [6]), ("w2", [6, 4]))]
    y = g.op("Relu", [g.op("Add", [g.op("MatMul", [x, half[0]]), half[1]])])
    y = g.op("Cast", [g.op("MatMul", [y, half[2]])], to=1)
    g.outputs_of([g.op("Softmax", [y], axis=-1)])
    return g


def double_precision():
    g = TinyGraph("double_precision", 17)
    x = g.input("x", "f64", [3, 8])
    weight = g.initializer("w", g.random.standard_normal([8, 5]))
    y = g.op("Gemm", [x, weight, g.initializer("b", g.random.standard_normal([5]))])
    g.outputs_of([g.op("ReduceSum", [g.op("Sigmoid", [y]), g.ints(1)]), g.op("Relu", [y])])
    return g


def dropout_inference():
    """Dropout of opset 13 with training_mode false, and with its mask."""
    g = TinyGraph("dropout_inference", 13)
    x = g.input("x", "f32", [2, 5])
    y = g.op("Dropout", [g.op("Relu", [x]), g.constant(0.3), g.constant(False, bool)])
    g.outputs_of([g.op("Tanh", [y]), g.op("Identity", [g.op("Dropout", [x])])])
    return g


def region_align():
    """RoiAlign: average and maximum, both coordinate rules; the boxes are an initializer."""
    g = TinyGraph("region_align", 16)
    x = g.input("x", "f32", [2, 2, 6, 6])
    boxes = g.initializer("boxes", np.array([[0.5, 0.5, 4, 5], [1, 2, 5, 5.5], [2, 0, 3.5, 3]], np.float32))
    batch = g.ints(0, 1, 1)
    shape = {"output_height": 2, "output_width": 2, "sampling_ratio": 2}
    g.outputs_of([g.op("RoiAlign", [x, boxes, batch], **shape),
                  g.op("RoiAlign", [x, boxes, batch], coordinate_transformation_mode="output_half_pixel", **shape),
                  g.op("RoiAlign", [x, boxes, batch], mode="max", output_height=3, output_width=2,
                       sampling_ratio=1)])
    return g


def affine_grid():
    """A grid of a known size from affine maps, read by GridSample."""
    g = TinyGraph("affine_grid", 20)
    x, maps = g.input("x", "f32", [1, 2, 4, 4]), g.input("maps", "f32", [1, 2, 3])
    grid = g.op("AffineGrid", [maps, g.ints(1, 2, 3, 5)], align_corners=1)
    g.outputs_of([grid, g.op("GridSample", [x, grid], align_corners=1)])
    return g


def spectra():
    """DFT of opset 17 along one axis, from real and from complex numbers, inverse and one-sided."""
    g = TinyGraph("spectra", 17)
    x, z = g.input("x", "f32", [2, 8, 1]), g.input("z", "f32", [2, 6, 2])
    g.outputs_of([g.op("DFT", [x], axis=1), g.op("DFT", [x], axis=1, onesided=1), g.op("DFT", [z], axis=1),
                  g.op("DFT", [z], axis=1, inverse=1)])
    return g


def products_further():
    """Opsets 26 to 28, computed by the ONNX project's reference implementation: CumProd, SwiGLU."""
    g = TinyGraph("products_further", 28)
    g.by = "onnx.reference"
    x, gate = g.input("x", "f32", [2, 3, 4]), g.input("gate", "f32", [2, 3, 4])
    g.outputs_of([g.op("SwiGLU", [gate, x]), g.op("SwiGLU", [gate, x], alpha=1.5),
                  g.op("CumProd", [x, g.constant(1, np.int64)]),
                  g.op("CumProd", [x, g.constant(-1, np.int64)], exclusive=1, reverse=1)])
    return g


def losses():
    """Likelihoods of given classes, with weights, classes that do not count, and every reduction."""
    g = TinyGraph("losses", 13)
    x = g.input("x", "f32", [3, 5, 2])
    classes = g.input("classes", "i64", [3, 2])
    g.ranges["classes"] = (0, 5)
    weight = g.weight("w", [5], (0.5, 1.5))
    for reduction in ("none", "sum", "mean"):
        g.outputs_of([g.op("NegativeLogLikelihoodLoss", [x, classes, weight], reduction=reduction),
                      g.op("SoftmaxCrossEntropyLoss", [x, classes], reduction=reduction, ignore_index=2)])
    g.outputs_of(g.op("SoftmaxCrossEntropyLoss", [x, classes, weight], outputs=2, ignore_index=1))
    g.outputs_of([g.op("NegativeLogLikelihoodLoss", [x, classes])])
    return g


MODELS = [reduce_opset18, reductions_further, arg_last, norms_further, pools_further, arithmetic, bit_shift,
          half_precision, double_precision, dropout_inference, region_align, affine_grid, spectra, products_further, losses]
