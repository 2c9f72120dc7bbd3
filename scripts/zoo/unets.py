"""A U-Net for segmentation (Ronneberger et al. 2015, as the brain MRI model of PyTorch Hub: 256x256, 32 features,
BatchNorm folded) and an upsampling stage of a diffusion model's U-Net (Rombach et al. 2022): residual block with a
timestep's embedding, transformer block with self and cross attention and a gated Gelu, nearest Resize with a
convolution.
"""

import numpy as np

from zoo.transformers import linear


def conv(graph, x, name, channels, filters, kernel=3, stride=1):
    return graph.op("Conv", [x, graph.weight(f"{name}.weight", [filters, channels, kernel, kernel]),
                             graph.weight(f"{name}.bias", [filters], 0.01)], dilations=[1, 1], group=1,
                    kernel_shape=[kernel, kernel], pads=[kernel // 2] * 4, strides=[stride, stride])


def unet(graph, size=256, features=32, levels=4):
    x = graph.input("input", "f32", [1, 3, size, size])

    def block(x, name, channels, filters):
        graph.scope = f"/{name}"
        x = graph.op("Relu", [conv(graph, x, f"{name}.conv1", channels, filters)])
        return graph.op("Relu", [conv(graph, x, f"{name}.conv2", filters, filters)])

    skips = []
    channels = 3
    for level in range(levels):
        filters = features << level
        x = block(x, f"encoder{level + 1}", channels, filters)
        skips.append(x)
        x = graph.op("MaxPool", [x], ceil_mode=0, dilations=[1, 1], kernel_shape=[2, 2], pads=[0, 0, 0, 0], strides=[2, 2])
        channels = filters
    x = block(x, "bottleneck", channels, channels * 2)
    for level in reversed(range(levels)):
        filters = features << level
        graph.scope = f"/upconv{level + 1}"
        name = f"upconv{level + 1}"
        x = graph.op("ConvTranspose", [x, graph.weight(f"{name}.weight", [filters * 2, filters, 2, 2], 0.5 / filters),
                                       graph.weight(f"{name}.bias", [filters], 0.01)], dilations=[1, 1], group=1,
                     kernel_shape=[2, 2], pads=[0, 0, 0, 0], strides=[2, 2])
        x = graph.op("Concat", [x, skips[level]], axis=1)
        x = block(x, f"decoder{level + 1}", filters * 2, filters)
    graph.scope = ""
    x = graph.op("Sigmoid", [conv(graph, x, "conv", features, 1, 1)])
    graph.output(x, "output", "f32", [1, 1, size, size])


def diffusion_block(graph, size=32, channels=640, filters=320, groups=32, heads=8, tokens=77, text=768, embedding=1280):
    """The sample, the other path's sample that is joined to it, the timestep and the text's hidden states come in."""
    sample = graph.input("sample", "f32", [1, channels, size, size])
    skip = graph.input("skip", "f32", [1, filters, size, size])
    timestep = graph.input("timestep", "f32", [1])
    states = graph.input("encoder_hidden_states", "f32", [1, tokens, text])

    def silu(x):
        return graph.op("Mul", [x, graph.op("Sigmoid", [x])])

    def group_norm(x, name, width, epsilon=1e-5):
        """Before opset 21: InstanceNormalization over channels that are groups, then a scale and a shift for each channel."""
        scale, shift = graph.weight(f"{name}.weight", [width, 1, 1], 1), graph.weight(f"{name}.bias", [width, 1, 1], 0.01)
        ones, zeros = graph.constant(np.ones(groups)), graph.constant(np.zeros(groups))
        flat = graph.op("Reshape", [x, graph.constant([0, groups, -1], np.int64)])
        flat = graph.op("InstanceNormalization", [flat, ones, zeros], epsilon=epsilon)
        x = graph.op("Reshape", [flat, graph.op("Shape", [x])])
        return graph.op("Add", [graph.op("Mul", [x, scale]), shift])

    def gemm(x, name, rows, columns):
        return graph.op("Gemm", [x, graph.weight(f"{name}.weight", [columns, rows]),
                                 graph.weight(f"{name}.bias", [columns], 0.01)], alpha=1.0, beta=1.0, transB=1)

    graph.scope = "/time_embedding"
    half = filters // 2
    frequencies = np.exp(-np.log(10000.0) * np.arange(half) / half).astype(np.float32)
    angles = graph.op("Mul", [graph.op("Unsqueeze", [timestep, graph.constant([1], np.int64)]),
                              graph.initializer("time.frequencies", frequencies[None])])
    time = graph.op("Concat", [graph.op("Cos", [angles]), graph.op("Sin", [angles])], axis=-1)
    time = gemm(silu(gemm(time, "time.linear_1", filters, embedding)), "time.linear_2", embedding, embedding)

    graph.scope = "/resnet"
    x = graph.op("Concat", [sample, skip], axis=1)
    joined = channels + filters
    y = conv(graph, silu(group_norm(x, "resnet.norm1", joined)), "resnet.conv1", joined, filters)
    shift = gemm(silu(time), "resnet.time_emb_proj", embedding, filters)
    for axis in (2, 3):
        shift = graph.op("Unsqueeze", [shift, graph.constant([axis], np.int64)])
    y = silu(group_norm(graph.op("Add", [y, shift]), "resnet.norm2", filters))
    y = conv(graph, y, "resnet.conv2", filters, filters)
    x = graph.op("Add", [conv(graph, x, "resnet.conv_shortcut", joined, filters, 1), y])

    graph.scope = "/attention"
    residual = x
    x = conv(graph, group_norm(x, "norm", filters, 1e-6), "proj_in", filters, filters, 1)
    x = graph.op("Transpose", [x], perm=[0, 2, 3, 1])
    x = graph.op("Reshape", [x, graph.constant([1, size * size, filters], np.int64)])

    def layer_norm(x, name):
        return graph.op("LayerNormalization", [x, graph.weight(f"{name}.weight", [filters], 1),
                                               graph.weight(f"{name}.bias", [filters], 0.01)], axis=-1, epsilon=1e-5)

    def attention(x, memory, name, length, width):
        head = filters // heads

        def split(value, rows, length, part):
            value = linear(graph, value, f"{name}.to_{part}", rows, filters, bias=False)
            value = graph.op("Reshape", [value, graph.constant([1, length, heads, head], np.int64)])
            return graph.op("Transpose", [value], perm=[0, 2, 3, 1] if part == "k" else [0, 2, 1, 3])

        query = split(x, filters, size * size, "q")
        key, value = (split(memory, width, length, part) for part in "kv")
        scores = graph.op("Mul", [graph.op("MatMul", [query, key]), graph.constant(float(head) ** -0.5)])
        y = graph.op("MatMul", [graph.op("Softmax", [scores], axis=-1), value])
        y = graph.op("Reshape", [graph.op("Transpose", [y], perm=[0, 2, 1, 3]),
                                 graph.constant([1, size * size, filters], np.int64)])
        return linear(graph, y, f"{name}.to_out", filters, filters)

    y = layer_norm(x, "norm1")
    x = graph.op("Add", [attention(y, y, "attn1", size * size, filters), x])
    x = graph.op("Add", [attention(layer_norm(x, "norm2"), states, "attn2", tokens, text), x])
    y = linear(graph, layer_norm(x, "norm3"), "ff.proj", filters, filters * 8)
    value, gate = graph.op("Split", [y, graph.constant([filters * 4] * 2, np.int64)], outputs=2, axis=-1)
    bent = graph.op("Erf", [graph.op("Div", [gate, graph.constant(float(np.sqrt(2.0)))])])
    gate = graph.op("Mul", [gate, graph.op("Add", [bent, graph.constant(1.0)])])
    gate = graph.op("Mul", [gate, graph.constant(0.5)])
    x = graph.op("Add", [linear(graph, graph.op("Mul", [value, gate]), "ff.out", filters * 4, filters), x])
    x = graph.op("Reshape", [x, graph.constant([1, size, size, filters], np.int64)])
    x = conv(graph, graph.op("Transpose", [x], perm=[0, 3, 1, 2]), "proj_out", filters, filters, 1)
    x = graph.op("Add", [x, residual])

    graph.scope = "/upsampler"
    x = graph.op("Resize", [x, "", graph.constant([1, 1, 2, 2])], mode="nearest", nearest_mode="floor",
                 coordinate_transformation_mode="asymmetric", cubic_coeff_a=-0.75)
    x = conv(graph, x, "upsampler", filters, filters)
    graph.output(x, "output", "f32", [1, filters, size * 2, size * 2])
