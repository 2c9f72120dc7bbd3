"""Models written with onnxscript: functions become functions of the model, Python's control flow becomes If, Loop and Scan."""

import numpy as np
from onnxscript import FLOAT, INT64, graph, opset18 as op, script
from onnxscript.values import Opset

from zoo.exported import record

local = Opset("kindred.example", 1)


@script(local)
def gelu(x):
    half = op.CastLike(0.5, x)
    cube = x + op.CastLike(0.044715, x) * op.Pow(x, op.CastLike(3.0, x))
    return half * x * (op.CastLike(1.0, x) + op.Tanh(op.CastLike(0.7978845608, x) * cube))


@script(local)
def attention(query, key, value, scale: float):
    scores = op.MatMul(query, op.Transpose(key, perm=[0, 2, 1])) * op.CastLike(scale, query)
    return op.MatMul(op.Softmax(scores, axis=-1), value)


@script(local)
def block(x, weight, shift):
    y = attention(x, x, x, scale=0.5)
    return gelu(op.MatMul(op.Add(x, y), weight) + shift)


@script()
def functions(x: FLOAT[2, 3, 4], weight: FLOAT[4, 4], shift: FLOAT[4]) -> FLOAT[2, 3, 4]:
    y = block(x, weight, shift)
    return block(y, weight, shift)


@script()
def flow(x: FLOAT[3, 4]) -> FLOAT[3, 4]:
    y = op.Identity(x)
    for i in range(4):
        y = op.Sin(y) + x * op.CastLike(i, x)
    rows = op.Gather(op.Shape(x), op.Constant(value_ints=[0]))
    if op.Squeeze(rows) > op.Constant(value_int=2):
        z = op.Softmax(y, axis=0)
    else:
        z = op.Neg(y)
    return z


@script()
def cumulative(x: FLOAT[5, 3]) -> FLOAT[5, 3]:
    """A Scan, written with a graph of its own."""

    @graph()
    def step(state, row):
        total = op.Tanh(state + row)
        return total, op.Identity(total)

    _, rows = op.Scan(op.ConstantOfShape(op.Constant(value_ints=[3])), x, body=step, num_scan_inputs=1)
    return rows


def main():
    _, folder = record.target()
    random = np.random.default_rng(7)
    feeds = {"x": record.numbers(random, 2, 3, 4), "weight": record.numbers(random, 4, 4),
             "shift": record.numbers(random, 4)}
    record.save(folder, "script_functions", functions.to_model_proto(), feeds)
    record.save(folder, "script_flow", flow.to_model_proto(), {"x": record.numbers(random, 3, 4)})
    record.save(folder, "script_scan", cumulative.to_model_proto(), {"x": record.numbers(random, 5, 3)})


if __name__ == "__main__":
    main()
