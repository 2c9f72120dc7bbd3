"""Operators of the domain com.microsoft, which onnxruntime's optimisers write in place of patterns."""

import numpy as np

from zoo.tiny.quantised import channel_scales, scale_of, weights_of, zero_of
from zoo.tiny.writer import TinyGraph


def ms_gelu():
    g = TinyGraph("ms_gelu")
    x = g.input("x", "f32", [2, 3, 8])
    bias = g.weight("b", [8], (-1, 1))
    g.outputs_of([g.op("com.microsoft:Gelu", [x]), g.op("com.microsoft:FastGelu", [x]),
                  g.op("com.microsoft:FastGelu", [x, bias]), g.op("com.microsoft:BiasGelu", [x, bias]),
                  g.op("com.microsoft:QuickGelu", [x]), g.op("com.microsoft:QuickGelu", [x], alpha=1.0)])
    return g


def ms_norms():
    """SkipLayerNormalization with and without shift and bias, SkipSimplifiedLayerNormalization; sums that are outputs."""
    g = TinyGraph("ms_norms")
    x, skip = g.input("x", "f32", [2, 3, 8]), g.input("skip", "f32", [2, 3, 8])
    scale, shift, bias = g.weight("scale", [8], (0.5, 1.5)), g.weight("shift", [8]), g.weight("bias", [8])
    kind = "com.microsoft:SkipLayerNormalization"
    y, _, _, total = g.op(kind, [x, skip, scale, shift, bias], outputs=[1, 0, 0, 1], epsilon=1e-5)
    z = g.op(kind, [y, total, scale], epsilon=1e-3)
    kind = "com.microsoft:SkipSimplifiedLayerNormalization"
    a, _, _, sums = g.op(kind, [x, skip, scale], outputs=[1, 0, 0, 1], epsilon=1e-5)
    b = g.op(kind, [a, sums, scale, bias], epsilon=1e-6)
    g.outputs_of([y, total, z, a, sums, b])
    return g


def ms_rms_norm():
    """SimplifiedLayerNormalization, which onnxruntime puts into ONNX's own domain."""
    g = TinyGraph("ms_rms_norm")
    g.unchecked = True
    x = g.input("x", "f32", [2, 3, 8])
    scale = g.weight("scale", [8], (0.5, 1.5))
    g.outputs_of([g.op("SimplifiedLayerNormalization", [x, scale], axis=-1, epsilon=1e-5, stash_type=1)])
    return g


def ms_embed():
    """Word, position and segment embeddings, their sum normalised."""
    g = TinyGraph("ms_embed")
    ids, segments = g.input("ids", "i32", [2, 3]), g.input("segments", "i32", [2, 3])
    g.ranges.update(ids=(0, 11), segments=(0, 2))
    tables = [g.weight("word", [11, 8], (-1, 1)), g.weight("position", [6, 8], (-1, 1)),
              g.weight("segment", [2, 8], (-1, 1)), g.weight("scale", [8], (0.5, 1.5)), g.weight("shift", [8])]
    y, _, total = g.op("com.microsoft:EmbedLayerNormalization", [ids, segments, *tables], outputs=[1, 1, 1],
                       epsilon=1e-5)
    short = [tables[0], tables[1], "", *tables[3:]]
    places = g.initializer("places", np.array([[2, 0, 5]], np.int32))
    z = g.op("com.microsoft:EmbedLayerNormalization", [ids, "", *short, "", places], outputs=[1, 1], epsilon=1e-5)[0]
    g.outputs_of([y, total, z])
    return g


def ms_attention():
    """Query, key and value from one weight; unidirectional; lengths as a mask; a bias on the scores."""
    g = TinyGraph("ms_attention")
    x = g.input("x", "f32", [2, 4, 8])
    bias = g.input("bias", "f32", [1, 2, 4, 4])
    weights = [g.weight("w", [8, 24]), g.weight("b", [24])]
    lengths = g.initializer("lengths", np.array([4, 3], np.int32))
    keep = g.initializer("keep", np.array([[1, 1, 1, 1], [1, 1, 0, 1]], np.int32))
    kind = "com.microsoft:Attention"
    g.outputs_of([g.op(kind, [x, *weights], num_heads=2), g.op(kind, [x, *weights], num_heads=2, unidirectional=1),
                  g.op(kind, [x, *weights], num_heads=2, scale=0.6),
                  g.op(kind, [x, *weights, lengths], num_heads=2), g.op(kind, [x, *weights, keep], num_heads=2),
                  g.op(kind, [x, *weights, "", "", bias], num_heads=2)])
    return g


