"""Convolutional networks for images: MobileNetV2 (Sandler et al. 2018, table 2), ResNet-50 (He et al. 2015, table 1,
stride in the 3x3 convolution), ResNeXt-50 32x4d (Xie et al. 2017, table 1), VGG-16 (Simonyan and Zisserman 2014,
table 1 D) and EfficientNet-B0 (Tan and Le 2019, table 1).

All as torchvision's models come out of an exporter. MobileNetV2 keeps its BatchNormalization nodes; in the others
they are folded into the convolutions' weights and biases, as exporters do for inference. Arguments are the published
sizes by default.
"""

MOBILENET_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
RESNET50 = ((64, 256, 3, 1), (128, 512, 4, 2), (256, 1024, 6, 2), (512, 2048, 3, 2))
RESNEXT50 = ((128, 256, 3, 1), (256, 512, 4, 2), (512, 1024, 6, 2), (1024, 2048, 3, 2))
VGG16 = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))
EFFICIENTNET_B0 = ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
                   (6, 192, 4, 2, 5), (6, 320, 1, 1, 3))


def mobilenet_v2(graph, size=224, stem=32, stages=MOBILENET_V2, head=1280, classes=1000):
    """`stages`: expansion, channels, repeats, stride of the first."""
    x = graph.input("input", "f32", [1, 3, size, size])

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
    x = conv_norm(x, "features.0", 3, stem, 3, 2, 1, True)
    channels = stem
    position = 1
    for expand, filters, repeats, first_stride in stages:
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
    x = conv_norm(x, f"features.{position}", channels, head, 1, 1, 1, True)

    graph.scope = ""
    x = graph.op("GlobalAveragePool", [x])
    x = graph.op("Flatten", [x], axis=1)
    graph.scope = "/classifier/classifier.1"
    x = graph.op("Gemm", [x, graph.weight("classifier.1.weight", [classes, head]),
                          graph.weight("classifier.1.bias", [classes], 0.01)], alpha=1.0, beta=1.0, transB=1)
    graph.output(x, "output", "f32", [1, classes])


