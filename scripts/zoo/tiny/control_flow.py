"""If, Loop and Scan, known when the model is read and not; functions that the model defines; sequences."""

import numpy as np
from onnx import AttributeProto, helper

from zoo.tiny.writer import TinyGraph

INT64 = np.int64


def branch(g, name, shape, build):
    """A branch of an If: `build(graph)` gives its value."""
    inner = g.inner(name)
    inner.output(build(inner), f"{name}_out", "f32", shape)
    return inner.body()


def if_constant(name="if_constant", opset=16):
    """Conditions that are an initializer or follow from shapes; branches read values and weights from outside."""
    g = TinyGraph(name, opset)
    x = g.input("x", "f32", [2, 3, 4])
    weight = g.weight("w", [4, 4])
    yes = g.initializer("yes", np.array(True))
    y = g.op("Relu", [x])
    a = g.op("If", [yes], then_branch=branch(g, "a_then", [2, 3, 4], lambda b: b.op("MatMul", [y, weight])),
             else_branch=branch(g, "a_else", [2, 3, 4], lambda b: b.op("Tanh", [y])))
    rank = g.op("Size", [g.op("Shape", [a])])
    flat = g.op("Equal", [rank, g.constant(2, INT64)])
    b = g.op("If", [flat], then_branch=branch(g, "b_then", [2, 3, 4], lambda b: b.op("Neg", [a])),
             else_branch=branch(g, "b_else", [2, 3, 4], lambda b: b.op("Add", [b.op("Sigmoid", [a]), b.weight("bw", [4])])))
    g.outputs_of([a, g.op("Mul", [b, x])])
    return g


def if_squeeze():
    """What scripted PyTorch writes for squeeze(): a dimension is compared with 1, one branch has another rank."""
    g = TinyGraph("if_squeeze", 16)
    x = g.op("Relu", [g.input("x", "f32", [2, 1, 4])])
    size = g.op("Gather", [g.op("Shape", [x]), g.ints(1)])
    one = g.op("Equal", [size, g.constant([1], INT64)])
    y = g.op("If", [g.op("Squeeze", [one])],
             then_branch=branch(g, "then", None, lambda b: b.op("Squeeze", [x, b.ints(1)])),
             else_branch=branch(g, "else", None, lambda b: b.op("Identity", [x])))
    g.outputs_of([g.op("Exp", [y])])
    return g


def if_dynamic():
    """The condition depends on the input's values."""
    g = TinyGraph("if_dynamic", 16)
    x = g.input("x", "f32", [2, 3])
    y = g.op("Relu", [x])
    positive = g.op("Greater", [g.op("ReduceSum", [x], keepdims=0), g.constant(0.0)])
    z = g.op("If", [positive], then_branch=branch(g, "then", [2, 3], lambda b: b.op("Exp", [y])),
             else_branch=branch(g, "else", [2, 3], lambda b: b.op("Sub", [y, x])))
    g.outputs_of([g.op("Add", [z, y])])
    return g


def loop_body(g, name, states, build, scans=()):
    """A Loop's body: `build(graph, iteration, states)` gives the condition (None: go on), new states, and scan outputs."""
    inner = g.inner(name)
    iteration = inner.input(f"{name}_i", "i64", [])
    inner.input(f"{name}_go", "bool", [])
    inside = [inner.input(f"{name}_state{k}", dtype, shape) for k, (dtype, shape) in enumerate(states)]
    go, made, scanned = build(inner, iteration, inside)
    go = go or inner.op("Identity", [f"{name}_go"])
    inner.output(go, f"{name}_go_out", "bool", [])
    for k, (value, (dtype, shape)) in enumerate(zip(made, states)):
        inner.output(value, f"{name}_state{k}_out", dtype, shape)
    for k, (value, (dtype, shape)) in enumerate(zip(scanned, scans)):
        inner.output(value, f"{name}_scan{k}", dtype, shape)
    return inner.body()


def loop_constant_trips():
    """Three trips: a state through a weight from outside, the iteration's number, a scan output."""
    g = TinyGraph("loop_constant_trips", 16)
    x = g.input("x", "f32", [2, 4])
    weight, rows = g.weight("w", [4, 4]), g.weight("rows", [3, 4])

    def build(b, iteration, states):
        y = b.op("Tanh", [b.op("MatMul", [states[0], weight])])
        y = b.op("Add", [y, b.op("Gather", [rows, iteration])])
        return None, [y], [b.op("Mul", [y, x])]

    body = loop_body(g, "body", [("f32", [2, 4])], build, [("f32", [2, 4])])
    made = g.op("Loop", [g.constant(3, INT64), g.constant(True, bool), x], outputs=2, body=body)
    g.outputs_of([made[0], g.op("ReduceMean", [made[1]], axes=[0], keepdims=0)])
    return g


def loop_counted():
    """The body's condition ends it after four of at most a hundred trips, and follows from the counter alone."""
    g = TinyGraph("loop_counted", 16)
    x = g.input("x", "f32", [2, 3])

    def build(b, iteration, states):
        count = b.op("Add", [states[1], b.constant(1, INT64)])
        scaled = b.op("Mul", [states[0], b.weight("scale", [3], (0.5, 1.5))])
        return b.op("Less", [count, b.constant(4, INT64)]), [scaled, count], []

    body = loop_body(g, "body", [("f32", [2, 3]), ("i64", [])], build)
    made = g.op("Loop", [g.constant(100, INT64), g.constant(True, bool), x, g.constant(0, INT64)], outputs=2, body=body)
    g.outputs_of([g.op("Relu", [made[0]])])
    return g


