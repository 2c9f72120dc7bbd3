"""Graphs with random weights, and the record of what a runtime answers for random inputs.

A record is `<name>.json` beside `<name>.onnx`; tests/models/README.md has its form. Seeds come from a model's name, so
that adding a model leaves the others' bytes alone.
"""

import json
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

from zoo import graph as zoo_graph

LARGEST_JSON = 50_000
LARGEST_VALUE = 1e3
# How far, in quantisation steps, a value must lie from a rounding tie: runtimes add floats in different orders.
TIE_MARGIN = 1e-3
DRAWS = 500

DTYPE_NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "int8": "i8",
               "uint8": "u8", "bool": "bool"}
FIXED = helper.make_empty_tensor_value_info


class TinyGraph(zoo_graph.Graph):
    """A Graph whose weights are random numbers.

    `dims` binds symbolic dimensions, `ranges` bounds integer inputs, `feeds` gives inputs that are not drawn; those
    that are have `decimals` decimals. Outputs declared without a type get that of the result. `by` names who computes
    the record: "onnxruntime", or "onnx.reference" where onnxruntime has no kernel. `tolerance`: how far another
    implementation's floats may lie from the record's, relative above 1; None: as far as f32 arithmetic allows.
    """

    def __init__(self, name, opset=zoo_graph.OPSET, ir_version=None):
        super().__init__(name, opset, ir_version)
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.dims = {}
        self.ranges = {}
        self.feeds = {}
        self.by = "onnxruntime"
        self.tolerance = None
        self.constant_results = False
        self.external_file = False
        self.unchecked = False  # an operator of exporters and runtimes that the checker refuses
        self.decimals = 4
        self.tie_margin = TIE_MARGIN
        self.shadows = []
        self.rounded = []
        self.prefix = ""

    def weight(self, name, shape, value=None):
        scale = 1.0 / np.sqrt(max(1, int(np.prod(shape[1:]))))
        data = self.random.standard_normal(shape) * scale if value is None else self.random.uniform(*value, shape)
        return self.initializer(name, data.astype(np.float32))

    def ints(self, *values):
        """An int64 initializer, for the operators whose shapes, axes and pads are inputs."""
        return self.initializer(f"{self.prefix}ints_{len(self.initializers)}", np.array(values, np.int64))

    def floats(self, *values):
        return self.initializer(f"{self.prefix}floats_{len(self.initializers)}", np.array(values, np.float32))

    def inner(self, name):
        """A graph for a branch or a loop's body: it draws from the same random numbers, and names start with `name`."""
        graph = TinyGraph(name, self.opset)
        graph.random, graph.scope, graph.prefix = self.random, f"{self.scope}/{name}", f"{name}_"
        return graph

    def output(self, value, name, dtype=None, shape=None):
        if dtype:
            super().output(value, name, dtype, shape)
        else:
            self.renamed[value] = name
            self.outputs.append(FIXED(name))

    def outputs_of(self, values):
        """Names each value as an output: y0, y1, ..."""
        for value in values:
            self.output(value, f"y{len(self.outputs)}")

    def shadow(self, kind, inputs, **attributes):
        """A node that is no part of the model: it makes a value to be looked at by `rounds`."""
        name = f"shadow_{len(self.shadows)}"
        self.shadows.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def rounds(self, value, steps):
        """The model rounds `value` divided by `steps` (names): inputs are drawn until no element is near a tie."""
        self.rounded.append(self.shadow("Div", [value, steps]))


def run(model_bytes, feeds, by="onnxruntime"):
    """The outputs by name, computed without graph optimisations."""
    if by == "onnx.reference":
        evaluator = ReferenceEvaluator(onnx.load_from_string(model_bytes))
        return dict(zip(evaluator.output_names, evaluator.run(None, feeds)))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model_bytes, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def random_input(g, value_info):
    if value_info.name in g.feeds:
        return g.feeds[value_info.name]
    shape = [g.dims[dim.dim_param] if dim.dim_param else dim.dim_value for dim in value_info.type.tensor_type.shape.dim]
    dtype = helper.tensor_dtype_to_np_dtype(value_info.type.tensor_type.elem_type)
    if dtype == np.bool_:
        return g.random.integers(0, 2, shape).astype(bool)
    if np.issubdtype(dtype, np.integer):
        return g.random.integers(*g.ranges[value_info.name], shape).astype(dtype)
    return np.round(g.random.standard_normal(shape), g.decimals).astype(dtype)


