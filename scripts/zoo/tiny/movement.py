"""Operators that move, pick or place elements, and the forms of opsets 18 and 19 of those of `basics`."""

import numpy as np

from zoo.tiny.writer import TinyGraph


def split_opset18():
    """num_outputs, the last part being smaller; sizes as an input; the default."""
    g = TinyGraph("split_opset18", 18)
    x = g.input("x", "f32", [2, 7, 4])
    parts = g.op("Split", [x], outputs=3, axis=1, num_outputs=3)
    pair = g.op("Split", [x, g.ints(5, 2)], outputs=2, axis=-2)
    halves = g.op("Split", [x], outputs=2, num_outputs=2)
    g.outputs_of([g.op("Mul", parts[:2]), g.op("Relu", [parts[2]]), g.op("Tanh", [pair[1]]), g.op("Add", halves)])
    return g


def pad_opset18():
    """`axes`; edge and reflect on some axes; negative pads, which cut."""
    g = TinyGraph("pad_opset18", 18)
    x = g.input("x", "f32", [2, 4, 5])
    g.outputs_of([g.op("Pad", [x, g.ints(1, 0, 2, 1), g.constant(0.5), g.ints(2, 1)]),
                  g.op("Pad", [x, g.ints(2, 1), "", g.ints(-1)], mode="edge"),
                  g.op("Pad", [x, g.ints(1, 2, 2, 1), "", g.ints(1, 2)], mode="reflect"),
                  g.op("Pad", [x, g.ints(0, -1, 1, 0, 2, -2)])])
    return g


def pad_wrap():
    """Opset 19: the tensor goes on from its other end."""
    g = TinyGraph("pad_wrap", 19)
    x = g.input("x", "f32", [2, 3, 4])
    g.outputs_of([g.op("Pad", [x, g.ints(0, 1, 2, 0, 2, 1)], mode="wrap")])
    return g


def depth_space():
    g = TinyGraph("depth_space", 13)
    x = g.input("x", "f32", [2, 8, 2, 3])
    g.outputs_of([g.op("DepthToSpace", [x], blocksize=2), g.op("DepthToSpace", [x], blocksize=2, mode="CRD"),
                  g.op("SpaceToDepth", [g.op("Reshape", [x, g.ints(2, 2, 4, 6)])], blocksize=2)])
    return g


def trilu():
    """Upper and lower triangles, offsets, batches, and the causal mask made of them."""
    g = TinyGraph("trilu", 14)
    x = g.input("x", "f32", [2, 3, 4])
    scores = g.input("scores", "f32", [2, 4, 4])
    filled = g.op("Expand", [g.constant(-10000.0), g.ints(4, 4)])
    mask = g.op("Trilu", [filled, g.constant(1, np.int64)], upper=1)
    g.outputs_of([g.op("Trilu", [x]), g.op("Trilu", [x], upper=0), g.op("Trilu", [x, g.constant(-1, np.int64)]),
                  g.op("Trilu", [x, g.constant(1, np.int64)], upper=0),
                  g.op("Softmax", [g.op("Add", [scores, mask])], axis=-1)])
    return g


def one_hot():
    """Depth and values are known; indices below 0 count from the end; the axis last and first."""
    g = TinyGraph("one_hot", 11)
    x = g.input("x", "i64", [2, 3])
    g.ranges["x"] = (-2, 5)
    depth = g.initializer("depth", np.array(5, np.int64))
    made = g.op("OneHot", [x, depth, g.floats(0, 1)])
    g.outputs_of([g.op("MatMul", [made, g.weight("table", [5, 4])]),
                  g.op("OneHot", [x, depth, g.floats(-1, 2)], axis=0), g.op("OneHot", [x, depth, g.floats(0, 1)], axis=1)])
    return g


def cumulative_sum():
    g = TinyGraph("cumulative_sum", 14)
    x = g.input("x", "f32", [2, 3, 4])
    n = g.input("n", "i64", [2, 5])
    g.ranges["n"] = (-3, 4)
    last = g.constant(-1, np.int64)
    g.outputs_of([g.op("CumSum", [x, last]), g.op("CumSum", [x, g.constant(1, np.int64)], exclusive=1),
                  g.op("CumSum", [x, last], reverse=1), g.op("CumSum", [x, last], reverse=1, exclusive=1),
                  g.op("CumSum", [n, last])])
    return g


def grid_sample():
    """Opset 16: bilinear, nearest and bicubic; zeros, border and reflection outside; both kinds of corners."""
    g = TinyGraph("grid_sample", 16)
    x = g.input("x", "f32", [1, 2, 4, 5])
    grid = g.input("grid", "f32", [1, 3, 3, 2])
    g.outputs_of([g.op("GridSample", [x, grid], mode=mode, padding_mode=padding, align_corners=corners)
                  for mode, padding, corners in (("bilinear", "zeros", 0), ("bilinear", "border", 1),
                                                 ("bilinear", "reflection", 0), ("nearest", "zeros", 1),
                                                 ("nearest", "border", 0), ("bicubic", "zeros", 0),
                                                 ("bicubic", "border", 1))])
    return g