def ms_multi_head_attention():
    """Self and cross attention, with a bias on the projections, a padding mask, a bias on the scores."""
    g = TinyGraph("ms_multi_head_attention")
    q = g.input("q", "f32", [2, 4, 8])
    k, v = g.input("k", "f32", [2, 5, 8]), g.input("v", "f32", [2, 5, 8])
    bias = g.weight("b", [24])
    padding = g.initializer("padding", np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int32))
    scores = g.input("scores", "f32", [1, 2, 4, 5])
    heads_k, heads_v = g.input("heads_k", "f32", [2, 2, 5, 4]), g.input("heads_v", "f32", [2, 2, 5, 4])
    kind = "com.microsoft:MultiHeadAttention"
    g.outputs_of([g.op(kind, [q, k, v], num_heads=2), g.op(kind, [q, k, v, bias], num_heads=2, scale=0.4),
                  g.op(kind, [q, k, v, "", padding], num_heads=2),
                  g.op(kind, [q, k, v, "", "", scores], num_heads=2), g.op(kind, [q, q, q], num_heads=4),
                  g.op(kind, [q, q, q], num_heads=2, unidirectional=1),
                  g.op(kind, [q, heads_k, heads_v], num_heads=2)])
    return g


def ms_multi_head_attention_past():
    """Earlier keys and values come in and go out with the new ones behind them."""
    g = TinyGraph("ms_multi_head_attention_past")
    qkv = [g.input(name, "f32", [1, 2, 8]) for name in "qkv"]
    past = [g.input(name, "f32", [1, 2, 3, 4]) for name in ("past_k", "past_v")]
    g.outputs_of(g.op("com.microsoft:MultiHeadAttention", [*qkv, "", "", "", *past], outputs=3, num_heads=2))
    return g


