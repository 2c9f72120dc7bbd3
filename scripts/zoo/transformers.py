"""BERT-base (Devlin et al. 2018) and GPT-2 small (Radford et al. 2019), node for node as the usual PyTorch
implementations are exported: shape arithmetic where the code asks a tensor for its size, normalisations and
activations as the opset allows.
"""

import numpy as np

LOWEST = float(np.finfo(np.float32).min)


def linear(graph, x, name, rows, columns, bias=True):
    """`torch.nn.Linear` on a tensor above rank 2: the exporter transposes the weight and writes MatMul, then Add."""
    weight = graph.weight(f"{name}.weight", [rows, columns], 1.0 / rows)
    x = graph.op("MatMul", [x, weight])
    return graph.op("Add", [graph.weight(f"{name}.bias", [columns], 0.01), x]) if bias else x


def size_of(graph, x, axis):
    """`x.size(axis)` as a scalar: Shape, then Gather."""
    return graph.op("Gather", [graph.op("Shape", [x]), graph.constant(axis, np.int64)], axis=0)


def stack_sizes(graph, pieces):
    """A shape from scalars and numbers: Unsqueeze and Concat, the numbers as Constant nodes."""
    parts = []
    for piece in pieces:
        if isinstance(piece, int):
            parts.append(graph.constant([piece], np.int64))
        else:
            parts.append(graph.op("Unsqueeze", [piece, graph.constant([0], np.int64)]))
    return graph.op("Concat", parts, axis=0)


def decomposed_layer_norm(graph, x, name, width, epsilon):
    """LayerNorm before opset 17: ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add."""
    centred = graph.op("Sub", [x, graph.op("ReduceMean", [x], axes=[-1])])
    squared = graph.op("Pow", [centred, graph.constant(2.0)])
    variance = graph.op("ReduceMean", [squared], axes=[-1])
    deviation = graph.op("Sqrt", [graph.op("Add", [variance, graph.constant(epsilon)])])
    x = graph.op("Div", [centred, deviation])
    x = graph.op("Mul", [x, graph.weight(f"{name}.weight", [width], 1)])
    return graph.op("Add", [x, graph.weight(f"{name}.bias", [width], 0.01)])


def bert_base(graph, layers=12, width=768, heads=12, inner=3072, sequence=128, vocabulary=30522, positions=512):
    ids = graph.input("input_ids", "i64", [1, sequence])
    mask = graph.input("attention_mask", "i64", [1, sequence])
    segments = graph.input("token_type_ids", "i64", [1, sequence])
    head = width // heads

    widened = graph.op("Unsqueeze", [mask, graph.constant([1], np.int64)])
    widened = graph.op("Unsqueeze", [widened, graph.constant([2], np.int64)])
    widened = graph.op("Cast", [widened], to=1)
    mask = graph.op("Mul", [graph.op("Sub", [graph.constant(1.0), widened]), graph.constant(LOWEST)])

    graph.scope = "/embeddings"
    end = graph.op("Unsqueeze", [size_of(graph, ids, 1), graph.constant([0], np.int64)])
    all_positions = graph.initializer("embeddings.position_ids", np.arange(positions, dtype=np.int64)[None])
    position_ids = graph.op("Slice", [all_positions, graph.constant([0], np.int64), end,
                                      graph.constant([1], np.int64), graph.constant([1], np.int64)])
    words = graph.op("Gather", [graph.weight("embeddings.word.weight", [vocabulary, width], 0.02), ids])
    kinds = graph.op("Gather", [graph.weight("embeddings.token_type.weight", [2, width], 0.02), segments])
    places = graph.op("Gather", [graph.weight("embeddings.position.weight", [positions, width], 0.02), position_ids])
    x = graph.op("Add", [graph.op("Add", [words, kinds]), places])
    x = decomposed_layer_norm(graph, x, "embeddings.LayerNorm", width, 1e-12)

    for layer in range(layers):
        name = f"layer.{layer}"
        graph.scope = f"/{name}/attention"

        def split_heads(value, order):
            shape = stack_sizes(graph, [size_of(graph, value, 0), size_of(graph, value, 1), heads, head])
            return graph.op("Transpose", [graph.op("Reshape", [value, shape])], perm=order)

        query = linear(graph, x, f"{name}.query", width, width)
        key = split_heads(linear(graph, x, f"{name}.key", width, width), [0, 2, 3, 1])
        value = split_heads(linear(graph, x, f"{name}.value", width, width), [0, 2, 1, 3])
        query = split_heads(query, [0, 2, 1, 3])
        scores = graph.op("Div", [graph.op("MatMul", [query, key]), graph.constant(float(np.sqrt(head)))])
        weights = graph.op("Softmax", [graph.op("Add", [scores, mask])], axis=-1)
        context = graph.op("Transpose", [graph.op("MatMul", [weights, value])], perm=[0, 2, 1, 3])
        shape = stack_sizes(graph, [size_of(graph, context, 0), size_of(graph, context, 1), width])
        context = graph.op("Reshape", [context, shape])
        x = graph.op("Add", [linear(graph, context, f"{name}.attention.output", width, width), x])
        x = decomposed_layer_norm(graph, x, f"{name}.attention.LayerNorm", width, 1e-12)

        graph.scope = f"/{name}"
        y = linear(graph, x, f"{name}.intermediate", width, inner)
        bent = graph.op("Erf", [graph.op("Div", [y, graph.constant(float(np.sqrt(2.0)))])])
        y = graph.op("Mul", [y, graph.op("Add", [bent, graph.constant(1.0)])])
        y = graph.op("Mul", [y, graph.constant(0.5)])
        x = graph.op("Add", [linear(graph, y, f"{name}.output", inner, width), x])
        x = decomposed_layer_norm(graph, x, f"{name}.LayerNorm", width, 1e-12)

    graph.scope = "/pooler"
    first = graph.op("Gather", [x, graph.constant(0, np.int64)], axis=1)
    pooled = graph.op("Gemm", [first, graph.weight("pooler.weight", [width, width]),
                               graph.weight("pooler.bias", [width], 0.01)], alpha=1.0, beta=1.0, transB=1)
    pooled = graph.op("Tanh", [pooled])
    graph.output(x, "last_hidden_state", "f32", [1, sequence, width])
    graph.output(pooled, "pooler_output", "f32", [1, width])


