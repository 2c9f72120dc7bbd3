"""Attention, RotaryEmbedding and RMSNormalization of opset 23, and the normalisations of opsets 18 and 21."""

import numpy as np

from zoo.tiny.writer import TinyGraph


def rank_four(g, heads=2, groups=2, queries=3, keys=3, width=4, batch=1):
    """Query, key and value as [batch, heads, length, width]."""
    return [g.input("q", "f32", [batch, heads, queries, width]), g.input("k", "f32", [batch, groups, keys, width]),
            g.input("v", "f32", [batch, groups, keys, width])]


def attention():
    """Plain, with a scale, causal, with softcap, for each of them the first output alone."""
    g = TinyGraph("attention", 23)
    qkv = rank_four(g, queries=4, keys=5, batch=2)
    g.outputs_of([g.op("Attention", qkv), g.op("Attention", qkv, scale=0.7), g.op("Attention", qkv, is_causal=1),
                  g.op("Attention", qkv, softcap=1.5), g.op("Attention", qkv, is_causal=1, softcap=2.0, scale=0.3)])
    return g


def attention_rank_three():
    """Heads side by side in the last axis, more query heads than key heads, values of another width."""
    g = TinyGraph("attention_rank_three", 23)
    q, k = g.input("q", "f32", [2, 4, 24]), g.input("k", "f32", [2, 5, 8])
    v = g.input("v", "f32", [2, 5, 6])
    heads = {"q_num_heads": 6, "kv_num_heads": 2}
    g.outputs_of([g.op("Attention", [q, k, v], **heads), g.op("Attention", [q, k, v], is_causal=1, **heads)])
    return g


def attention_grouped():
    """Grouped queries (4 heads on 2), one key head for all."""
    g = TinyGraph("attention_grouped", 23)
    qkv = rank_four(g, heads=4, groups=2, queries=3, keys=4)
    one = g.input("one", "f32", [1, 1, 4, 4])
    g.outputs_of([g.op("Attention", qkv), g.op("Attention", [qkv[0], one, one], is_causal=1)])
    return g


def attention_mask():
    """Masks that are added, of rank 2 and 4; masks that say where; a mask with the causal one."""
    g = TinyGraph("attention_mask", 23)
    qkv = rank_four(g, queries=3, keys=4, batch=2)
    added, wide = g.input("added", "f32", [3, 4]), g.input("wide", "f32", [2, 1, 3, 4])
    keep = g.initializer("keep", np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 0, 1]], bool))
    g.outputs_of([g.op("Attention", [*qkv, added]), g.op("Attention", [*qkv, wide]), g.op("Attention", [*qkv, keep]),
                  g.op("Attention", [*qkv, added], is_causal=1), g.op("Attention", [*qkv, wide], softcap=1.0)])
    return g


def attention_past():
    """Keys and values of earlier positions come in, and go out with the new ones behind them."""
    g = TinyGraph("attention_past", 23)
    qkv = rank_four(g, queries=2, keys=2)
    past = [g.input("past_k", "f32", [1, 2, 3, 4]), g.input("past_v", "f32", [1, 2, 3, 4])]
    mask = g.input("mask", "f32", [2, 5])
    g.outputs_of(g.op("Attention", [*qkv, "", *past], outputs=3))
    g.outputs_of(g.op("Attention", [*qkv, mask, *past], outputs=3)[:1])
    g.outputs_of(g.op("Attention", [*qkv, "", *past], outputs=3, is_causal=1)[:1])
    return g


def attention_scores():
    """The fourth output: the products, with the mask, with softcap, after Softmax."""
    g = TinyGraph("attention_scores", 23)
    qkv = rank_four(g, queries=3, keys=4)
    mask = g.input("mask", "f32", [3, 4])
    for mode in range(4):
        y, scores = [value for value in g.op("Attention", [*qkv, mask], outputs=[1, 0, 0, 1], softcap=2.0,
                                             qk_matmul_output_mode=mode) if value]
        g.outputs_of([y, scores])
    return g


def attention_layer():
    """A layer as exporters of opset 23 write it: projections, RotaryEmbedding, Attention over rank 3, projection."""
    g = TinyGraph("attention_layer", 23)
    x = g.input("x", "f32", [1, 5, 16])
    angles = np.arange(8)[:, None] / 100.0 ** (np.arange(2) / 2)
    caches = [g.initializer("cos", np.cos(angles).astype(np.float32)),
              g.initializer("sin", np.sin(angles).astype(np.float32))]
    places = g.initializer("places", np.arange(5, dtype=np.int64)[None])
    y = g.op("RMSNormalization", [x, g.weight("norm", [16], (0.5, 1.5))], axis=-1, epsilon=1e-5)

    def project(name, columns):
        return g.op("MatMul", [y, g.weight(name, [16, columns])])

    query = g.op("RotaryEmbedding", [project("q", 16), *caches, places], num_heads=4)
    key = g.op("RotaryEmbedding", [project("k", 8), *caches, places], num_heads=2)
    y = g.op("Attention", [query, key, project("v", 8)], q_num_heads=4, kv_num_heads=2, is_causal=1)
    g.outputs_of([g.op("Add", [x, g.op("MatMul", [y, g.weight("o", [16, 16])])])])
    return g


