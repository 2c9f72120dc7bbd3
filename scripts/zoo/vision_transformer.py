"""ViT-B/16 (Dosovitskiy et al. 2020, table 1) as timm's implementation comes out of an exporter of opset 20: query,
key and value from one projection, reshaped to five dimensions; the operators LayerNormalization and Gelu.
"""

import numpy as np

from zoo.transformers import linear


def vit_b16(graph, size=224, patch=16, layers=12, width=768, heads=12, inner=3072, classes=1000):
    x = graph.input("pixel_values", "f32", [1, 3, size, size])
    positions = (size // patch) ** 2
    head = width // heads

    def norm(x, name):
        return graph.op("LayerNormalization", [x, graph.weight(f"{name}.weight", [width], 1),
                                               graph.weight(f"{name}.bias", [width], 0.01)], axis=-1, epsilon=1e-6)

    graph.scope = "/patch_embed"
    x = graph.op("Conv", [x, graph.weight("patch_embed.weight", [width, 3, patch, patch]),
                          graph.weight("patch_embed.bias", [width], 0.01)], dilations=[1, 1], group=1,
                 kernel_shape=[patch, patch], pads=[0, 0, 0, 0], strides=[patch, patch])
    x = graph.op("Transpose", [graph.op("Reshape", [x, graph.constant([1, width, positions], np.int64)])], perm=[0, 2, 1])
    graph.scope = ""
    first = graph.op("Expand", [graph.weight("cls_token", [1, 1, width], 0.02), graph.constant([1, 1, width], np.int64)])
    x = graph.op("Concat", [first, x], axis=1)
    positions += 1
    x = graph.op("Add", [x, graph.weight("pos_embed", [1, positions, width], 0.02)])
    for layer in range(layers):
        name = f"blocks.{layer}"
        graph.scope = f"/{name}/attn"
        y = linear(graph, norm(x, f"{name}.norm1"), f"{name}.qkv", width, 3 * width)
        y = graph.op("Reshape", [y, graph.constant([1, positions, 3, heads, head], np.int64)])
        y = graph.op("Transpose", [y], perm=[2, 0, 3, 1, 4])
        query, key, value = (graph.op("Gather", [y, graph.constant(part, np.int64)], axis=0) for part in range(3))
        query = graph.op("Mul", [query, graph.constant(float(head) ** -0.5)])
        scores = graph.op("MatMul", [query, graph.op("Transpose", [key], perm=[0, 1, 3, 2])])
        y = graph.op("MatMul", [graph.op("Softmax", [scores], axis=-1), value])
        y = graph.op("Transpose", [y], perm=[0, 2, 1, 3])
        y = graph.op("Reshape", [y, graph.constant([1, positions, width], np.int64)])
        x = graph.op("Add", [x, linear(graph, y, f"{name}.proj", width, width)])
        graph.scope = f"/{name}/mlp"
        y = graph.op("Gelu", [linear(graph, norm(x, f"{name}.norm2"), f"{name}.fc1", width, inner)], approximate="none")
        x = graph.op("Add", [x, linear(graph, y, f"{name}.fc2", inner, width)])
    graph.scope = "/head"
    x = graph.op("Gather", [norm(x, "norm"), graph.constant(0, np.int64)], axis=1)
    x = graph.op("Gemm", [x, graph.weight("head.weight", [classes, width]), graph.weight("head.bias", [classes], 0.01)],
                 alpha=1.0, beta=1.0, transB=1)
    graph.output(x, "logits", "f32", [1, classes])