def gpt2(graph, layers=12, width=768, heads=12, sequence=128, vocabulary=50257, positions=1024, mask_size=144):
    """The causal mask is a slice of a constant triangle; the original's side is 1024, here 144 keeps the file small."""
    ids = graph.input("input_ids", "i64", [1, sequence])
    head = width // heads
    triangle = graph.initializer("attn.bias", np.tril(np.ones((1, 1, mask_size, mask_size), bool)))

    def layer_norm(x, name):
        return graph.op("LayerNormalization", [x, graph.weight(f"{name}.weight", [width], 1),
                                               graph.weight(f"{name}.bias", [width], 0.01)], axis=-1, epsilon=1e-5)

    def flat_linear(x, name, rows, columns):
        """The original's `Conv1D`: rows flattened, Gemm on the untransposed weight, shape restored."""
        sizes = [size_of(graph, x, 0), size_of(graph, x, 1), columns]
        x = graph.op("Reshape", [x, graph.constant([-1, rows], np.int64)])
        x = graph.op("Gemm", [x, graph.weight(f"{name}.weight", [rows, columns], 1.0 / rows),
                              graph.weight(f"{name}.bias", [columns], 0.01)], alpha=1.0, beta=1.0)
        return graph.op("Reshape", [x, stack_sizes(graph, sizes)])

    graph.scope = "/transformer"
    token_ids = graph.op("Reshape", [ids, graph.constant([-1, sequence], np.int64)])
    places = graph.initializer("position_ids", np.arange(sequence, dtype=np.int64)[None])
    x = graph.op("Add", [graph.op("Gather", [graph.weight("wte.weight", [vocabulary, width], 0.02), token_ids]),
                         graph.op("Gather", [graph.weight("wpe.weight", [positions, width], 0.02), places])])
    for layer in range(layers):
        name = f"h.{layer}"
        graph.scope = f"/{name}/attn"
        y = flat_linear(layer_norm(x, f"{name}.ln_1"), f"{name}.attn.c_attn", width, 3 * width)
        pieces = graph.op("Split", [y, graph.constant([width] * 3, np.int64)], outputs=3, axis=2)

        def split_heads(value, order):
            shape = stack_sizes(graph, [size_of(graph, value, 0), size_of(graph, value, 1), heads, head])
            return graph.op("Transpose", [graph.op("Reshape", [value, shape])], perm=order)

        query = split_heads(pieces[0], [0, 2, 1, 3])
        key = split_heads(pieces[1], [0, 2, 3, 1])
        value = split_heads(pieces[2], [0, 2, 1, 3])
        scores = graph.op("Div", [graph.op("MatMul", [query, key]), graph.constant(float(np.sqrt(head)))])
        queries, keys = size_of(graph, scores, 2), size_of(graph, scores, 3)
        zero, one = graph.constant([0], np.int64), graph.constant([1], np.int64)
        start = graph.op("Unsqueeze", [graph.op("Sub", [keys, queries]), zero])
        end = graph.op("Unsqueeze", [keys, zero])
        causal = graph.op("Slice", [triangle, start, end, graph.constant([2], np.int64), one])
        causal = graph.op("Slice", [causal, zero, end, graph.constant([3], np.int64), one])
        scores = graph.op("Where", [causal, scores, graph.constant(LOWEST)])
        context = graph.op("MatMul", [graph.op("Softmax", [scores], axis=-1), value])
        context = graph.op("Transpose", [context], perm=[0, 2, 1, 3])
        shape = stack_sizes(graph, [size_of(graph, context, 0), size_of(graph, context, 1), width])
        context = graph.op("Reshape", [context, shape])
        x = graph.op("Add", [flat_linear(context, f"{name}.attn.c_proj", width, width), x])

        graph.scope = f"/{name}/mlp"
        y = flat_linear(layer_norm(x, f"{name}.ln_2"), f"{name}.mlp.c_fc", width, 4 * width)
        halved = graph.op("Mul", [y, graph.constant(0.5)])
        cubed = graph.op("Mul", [graph.op("Pow", [y, graph.constant(3.0)]), graph.constant(0.044715)])
        scaled = graph.op("Mul", [graph.op("Add", [y, cubed]), graph.constant(float(np.sqrt(2.0 / np.pi)))])
        y = graph.op("Mul", [halved, graph.op("Add", [graph.op("Tanh", [scaled]), graph.constant(1.0)])])
        x = graph.op("Add", [x, flat_linear(y, f"{name}.mlp.c_proj", 4 * width, width)])

    graph.scope = "/lm_head"
    x = layer_norm(x, "ln_f")
    logits = graph.op("MatMul", [x, graph.weight("lm_head.weight", [width, vocabulary], 1.0 / width)])
    graph.output(logits, "logits", "f32", [1, sequence, vocabulary])