def group_query(g, length, past_length, heads, groups, head=16, **attributes):
    qkv = [g.input(name, "f32", [1, length, count * head]) for name, count in (("q", heads), ("k", groups),
                                                                               ("v", groups))]
    past = [g.input(name, "f32", [1, groups, past_length, head]) if past_length else "" for name in ("past_k", "past_v")]
    total = length + past_length
    sizes = [g.initializer("seqlens_k", np.array([total - 1], np.int32)),
             g.initializer("total", np.array([total], np.int32))]
    rotary = []
    if attributes.get("do_rotary"):
        angles = np.arange(16)[:, None] / 100.0 ** (np.arange(head // 2) / (head // 2))
        rotary = [g.initializer("cos", np.cos(angles).astype(np.float32)),
                  g.initializer("sin", np.sin(angles).astype(np.float32))]
    g.outputs_of(g.op("com.microsoft:GroupQueryAttention", [*qkv, *past, *sizes, *rotary], outputs=3, num_heads=heads,
                      kv_num_heads=groups, **attributes))
    return g


def ms_group_query_attention():
    """A prompt: no position before it."""
    return group_query(TinyGraph("ms_group_query_attention"), 5, 0, 4, 2)


def ms_group_query_attention_rotary():
    """A prompt whose queries and keys are rotated inside."""
    return group_query(TinyGraph("ms_group_query_attention_rotary"), 4, 0, 4, 2, do_rotary=1)


def ms_group_query_attention_past():
    """One token behind three others."""
    return group_query(TinyGraph("ms_group_query_attention_past"), 1, 3, 4, 2, do_rotary=1)


def ms_group_query_attention_window():
    """A local window and softcap."""
    return group_query(TinyGraph("ms_group_query_attention_window"), 6, 0, 2, 1, local_window_size=3, softcap=2.0)


def ms_rotary_embedding():
    g = TinyGraph("ms_rotary_embedding")
    x, flat = g.input("x", "f32", [2, 2, 3, 8]), g.input("flat", "f32", [2, 3, 16])
    places = g.input("places", "i64", [2, 3])
    g.ranges["places"] = (0, 8)
    start = g.initializer("start", np.array([2], np.int64))
    table = [g.weight("cos", [10, 4], (-1, 1)), g.weight("sin", [10, 4], (-1, 1))]
    kind = "com.microsoft:RotaryEmbedding"
    g.outputs_of([g.op(kind, [x, places, *table]), g.op(kind, [flat, places, *table]),
                  g.op(kind, [x, places, *table], interleaved=1), g.op(kind, [x, start, *table])])
    return g


def ms_fused_matmul():
    g = TinyGraph("ms_fused_matmul")
    a, b, c = g.input("a", "f32", [2, 3, 4]), g.input("b", "f32", [2, 5, 4]), g.input("c", "f32", [2, 4, 3])
    w, turned = g.weight("w", [4, 5]), g.input("turned", "f32", [3, 2, 4])
    kind = "com.microsoft:FusedMatMul"
    g.outputs_of([g.op(kind, [a, w], alpha=0.5), g.op(kind, [a, b], transB=1, alpha=1.5),
                  g.op(kind, [c, w], transA=1), g.op(kind, [c, b], transA=1, transB=1, alpha=-0.25),
                  g.op(kind, [turned, b], transBatchA=1, transB=1),
                  g.op("com.microsoft:TransposeMatMul", [a, b], transB=1)])
    return g


def ms_fused_conv():
    """Activations inside, and a residual that is added before them."""
    g = TinyGraph("ms_fused_conv")
    x = g.input("x", "f32", [1, 3, 6, 6])
    residual = g.input("z", "f32", [1, 4, 6, 6])
    weights = [g.weight("w", [4, 3, 3, 3]), g.weight("b", [4])]
    kind = "com.microsoft:FusedConv"
    pads = {"pads": [1, 1, 1, 1]}
    g.outputs_of([g.op(kind, [x, *weights], activation="Relu", **pads),
                  g.op(kind, [x, weights[0]], activation="Tanh", strides=[2, 2]),
                  g.op(kind, [x, *weights], activation="LeakyRelu", activation_params=[0.2], **pads),
                  g.op(kind, [x, *weights], activation="Clip", activation_params=[-0.2, 0.4], **pads),
                  g.op(kind, [x, *weights], activation="HardSigmoid", activation_params=[0.3, 0.4], **pads),
                  g.op(kind, [x, *weights, residual], activation="Relu", **pads)])
    return g


def ms_fused_gemm():
    g = TinyGraph("ms_fused_gemm")
    x = g.input("x", "f32", [4, 6])
    weights = [g.weight("w", [5, 6]), g.weight("b", [5])]
    kind = "com.microsoft:FusedGemm"
    g.outputs_of([g.op(kind, [x, *weights], transB=1, activation="Relu"),
                  g.op(kind, [x, *weights], transB=1, activation="LeakyRelu", activation_alpha=0.2),
                  g.op(kind, [x, *weights], transB=1, alpha=0.5, beta=2.0, activation="Sigmoid")])
    return g


def ms_integer_matmul():
    """DynamicQuantizeMatMul and MatMulIntegerToFloat: dynamic quantisation in one node."""
    g = TinyGraph("ms_integer_matmul")
    x, n = g.input("x", "f32", [3, 6]), g.input("n", "u8", [3, 6])
    g.ranges["n"] = (0, 256)
    weights, scales = weights_of(g, "w", [6, 4]), scale_of(g, channel_scales(g, 4))
    zeros = zero_of(g, [0] * 4, np.int8)
    width = g.shadow("Sub", [g.shadow("Max", [g.shadow("ReduceMax", [x], keepdims=0), g.floats(0)]),
                             g.shadow("Min", [g.shadow("ReduceMin", [x], keepdims=0), g.floats(0)])])
    step = g.shadow("Div", [width, g.floats(255)])
    g.rounds(x, step)
    g.rounds(g.shadow("ReduceMin", [x], keepdims=0), step)
    bias = g.weight("b", [4])
    g.outputs_of([g.op("com.microsoft:DynamicQuantizeMatMul", [x, weights, scales, zeros, bias]),
                  g.op("com.microsoft:MatMulIntegerToFloat", [n, weights, scale_of(g, [0.02]), scales,
                                                              zero_of(g, [118], np.uint8), zeros, bias])])
    return g


def ms_matmul_4_bits():
    """MatMulNBits: weights of 4 bits in blocks of 16 along the reduction, two to a byte, with and without zero points."""
    g = TinyGraph("ms_matmul_4_bits")
    x = g.input("x", "f32", [2, 3, 32])
    packed = g.initializer("packed", g.random.integers(0, 256, [5, 2, 8]).astype(np.uint8))
    scales = g.weight("scales", [10], (0.02, 0.05))
    zeros = g.initializer("zeros", g.random.integers(0, 256, [5]).astype(np.uint8))
    sizes = {"K": 32, "N": 5, "bits": 4, "block_size": 16}
    g.outputs_of([g.op("com.microsoft:MatMulNBits", [x, packed, scales], **sizes),
                  g.op("com.microsoft:MatMulNBits", [x, packed, scales, zeros], **sizes)])
    return g


MODELS = [ms_gelu, ms_norms, ms_rms_norm, ms_embed, ms_attention, ms_multi_head_attention,
          ms_multi_head_attention_past, ms_group_query_attention, ms_group_query_attention_rotary,
          ms_group_query_attention_past, ms_group_query_attention_window, ms_rotary_embedding, ms_fused_matmul,
          ms_fused_conv, ms_fused_gemm, ms_integer_matmul, ms_matmul_4_bits]
