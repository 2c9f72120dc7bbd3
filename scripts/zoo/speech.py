"""A Whisper encoder and decoder (Radford et al. 2022, table 1: tiny) in one graph, as Hugging Face's implementation
is exported: Gelu decomposed, scaled queries, cross attention to the encoder's 1500 frames, a causal mask of Trilu.
"""

import numpy as np

from zoo.transformers import LOWEST, linear


def whisper_tiny(graph, layers=4, width=384, heads=6, inner=1536, frames=3000, bands=80, tokens=32, vocabulary=51865,
                 positions=448):
    mel = graph.input("input_features", "f32", [1, bands, frames])
    ids = graph.input("decoder_input_ids", "i64", [1, tokens])
    head = width // heads

    def gelu(x):
        bent = graph.op("Erf", [graph.op("Div", [x, graph.constant(float(np.sqrt(2.0)))])])
        x = graph.op("Mul", [x, graph.op("Add", [bent, graph.constant(1.0)])])
        return graph.op("Mul", [x, graph.constant(0.5)])

    def norm(x, name):
        return graph.op("LayerNormalization", [x, graph.weight(f"{name}.weight", [width], 1),
                                               graph.weight(f"{name}.bias", [width], 0.01)], axis=-1, epsilon=1e-5)

    def attention(x, memory, name, queries, keys, mask=None):
        graph.scope = f"/{name}"

        def split(value, part, length, bias):
            value = linear(graph, value, f"{name}.{part}_proj", width, width, bias=bias)
            if part == "q":
                value = graph.op("Mul", [value, graph.constant(float(head) ** -0.5)])
            value = graph.op("Reshape", [value, graph.constant([1, length, heads, head], np.int64)])
            return graph.op("Transpose", [value], perm=[0, 2, 3, 1] if part == "k" else [0, 2, 1, 3])

        scores = graph.op("MatMul", [split(x, "q", queries, True), split(memory, "k", keys, False)])
        scores = graph.op("Add", [scores, mask]) if mask else scores
        y = graph.op("MatMul", [graph.op("Softmax", [scores], axis=-1), split(memory, "v", keys, True)])
        y = graph.op("Reshape", [graph.op("Transpose", [y], perm=[0, 2, 1, 3]),
                                 graph.constant([1, queries, width], np.int64)])
        return linear(graph, y, f"{name}.out_proj", width, width)

    def feed_forward(x, name):
        graph.scope = f"/{name}"
        y = gelu(linear(graph, norm(x, f"{name}.final_layer_norm"), f"{name}.fc1", width, inner))
        return graph.op("Add", [x, linear(graph, y, f"{name}.fc2", inner, width)])

    graph.scope = "/encoder"
    x = mel
    for place, (channels, stride) in enumerate(((bands, 1), (width, 2)), 1):
        x = graph.op("Conv", [x, graph.weight(f"encoder.conv{place}.weight", [width, channels, 3]),
                              graph.weight(f"encoder.conv{place}.bias", [width], 0.01)], dilations=[1], group=1,
                     kernel_shape=[3], pads=[1, 1], strides=[stride])
        x = gelu(x)
    length = frames // 2
    x = graph.op("Transpose", [x], perm=[0, 2, 1])
    x = graph.op("Add", [x, graph.weight("encoder.embed_positions.weight", [length, width], 0.02)])
    for layer in range(layers):
        name = f"encoder.layers.{layer}"
        y = norm(x, f"{name}.self_attn_layer_norm")
        x = graph.op("Add", [x, attention(y, y, f"{name}.self_attn", length, length)])
        x = feed_forward(x, name)
    states = norm(x, "encoder.layer_norm")

    graph.scope = "/decoder"
    x = graph.op("Gather", [graph.weight("decoder.embed_tokens.weight", [vocabulary, width], 0.02), ids])
    places = graph.op("Slice", [graph.weight("decoder.embed_positions.weight", [positions, width], 0.02),
                                graph.constant([0], np.int64), graph.constant([tokens], np.int64),
                                graph.constant([0], np.int64)])
    x = graph.op("Add", [x, places])
    lowest = graph.op("Expand", [graph.constant(LOWEST), graph.constant([1, 1, tokens, tokens], np.int64)])
    mask = graph.op("Trilu", [lowest, graph.constant(1, np.int64)], upper=1)
    for layer in range(layers):
        name = f"decoder.layers.{layer}"
        y = norm(x, f"{name}.self_attn_layer_norm")
        x = graph.op("Add", [x, attention(y, y, f"{name}.self_attn", tokens, tokens, mask)])
        y = norm(x, f"{name}.encoder_attn_layer_norm")
        x = graph.op("Add", [x, attention(y, states, f"{name}.encoder_attn", tokens, length)])
        x = feed_forward(x, name)
    graph.scope = "/proj_out"
    logits = graph.op("MatMul", [norm(x, "decoder.layer_norm"),
                                 graph.weight("proj_out.weight", [width, vocabulary], 1.0 / width)])
    graph.output(logits, "logits", "f32", [1, tokens, vocabulary])
