"""Operators that no subgraph can hold: results whose extents or values no program of the language gives.

Each stands between nodes that can be tuned, and beside a way to an output that does not touch it.
"""

import numpy as np

from zoo.tiny.writer import TinyGraph


def around(name, build, opset=17, constant=False):
    """Relu, then what `build(graph, value)` gives with its type, then y = 2x + 1 of the same Relu as another output."""
    g = TinyGraph(f"left_out_{name}", opset)
    g.constant_results = constant
    x = g.op("Relu", [g.input("x", "f32", [3, 8])])
    for position, (value, dtype, shape) in enumerate(build(g, x)):
        g.output(value, f"y{position}", dtype, shape)
    g.output(g.op("Add", [g.op("Mul", [x, g.constant(2.0)]), g.constant(1.0)]), "beside", "f32", [3, 8])
    return g


def left_out_topk():
    """As a mixture of experts picks its two: values go on, places are gathered with."""
    def build(g, x):
        values, places = g.op("TopK", [x, g.ints(2)], outputs=2, axis=-1)
        return [(g.op("Softmax", [values], axis=-1), "f32", [3, 2]),
                (g.op("GatherElements", [x, places], axis=1), "f32", [3, 2])]
    return around("topk", build)


def left_out_nonzero():
    def build(g, x):
        places = g.op("Transpose", [g.op("NonZero", [x])], perm=[1, 0])
        return [(g.op("Tanh", [g.op("GatherND", [x, places])]), "f32", ["found"])]
    return around("nonzero", build)


def left_out_unique():
    def build(g, x):
        values = g.op("Unique", [g.op("Round", [x])], outputs=[1, 0, 0, 0])[0]
        return [(g.op("Neg", [values]), "f32", ["distinct"])]
    return around("unique", build)


def left_out_compress():
    def build(g, x):
        keep = g.op("Greater", [g.op("ReduceMean", [x], axes=[0], keepdims=0), g.constant(0.3)])
        return [(g.op("Exp", [g.op("Compress", [x, keep], axis=1)]), "f32", [3, "kept"])]
    return around("compress", build)


def left_out_non_max_suppression():
    def build(g, x):
        corners = g.op("Reshape", [x, g.ints(1, 6, 4)])
        scores = g.op("Reshape", [g.op("ReduceMax", [corners], axes=[2], keepdims=0), g.ints(1, 1, 6)])
        chosen = g.op("NonMaxSuppression", [corners, scores, g.ints(3), g.floats(0.5), g.floats(0.1)],
                      center_point_box=1)
        return [(g.op("Cast", [chosen], to=1), "f32", ["chosen", 3])]
    return around("non_max_suppression", build, constant=True)


def left_out_dynamic_shape():
    """A target of Reshape that depends on values, not on shapes."""
    def build(g, x):
        large = g.op("Cast", [g.op("Greater", [g.op("ReduceMax", [x], keepdims=0), g.constant(0.5)])], to=7)
        rows = g.op("Unsqueeze", [g.op("Add", [large, g.constant(1, np.int64)]), g.ints(0)])
        shape = g.op("Concat", [rows, g.constant([-1], np.int64)], axis=0)
        return [(g.op("Sin", [g.op("Reshape", [x, shape])]), "f32", ["rows", "columns"])]
    return around("dynamic_shape", build)


def left_out_determinant():
    def build(g, x):
        square = g.op("Add", [g.op("Slice", [x, g.ints(0), g.ints(3), g.ints(1)]), g.weight("w", [3, 3])])
        return [(g.op("Tanh", [g.op("Det", [square])]), "f32", [])]
    return around("determinant", build)


def left_out_hash():
    """An operator of com.microsoft that is no arithmetic on floats."""
    def build(g, x):
        whole = g.op("Cast", [g.op("Round", [x])], to=6)
        return [(g.op("com.microsoft:MurmurHash3", [whole], positive=0), "i32", [3, 8])]
    return around("hash", build)


def left_out_bits():
    def build(g, x):
        whole = g.op("Cast", [g.op("Round", [x])], to=6)
        masked = [g.op(kind, [whole, g.constant(3, np.int32)]) for kind in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")]
        return [(value, "i32", [3, 8]) for value in masked]
    return around("bits", build, opset=18)


def left_out_bit_cast():
    """The bits of floats taken as integers."""
    g = around("bit_cast", lambda g, x: [(g.op("BitCast", [x], to=6), "i32", [3, 8])], opset=26)
    g.by = "onnx.reference"
    return g


MODELS = [left_out_topk, left_out_nonzero, left_out_unique, left_out_compress, left_out_non_max_suppression,
          left_out_dynamic_shape, left_out_determinant, left_out_hash, left_out_bits, left_out_bit_cast]
