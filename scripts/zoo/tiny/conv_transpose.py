"""Transposed convolutions: every attribute, one to three spatial dimensions."""

from zoo.tiny.writer import TinyGraph


def conv_transpose():
    """Upsampling as decoders do it: 2x2 stride 2, 4x4 stride 2 padding 1, 3x3 with output_padding, bias, then Relu."""
    g = TinyGraph("conv_transpose")
    x = g.input("x", "f32", [2, 4, 5, 5])
    y = g.op("ConvTranspose", [x, g.weight("wa", [4, 3, 2, 2]), g.weight("ba", [3])], kernel_shape=[2, 2],
             strides=[2, 2])
    g.outputs_of([g.op("Relu", [y])])
    y = g.op("ConvTranspose", [y, g.weight("wb", [3, 2, 4, 4]), g.weight("bb", [2])], kernel_shape=[4, 4],
             strides=[2, 2], pads=[1, 1, 1, 1])
    g.outputs_of([g.op("Sigmoid", [y])])
    g.outputs_of([g.op("ConvTranspose", [x, g.weight("wc", [4, 2, 3, 3])], strides=[2, 2], pads=[1, 1, 1, 1],
                       output_padding=[1, 1])])
    return g


def conv_transpose_forms():
    """Groups, depthwise, dilations, uneven kernels, strides and pads, stride 1."""
    g = TinyGraph("conv_transpose_forms")
    x = g.input("x", "f32", [1, 6, 4, 5])
    g.outputs_of([
        g.op("ConvTranspose", [x, g.weight("wa", [6, 2, 3, 3]), g.weight("ba", [4])], group=2, strides=[2, 1]),
        g.op("ConvTranspose", [x, g.weight("wb", [6, 1, 3, 2])], group=6, pads=[0, 1, 2, 0], strides=[2, 3]),
        g.op("ConvTranspose", [x, g.weight("wc", [6, 3, 2, 3])], dilations=[3, 2], strides=[1, 2]),
        g.op("ConvTranspose", [x, g.weight("wd", [6, 3, 3, 3])], pads=[1, 1, 1, 1]),
        g.op("ConvTranspose", [x, g.weight("we", [6, 3, 3, 2])], group=3, dilations=[2, 1], strides=[3, 2],
             output_padding=[2, 1], pads=[2, 0, 1, 1]),
    ])
    return g


def conv_transpose_auto_pad():
    """SAME_UPPER, SAME_LOWER, VALID, and output_shape with and without them."""
    g = TinyGraph("conv_transpose_auto_pad")
    x = g.input("x", "f32", [1, 2, 4, 4])
    weight = g.weight("w", [2, 3, 3, 3])
    g.outputs_of([
        g.op("ConvTranspose", [x, weight], auto_pad="SAME_UPPER", strides=[2, 2]),
        g.op("ConvTranspose", [x, weight], auto_pad="SAME_LOWER", strides=[2, 2]),
        g.op("ConvTranspose", [x, weight], auto_pad="VALID", strides=[2, 2]),
        g.op("ConvTranspose", [x, weight], output_shape=[8, 8], strides=[2, 2]),
        g.op("ConvTranspose", [x, weight], output_shape=[10, 8], auto_pad="SAME_UPPER", strides=[3, 2]),
    ])
    return g


def conv_transpose_1d_3d():
    g = TinyGraph("conv_transpose_1d_3d")
    x = g.input("x", "f32", [2, 3, 7])
    y = g.input("y", "f32", [1, 2, 3, 2, 3])
    g.outputs_of([
        g.op("ConvTranspose", [x, g.weight("wa", [3, 4, 4]), g.weight("ba", [4])], strides=[2], pads=[1, 1]),
        g.op("ConvTranspose", [y, g.weight("wb", [2, 3, 2, 3, 2])], strides=[2, 1, 2], pads=[0, 1, 0, 1, 1, 0]),
    ])
    return g


MODELS = [conv_transpose, conv_transpose_forms, conv_transpose_auto_pad, conv_transpose_1d_3d]
