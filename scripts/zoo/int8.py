"""ResNet-50 quantised to 8 bits in the form of QDQ nodes, as onnxruntime's static quantisation and PyTorch's exporter
write it.

Weights are i8 with a scale for each filter, biases i32, activations u8 with one scale and a zero point.
DequantizeLinear stands behind every weight and activation, QuantizeLinear before the latter; additions and the pool
are quantised too.
"""

import numpy as np

from zoo.cnns import RESNET50


def resnet50_int8(graph, size=224, stem=64, stages=RESNET50, classes=1000):
    image = graph.input("input", "f32", [1, 3, size, size])

    def activation(x, name, scale=0.05, zero=0):
        """Quantised and dequantised again."""
        steps = graph.initializer(f"{name}_scale", np.array(scale, np.float32))
        shift = graph.initializer(f"{name}_zero_point", np.array(zero, np.uint8))
        return graph.op("DequantizeLinear", [graph.op("QuantizeLinear", [x, steps, shift]), steps, shift])

    def weight(name, shape):
        filters = shape[0]
        fan_in = int(np.prod(shape[1:]))
        step = 1.0 / (24 * np.sqrt(fan_in))
        parts = [graph.weight(f"{name}.weight_quantized", shape, 8, "i8"),
                 graph.weight(f"{name}.weight_scale", [filters], step),
                 graph.weight(f"{name}.weight_zero_point", [filters], 0, "i8")]
        bias = [graph.weight(f"{name}.bias_quantized", [filters], 10, "i32"),
                graph.weight(f"{name}.bias_scale", [filters], step * 0.05),
                graph.weight(f"{name}.bias_zero_point", [filters], 0, "i32")]
        return [graph.op("DequantizeLinear", part, axis=0) for part in (parts, bias)]

    def conv(x, name, channels, filters, kernel, stride, relu=True):
        x = graph.op("Conv", [x, *weight(name, [filters, channels, kernel, kernel])], dilations=[1, 1], group=1,
                     kernel_shape=[kernel, kernel], pads=[kernel // 2] * 4, strides=[stride, stride])
        return activation(graph.op("Relu", [x]), name) if relu else activation(x, name, zero=128)

    x = conv(activation(image, "input", 0.0187, 114), "conv1", 3, stem, 7, 2)
    x = graph.op("MaxPool", [x], ceil_mode=0, dilations=[1, 1], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    x = activation(x, "maxpool")
    channels = stem
    for layer, (width, filters, blocks, first_stride) in enumerate(stages, 1):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            name = f"layer{layer}.{block}"
            graph.scope = f"/layer{layer}/{name}"
            y = conv(x, f"{name}.conv1", channels, width, 1, 1)
            y = conv(y, f"{name}.conv2", width, width, 3, stride)
            y = conv(y, f"{name}.conv3", width, filters, 1, 1, relu=False)
            if block == 0:
                x = conv(x, f"{name}.downsample", channels, filters, 1, stride, relu=False)
            x = activation(graph.op("Relu", [graph.op("Add", [y, x])]), f"{name}.sum", 0.0613)
            channels = filters
    graph.scope = ""
    x = activation(graph.op("GlobalAveragePool", [x]), "avgpool", 0.04)
    x = graph.op("Flatten", [x], axis=1)
    x = graph.op("Gemm", [x, *weight("fc", [classes, channels])], alpha=1.0, beta=1.0, transB=1)
    graph.output(activation(x, "fc", 0.05, 128), "output", "f32", [1, classes])
