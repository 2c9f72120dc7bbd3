"""Small twins of the ONNX project's "light" models, made node by node: fewer channels, fewer blocks, a smaller image.

Nodes are walked in order with the shapes of their results in the twin; a weight gets the shape that its user needs,
so channels follow from the counts of filters. A block is left away by the names of its
weights: its values become its input, and the Sum or Concat behind it passes that on. Operators, attributes, names and
the form of IR 3 stay.
"""

import re

import numpy as np
import onnx
from onnx import helper, numpy_helper

from zoo import catalogue
from zoo.tiny.writer import TinyGraph

CLASSES = {1000: 10}
# name: side of the image, filters (a divisor, or what each count becomes), weights of blocks that are left away
SPECIFICATIONS = {
    "light_squeezenet": (40, 16, "fire[3568]/"),
    "light_shufflenet": (40, {24: 4, 112: 12, 136: 16, 272: 32, 544: 64}, "gconv3_(2|3|5|6|7|8|9|10|11|14|15)_|"
                         "gconv1_(4|5|6|7|1[0-9]|2[0-3]|28|29|3[01])_"),
    "light_resnet50": (40, {64: 2, 128: 3, 256: 6, 512: 8, 1024: 12, 2048: 16}, "res2_2|res3_[123]|res4_[12345]|res5_[12]"),
    "light_bvlc_alexnet": (31, {96: 4, 256: 8, 384: 12, 4096: 16}, None),
    "light_inception_v1": (31, 32, "inception_(3b|4b|4c|4d|5b)/"),
    "light_inception_v2": (32, 32, "inception_(3b|4a|4b|4c|4d|5b)/"),
    "light_densenet121": (40, 16, r"conv2_[3-6]/|conv3_([3-9]|1\d)/|conv4_([3-9]|1\d|2\d)/|conv5_([3-9]|1\d)/"),
    "light_vgg19": (32, {64: 2, 128: 4, 256: 6, 512: 10, 4096: 16}, "conv[345]_[34]_"),
    "light_zfnet512": (39, {96: 4, 256: 8, 512: 12, 1024: 12, 4096: 16}, None),
}
NAMES = list(SPECIFICATIONS)
# Whose first convolution gets stride 1: else nothing is left of a small image.
STRIDE_1 = {"light_bvlc_alexnet", "light_inception_v1", "light_inception_v2", "light_zfnet512"}