def resnet50(graph, size=224, stem=64, stages=RESNET50, groups=1, classes=1000):
    """`stages`: width of the 3x3 convolution, channels, blocks, stride of the first."""
    x = graph.input("input", "f32", [1, 3, size, size])

    def conv(x, name, channels, filters, kernel, stride, groups=1):
        pad = kernel // 2
        return graph.op("Conv", [x, graph.weight(f"{name}.weight", [filters, channels // groups, kernel, kernel]),
                                 graph.weight(f"{name}.bias", [filters], 0.01)],
                        name=f"{name.rsplit('.', 1)[-1]}/Conv", dilations=[1, 1], group=groups,
                        kernel_shape=[kernel, kernel], pads=[pad] * 4, strides=[stride, stride])

    x = conv(x, "conv1", 3, stem, 7, 2)
    x = graph.op("Relu", [x])
    x = graph.op("MaxPool", [x], ceil_mode=0, dilations=[1, 1], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    channels = stem
    for layer, (width, filters, blocks, first_stride) in enumerate(stages, 1):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            name = f"layer{layer}.{block}"
            graph.scope = f"/layer{layer}/{name}"
            y = graph.op("Relu", [conv(x, f"{name}.conv1", channels, width, 1, 1)])
            y = graph.op("Relu", [conv(y, f"{name}.conv2", width, width, 3, stride, groups)])
            y = conv(y, f"{name}.conv3", width, filters, 1, 1)
            if block == 0:
                x = conv(x, f"{name}.downsample", channels, filters, 1, stride)
            x = graph.op("Relu", [graph.op("Add", [y, x])])
            channels = filters

    graph.scope = ""
    x = graph.op("GlobalAveragePool", [x], name="avgpool/GlobalAveragePool")
    x = graph.op("Flatten", [x], axis=1)
    x = graph.op("Gemm", [x, graph.weight("fc.weight", [classes, channels]), graph.weight("fc.bias", [classes], 0.01)],
                 name="fc/Gemm", alpha=1.0, beta=1.0, transB=1)
    graph.output(x, "output", "f32", [1, classes])


def vgg16(graph, size=224, stages=VGG16, hidden=4096, classes=1000):
    """`stages`: channels, convolutions. A Dropout leaves no node; the pool to 7x7 is none at this size."""
    x = graph.input("input", "f32", [1, 3, size, size])
    channels, position = 3, 0
    for filters, convolutions in stages:
        for _ in range(convolutions):
            name = f"features.{position}"
            graph.scope = f"/features/{name}"
            x = graph.op("Conv", [x, graph.weight(f"{name}.weight", [filters, channels, 3, 3]),
                                  graph.weight(f"{name}.bias", [filters], 0.01)], dilations=[1, 1], group=1,
                         kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
            x = graph.op("Relu", [x])
            channels = filters
            position += 2
        x = graph.op("MaxPool", [x], ceil_mode=0, dilations=[1, 1], kernel_shape=[2, 2], pads=[0, 0, 0, 0], strides=[2, 2])
        position += 1
        size //= 2
    graph.scope = ""
    x = graph.op("Flatten", [x], axis=1)
    rows = channels * size * size
    for place, columns in ((0, hidden), (3, hidden), (6, classes)):
        graph.scope = f"/classifier/classifier.{place}"
        x = graph.op("Gemm", [x, graph.weight(f"classifier.{place}.weight", [columns, rows]),
                              graph.weight(f"classifier.{place}.bias", [columns], 0.01)], alpha=1.0, beta=1.0, transB=1)
        x = graph.op("Relu", [x]) if place < 6 else x
        rows = columns
    graph.output(x, "output", "f32", [1, classes])


def efficientnet_b0(graph, size=224, stem=32, stages=EFFICIENTNET_B0, head=1280, classes=1000):
    """`stages`: expansion, channels, repeats, stride of the first, kernel. SiLU is Sigmoid and Mul."""
    x = graph.input("input", "f32", [1, 3, size, size])

    def silu(x):
        return graph.op("Mul", [x, graph.op("Sigmoid", [x])])

    def conv(x, name, channels, filters, kernel, stride=1, groups=1):
        return graph.op("Conv", [x, graph.weight(f"{name}.weight", [filters, channels // groups, kernel, kernel]),
                                 graph.weight(f"{name}.bias", [filters], 0.01)], dilations=[1, 1], group=groups,
                        kernel_shape=[kernel, kernel], pads=[kernel // 2] * 4, strides=[stride, stride])

    graph.scope = "/features/features.0"
    x = silu(conv(x, "features.0.0", 3, stem, 3, 2))
    channels = stem
    for position, (expand, filters, repeats, first_stride, kernel) in enumerate(stages, 1):
        for repeat in range(repeats):
            stride = first_stride if repeat == 0 else 1
            name = f"features.{position}.{repeat}.block"
            graph.scope = f"/features/features.{position}/features.{position}.{repeat}"
            hidden = channels * expand
            y = silu(conv(x, f"{name}.0", channels, hidden, 1)) if expand != 1 else x
            y = silu(conv(y, f"{name}.1", hidden, hidden, kernel, stride, hidden))
            squeezed = max(1, channels // 4)
            scale = silu(conv(graph.op("GlobalAveragePool", [y]), f"{name}.2.fc1", hidden, squeezed, 1))
            scale = graph.op("Sigmoid", [conv(scale, f"{name}.2.fc2", squeezed, hidden, 1)])
            y = conv(graph.op("Mul", [scale, y]), f"{name}.3", hidden, filters, 1)
            x = graph.op("Add", [y, x]) if stride == 1 and channels == filters else y
            channels = filters
    graph.scope = "/features/features.8"
    x = silu(conv(x, "features.8.0", channels, head, 1))
    graph.scope = ""
    x = graph.op("Flatten", [graph.op("GlobalAveragePool", [x])], axis=1)
    graph.scope = "/classifier/classifier.1"
    x = graph.op("Gemm", [x, graph.weight("classifier.1.weight", [classes, head]),
                          graph.weight("classifier.1.bias", [classes], 0.01)], alpha=1.0, beta=1.0, transB=1)
    graph.output(x, "output", "f32", [1, classes])