def loop_dynamic():
    """The number of trips is an input."""
    g = TinyGraph("loop_dynamic", 16)
    x = g.input("x", "f32", [2, 3])
    trips = g.input("trips", "i64", [])
    g.ranges["trips"] = (2, 5)

    def build(b, iteration, states):
        return None, [b.op("Tanh", [b.op("Add", [states[0], x])])], []

    body = loop_body(g, "body", [("f32", [2, 3])], build)
    made = g.op("Loop", [trips, g.constant(True, bool), g.op("Relu", [x])], body=body)
    g.outputs_of([g.op("Sigmoid", [made])])
    return g


def nested_flow():
    """An If inside a Loop, on the iteration's number."""
    g = TinyGraph("nested_flow", 16)
    x = g.input("x", "f32", [2, 3])

    def build(b, iteration, states):
        even = b.op("Equal", [b.op("Mod", [iteration, b.constant(2, INT64)]), b.constant(0, INT64)])
        y = b.op("If", [even],
                 then_branch=branch(b, "even", [2, 3], lambda c: c.op("Tanh", [c.op("Add", [states[0], x])])),
                 else_branch=branch(b, "odd", [2, 3], lambda c: c.op("Mul", [states[0], c.weight("odd_w", [3])])))
        return None, [y], []

    body = loop_body(g, "body", [("f32", [2, 3])], build)
    g.outputs_of([g.op("Loop", [g.constant(3, INT64), "", x], body=body)])
    return g


def scan():
    """A recurrent cell over the first axis; then two inputs, the second read from its end, output along another axis."""
    g = TinyGraph("scan", 16)
    x, z = g.input("x", "f32", [4, 2, 3]), g.input("z", "f32", [2, 4, 3])
    weight = g.weight("w", [3, 3])

    def cell(name, inputs):
        inner = g.inner(name)
        names = [inner.input(f"{name}_{value}", "f32", [2, 3]) for value in ("state", *inputs)]
        total = inner.op("Sum", [inner.op("MatMul", [names[0], weight]), *names[1:]])
        state = inner.op("Tanh", [total])
        inner.output(state, f"{name}_state_out", "f32", [2, 3])
        inner.output(inner.op("Mul", [state, names[1]]), f"{name}_out", "f32", [2, 3])
        return inner.body()

    start = g.initializer("start", np.zeros([2, 3], np.float32))
    a = g.op("Scan", [start, x], outputs=2, num_scan_inputs=1, body=cell("first", ["x"]))
    b = g.op("Scan", [a[0], x, z], outputs=2, num_scan_inputs=2, body=cell("second", ["x", "z"]),
             scan_input_axes=[0, 1], scan_input_directions=[0, 1], scan_output_axes=[1], scan_output_directions=[1])
    g.outputs_of([*a, *b])
    return g


def reference(name, attribute):
    """A float attribute that is that of the call."""
    made = helper.make_attribute_ref(name, AttributeProto.FLOAT)
    made.ref_attr_name = attribute
    return made


def local_functions():
    """Functions of the model: with attributes handed through, called twice, one calling another, one optional input."""
    g = TinyGraph("local_functions", 18)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("zoo", 1)]
    slope = helper.make_node("LeakyRelu", ["s"], ["y"])
    slope.attribute.append(reference("alpha", "slope"))
    activate = helper.make_function("zoo", "Activate", ["x"], ["y"],
                                    [helper.make_node("Softplus", ["x"], ["p"]), helper.make_node("Sub", ["p", "x"], ["d"]),
                                     helper.make_node("Mul", ["x", "d"], ["s"]), slope], opsets, attributes=["slope"])
    call = helper.make_node("Activate", ["b"], ["y"], domain="zoo")
    call.attribute.append(reference("slope", "slope"))
    linear = helper.make_function("zoo", "Linear", ["x", "w", "shift"], ["y"],
                                  [helper.make_node("MatMul", ["x", "w"], ["a"]),
                                   helper.make_node("Add", ["a", "shift"], ["b"]), call], opsets,
                                  attribute_protos=[helper.make_attribute("slope", 0.25)])
    g.functions = [activate, linear]
    x = g.input("x", "f32", [3, 4])
    y = g.op("zoo:Linear", [x, g.weight("w1", [4, 5]), g.weight("b1", [5])])
    z = g.op("zoo:Linear", [y, g.weight("w2", [5, 4]), g.weight("b2", [4])], slope=0.5)
    g.outputs_of([g.op("Add", [x, z]), g.op("zoo:Activate", [y], slope=0.3)])
    return g


def sequences():
    """A split to a sequence, elements by a known position, joined again: how older exporters write chunk()."""
    g = TinyGraph("sequences", 16)
    x = g.op("Relu", [g.input("x", "f32", [2, 6])])
    parts = g.op("SplitToSequence", [x, g.constant(2, INT64)], axis=1)
    first = g.op("SequenceAt", [parts, g.constant(0, INT64)])
    last = g.op("SequenceAt", [parts, g.constant(-1, INT64)])
    pair = g.op("SequenceConstruct", [last, g.op("Tanh", [first])])
    g.outputs_of([g.op("Mul", [first, last]), g.op("ConcatFromSequence", [pair], axis=1)])
    return g


MODELS = [if_constant, if_squeeze, if_dynamic, loop_constant_trips, loop_counted, loop_dynamic, nested_flow, scan,
          local_functions, sequences]
