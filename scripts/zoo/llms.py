"""Blocks of language models after the Llama (Touvron et al. 2023): grouped-query attention (Ainslie et al. 2023),
rotary positions, RMSNorm, SwiGLU; decomposed as exporters of older operator sets write them, and in the operators of
opset 23.
"""

import numpy as np

from zoo.transformers import linear


def llama_block(graph, layers=2, width=2048, heads=32, groups=8, inner=5632, sequence=128, base=10000.0):
    """Takes hidden states, an additive mask and positions; rotary angles are computed once from the positions."""
    x = graph.input("hidden_states", "f32", [1, sequence, width])
    mask = graph.input("attention_mask", "f32", [1, 1, sequence, sequence])
    position_ids = graph.input("position_ids", "i64", [1, sequence])
    head = width // heads

    graph.scope = "/rotary"
    frequencies = base ** (-np.arange(0, head, 2, dtype=np.float64) / head)
    inverse = graph.initializer("rotary.inv_freq", frequencies.astype(np.float32)[None, :, None])
    places = graph.op("Cast", [graph.op("Unsqueeze", [position_ids, graph.constant([1], np.int64)])], to=1)
    angles = graph.op("Transpose", [graph.op("MatMul", [inverse, places])], perm=[0, 2, 1])
    angles = graph.op("Concat", [angles, angles], axis=-1)
    cosine = graph.op("Unsqueeze", [graph.op("Cos", [angles]), graph.constant([1], np.int64)])
    sine = graph.op("Unsqueeze", [graph.op("Sin", [angles]), graph.constant([1], np.int64)])

    def rms_norm(x, name):
        mean = graph.op("ReduceMean", [graph.op("Pow", [x, graph.constant(2.0)])], axes=[-1])
        root = graph.op("Sqrt", [graph.op("Add", [mean, graph.constant(1e-5)])])
        x = graph.op("Mul", [x, graph.op("Div", [graph.constant(1.0), root])])
        return graph.op("Mul", [graph.weight(f"{name}.weight", [width], 1), x])

    def rotate(x):
        last, step = graph.constant([-1], np.int64), graph.constant([1], np.int64)
        middle = graph.constant([head // 2], np.int64)
        left = graph.op("Slice", [x, graph.constant([0], np.int64), middle, last, step])
        right = graph.op("Slice", [x, middle, graph.constant([np.iinfo(np.int64).max], np.int64), last, step])
        turned = graph.op("Concat", [graph.op("Neg", [right]), left], axis=-1)
        return graph.op("Add", [graph.op("Mul", [x, cosine]), graph.op("Mul", [turned, sine])])

    def repeat_groups(x):
        """[1, groups, sequence, head] to [1, heads, sequence, head]: each group serves heads/groups queries."""
        repeats = heads // groups
        x = graph.op("Unsqueeze", [x, graph.constant([2], np.int64)])
        x = graph.op("Expand", [x, graph.constant([1, groups, repeats, sequence, head], np.int64)])
        return graph.op("Reshape", [x, graph.constant([1, heads, sequence, head], np.int64)])

    for layer in range(layers):
        name = f"layers.{layer}"
        graph.scope = f"/{name}/self_attn"

        def project(x, part, count):
            x = linear(graph, x, f"{name}.{part}_proj", width, count * head, bias=False)
            x = graph.op("Reshape", [x, graph.constant([1, sequence, count, head], np.int64)])
            return graph.op("Transpose", [x], perm=[0, 2, 1, 3])

        y = rms_norm(x, f"{name}.input_layernorm")
        query = rotate(project(y, "q", heads))
        key = repeat_groups(rotate(project(y, "k", groups)))
        value = repeat_groups(project(y, "v", groups))
        key = graph.op("Transpose", [key], perm=[0, 1, 3, 2])
        scores = graph.op("Mul", [graph.op("MatMul", [query, key]), graph.constant(float(head) ** -0.5)])
        weights = graph.op("Softmax", [graph.op("Add", [scores, mask])], axis=-1)
        context = graph.op("Transpose", [graph.op("MatMul", [weights, value])], perm=[0, 2, 1, 3])
        context = graph.op("Reshape", [context, graph.constant([1, sequence, width], np.int64)])
        x = graph.op("Add", [x, linear(graph, context, f"{name}.o_proj", width, width, bias=False)])

        graph.scope = f"/{name}/mlp"
        y = rms_norm(x, f"{name}.post_attention_layernorm")
        gate = linear(graph, y, f"{name}.gate_proj", width, inner, bias=False)
        gate = graph.op("Mul", [gate, graph.op("Sigmoid", [gate])])
        y = graph.op("Mul", [gate, linear(graph, y, f"{name}.up_proj", width, inner, bias=False)])
        x = graph.op("Add", [x, linear(graph, y, f"{name}.down_proj", inner, width, bias=False)])

    graph.output(x, "output", "f32", [1, sequence, width])


def llama_block_opset23(graph, layers=2, width=2048, heads=32, groups=8, inner=5632, sequence=128, positions=256,
                        base=10000.0):
    """The same blocks in RMSNormalization, RotaryEmbedding and Attention, which keep heads side by side in the last axis."""
    x = graph.input("hidden_states", "f32", [1, sequence, width])
    position_ids = graph.input("position_ids", "i64", [1, sequence])
    head = width // heads
    angles = np.arange(positions)[:, None] * base ** (-np.arange(0, head, 2) / head)
    caches = [graph.initializer("cos_cache", np.cos(angles).astype(np.float32)),
              graph.initializer("sin_cache", np.sin(angles).astype(np.float32))]

    def rms_norm(x, name):
        return graph.op("RMSNormalization", [x, graph.weight(f"{name}.weight", [width], 1)], axis=-1, epsilon=1e-5)

    for layer in range(layers):
        name = f"layers.{layer}"
        graph.scope = f"/{name}/self_attn"
        y = rms_norm(x, f"{name}.input_layernorm")
        query, key, value = (linear(graph, y, f"{name}.{part}_proj", width, count * head, bias=False)
                             for part, count in (("q", heads), ("k", groups), ("v", groups)))
        query = graph.op("RotaryEmbedding", [query, *caches, position_ids], num_heads=heads)
        key = graph.op("RotaryEmbedding", [key, *caches, position_ids], num_heads=groups)
        y = graph.op("Attention", [query, key, value], is_causal=1, q_num_heads=heads, kv_num_heads=groups,
                     scale=float(head) ** -0.5)
        x = graph.op("Add", [x, linear(graph, y, f"{name}.o_proj", width, width, bias=False)])

        graph.scope = f"/{name}/mlp"
        y = rms_norm(x, f"{name}.post_attention_layernorm")
        gate = linear(graph, y, f"{name}.gate_proj", width, inner, bias=False)
        gate = graph.op("Mul", [gate, graph.op("Sigmoid", [gate])])
        y = graph.op("Mul", [gate, linear(graph, y, f"{name}.up_proj", width, inner, bias=False)])
        x = graph.op("Add", [x, linear(graph, y, f"{name}.down_proj", inner, width, bias=False)])
    graph.output(x, "output", "f32", [1, sequence, width])


def moe_block(graph, width=1024, inner=3584, experts=8, sequence=64):
    """A mixture of experts in dense form (Jiang et al. 2024: two of eight, weights that are a softmax over the two).

    The two experts of a token are found as two maxima, OneHot says where; every expert computes every token in a
    batched product, and those that were not chosen get weight 0.
    """
    x = graph.input("hidden_states", "f32", [1, sequence, width])
    graph.scope = "/block_sparse_moe"
    root = graph.op("RMSNormalization", [x, graph.weight("norm.weight", [width], 1)], axis=-1, epsilon=1e-5)
    flat = graph.op("Reshape", [root, graph.constant([-1, width], np.int64)])
    logits = graph.op("MatMul", [flat, graph.weight("gate.weight", [width, experts], 1.0 / width)])
    depth, values = graph.constant(experts, np.int64), graph.constant([0, 1])

    def largest(logits):
        return graph.op("OneHot", [graph.op("ArgMax", [logits], axis=1, keepdims=0), depth, values], axis=-1)

    first = largest(logits)
    taken = graph.op("Equal", [first, graph.constant(1.0)])
    second = largest(graph.op("Where", [taken, graph.constant(-1e30), logits]))
    chosen = graph.op("Equal", [graph.op("Add", [first, second]), graph.constant(1.0)])
    routing = graph.op("Softmax", [graph.op("Where", [chosen, logits, graph.constant(-1e30)])], axis=-1)
    routing = graph.op("Unsqueeze", [graph.op("Transpose", [routing], perm=[1, 0]), graph.constant([2], np.int64)])

    graph.scope = "/block_sparse_moe/experts"
    tokens = graph.op("Unsqueeze", [flat, graph.constant([0], np.int64)])

    def project(x, name, rows, columns):
        return graph.op("MatMul", [x, graph.weight(f"experts.{name}.weight", [experts, rows, columns], 1.0 / rows)])

    gate = project(tokens, "w1", width, inner)
    gate = graph.op("Mul", [gate, graph.op("Sigmoid", [gate])])
    y = project(graph.op("Mul", [gate, project(tokens, "w3", width, inner)]), "w2", inner, width)
    y = graph.op("ReduceSum", [graph.op("Mul", [y, routing]), graph.constant([0], np.int64)], keepdims=0)
    y = graph.op("Add", [x, graph.op("Reshape", [y, graph.constant([1, sequence, width], np.int64)])])
    graph.output(y, "output", "f32", [1, sequence, width])