def draw(g):
    """Inputs for which no value that the model rounds lies near a tie."""
    for _ in range(DRAWS):
        feeds = {value.name: random_input(g, value) for value in g.inputs}
        if not g.rounded:
            return feeds
        model = g.model()
        model.graph.node.extend(g.shadows)
        zoo_graph.rename(model.graph.node, g.renamed)
        model.graph.output.extend(FIXED(name) for name in g.rounded)
        results = run(model.SerializeToString(), feeds)
        values = np.concatenate([results[name].reshape(-1).astype(np.float64) for name in g.rounded])
        if np.abs(values - np.floor(values) - 0.5).min() > g.tie_margin:
            return feeds
    raise SystemExit(f"make_zoo: {g.name}: every draw has a value near a rounding tie")


def entry(name, array):
    flat = array.reshape(-1).tolist()
    data = [float(f"{number:.6g}") for number in flat] if array.dtype.kind == "f" else flat
    return {"name": name, "dtype": DTYPE_NAMES[str(array.dtype)], "shape": list(array.shape), "data": data}


def check_results(g, results):
    """Numbers that JSON and a tolerance can hold, and that are not the same for every input."""
    for name, array in results.items():
        if not np.all(np.isfinite(array)) or (array.dtype.kind == "f" and np.abs(array).max() > LARGEST_VALUE):
            raise SystemExit(f"make_zoo: {g.name}: output {name} is not of moderate size")
    if g.constant_results or not g.inputs:
        return
    for _ in range(20):
        others = run(g.model().SerializeToString(), {value.name: random_input(g, value) for value in g.inputs}, g.by)
        if all(not np.array_equal(array, others[name]) for name, array in results.items()):
            return
    raise SystemExit(f"make_zoo: {g.name}: an output does not depend on the inputs")


def record(g):
    """Runs the graph, completes the types of its outputs, and gives the record."""
    feeds = draw(g)
    results = run(g.model().SerializeToString(), feeds, g.by)
    for position, output in enumerate(g.outputs):
        if output.type.WhichOneof("value") is None:
            array = results[output.name]
            made = helper.make_tensor_value_info(output.name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            g.outputs[position] = made
    check_results(g, results)
    notes = {} if g.by == "onnxruntime" else {"by": g.by}
    if g.tolerance:
        notes["tolerance"] = g.tolerance
    return {"model": f"{g.name}.onnx", **notes, "dims": g.dims, "inputs": [entry(*pair) for pair in feeds.items()],
            "outputs": [entry(*pair) for pair in results.items()]}


def write(g, folder):
    text = json.dumps(record(g), separators=(",", ":")) + "\n"
    if len(text) > LARGEST_JSON:
        raise SystemExit(f"make_zoo: {g.name}.json takes {len(text)} bytes, more than {LARGEST_JSON}")
    model = g.model()
    if not g.unchecked:
        onnx.checker.check_model(model, full_check=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{g.name}.json").write_text(text)
    path = folder / f"{g.name}.onnx"
    if g.external_file:
        (folder / f"{g.name}.bin").unlink(missing_ok=True)
        onnx.external_data_helper.convert_model_to_external_data(model, location=f"{g.name}.bin", size_threshold=0)
        onnx.external_data_helper.write_external_data_tensors(model, str(folder))
        (folder / f"{g.name}.bin").chmod(0o644)
    zoo_graph.write(model, path)
    print(f"{path.name}: {path.stat().st_size} bytes, expected {len(text)} bytes")
