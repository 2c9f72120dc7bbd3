"""Quantised operators of the domain com.microsoft, as onnxruntime's quantisation writes them in operator form."""

import numpy as np

from zoo.tiny.quantised import channel_scales, scale_of, weights_of, zero_of
from zoo.tiny.writer import TinyGraph


class QuantisedGraph(TinyGraph):
    """`quantised` inputs bring their scale and zero point along: an operand is [name, scale, zero]."""

    def quantised(self, name, shape, scale, zero, dtype="u8"):
        self.input(name, dtype, shape)
        self.ranges[name] = (0, 256) if dtype == "u8" else (-128, 128)
        return [name, scale_of(self, scale), zero_of(self, zero, np.uint8 if dtype == "u8" else np.int8)]

    def real(self, operand):
        return self.shadow("DequantizeLinear", operand)

    def parameters(self, scale, zero, dtype=np.uint8):
        return [scale_of(self, scale), zero_of(self, zero, dtype)]


def ms_qlinear_pointwise():
    """QLinearAdd and QLinearMul, broadcast too; QLinearSigmoid and QLinearLeakyRelu."""
    g = QuantisedGraph("ms_qlinear_pointwise")
    a, b = g.quantised("a", [2, 3, 4], 0.021, 120), g.quantised("b", [2, 3, 4], 0.017, 100)
    row = g.quantised("row", [4], 0.013, 60)
    s = g.quantised("s", [2, 5], 0.023, -3, "i8")
    made = []
    for kind, other, steps in (("Add", b, 0.037), ("Mul", b, 0.031), ("Add", row, 0.029)):
        out = g.parameters(steps, 128)
        g.rounds(g.shadow(kind, [g.real(a), g.real(other)]), out[0])
        made.append(g.op(f"com.microsoft:QLinear{kind}", [*a, *other, *out]))
    for kind, operand, out, attributes in (("Sigmoid", a, g.parameters(1 / 256, 0), {}),
                                           ("LeakyRelu", s, g.parameters(0.019, 5, np.int8), {"alpha": 0.1})):
        g.rounds(g.shadow(kind, [g.real(operand)], **attributes), out[0])
        made.append(g.op(f"com.microsoft:QLinear{kind}", [*operand, *out], **attributes))
    g.outputs_of(made)
    return g


def ms_qlinear_pool():
    """QLinearGlobalAveragePool and QLinearAveragePool."""
    g = QuantisedGraph("ms_qlinear_pool")
    x = g.quantised("x", [1, 3, 5, 5], 0.021, 120)
    window = {"kernel_shape": [3, 3], "strides": [2, 2]}
    out = g.parameters(0.017, 110)
    g.rounds(g.shadow("GlobalAveragePool", [g.real(x)]), out[0])
    made = [g.op("com.microsoft:QLinearGlobalAveragePool", [*x, *out], channels_last=0)]
    for attributes in (window, {**window, "pads": [1, 1, 1, 1]}):
        g.rounds(g.shadow("AveragePool", [g.real(x)], **attributes), out[0])
        made.append(g.op("com.microsoft:QLinearAveragePool", [*x, *out], **attributes))
    g.outputs_of(made)
    return g


def ms_qlinear_concat():
    """Three inputs of different scales brought to one."""
    g = QuantisedGraph("ms_qlinear_concat")
    parts = [g.quantised("a", [1, 2, 3, 3], 0.021, 120), g.quantised("b", [1, 1, 3, 3], 0.033, 90),
             g.quantised("c", [1, 3, 3, 3], 0.027, 128)]
    out = g.parameters(0.027, 128)
    for part in parts:
        g.rounds(g.real(part), out[0])
    y = g.op("com.microsoft:QLinearConcat", [*out, *[name for part in parts for name in part]], axis=1)
    g.outputs_of([y])
    return g


def ms_qlinear_softmax():
    g = QuantisedGraph("ms_qlinear_softmax")
    x = g.quantised("x", [3, 6], 0.021, 120)
    out = g.parameters(1 / 256, 0)
    g.rounds(g.shadow("Softmax", [g.real(x)], axis=-1), out[0])
    g.outputs_of([g.op("com.microsoft:QLinearSoftmax", [*x, *out], axis=-1, opset=13)])
    return g


def ms_qgemm():
    """u8 or f32 results, a bias in i32, a transposed weight with a scale per row."""
    g = QuantisedGraph("ms_qgemm")
    x = g.quantised("x", [4, 6], 0.02, 120)
    weight = [weights_of(g, "w", [5, 6]), scale_of(g, channel_scales(g, 5)), zero_of(g, [0] * 5, np.int8)]
    bias = g.initializer("b", g.random.integers(-2000, 2000, [5]).astype(np.int32))
    steps = g.shadow("Mul", [x[1], weight[1]])
    real_bias = g.shadow("Mul", [g.shadow("Cast", [bias], to=1), steps])
    real_weight = g.shadow("DequantizeLinear", weight, axis=0)
    out = g.parameters(0.04, 128)
    g.rounds(g.shadow("Gemm", [g.real(x), real_weight, real_bias], transB=1), out[0])
    made = [g.op("com.microsoft:QGemm", [*x, *weight, bias, *out], transB=1),
            g.op("com.microsoft:QGemm", [*x, *weight, bias], transB=1)]
    g.outputs_of(made)
    return g


def ms_quantize():
    """QuantizeLinear and DequantizeLinear of this domain."""
    g = QuantisedGraph("ms_quantize")
    x = g.input("x", "f32", [3, 4])
    out = g.parameters(0.02, 120)
    g.rounds(x, out[0])
    y = g.op("com.microsoft:QuantizeLinear", [x, *out])
    g.outputs_of([y, g.op("com.microsoft:DequantizeLinear", [y, *out])])
    return g


MODELS = [ms_qlinear_pointwise, ms_qlinear_pool, ms_qlinear_concat, ms_qlinear_softmax, ms_qgemm, ms_quantize]
