"""What few models have: windows and spectra of audio front ends, deformable convolution, identity matrices, linear attention."""

import numpy as np

from zoo.tiny.writer import TinyGraph


def windows():
    """Hann, Hamming and Blackman windows of a known length, and the matrix of Mel bands: all of it is known when read."""
    g = TinyGraph("windows", 17)
    x = g.input("x", "f32", [2, 8])
    length = g.constant(8, np.int64)
    made = [g.op(kind, [length]) for kind in ("HannWindow", "HammingWindow", "BlackmanWindow")]
    made.append(g.op("HannWindow", [length], periodic=0))
    g.outputs_of([g.op("Mul", [x, window]) for window in made])
    power = g.op("Slice", [g.op("Abs", [x]), g.ints(0), g.ints(5), g.ints(1)])
    bands = g.op("MelWeightMatrix", [g.constant(4, np.int64), length, g.constant(8000, np.int64), g.constant(0.0),
                                     g.constant(4000.0)])
    g.outputs_of([g.op("Log", [g.op("Add", [g.op("MatMul", [power, bands]), g.constant(0.01)])])])
    return g


def short_time_spectra():
    """STFT of real frames, and their squared lengths: the first half of a Mel spectrogram."""
    g = TinyGraph("short_time_spectra", 17)
    x = g.input("x", "f32", [1, 20])
    window = g.initializer("window", (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(8) / 8)).astype(np.float32))
    y = g.op("STFT", [g.op("Unsqueeze", [x, g.ints(2)]), g.constant(4, np.int64), window, g.constant(8, np.int64)],
             onesided=1)
    g.outputs_of([g.op("ReduceSumSquare", [y], axes=[3], keepdims=0)])
    return g


def eye_like():
    """A unit matrix, and one whose ones stand beside the diagonal."""
    g = TinyGraph("eye_like", 17)
    x = g.input("x", "f32", [3, 4])
    g.outputs_of([g.op("Add", [x, g.op("EyeLike", [x])]), g.op("Mul", [x, g.op("EyeLike", [x], k=-1, dtype=1)])])
    return g


def deformable_convolution():
    """Opset 19: taps whose places are an input, with and without a mask."""
    g = TinyGraph("deformable_convolution", 19)
    x, offset = g.input("x", "f32", [1, 2, 4, 4]), g.input("offset", "f32", [1, 8, 3, 3])
    mask = g.input("mask", "f32", [1, 4, 3, 3])
    weight, bias = g.weight("w", [3, 2, 2, 2]), g.weight("b", [3])
    g.outputs_of([g.op("DeformConv", [x, weight, offset]), g.op("DeformConv", [x, weight, offset, bias, mask])])
    return g


def causal_convolution():
    """Opset 27: depthwise over past positions, which come in and go out, as Mamba's blocks have it."""
    g = TinyGraph("causal_convolution", 27)
    g.by = "onnx.reference"
    x, past = g.input("x", "f32", [2, 3, 5]), g.input("past", "f32", [2, 3, 3])
    weight, bias = g.weight("w", [3, 1, 4]), g.weight("b", [3])
    g.outputs_of(g.op("CausalConvWithState", [x, weight, bias, past], outputs=2))
    g.outputs_of(g.op("CausalConvWithState", [x, weight], outputs=2, activation="silu")[:1])
    return g


def linear_attention():
    """Opset 27: a state of products of keys and values, in its four rules."""
    g = TinyGraph("linear_attention", 27)
    g.by = "onnx.reference"
    qkv = [g.input(name, "f32", [1, 4, 6]) for name in "qkv"]
    decay, rate = g.op("Neg", [g.op("Abs", [g.input("decay", "f32", [1, 4, 2])])]), g.input("rate", "f32", [1, 4, 2])
    heads = {"q_num_heads": 2, "kv_num_heads": 2}
    kind = "LinearAttention"
    g.outputs_of(g.op(kind, qkv, outputs=2, update_rule="linear", **heads))
    g.outputs_of(g.op(kind, [*qkv, "", decay], outputs=2, update_rule="gated", **heads)[:1])
    g.outputs_of(g.op(kind, [*qkv, "", "", rate], outputs=2, update_rule="delta", **heads)[:1])
    g.outputs_of(g.op(kind, [*qkv, "", decay, rate], outputs=2, update_rule="gated_delta", **heads)[:1])
    return g


def sequences_built():
    """A sequence that grows, loses an element, and is stacked; its length is known."""
    g = TinyGraph("sequences_built", 16)
    x = g.input("x", "f32", [2, 3])
    rows = g.op("SequenceInsert", [g.op("SequenceEmpty", []), g.op("Relu", [x])])
    rows = g.op("SequenceInsert", [rows, g.op("Tanh", [x]), g.constant(0, np.int64)])
    rows = g.op("SequenceInsert", [rows, g.op("Exp", [x])])
    rows = g.op("SequenceErase", [rows, g.constant(1, np.int64)])
    count = g.op("Cast", [g.op("SequenceLength", [rows])], to=1)
    g.outputs_of([g.op("Mul", [g.op("ConcatFromSequence", [rows], axis=0, new_axis=1), count])])
    return g


MODELS = [windows, short_time_spectra, eye_like, deformable_convolution, causal_convolution, linear_attention,
          sequences_built]
