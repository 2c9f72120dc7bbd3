"""One small network written for each operator set: the same steps in the form that the set has for them.

Sets 7 to 28: attributes become inputs, axes become inputs, Upsample becomes Resize, and newer sets bring operators of
their own. The IR version is the one that was released with the set; below IR 4 initializers are inputs too.
"""

import functools

import numpy as np
from onnx import helper

from zoo.tiny.writer import TinyGraph

FIRST, LAST = 7, 28
NEWEST_OF_ONNXRUNTIME = 24  # of those whose every operator it has a kernel or a function for


class Forms:
    """Steps that changed their form between operator sets."""

    def __init__(self, g):
        self.g = g

    def axes(self, kind, x, axes, since, **attributes):
        if self.g.opset >= since:
            return self.g.op(kind, [x, self.g.ints(*axes)], **attributes)
        return self.g.op(kind, [x], axes=list(axes), **attributes)

    def squeeze(self, x, *axes):
        return self.axes("Squeeze", x, axes, 13)

    def unsqueeze(self, x, *axes):
        return self.axes("Unsqueeze", x, axes, 13)

    def batch_norm(self, x, channels):
        g = self.g
        parts = [g.weight("norm_scale", [channels], (0.5, 1.5)), g.weight("norm_shift", [channels]),
                 g.weight("norm_mean", [channels]), g.weight("norm_variance", [channels], (0.5, 1.5))]
        attributes = {"spatial": 1} if g.opset < 9 else {"training_mode": 0} if g.opset >= 14 else {}
        return g.op("BatchNormalization", [x, *parts], epsilon=1e-5, momentum=0.9, **attributes)

    def dropout(self, x):
        g = self.g
        return g.op("Dropout", [x], ratio=0.4) if g.opset < 12 else g.op("Dropout", [x, g.constant(0.4)])

    def clip(self, x, low, high):
        g = self.g
        if g.opset < 11:
            return g.op("Clip", [x], min=low, max=high)
        return g.op("Clip", [x, g.constant(low), g.constant(high)])

    def pad(self, x, begins, ends, value):
        """The last two of four dimensions."""
        g = self.g
        if g.opset < 11:
            return g.op("Pad", [x], pads=[0, 0, *begins, 0, 0, *ends], value=value)
        if g.opset < 18:
            return g.op("Pad", [x, g.ints(0, 0, *begins, 0, 0, *ends), g.constant(value)])
        return g.op("Pad", [x, g.ints(*begins, *ends), g.constant(value), g.ints(-2, -1)])

    def enlarge(self, x, by):
        """Nearest, the last two of four dimensions."""
        g = self.g
        if g.opset < 9:
            return g.op("Upsample", [x], scales=[1.0, 1.0, *by], mode="nearest")
        if g.opset == 9:
            return g.op("Upsample", [x, g.floats(1, 1, *by)], mode="nearest")
        if g.opset == 10:
            return g.op("Resize", [x, g.floats(1, 1, *by)], mode="nearest")
        attributes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        if g.opset < 13:
            none = g.initializer("no_roi", np.array([], np.float32))
            return g.op("Resize", [x, none, g.floats(1, 1, *by)], **attributes)
        if g.opset < 18:
            return g.op("Resize", [x, "", g.floats(1, 1, *by)], **attributes)
        return g.op("Resize", [x, "", g.floats(*by)], axes=[2, 3], **attributes)

    def slice(self, x, axis, start, end):
        g = self.g
        if g.opset < 10:
            return g.op("Slice", [x], axes=[axis], starts=[start], ends=[end])
        return g.op("Slice", [x, g.ints(start), g.ints(end), g.ints(axis)])

    def split(self, x, axis, sizes):
        g = self.g
        if g.opset < 13:
            return g.op("Split", [x], outputs=len(sizes), axis=axis, split=sizes)
        return g.op("Split", [x, g.ints(*sizes)], outputs=len(sizes), axis=axis)

    def halves(self, x, axis):
        g = self.g
        return g.op("Split", [x], outputs=2, axis=axis, **({"num_outputs": 2} if g.opset >= 18 else {}))

    def gemm(self, x, name, rows, columns):
        return self.g.op("Gemm", [x, self.g.weight(f"{name}_w", [rows, columns]), self.g.weight(f"{name}_b", [columns])],
                         alpha=1.0, beta=1.0)