class Reducer:
    def __init__(self, name):
        self.name = name
        self.side, self.filters, drop = SPECIFICATIONS[name]
        self.drop = re.compile(drop) if drop else None
        self.source = onnx.load(catalogue.light_folder() / f"{name}.onnx")
        self.g = TinyGraph(name, self.source.opset_import[0].version, self.source.ir_version)
        self.g.decimals = 2
        known = onnx.shape_inference.infer_shapes(self.source, data_prop=True).graph.value_info
        self.old = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in known}
        self.old.update({tensor.name: list(tensor.dims) for tensor in self.source.graph.initializer})
        stored = {tensor.name for tensor in self.source.graph.initializer}
        self.image = next(value.name for value in self.source.graph.input if value.name not in stored)
        self.weights = {node.output[0] for node in self.source.graph.node if node.op_type == "ConstantOfShape"}
        self.weights |= {tensor.name for tensor in self.source.graph.initializer if tensor.data_type == 1}
        self.shapes = {}
        self.alias = {}    # value: what stands for it, and whether the block that is left away goes on
        self.pending = {}  # values that are a weight behind a view

    def base(self, name):
        return self.alias.get(name, (name, False))[0]

    def count(self, filters):
        if filters in CLASSES:
            return CLASSES[filters]
        return self.filters[filters] if isinstance(self.filters, dict) else max(1, filters // self.filters)

    def parameter(self, name, shape, kind):
        """A weight of the twin, behind its view where it has one. `kind`: matrix, scale or shift."""
        view = self.pending.pop(name, None)
        stored = view.input[0] if view else name
        whole = [1] * (len(self.old[stored]) - len(shape)) + list(shape)
        draw = self.g.random
        if kind == "matrix":
            gain = 2.0 if len(shape) == 4 else 1.0
            data = draw.standard_normal(whole) * np.sqrt(gain / np.prod(shape[1:]))
        else:
            data = draw.uniform(0.5, 1.5, whole) if kind == "scale" else draw.standard_normal(whole) * 0.2
        self.g.initializer(stored, data.astype(np.float32))
        if view:
            self.g.nodes.append(view)
            if view.op_type == "Reshape":
                self.g.initializer(view.input[1], np.array(shape, np.int64))

    def windows(self, node, shape):
        """Spatial extents behind a convolution or pool; a pool over a whole image stays one."""
        values = {attribute.name: attribute for attribute in node.attribute}
        kernel = list(values["kernel_shape"].ints)
        if node.op_type == "AveragePool" and kernel[0] >= 7:
            kernel = [size - old + new for size, old, new in zip(kernel, self.old[node.input[0]][2:], shape[2:])]
            values["kernel_shape"].ints[:] = kernel
        if node.op_type == "Conv" and self.name in STRIDE_1 and node.input[0] == self.image:
            values["strides"].ints[:] = [1, 1]
        strides = list(values["strides"].ints) if "strides" in values else [1, 1]
        pads = list(values["pads"].ints) if "pads" in values else [0] * 4
        made = [(shape[2 + i] + pads[i] + pads[2 + i] - kernel[i]) // strides[i] + 1 for i in (0, 1)]
        if min(made) < 1:
            raise SystemExit(f"make_zoo: {self.name}: {node.output[0]} has no extent left")
        return made

    def conv(self, node, shape):
        filters, inputs = self.old[node.input[1]][:2]
        groups = next((attribute for attribute in node.attribute if attribute.name == "group"), None)
        if groups and inputs == 1:
            groups.i = made = shape[1]
        else:
            made = self.count(filters)
        kernel = self.old[node.input[1]][2:]
        self.parameter(node.input[1], [made, shape[1] // (groups.i if groups else 1), *kernel], "matrix")
        if len(node.input) > 2:
            self.parameter(node.input[2], [made], "shift")
        return [1, made, *self.windows(node, shape)]

    def reshape(self, node, shape):
        rank = self.old[node.input[1]][0]
        if rank == 5:
            groups = int(numpy_helper.to_array(self.initializer(node.input[1]))[1])
            made = [1, groups, shape[1] // groups, *shape[2:]]
        else:
            made = [1, int(np.prod(shape[1:]))] if rank == 2 else [1, shape[1] * shape[2], *shape[3:]]
        self.g.initializer(node.input[1], np.array(made, np.int64))
        return made

    def initializer(self, name):
        return next(tensor for tensor in self.source.graph.initializer if tensor.name == name)

    def leaves_block(self, node):
        """Whether the node belongs to a block that is left away, or ends one."""
        named = self.drop and any(name in self.weights and self.drop.search(name) for name in node.input)
        inside = [name for name in node.input if self.alias.get(name, ("", False))[1]]
        if node.op_type in ("Sum", "Concat"):
            if inside:
                self.alias[node.output[0]] = (self.base(inside[0]), False)
            return bool(inside)
        if named or (inside and node.op_type in ("Relu", "Reshape", "Transpose", "Mul", "Add", "BatchNormalization")):
            self.alias[node.output[0]] = (self.base(node.input[0]), True)
            return True
        return False

    def walk(self, node):
        kind = node.op_type
        if kind in ("Unsqueeze", "Reshape") and node.input[0] in self.weights:
            self.pending[node.output[0]] = node
            self.old[node.output[0]] = self.old[node.input[0]]
            return
        if self.leaves_block(node):
            return
        node.input[:] = [self.base(name) for name in node.input]
        shape = self.shapes[node.input[0]]
        if kind == "Conv":
            made = self.conv(node, shape)
        elif kind in ("MaxPool", "AveragePool"):
            made = [*shape[:2], *self.windows(node, shape)]
        elif kind == "GlobalAveragePool":
            made = [*shape[:2], 1, 1]
        elif kind == "Reshape":
            made = self.reshape(node, shape)
        elif kind == "Transpose":
            made = [shape[axis] for axis in node.attribute[0].ints]
        elif kind == "Concat":
            made = [shape[0], sum(self.shapes[name][1] for name in node.input), *shape[2:]]
        elif kind == "Gemm":
            made = [1, self.count(self.old[node.input[1]][-2])]
            self.parameter(node.input[1], [made[1], shape[1]], "matrix")
            self.parameter(node.input[2], [made[1]], "shift")
        else:
            made = shape
            for name, part in zip(node.input[1:], ("scale", "shift", "shift", "scale")):
                if name in self.weights or name in self.pending:
                    kind_of = part if kind == "BatchNormalization" else "scale" if kind == "Mul" else "shift"
                    self.parameter(name, [shape[1]], kind_of)
        self.shapes[node.output[0]] = made
        self.g.nodes.append(node)

    def run(self):
        graph = self.source.graph
        self.g.input(self.image, "f32", [1, 3, self.side, self.side])
        self.shapes[self.image] = [1, 3, self.side, self.side]
        for node in graph.node:
            if node.op_type != "ConstantOfShape":
                self.walk(node)
        used = {output.name for output in graph.output}
        kept = []
        for node in reversed(self.g.nodes):
            if used.intersection(node.output):
                kept.append(node)
                used.update(node.input)
        self.g.nodes = kept[::-1]
        self.g.initializers = [tensor for tensor in self.g.initializers if tensor.name in used]
        for output in graph.output:
            self.g.outputs.append(helper.make_tensor_value_info(output.name, 1, self.shapes[output.name]))
        return self.g


def reduce(name):
    return Reducer(name).run()
