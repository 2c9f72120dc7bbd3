"""A small writer of ONNX graphs: nodes in order, names as an exporter gives them, weights without data.

A weight is a ConstantOfShape node over an int64 initializer that holds its shape, as in the ONNX project's own
"light" models, so that a file of a hundred megabytes of weights takes a few kilobytes. All elements of a weight are
equal; callers choose them (1/fan-in for matrices) so that activations stay finite.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
DOMAIN_OPSETS = {"ai.onnx.ml": 3}  # of other domains: 1

DTYPES = {"f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "f16": TensorProto.FLOAT16,
          "i64": TensorProto.INT64, "i32": TensorProto.INT32, "i8": TensorProto.INT8, "u8": TensorProto.UINT8,
          "bool": TensorProto.BOOL}


class Graph:
    """Collects nodes; `scope` prefixes names of nodes and their outputs ("layer.0/attention").

    The operator set and the IR version go together as in the ONNX project's releases; none is below IR 8 (that of
    opset 17), unless `ir_version` asks for it. Below IR 4 initializers are inputs too.
    """

    def __init__(self, name, opset=OPSET, ir_version=None):
        self.name = name
        self.opset = opset
        self.ir_version = ir_version or max(8, helper.find_min_ir_version_for([helper.make_opsetid("", opset)]))
        self.scope = ""
        self.inputs = []
        self.outputs = []
        self.nodes = []
        self.weight_nodes = []
        self.initializers = []
        self.functions = []
        self.counts = {}
        self.renamed = {}

    def input(self, name, dtype, shape):
        self.inputs.append(helper.make_tensor_value_info(name, DTYPES[dtype], shape))
        return name

    def output(self, value, name, dtype, shape):
        """Names `value` as the graph's output `name`; `model` renames it where it is made and used, as exporters do."""
        self.renamed[value] = name
        self.outputs.append(helper.make_tensor_value_info(name, DTYPES[dtype], shape))

    def weight(self, name, shape, value=None, dtype="f32"):
        """A weight without data; `value` fills it, by default 1/fan-in of a convolution or matrix."""
        if value is None:
            value = 1.0 / max(1, int(np.prod(shape[1:])))
        self.initializers.append(numpy_helper.from_array(np.array(shape, np.int64), name + "__SHAPE"))
        value = float(np.float32(value)) if dtype == "f32" else value
        fill = helper.make_tensor("", DTYPES[dtype], [1], [value])
        self.weight_nodes.append(helper.make_node("ConstantOfShape", [name + "__SHAPE"], [name], value=fill))
        return name

    def initializer(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def constant(self, value, dtype=np.float32):
        """A Constant node, the form in which exporters write scalars and shape pieces."""
        tensor = numpy_helper.from_array(np.asarray(value, dtype))
        return self.op("Constant", [], value=tensor)

    def op(self, kind, inputs, outputs=1, name=None, **attributes):
        """Appends a node; returns its output's name, or a list of them where `outputs` is above 1.

        `outputs` may also list which of them the node makes, by 1 and 0: those left away are "" in the result.
        A kind may name its domain: "com.microsoft:Gelu".
        """
        domain, kind = kind.split(":") if ":" in kind else (None, kind)
        base = f"{self.scope}/{name or kind}"
        number = self.counts.get(base, 0)
        self.counts[base] = number + 1
        if number:
            base = f"{base}_{number}"
        wanted = [1] * outputs if isinstance(outputs, int) else outputs
        made = [base] if outputs == 1 else [f"{base}.{position}" if there else "" for position, there in enumerate(wanted)]
        node = helper.make_node(kind, list(inputs), made, domain=domain, **attributes)
        if kind != "Constant":  # hundreds of them: their output's name says as much
            node.name = base
        self.nodes.append(node)
        return made[0] if outputs == 1 else made

    def body(self):
        """The graph itself: of a model, or of a branch or loop inside one."""
        rename(self.nodes, self.renamed)
        inputs = list(self.inputs)
        if self.ir_version < 4:
            inputs += [helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
                       for tensor in self.initializers]
        return helper.make_graph(self.weight_nodes + self.nodes, self.name, inputs, self.outputs, self.initializers)

    def model(self):
        domains = {node.domain for node in self.nodes} | {function.domain for function in self.functions}
        opsets = [helper.make_opsetid("", self.opset)] + [
            helper.make_opsetid(name, DOMAIN_OPSETS.get(name, 1)) for name in sorted(domains - {""})]
        return helper.make_model(self.body(), producer_name="kindred-zoo", ir_version=self.ir_version,
                                 opset_imports=opsets, functions=self.functions)


def rename(nodes, renamed):
    """Gives values their new names, in the graphs inside of nodes too."""
    for node in nodes:
        for names in (node.input, node.output):
            names[:] = [renamed.get(name, name) for name in names]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                rename(attribute.g.node, renamed)


def check(model):
    """Runs the checker and strict shape inference; every value must come out with a full shape."""
    onnx.checker.check_model(model, full_check=True)
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    known = {value.name: value for value in list(inferred.graph.value_info) + list(inferred.graph.output)}
    for node in inferred.graph.node:
        for made in node.output:
            shape = known[made].type.tensor_type.shape if made in known else None
            if shape is None or any(dim.WhichOneof("value") is None for dim in shape.dim):
                raise SystemExit(f"make_zoo: {model.graph.name}: no full shape for {made} ({node.op_type})")


def write(model, path):
    path.write_bytes(model.SerializeToString(deterministic=True))
