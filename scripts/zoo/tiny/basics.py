"""The first group: what convolutional networks and transformers of opset 17 need, and the forms of opset 7."""

import numpy as np
import onnx

from zoo.tiny.writer import TinyGraph


def conv_bn_relu():
    g = TinyGraph("conv_bn_relu")
    x = g.input("x", "f32", [1, 8, 10, 10])
    x = g.op("Conv", [x, g.weight("w", [12, 8, 3, 3])], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    norm = [g.weight("scale", [12], (0.5, 1.5)), g.weight("shift", [12]), g.weight("mean", [12]),
            g.weight("variance", [12], (0.5, 1.5))]
    x = g.op("Relu", [g.op("BatchNormalization", [x, *norm], epsilon=1e-5)])
    g.output(x, "y", "f32", [1, 12, 10, 10])
    return g


def conv_forms():
    """Depthwise with stride, grouped, dilated, uneven padding, SAME_UPPER, pointwise with a residual, 1-D."""
    g = TinyGraph("conv_forms")
    x = g.input("x", "f32", [1, 6, 9, 9])
    a = g.op("Conv", [x, g.weight("wa", [6, 1, 3, 3]), g.weight("ba", [6])], group=6, pads=[1, 1, 1, 1], strides=[2, 2])
    a = g.op("HardSwish", [a])
    b = g.op("Conv", [a, g.weight("wb", [4, 3, 3, 3])], group=2, dilations=[2, 2], pads=[2, 2, 2, 2])
    c = g.op("Conv", [b, g.weight("wc", [5, 4, 2, 3]), g.weight("bc", [5])], pads=[0, 1, 1, 1])
    d = g.op("Conv", [c, g.weight("wd", [5, 5, 1, 1])])
    d = g.op("Relu", [g.op("Add", [d, c])])
    e = g.op("Conv", [d, g.weight("we", [3, 5, 3, 3])], auto_pad="SAME_UPPER", strides=[2, 2])
    f = g.op("Reshape", [e, g.ints(1, 3, 9)])
    f = g.op("Conv", [f, g.weight("wf", [2, 3, 3])], pads=[1, 1])
    g.output(f, "y", "f32", [1, 2, 9])
    g.output(d, "z", "f32", [1, 5, 5, 5])
    return g


def mlp():
    g = TinyGraph("mlp")
    x = g.input("x", "f32", [5, 12])
    x = g.op("Gemm", [x, g.weight("w1", [7, 12]), g.weight("b1", [7])], transB=1)
    x = g.op("Tanh", [x])
    x = g.op("Gemm", [x, g.weight("w2", [7, 9]), g.weight("b2", [9])], alpha=0.5, beta=2.0)
    x = g.op("Relu", [x])
    x = g.op("Add", [g.op("MatMul", [x, g.weight("w3", [9, 4])]), g.weight("b3", [4])])
    g.output(g.op("Softmax", [x], axis=-1), "y", "f32", [5, 4])
    return g


def attention_block():
    """One decomposed transformer block: 4 positions, width 8, 2 heads, with Shape-made Reshape targets."""
    g = TinyGraph("attention_block")
    x = g.input("x", "f32", [1, 4, 8])
    mask = g.input("mask", "f32", [1, 1, 1, 4])

    def linear(value, name, rows, columns):
        return g.op("Add", [g.weight(f"{name}_b", [columns]), g.op("MatMul", [value, g.weight(name, [rows, columns])])])

    def norm(value, name):
        centred = g.op("Sub", [value, g.op("ReduceMean", [value], axes=[-1])])
        variance = g.op("ReduceMean", [g.op("Pow", [centred, g.constant(2.0)])], axes=[-1])
        value = g.op("Div", [centred, g.op("Sqrt", [g.op("Add", [variance, g.constant(1e-5)])])])
        return g.op("Add", [g.op("Mul", [value, g.weight(f"{name}_w", [8], (0.5, 1.5))]), g.weight(f"{name}_b", [8])])

    def heads(value, order):
        sizes = [g.op("Unsqueeze", [g.op("Gather", [g.op("Shape", [value]), g.constant(axis, np.int64)]),
                                    g.constant([0], np.int64)]) for axis in (0, 1)]
        shape = g.op("Concat", [*sizes, g.constant([2], np.int64), g.constant([4], np.int64)], axis=0)
        return g.op("Transpose", [g.op("Reshape", [value, shape])], perm=order)

    query = heads(linear(x, "q", 8, 8), [0, 2, 1, 3])
    key = heads(linear(x, "k", 8, 8), [0, 2, 3, 1])
    value = heads(linear(x, "v", 8, 8), [0, 2, 1, 3])
    scores = g.op("Add", [g.op("Div", [g.op("MatMul", [query, key]), g.constant(2.0)]), mask])
    context = g.op("MatMul", [g.op("Softmax", [scores], axis=-1), value])
    context = g.op("Reshape", [g.op("Transpose", [context], perm=[0, 2, 1, 3]), g.ints(1, -1, 8)])
    x = norm(g.op("Add", [linear(context, "o", 8, 8), x]), "n1")
    y = linear(x, "up", 8, 16)
    bent = g.op("Erf", [g.op("Div", [y, g.constant(float(np.sqrt(2.0)))])])
    y = g.op("Mul", [g.op("Mul", [y, g.op("Add", [bent, g.constant(1.0)])]), g.constant(0.5)])
    x = norm(g.op("Add", [linear(y, "down", 16, 8), x]), "n2")
    g.output(x, "y", "f32", [1, 4, 8])
    return g


def norms():
    """LayerNormalization (opset 17) over one and two axes, RMSNorm, LRN."""
    g = TinyGraph("norms")
    x = g.input("x", "f32", [2, 6, 4])
    a = g.op("LayerNormalization", [x, g.weight("g1", [4], (0.5, 1.5)), g.weight("b1", [4])], axis=-1, epsilon=1e-5)
    b = g.op("LayerNormalization", [x, g.weight("g2", [6, 4], (0.5, 1.5))], axis=1, epsilon=1e-3)
    mean = g.op("ReduceMean", [g.op("Pow", [x, g.constant(2.0)])], axes=[-1])
    c = g.op("Mul", [x, g.op("Reciprocal", [g.op("Sqrt", [g.op("Add", [mean, g.constant(1e-5)])])])])
    d = g.op("LRN", [g.op("Unsqueeze", [x, g.ints(3)])], size=5, alpha=0.1, beta=0.75, bias=1.0)
    for value, name, shape in ((a, "a", [2, 6, 4]), (b, "b", [2, 6, 4]), (c, "c", [2, 6, 4]), (d, "d", [2, 6, 4, 1])):
        g.output(value, name, "f32", shape)
    return g


def pools():
    g = TinyGraph("pools")
    x = g.input("x", "f32", [1, 3, 9, 9])
    window = {"kernel_shape": [3, 3], "strides": [2, 2]}
    a = g.op("MaxPool", [x], pads=[1, 1, 1, 1], **window)
    b = g.op("MaxPool", [x], ceil_mode=1, kernel_shape=[2, 2], strides=[2, 2])
    c = g.op("AveragePool", [x], pads=[1, 1, 1, 1], count_include_pad=0, **window)
    d = g.op("AveragePool", [x], pads=[1, 1, 1, 1], count_include_pad=1, **window)
    for value, name in ((a, "a"), (b, "b"), (c, "c"), (d, "d")):
        g.output(value, name, "f32", [1, 3, 5, 5])
    g.output(g.op("GlobalAveragePool", [x]), "e", "f32", [1, 3, 1, 1])
    g.output(g.op("GlobalMaxPool", [x]), "f", "f32", [1, 3, 1, 1])
    return g


def activations():
    g = TinyGraph("activations")
    x = g.input("x", "f32", [3, 7])
    low, high = g.constant(-0.5), g.constant(0.75)
    made = [g.op("LeakyRelu", [x], alpha=0.1), g.op("PRelu", [x, g.weight("slope", [7], (0, 1))]),
            g.op("Clip", [x, low, high]), g.op("Clip", [x, "", high]), g.op("Sigmoid", [x]), g.op("Tanh", [x]),
            g.op("Erf", [x]), g.op("HardSwish", [x]), g.op("HardSigmoid", [x], alpha=0.2, beta=0.5),
            g.op("Elu", [x], alpha=0.7), g.op("Softplus", [x]), g.op("Exp", [x]), g.op("Neg", [x]),
            g.op("Log", [g.op("Add", [g.op("Abs", [x]), g.constant(1.0)])]), g.op("Sqrt", [g.op("Abs", [x])]),
            g.op("Pow", [x, g.constant(3.0)]), g.op("Min", [x, low]), g.op("Max", [x, high]), g.op("Floor", [x])]
    for position, value in enumerate(made):
        g.output(value, f"y{position}", "f32", [3, 7])
    return g


def elementwise():
    """Broadcasting of every kind, comparisons, Where, Cast, Sum and Mean of several."""
    g = TinyGraph("elementwise")
    x = g.input("x", "f32", [2, 3, 4])
    z = g.input("z", "f32", [3, 1])
    less = g.op("Less", [x, z])
    both = g.op("And", [less, g.op("Not", [g.op("Greater", [x, g.constant(1.0)])])])
    a = g.op("Where", [both, x, g.op("Mul", [x, z])])
    b = g.op("Sum", [x, z, g.weight("row", [4])])
    c = g.op("Cast", [g.op("Cast", [g.op("Mul", [x, g.constant(10.0)])], to=7)], to=1)
    d = g.op("Div", [g.op("Sub", [x, z]), g.weight("scale", [2, 1, 1], (1, 2))])
    for value, name in ((a, "a"), (b, "b"), (c, "c"), (d, "d")):
        g.output(value, name, "f32", [2, 3, 4])
    g.output(g.op("Cast", [g.op("Equal", [c, g.constant(3.0)])], to=1), "e", "f32", [2, 3, 4])
    return g


def reductions():
    g = TinyGraph("reductions")
    x = g.input("x", "f32", [2, 5, 6])
    g.output(g.op("ReduceSum", [x, g.ints(1)], keepdims=0), "sum", "f32", [2, 6])
    g.output(g.op("ReduceMean", [x], axes=[0, 2], keepdims=1), "mean", "f32", [1, 5, 1])
    g.output(g.op("ReduceMax", [x], axes=[-1], keepdims=0), "max", "f32", [2, 5])
    g.output(g.op("ReduceMin", [x], axes=[1], keepdims=1), "min", "f32", [2, 1, 6])
    g.output(g.op("ReduceProd", [x], axes=[2], keepdims=0), "prod", "f32", [2, 5])
    g.output(g.op("ReduceL2", [x], axes=[2], keepdims=0), "l2", "f32", [2, 5])
    g.output(g.op("ArgMax", [x], axis=1, keepdims=0), "argmax", "i64", [2, 6])
    g.output(g.op("Softmax", [x], axis=1), "softmax", "f32", [2, 5, 6])
    g.output(g.op("LogSoftmax", [x], axis=-1), "logsoftmax", "f32", [2, 5, 6])
    return g


def shape_arithmetic():
    """All of it folds away: only the Relu and the Mul are left to compute."""
    g = TinyGraph("shape_arithmetic")
    x = g.input("x", "f32", [2, 6, 4])
    shape = g.op("Shape", [x])
    rows = g.op("Gather", [shape, g.constant(0, np.int64)])
    columns = g.op("Mul", [g.op("Gather", [shape, g.constant(1, np.int64)]), g.op("Gather", [shape, g.constant(2, np.int64)])])
    target = g.op("Concat", [g.op("Unsqueeze", [rows, g.ints(0)]), g.op("Unsqueeze", [columns, g.ints(0)])], axis=0)
    y = g.op("Reshape", [g.op("Relu", [x]), target])
    half = g.op("Div", [columns, g.constant(2, np.int64)])
    halves = g.op("Concat", [g.op("Slice", [shape, g.ints(0), g.ints(1)]), g.ints(2), g.op("Unsqueeze", [half, g.ints(0)])], axis=0)
    y = g.op("Reshape", [y, halves])
    filled = g.op("ConstantOfShape", [halves], value=onnx.helper.make_tensor("", 1, [1], [0.5]))
    wide = g.op("Expand", [g.weight("w", [12]), halves])
    places = g.op("Cast", [g.op("Range", [g.constant(0, np.int64), half, g.constant(1, np.int64)])], to=1)
    y = g.op("Mul", [y, g.op("Add", [g.op("Add", [filled, wide]), places])])
    g.output(g.op("Flatten", [g.op("Squeeze", [g.op("Unsqueeze", [y, g.ints(1)]), g.ints(1)])], axis=1), "y", "f32", [2, 24])
    return g


def concat_split_slice_pad():
    g = TinyGraph("concat_split_slice_pad")
    x = g.input("x", "f32", [2, 6, 5])
    one, two = g.op("Split", [x, g.ints(2, 4)], outputs=2, axis=1)
    joined = g.op("Concat", [two, one, g.weight("w", [2, 1, 5])], axis=1)
    g.output(joined, "joined", "f32", [2, 7, 5])
    cut = g.op("Slice", [x, g.ints(1, -1), g.ints(2**62, -6), g.ints(1, 2), g.ints(2, -2)])
    g.output(g.op("Relu", [cut]), "cut", "f32", [2, 3, 3])
    padded = g.op("Pad", [x, g.ints(0, 1, 2, 0, 0, 1), g.constant(1.5)], mode="constant")
    g.output(padded, "padded", "f32", [2, 7, 8])
    g.output(g.op("Pad", [x, g.ints(0, 1, 2, 0, 2, 1)], mode="reflect"), "mirrored", "f32", [2, 9, 8])
    g.output(g.op("Transpose", [x], perm=[2, 0, 1]), "turned", "f32", [5, 2, 6])
    quarters = g.op("Split", [g.op("Transpose", [x], perm=[0, 2, 1])], outputs=3, axis=2)
    g.output(g.op("Mul", [quarters[0], quarters[2]]), "product", "f32", [2, 5, 2])
    return g


def gather_embedding():
    g = TinyGraph("gather_embedding")
    ids = g.input("ids", "i64", [2, 3])
    g.ranges["ids"] = (0, 11)
    x = g.op("Add", [g.op("Gather", [g.weight("table", [11, 4]), ids]), g.weight("places", [3, 4])])
    g.output(x, "embedded", "f32", [2, 3, 4])
    g.output(g.op("Gather", [x, g.constant(-1, np.int64)], axis=1), "last", "f32", [2, 4])
    g.output(g.op("Gather", [x, g.ints(2, 0)], axis=2), "picked", "f32", [2, 3, 2])
    return g


def shared_values():
    """A value used by two branches and outside of them: groups must stay convex and give it as an output."""
    g = TinyGraph("shared_values")
    x = g.input("x", "f32", [4, 6])
    a = g.op("Relu", [g.op("MatMul", [x, g.weight("w1", [6, 6])])])
    b = g.op("Sigmoid", [g.op("MatMul", [a, g.weight("w2", [6, 6])])])
    c = g.op("Mul", [g.op("Add", [a, b]), g.op("Softmax", [a], axis=-1)])
    g.output(c, "y", "f32", [4, 6])
    g.output(a, "hidden", "f32", [4, 6])
    return g


def batched_matmul():
    """Broadcast batches and a vector operand."""
    g = TinyGraph("batched_matmul")
    x = g.input("x", "f32", [2, 3, 4, 5])
    z = g.input("z", "f32", [3, 5, 2])
    g.output(g.op("MatMul", [x, z]), "y", "f32", [2, 3, 4, 2])
    g.output(g.op("MatMul", [x, g.weight("v", [5])]), "vector", "f32", [2, 3, 4])
    return g


def dynamic_dim():
    g = TinyGraph("dynamic_dim")
    g.dims = {"batch": 3}
    x = g.input("x", "f32", ["batch", 6])
    x = g.op("Relu", [g.op("Gemm", [x, g.weight("w", [6, 5]), g.weight("b", [5])])])
    rows = g.op("Unsqueeze", [g.op("Gather", [g.op("Shape", [x]), g.constant(0, np.int64)]), g.constant([0], np.int64)])
    x = g.op("Reshape", [x, g.op("Concat", [rows, g.constant([1], np.int64), g.constant([-1], np.int64)], axis=0)])
    g.output(x, "y", "f32", ["batch", 1, 5])
    return g


def external_data():
    g = TinyGraph("external_data")
    g.external_file = True
    x = g.input("x", "f32", [2, 24])
    x = g.op("Add", [g.op("MatMul", [x, g.weight("w", [24, 40])]), g.weight("b", [40])])
    g.output(g.op("Relu", [x]), "y", "f32", [2, 40])
    return g


def opset7():
    """The older forms: attributes instead of inputs, Dropout kept, BatchNormalization with `spatial`, 2-D Softmax."""
    g = TinyGraph("opset7", opset=7)
    x = g.input("x", "f32", [1, 4, 8, 8])
    x = g.op("Conv", [x, g.weight("w", [6, 4, 3, 3]), g.weight("b", [6])], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    norm = [g.weight("scale", [6], (0.5, 1.5)), g.weight("shift", [6]), g.weight("mean", [6]), g.weight("variance", [6], (0.5, 1.5))]
    x = g.op("BatchNormalization", [x, *norm], epsilon=1e-5, spatial=1)
    x = g.op("Clip", [x], min=0.0, max=1.0)
    x = g.op("Sum", [x, g.op("Dropout", [x], ratio=0.5)])
    x = g.op("Pad", [x], pads=[0, 0, 1, 1, 0, 0, 1, 1], mode="constant", value=0.25)
    x = g.op("Slice", [x], axes=[2, 3], starts=[1, 2], ends=[9, 10])
    x = g.op("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
    left, right = g.op("Split", [x], outputs=2, axis=1, split=[2, 4])
    x = g.op("Concat", [right, left], axis=1)
    x = g.op("Unsqueeze", [g.op("Squeeze", [x], axes=[0])], axes=[0])
    y = g.op("Softmax", [g.op("ReduceSum", [x], axes=[3], keepdims=0)], axis=1)
    g.output(y, "y", "f32", [1, 6, 4])
    return g


def left_out():
    """TopK stands between two tunable nodes, and has no place in the workload language."""
    g = TinyGraph("left_out")
    x = g.input("x", "f32", [3, 8])
    values, places = g.op("TopK", [g.op("Relu", [x]), g.ints(2)], outputs=2, axis=-1)
    g.output(g.op("Tanh", [values]), "y", "f32", [3, 2])
    g.output(places, "places", "i64", [3, 2])
    return g


MODELS = [conv_bn_relu, conv_forms, mlp, attention_block, norms, pools, activations, elementwise, reductions,
          shape_arithmetic, concat_split_slice_pad, gather_embedding, shared_values, batched_matmul, dynamic_dim,
          external_data, opset7, left_out]