def newer(g, x):
    """What the set has and older ones lack, on a value of shape [1, 6, 4, 4]."""
    if g.opset >= 8:
        x = g.op("Mul", [x, g.op("Expand", [g.weight("wide", [1, 6, 1, 1], (0.5, 1.5)), g.ints(1, 6, 4, 4)])])
    if g.opset >= 9:
        x = g.op("Add", [x, g.op("Erf", [x])])
    if g.opset >= 12:
        x = g.op("Einsum", [x, g.weight("mix", [6, 6])], equation="bchw,cd->bdhw")
    if g.opset >= 14:
        x = g.op("HardSwish", [x])
    if g.opset >= 16:
        x = g.op("Where", [g.op("GreaterOrEqual", [x, g.constant(0.2)]), x, g.constant(0.2)])
    if g.opset >= 17:
        x = g.op("LayerNormalization", [x, g.weight("layer_scale", [4], (0.5, 1.5)), g.weight("layer_shift", [4])])
    if g.opset >= 18:
        x = g.op("Mish", [x])
    if g.opset >= 20:
        x = g.op("Gelu", [x], approximate="tanh")
    if g.opset >= 21:
        x = g.op("GroupNormalization", [x, g.weight("group_scale", [6], (0.5, 1.5)), g.weight("group_shift", [6])],
                 num_groups=3)
    if g.opset >= 23:
        x = g.op("RMSNormalization", [x, g.weight("rms_scale", [4], (0.5, 1.5))])
        x = g.op("Add", [x, g.op("Attention", [x, x, x], is_causal=1)])
    if g.opset >= 24:
        x = g.op("Swish", [x])
    if g.opset >= 26:
        x = g.op("Add", [x, g.op("CumProd", [g.op("Tanh", [x]), g.constant(3, np.int64)])])
    if g.opset >= 28:
        x = g.op("SwiGLU", [x, x])
    return x


def network(opset):
    version = helper.find_min_ir_version_for([helper.make_opsetid("", opset)])
    g = TinyGraph(f"opset_{opset:02}", opset, version)
    if opset > NEWEST_OF_ONNXRUNTIME:
        g.by = "onnx.reference"
    forms = Forms(g)
    x = g.input("x", "f32", [1, 3, 8, 8])
    x = g.op("Conv", [x, g.weight("conv_w", [6, 3, 3, 3]), g.weight("conv_b", [6])], kernel_shape=[3, 3],
             pads=[1, 1, 1, 1])
    x = g.op("Relu", [forms.batch_norm(x, 6)])
    x = forms.dropout(g.op("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2]))
    wide = forms.enlarge(forms.slice(x, 2, 1, 3), [2.0, 1.0])
    x = newer(g, g.op("Tanh", [g.op("Sub", [x, wide])]))
    x = forms.pad(x, [1, 0], [0, 1], 0.25)
    left, right = forms.split(x, 1, [2, 4])
    first, second = forms.halves(right, 1)
    x = g.op("Concat", [g.op("Mul", [left, first]), second], axis=1)
    x = g.op("AveragePool", [forms.clip(x, -1.5, 2.5)], kernel_shape=[2, 2], strides=[1, 1])
    y = forms.axes("ReduceSum", x, [2], 13, keepdims=0)
    y = g.op("Softmax", [y], axis=1 if opset < 13 else -1)
    x = forms.axes("ReduceMean", x, [2, 3], 18, keepdims=1)
    x = forms.gemm(forms.squeeze(x, 2, 3), "first", 4, 5)
    x = forms.gemm(g.op("Tanh", [x]), "second", 5, 3)
    x = g.op("LogSoftmax", [g.op("Reshape", [forms.unsqueeze(x, 0), g.ints(-1, 3)])], axis=1)
    g.outputs_of([x, y])
    return g


MODELS = [functools.partial(network, opset) for opset in range(FIRST, LAST + 1)]