def grid_sample_volume():
    """Opset 20: other names of modes, three spatial dimensions."""
    g = TinyGraph("grid_sample_volume", 20)
    x, grid = g.input("x", "f32", [1, 2, 3, 3, 4]), g.input("grid", "f32", [1, 2, 2, 2, 3])
    flat, plane = g.input("flat", "f32", [1, 2, 4, 4]), g.input("plane", "f32", [1, 3, 2, 2])
    g.outputs_of([g.op("GridSample", [x, grid], mode="linear"), g.op("GridSample", [x, grid], mode="nearest"),
                  g.op("GridSample", [flat, plane], mode="cubic", align_corners=1)])
    return g


def gathers():
    """GatherElements and GatherND, the latter in batches."""
    g = TinyGraph("gathers", 13)
    x = g.input("x", "f32", [2, 3, 4])
    places, pairs = g.input("places", "i64", [2, 2, 4]), g.input("pairs", "i64", [2, 5, 2])
    rows = g.input("rows", "i64", [2, 3, 1])
    g.ranges.update(places=(-3, 3), pairs=(0, 2), rows=(0, 3))
    g.outputs_of([g.op("GatherElements", [x, places], axis=1), g.op("GatherND", [x, pairs]),
                  g.op("GatherND", [x, rows], batch_dims=1)])
    return g


def scatters():
    """At known places; as exporters write an assignment to a slice."""
    g = TinyGraph("scatters", 18)
    x = g.input("x", "f32", [3, 4])
    updates, row = g.input("updates", "f32", [2, 4]), g.input("row", "f32", [1, 4])
    places = g.initializer("places", np.array([[0, 2, 1, 0], [1, 0, 2, 1]], np.int64))
    last = g.initializer("last", np.array([[2]], np.int64))
    double = g.initializer("double", np.array([[1], [1]], np.int64))
    g.outputs_of([g.op("ScatterElements", [x, places, updates], axis=0),
                  g.op("ScatterElements", [x, places, updates], axis=0, reduction="add"),
                  g.op("ScatterND", [x, last, row]),
                  g.op("ScatterND", [x, double, updates], reduction="add"),
                  g.op("ScatterND", [x, double, updates], reduction="max")])
    return g


def scatter_dynamic():
    """Places that are inputs."""
    g = TinyGraph("scatter_dynamic", 16)
    x, updates, places = g.input("x", "f32", [5, 3]), g.input("updates", "f32", [2, 3]), g.input("places", "i64", [2, 1])
    g.ranges["places"] = (0, 5)
    y = g.op("ScatterND", [g.op("Relu", [x]), places, updates], reduction="add")
    g.outputs_of([g.op("Tanh", [y])])
    return g


def tensor_scatter():
    """Opset 24: new rows into a cache, at positions that an initializer holds."""
    g = TinyGraph("tensor_scatter", 24)
    cache, update = g.input("cache", "f32", [2, 5, 3]), g.input("update", "f32", [2, 2, 3])
    g.outputs_of([g.op("TensorScatter", [cache, update, g.ints(1, 3)], axis=1)])
    return g


def center_crop_pad():
    g = TinyGraph("center_crop_pad", 18)
    x = g.input("x", "f32", [2, 5, 4])
    g.outputs_of([g.op("CenterCropPad", [x, g.ints(3, 7)], axes=[1, 2]), g.op("CenterCropPad", [x, g.ints(2, 2, 2)])])
    return g


def column_to_image():
    """Col2Im: blocks that overlap are summed."""
    g = TinyGraph("column_to_image", 18)
    x = g.input("x", "f32", [1, 8, 12])
    g.outputs_of([g.op("Col2Im", [x, g.ints(4, 5), g.ints(2, 2)]),
                  g.op("Col2Im", [g.op("Reshape", [x, g.ints(1, 16, 6)]), g.ints(5, 6), g.ints(2, 2)], strides=[2, 2],
                       pads=[0, 0, 0, 0])])
    return g


def reverse_sequence():
    g = TinyGraph("reverse_sequence", 13)
    x = g.input("x", "f32", [4, 3])
    lengths = g.ints(4, 2, 3)
    g.outputs_of([g.op("ReverseSequence", [x, lengths], batch_axis=1, time_axis=0)])
    return g


MODELS = [split_opset18, pad_opset18, pad_wrap, depth_space, trilu, one_hot, cumulative_sum, grid_sample,
          grid_sample_volume, gathers, scatters, scatter_dynamic, tensor_scatter, center_crop_pad, column_to_image,
          reverse_sequence]