def rotary_embedding():
    """Halves and interleaved pairs, a part of the head only, rank 3 and 4, with and without position ids."""
    g = TinyGraph("rotary_embedding", 23)
    x, flat = g.input("x", "f32", [2, 2, 3, 8]), g.input("flat", "f32", [2, 3, 16])
    places = g.input("places", "i64", [2, 3])
    g.ranges["places"] = (0, 10)
    table = [g.input("cos", "f32", [10, 4]), g.input("sin", "f32", [10, 4])]
    rows = [g.input("cos_rows", "f32", [2, 3, 4]), g.input("sin_rows", "f32", [2, 3, 4])]
    part = [g.input("cos_part", "f32", [10, 2]), g.input("sin_part", "f32", [10, 2])]
    g.outputs_of([g.op("RotaryEmbedding", [x, *table, places]),
                  g.op("RotaryEmbedding", [x, *table, places], interleaved=1),
                  g.op("RotaryEmbedding", [x, *rows]),
                  g.op("RotaryEmbedding", [flat, *table, places], num_heads=2),
                  g.op("RotaryEmbedding", [flat, *rows], num_heads=2, interleaved=1),
                  g.op("RotaryEmbedding", [x, *part, places], rotary_embedding_dim=4),
                  g.op("RotaryEmbedding", [flat, *part, places], num_heads=2, rotary_embedding_dim=4, interleaved=1)])
    return g


def rms_norm():
    g = TinyGraph("rms_norm", 23)
    x = g.input("x", "f32", [2, 3, 4])
    g.outputs_of([g.op("RMSNormalization", [x, g.weight("a", [4], (0.5, 1.5))]),
                  g.op("RMSNormalization", [x, g.weight("b", [3, 4], (0.5, 1.5))], axis=1, epsilon=1e-3),
                  g.op("RMSNormalization", [x, g.weight("c", [1], (0.5, 1.5))], axis=-1)])
    return g


def layer_norm_outputs():
    """The mean and the inverse deviation beside the result; axis 0; a scale that broadcasts."""
    g = TinyGraph("layer_norm_outputs", 17)
    x = g.input("x", "f32", [2, 3, 4])
    scale, shift = g.weight("a", [4], (0.5, 1.5)), g.weight("b", [4])
    g.outputs_of(g.op("LayerNormalization", [x, scale, shift], outputs=3, axis=-1))
    g.outputs_of([g.op("LayerNormalization", [x, g.weight("c", [2, 3, 4], (0.5, 1.5))], axis=0, epsilon=1e-4)])
    return g


def group_norm():
    """Opset 21: a scale and a shift for each channel; two groups, one, and as many as channels."""
    g = TinyGraph("group_norm", 21)
    x = g.input("x", "f32", [2, 6, 3, 4])
    scale, shift = g.weight("scale", [6], (0.5, 1.5)), g.weight("shift", [6])
    g.outputs_of([g.op("GroupNormalization", [x, scale, shift], num_groups=groups, epsilon=1e-5)
                  for groups in (2, 1, 6)])
    return g


def group_norm_opset18():
    """Opset 18: a scale and a shift for each group."""
    g = TinyGraph("group_norm_opset18", 18)
    g.unchecked = True
    x = g.input("x", "f32", [2, 6, 3, 4])
    y = g.op("GroupNormalization", [x, g.weight("scale", [3], (0.5, 1.5)), g.weight("shift", [3])], num_groups=3)
    g.outputs_of([y])
    return g


def group_norm_decomposed():
    """GroupNorm as exporters write it before opset 21: groups to channels, InstanceNormalization, back, scale, shift."""
    g = TinyGraph("group_norm_decomposed", 17)
    x = g.input("x", "f32", [2, 6, 3, 4])
    ones, zeros = g.initializer("ones", np.ones(3, np.float32)), g.initializer("zeros", np.zeros(3, np.float32))
    y = g.op("InstanceNormalization", [g.op("Reshape", [x, g.ints(0, 3, -1)]), ones, zeros], epsilon=1e-5)
    y = g.op("Reshape", [y, g.op("Shape", [x])])
    y = g.op("Add", [g.op("Mul", [y, g.weight("scale", [6, 1, 1], (0.5, 1.5))]), g.weight("shift", [6, 1, 1])])
    g.outputs_of([g.op("Mul", [y, g.op("Sigmoid", [y])])])
    return g


def activations_newer():
    """Gelu of opset 20 in both forms, and what is no part of `activations`."""
    g = TinyGraph("activations_newer", 20)
    x = g.input("x", "f32", [3, 7])
    g.outputs_of([g.op("Gelu", [x]), g.op("Gelu", [x], approximate="tanh"), g.op("Mish", [x]), g.op("Selu", [x]),
                  g.op("Celu", [x], alpha=0.6), g.op("ThresholdedRelu", [x], alpha=0.5), g.op("Softsign", [x]),
                  g.op("Shrink", [x], lambd=0.4, bias=0.1), g.op("HardSwish", [x]), g.op("Round", [x]),
                  g.op("Sign", [x]), g.op("Ceil", [x]), g.op("Atan", [x]), g.op("Sinh", [x]), g.op("Cosh", [x]),
                  g.op("Asinh", [x]), g.op("Sin", [x]), g.op("Cos", [x]), g.op("Tan", [g.op("Tanh", [x])]),
                  g.op("Asin", [g.op("Tanh", [x])]), g.op("Acos", [g.op("Tanh", [x])]),
                  g.op("Atanh", [g.op("Mul", [g.op("Tanh", [x]), g.constant(0.9)])]),
                  g.op("Acosh", [g.op("Exp", [g.op("Abs", [x])])])])
    return g


def swish():
    """Opset 24."""
    g = TinyGraph("swish", 24)
    x = g.input("x", "f32", [3, 7])
    g.outputs_of([g.op("Swish", [x]), g.op("Swish", [x], alpha=1.7)])
    return g


MODELS = [attention, attention_rank_three, attention_grouped, attention_mask, attention_past, attention_scores,
          attention_layer, rotary_embedding, rms_norm, layer_norm_outputs, group_norm, group_norm_opset18,
          group_norm_decomposed, activations_newer, swish]
