"""MobileNetV2 (Sandler et al. 2018, table 2) and ResNet-50 (He et al. 2015, table 1, stride in the 3x3 convolution).

Both as torchvision's models come out of an exporter. MobileNetV2 keeps its BatchNormalization nodes; in ResNet-50
they are folded into the convolutions' weights and biases, as exporters do for inference.
"""

from zoo.graph import Graph


def mobilenet_v2():
    graph = Graph("mobilenet_v2")
    x = graph.input("input", "f32", [1, 3, 224, 224])

    def conv_norm(x, name, channels, filters, kernel, stride, groups, activate):
        weight = graph.weight(f"{name}.0.weight", [filters, channels // groups, kernel, kernel])
        pad = (kernel - 1) // 2
        x = graph.op("Conv", [x, weight], dilations=[1, 1], group=groups, kernel_shape=[kernel, kernel],
                     pads=[pad] * 4, strides=[stride, stride])
        parts = [graph.weight(f"{name}.1.{part}", [filters], value)
                 for part, value in (("weight", 1), ("bias", 0.01), ("running_mean", 0.01), ("running_var", 1))]
        x = graph.op("BatchNormalization", [x, *parts], epsilon=1e-5, momentum=0.9)
        if activate:
            x = graph.op("Clip", [x, graph.constant(0.0), graph.constant(6.0)])
        return x

    graph.scope = "/features/features.0"
    x = conv_norm(x, "features.0", 3, 32, 3, 2, 1, True)
    channels = 32
    position = 1
    for expand, filters, repeats, first_stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                                   (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for repeat in range(repeats):
            stride = first_stride if repeat == 0 else 1
            name = f"features.{position}"
            graph.scope = f"/features/{name}"
            hidden = channels * expand
            y = x
            if expand != 1:
                y = conv_norm(y, f"{name}.conv.0", channels, hidden, 1, 1, 1, True)
            y = conv_norm(y, f"{name}.conv.1", hidden, hidden, 3, stride, hidden, True)
            y = conv_norm(y, f"{name}.conv.2", hidden, filters, 1, 1, 1, False)
            x = graph.op("Add", [x, y]) if stride == 1 and channels == filters else y
            channels = filters
            position += 1
    graph.scope = f"/features/features.{position}"
    x = conv_norm(x, f"features.{position}", channels, 1280, 1, 1, 1, True)

    graph.scope = ""
    x = graph.op("GlobalAveragePool", [x])
    x = graph.op("Flatten", [x], axis=1)
    graph.scope = "/classifier/classifier.1"
    x = graph.op("Gemm", [x, graph.weight("classifier.1.weight", [1000, 1280]),
                          graph.weight("classifier.1.bias", [1000], 0.01)], alpha=1.0, beta=1.0, transB=1)
    graph.output(x, "output", "f32", [1, 1000])
    return graph.model()


def resnet50():
    graph = Graph("resnet50")
    x = graph.input("input", "f32", [1, 3, 224, 224])

    def conv(x, name, channels, filters, kernel, stride):
        pad = kernel // 2
        return graph.op("Conv", [x, graph.weight(f"{name}.weight", [filters, channels, kernel, kernel]),
                                 graph.weight(f"{name}.bias", [filters], 0.01)],
                        name=f"{name.rsplit('.', 1)[-1]}/Conv", dilations=[1, 1], group=1,
                        kernel_shape=[kernel, kernel], pads=[pad] * 4, strides=[stride, stride])

    x = conv(x, "conv1", 3, 64, 7, 2)
    x = graph.op("Relu", [x])
    x = graph.op("MaxPool", [x], ceil_mode=0, dilations=[1, 1], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    channels = 64
    for layer, (width, blocks, first_stride) in enumerate(((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)), 1):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            name = f"layer{layer}.{block}"
            graph.scope = f"/layer{layer}/{name}"
            y = graph.op("Relu", [conv(x, f"{name}.conv1", channels, width, 1, 1)])
            y = graph.op("Relu", [conv(y, f"{name}.conv2", width, width, 3, stride)])
            y = conv(y, f"{name}.conv3", width, width * 4, 1, 1)
            if block == 0:
                x = conv(x, f"{name}.downsample", channels, width * 4, 1, stride)
            x = graph.op("Relu", [graph.op("Add", [y, x])])
            channels = width * 4

    graph.scope = ""
    x = graph.op("GlobalAveragePool", [x], name="avgpool/GlobalAveragePool")
    x = graph.op("Flatten", [x], axis=1)
    x = graph.op("Gemm", [x, graph.weight("fc.weight", [1000, 2048]), graph.weight("fc.bias", [1000], 0.01)],
                 name="fc/Gemm", alpha=1.0, beta=1.0, transB=1)
    graph.output(x, "output", "f32", [1, 1000])
    return graph.model()
